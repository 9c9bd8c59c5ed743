"""Stores of a known speed on one machine: a loop device with a file system, throttled by the blkio controller.

What a cluster has by itself, a fast store near some nodes and a slow one for all, a scenario gets here as its places.
The rate holds for what goes through this process's control group and through the root group, from which the kernel
writes back what a program has left dirty; other groups of the machine aren't touched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import SillError
from .model import Place

BLKIO = Path("/sys/fs/cgroup/blkio")
HOW = "loop device, throttled by the blkio controller (cgroup v1)"
GIVEN = "given"
_KNOBS = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
_LINKS = 256  # ranks that find their near store by number


@dataclass(frozen=True)
class Made:
    """A place as it is: `path` is what {name} stands for, with %r for the rank where there are several stores."""

    name: str
    path: str
    how: str
    rate: int  # bytes/s of one store; 0: not known
    count: int
    folders: tuple[Path, ...] = ()  # emptied after each run

    def empty(self) -> None:
        for folder in self.folders:
            for entry in folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


@contextlib.contextmanager
def places(wanted: Sequence[Place], given: dict[str, str], base: Path) -> Iterator[list[Made]]:
    """All places of a scenario: the folders that the user gave, and for the others devices with images below `base`.

    Devices and throttles outlive a process that just ends: to be called with unwound_by_signals().
    """
    with contextlib.ExitStack() as stack:
        made = []
        for place in wanted:
            if place.name in given:
                made.append(Made(place.name, given[place.name], GIVEN, 0, 1))
            else:
                made.append(stack.enter_context(_device_place(place, base)))
        yield made


@contextlib.contextmanager
def _device_place(place: Place, base: Path) -> Iterator[Made]:
    _check(place)
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{place.name}-", dir=base) as made, contextlib.ExitStack() as stack:
        root = Path(made).resolve()
        folders = tuple(
            stack.enter_context(_mounted(root / f"image.{i}", root / f"store.{i}", place)) for i in range(place.count)
        )
        path = str(folders[0])
        if place.count > 1:
            for rank in range(_LINKS):
                (root / str(rank)).symlink_to(folders[rank % place.count])
            path = f"{root}/%r"
        found = Made(place.name, path, HOW, place.rate, place.count, folders)
        yield found
        found.empty()


def _check(place: Place) -> None:
    missing = [tool for tool in ("losetup", "mkfs.ext4", "mount") if not shutil.which(tool)]
    knobs = all(os.access(BLKIO / knob, os.W_OK) for knob in _KNOBS)
    if os.geteuid() != 0 or missing or not knobs:
        raise SillError(
            f"place {place.name}: a store of {place.rate >> 20} MiB/s can be made here only by root, with losetup, "
            f"mkfs.ext4 and the blkio controller of cgroup v1; name folders instead, with --place {place.name}=DIR"
        )


@contextlib.contextmanager
def _mounted(image: Path, where: Path, place: Place) -> Iterator[Path]:
    """A new file system on a throttled device."""
    with open(image, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, place.size)
    device = _run("losetup", "-f", "--show", image)
    try:
        # Blocks as on a large disk; nothing left for the kernel to initialize later, through the throttle.
        _run("mkfs.ext4", "-q", "-b", "4096", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        where.mkdir()
        _run("mount", device, where)
        try:
            shutil.rmtree(where / "lost+found")
            with _throttled(device, place.rate):
                yield where
        finally:
            _run("umount", where)
    finally:
        _run("losetup", "-d", device)


@contextlib.contextmanager
def _throttled(device: str, rate: int) -> Iterator[None]:
    number = os.stat(device).st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    try:
        _throttle(name, rate)
        yield
    finally:
        _throttle(name, 0)


def _throttle(device: str, rate: int) -> None:
    for group in dict.fromkeys((BLKIO, BLKIO / _own_group())):
        for knob in _KNOBS:
            try:
                (group / knob).write_text(f"{device} {rate}")
            except OSError as error:
                raise SillError(f"{group / knob}: {error.strerror}; name folders with --place instead") from error


def _own_group() -> str:
    """This process's group of the blkio controller, below its root."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return path.lstrip("/")
    return ""


def _run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SillError(f"{words[0]}: {done.stderr.strip()}; name folders with --place instead")
    return done.stdout.strip()
