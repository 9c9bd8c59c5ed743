"""What a folder's file system can do for windows, found out by trying with a small temporary file."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

_FICLONE = 0x40049409  # _IOW(0x94, 9, int), of linux/fs.h

# File systems whose files live in memory: a window there is gone with the machine.
IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"}
# File systems whose coherence or durability of mapped files depends on a server or a layer below.
REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "virtiofs"}


@dataclass(frozen=True)
class Store:
    """A folder on a file system; None where it could not be tried."""

    folder: str
    kind: str
    free: int  # bytes for ordinary users
    total: int
    writable: bool
    mapping: bool | None  # shared mappings and msync
    reserve: bool | None  # fallocate, for storage_alloc_reserve=full
    reflink: bool | None
    direct: bool | None  # O_DIRECT
    dax: bool
    error: str = ""  # why it could not be tried


def inspect(folder: str | os.PathLike) -> Store:
    """Look at a folder, which must exist."""
    path = os.path.realpath(folder)
    kind, options = _mount_of(path)
    space = os.statvfs(path)
    known = {
        "folder": str(folder),
        "kind": kind,
        "free": space.f_bavail * space.f_frsize,
        "total": space.f_blocks * space.f_frsize,
        "dax": any(option == "dax" or option == "dax=always" for option in options),
    }
    try:
        with tempfile.TemporaryDirectory(prefix=".sill-doctor-", dir=path) as trial:
            return Store(**known, writable=True, **_try(Path(trial)))
    except OSError as error:
        nothing = dict.fromkeys(("mapping", "reserve", "reflink", "direct"))
        return Store(**known, writable=False, error=error.strerror or str(error), **nothing)


def _try(folder: Path) -> dict[str, bool]:
    page = mmap.PAGESIZE
    source = os.open(folder / "source", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        reserve = _works(lambda: _fallocate(source, page))
        os.ftruncate(source, page)
        mapping = _works(lambda: _map(source, page))
        copy = os.open(folder / "copy", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            reflink = _works(lambda: fcntl.ioctl(copy, _FICLONE, source))
        finally:
            os.close(copy)
    finally:
        os.close(source)
    direct = _works(lambda: os.close(os.open(folder / "source", os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)))
    return {"mapping": mapping, "reserve": reserve, "reflink": reflink, "direct": direct}


def _works(action) -> bool:
    """Whether a call is supported; other errors, such as a full disk, are the caller's."""
    unsupported = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENOTTY, errno.ENODEV, errno.EXDEV, errno.EACCES)
    try:
        action()
    except OSError as error:
        if error.errno in unsupported:
            return False
        raise
    return True


def _fallocate(fd: int, length: int) -> None:
    """fallocate(2) itself: posix_fallocate would write zeros where the file system can't reserve blocks."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(length)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _map(fd: int, length: int) -> None:
    with mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        mapping[0] = 1
        mapping.flush()


def _mount_of(path: str) -> tuple[str, tuple[str, ...]]:
    """Type and options of the last mount that covers a path."""
    deepest, found = "/", ("unknown", ())
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            front, _, back = line.partition(" - ")
            fields, (kind, _, super_options) = front.split(), back.split()[:3]
            point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[4])
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(deepest):
                deepest, found = point, (kind, tuple(f"{fields[5]},{super_options}".split(",")))
    return found
