"""Small file systems and devices for tests, taken away again afterwards. All need root."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

MIB = 1 << 20
PATIENCE_S = 60  # for a mount that is in use
PAUSE_S = 0.05


def need_root(*tools: str) -> None:
    """Skip, with the reason, where this can't be done."""
    if os.geteuid() != 0:
        pytest.skip("mounting and loop devices need root")
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")


def run(*words: object) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr.strip()}")
    return done.stdout.strip()


def unmount(where: Path) -> None:
    """Where another test makes a namespace, that may hold a copy of what lies on `where` for a moment."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            run("umount", where)
            return
        except RuntimeError as error:
            if "busy" not in str(error) or time.monotonic() > deadline:
                raise
        threading.Event().wait(PAUSE_S)


@contextlib.contextmanager
def mounted(what: object, where: Path, *options: str) -> Iterator[Path]:
    where.mkdir(exist_ok=True)
    try:
        run("mount", *options, what, where)
    except RuntimeError as error:
        pytest.skip(f"can't mount here: {error}")
    try:
        yield where
    finally:
        unmount(where)


def tmpfs(where: Path, size: int, *options: str):
    """A memory file system of `size` bytes."""
    return mounted("tmpfs", where, "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]))


@contextlib.contextmanager
def loop_device(image: Path, size: int) -> Iterator[str]:
    """A block device of `size` bytes on a new file, or on the file that is there."""
    if not image.exists():
        with image.open("wb") as file:
            file.truncate(size)
    try:
        device = run("losetup", "-f", "--show", image)
    except RuntimeError as error:
        pytest.skip(f"no loop device here: {error}")
    try:
        yield device
    finally:
        run("losetup", "-d", device)


@contextlib.contextmanager
def ext4(where: Path, image: Path, size: int) -> Iterator[str]:
    """A small ext4 on a loop device; gives the device."""
    with loop_device(image, size) as device:
        run("mkfs.ext4", "-q", "-O", "^metadata_csum_seed", "-m", "0", device)
        with mounted(device, where):
            yield device


def fill(folder: Path, leave: int) -> None:
    """Fill a file system with a file of zeros until about `leave` bytes are free."""
    status = os.statvfs(folder)
    with (folder / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - leave)
