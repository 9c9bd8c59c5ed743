"""What Linux tells: memory and its limits, pages in the cache, and what works in a folder, found by trying."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FICLONE = 0x40049409  # _IOW(0x94, 9, int), of linux/fs.h
# Linux 6.5 and newer. The number is the same on all architectures that came with the common table, Alpha alone differs.
_CACHESTAT = 561 if os.uname().machine == "alpha" else 451

_LIBC = ctypes.CDLL(None, use_errno=True)


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


@dataclass(frozen=True)
class CacheState:
    """Bytes of a range that are in the page cache, and those of them that aren't on the device yet."""

    resident: int
    dirty: int


@dataclass(frozen=True)
class Trial:
    """What works in a folder; None where it could not be tried."""

    writable: bool
    mapping: bool | None = None  # shared mappings and msync
    reserve: bool | None = None  # fallocate, for storage_alloc_reserve=full
    reflink: bool | None = None
    direct: bool | None = None  # O_DIRECT
    error: str = ""  # why it could not be tried


def read(path: str) -> str | None:
    """The text of one of the kernel's files; None where it isn't there."""
    try:
        return Path(path).read_text()
    except OSError:
        return None


def meminfo(name: str) -> int | None:
    """A number of /proc/meminfo, in bytes where it has a unit."""
    match = re.search(rf"^{name}:\s+(\d+)( kB)?", read("/proc/meminfo") or "", re.M)
    return int(match[1]) * (1024 if match[2] else 1) if match else None


def control_groups() -> Iterator[tuple[list[str], str]]:
    """The controllers and the path of each control group of this process; that of version 2 has the controller ""."""
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers.split(","), path


def memory_limit() -> tuple[int | None, str]:
    """The smallest memory limit of this process's control group and those above it, v1 and v2, and whose it is."""
    limits: list[tuple[int, str]] = []
    for controllers, path in control_groups():
        if controllers == [""]:
            root, file = "/sys/fs/cgroup", "memory.max"
        elif "memory" in controllers:
            root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = Path(root + path)
        for folder in (group, *group.parents):
            text = (read(str(folder / file)) or "").strip()
            # Version 1 writes a number near 2^63 for no limit.
            if text.isdigit() and int(text) < 2**62:
                limits.append((int(text), str(folder)))
            if str(folder) == root:
                break
    return min(limits) if limits else (None, "")


def call(function: str, *arguments: object) -> int:
    """A function of the C library; where it fails, OSError."""
    result = getattr(_LIBC, function)(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def cache_state(fd: int, offset: int = 0, length: int = 0) -> CacheState | None:
    """The state of a range (length 0: up to the end); None where the kernel or the file system can't tell."""
    span, counts = _Range(offset, length), _Counts()
    try:
        call("syscall", ctypes.c_long(_CACHESTAT), fd, ctypes.byref(span), ctypes.byref(counts), ctypes.c_uint(0))
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return None
        raise
    page = os.sysconf("SC_PAGE_SIZE")
    return CacheState(counts.cached * page, (counts.dirty + counts.writeback) * page)


def try_out(folder: str | os.PathLike) -> Trial:
    """Try windows' needs in a folder, which must exist; nothing is left there."""
    try:
        with tempfile.TemporaryDirectory(prefix=".sill-doctor-", dir=folder) as trial:
            return Trial(writable=True, **_try(Path(trial)))
    except OSError as error:
        return Trial(writable=False, error=error.strerror or str(error))


def file_system_of(folder: str | os.PathLike) -> str:
    """The type of the last mount that covers a folder, for who has no library of Sill to ask."""
    path = os.path.realpath(folder)
    deepest, found = "/", "unknown"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            front, _, back = line.partition(" - ")
            point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), front.split()[4])
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(deepest):
                deepest, found = point, back.split()[0]
    return found


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
    call("fallocate", fd, 0, ctypes.c_long(0), ctypes.c_long(length))


def _map(fd: int, length: int) -> None:
    with mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        mapping[0] = 1
        mapping.flush()
