"""What a run gets: a limited memory, stores of a known speed, a text to work on."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import SillError
from ..system import control_groups
from .model import Place, Text

# --- memory: a control group where this user may make one, else SILL_MEMORY_LIMIT ---

V1, V2 = "cgroup v1", "cgroup v2"
VARIABLE = "SILL_MEMORY_LIMIT"
_PAUSE_S, _PATIENCE_S = 0.01, 30


@dataclass(frozen=True)
class Limit:
    """How a run is held to a limit: words before the program on every rank, and variables."""

    how: str  # V1, V2, VARIABLE, or "none"
    bytes: int = 0
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def limited(limit: int, groups: bool = True, root: Path = Path("/sys/fs/cgroup")) -> Iterator[Limit]:
    """A limit in bytes for all ranks together, 0 for none.

    `groups=False`: the ranks run elsewhere (srun), where a group made here is of no use. The variable binds what Sill
    puts into memory with storage_alloc_factor=auto and makes its windows learn; no page cache, no memory windows.
    """
    if limit == 0:
        yield Limit("none")
        return
    made = _make_group(limit, root) if groups else None
    if made is None:
        yield Limit(VARIABLE, limit, (), {VARIABLE: str(limit)})
        return
    how, group = made
    enter = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', f"{group}/cgroup.procs")
    try:
        yield Limit(how, limit, enter)
    finally:
        _remove_group(group)


def _make_group(limit: int, root: Path) -> tuple[str, Path] | None:
    """A new group without processes, and its version; None where none can be made."""
    name = f"sill-bench-{uuid.uuid4().hex[:8]}"
    for how, parent, knob in _group_parents(root):
        group = parent / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            with open(group / knob, "r+") as file:  # there already, if the parent hands on the memory controller
                file.write(str(limit))
            if os.access(group / "cgroup.procs", os.W_OK):
                return how, group
        except OSError:
            pass
        _remove_group(group)
    return None


def _group_parents(root: Path) -> Iterator[tuple[str, Path, str]]:
    """Groups in which one may perhaps be made, with the name of the limit's file."""
    if (root / "memory" / "memory.limit_in_bytes").exists():
        yield V1, root / "memory", "memory.limit_in_bytes"
    if (root / "cgroup.controllers").exists():
        yield V2, root, "memory.max"
        # A user's own part of the tree, as systemd delegates it, begins above the group of this process.
        for controllers, path in control_groups():
            if controllers == [""]:
                yield V2, (root / path.lstrip("/")).parent, "memory.max"


def _remove_group(group: Path) -> None:
    """A group's last process may take a moment to go."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise SillError(
                    f"{group} is still in use ({error.strerror}); end its processes, then rmdir it"
                ) from error
        threading.Event().wait(_PAUSE_S)


# --- stores: a loop device with a file system, throttled by the blkio controller ---

# What a cluster has by itself, a fast store near some nodes and a slow one for all, a scenario gets here as its places.
# The rate holds for what goes through this process's control group and through the root group, from which the kernel
# writes back what a program has left dirty; other groups of the machine aren't touched.

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
    own = [path.lstrip("/") for controllers, path in control_groups() if "blkio" in controllers]
    for group in dict.fromkeys((BLKIO, *(BLKIO / path for path in own))):
        for knob in _KNOBS:
            try:
                (group / knob).write_text(f"{device} {rate}")
            except OSError as error:
                raise SillError(f"{group / knob}: {error.strerror}; name folders with --place instead") from error


def _run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SillError(f"{words[0]}: {done.stderr.strip()}; name folders with --place instead")
    return done.stdout.strip()


# --- text: the same for everybody, some words frequent and most of them rare ---

_WORDS, _BLOCKS, _BLOCK = 30_000, 4, 1 << 20


def text_folder(store: Path, text: Text, ranks: int) -> Path | None:
    """The folder with a text of the size for so many ranks, made if it isn't there yet; None if none is asked for."""
    size = text.size(ranks)
    if size == 0:
        return None
    path = store / f"text-{size}"
    if not path.is_dir():
        path.mkdir(parents=True)
        blocks, generator = _text_blocks(), random.Random(size)
        for number, begin in enumerate(range(0, size, text.file_bytes)):
            _write_text(path / f"{number:05}.txt", min(text.file_bytes, size - begin), blocks, generator)
    return path


def _write_text(path: Path, size: int, blocks: list[bytes], generator: random.Random) -> None:
    with open(path, "wb") as file:
        for begin in range(0, size, _BLOCK):
            file.write(generator.choice(blocks)[: min(_BLOCK, size - begin)])


@functools.lru_cache(maxsize=1)
def _text_blocks() -> list[bytes]:
    """Pieces of _BLOCK bytes. The n-th word is about 1/n as frequent as the first, as in any language."""
    generator = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(generator.choices(letters, k=generator.randint(2, 11))) for _ in range(_WORDS)]
    weights = [1 / (n + 1) for n in range(_WORDS)]
    blocks = []
    for _ in range(_BLOCKS):
        line = generator.choices(words, weights, k=_BLOCK // 4)
        text = "\n".join(" ".join(line[at : at + 12]) for at in range(0, len(line), 12))
        blocks.append(text.encode()[:_BLOCK].ljust(_BLOCK))
    return blocks
