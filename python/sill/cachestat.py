"""Pages of a file in the page cache, by the system call cachestat (Linux 6.5 and newer)."""

from __future__ import annotations

import ctypes
import errno
import os
from dataclasses import dataclass

# The number of the call is the same on all architectures that came with the common table, Alpha alone differs.
_NUMBER = 561 if os.uname().machine == "alpha" else 451


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


def cache_state(fd: int, offset: int = 0, length: int = 0) -> CacheState | None:
    """The state of a range (length 0: up to the end); None where the kernel or the file system can't tell."""
    libc = ctypes.CDLL(None, use_errno=True)
    span, counts = _Range(offset, length), _Counts()
    result = libc.syscall(
        ctypes.c_long(_NUMBER), ctypes.c_int(fd), ctypes.byref(span), ctypes.byref(counts), ctypes.c_uint(0)
    )
    if result != 0:
        code = ctypes.get_errno()
        if code in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return None
        raise OSError(code, os.strerror(code))
    page = os.sysconf("SC_PAGE_SIZE")
    return CacheState(counts.cached * page, (counts.dirty + counts.writeback) * page)
