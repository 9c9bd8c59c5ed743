"""The record FILE.sill beside each window's file: which window it is, of which job and ranks."""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .errors import SillError
from .system import cache_state

SUFFIX = ".sill"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FORMAT = 2
_BEGIN = re.compile(rb'\{"sill": 2, "crc32": "([0-9a-f]{8})"')  # the checksum is that of all behind this


@dataclass(frozen=True)
class Segment:
    """One rank's part of the file; bytes."""

    rank: int
    offset: int
    size: int
    resident: int | None = None  # None: the kernel can't tell
    dirty: int | None = None


@dataclass(frozen=True)
class Coarray:
    """Which coarray a file holds. Sizes are bytes."""

    name: str
    program: str
    image: int  # 0: of all images
    images: int
    size: int  # of one image
    team: str  # numbers of the teams it was allocated in, "" for the initial one
    state: str  # "fresh": not synced yet; "kept"; "freed": the program deallocated it
    offset: int | None = None  # in a file that holds all coarrays of an image


@dataclass(frozen=True)
class WindowFile:
    """A file that is a window, as its sidecar and the file system describe it. Sizes are bytes."""

    path: str
    job: str
    window: str
    created: datetime
    last_sync: datetime | None  # None: not synced since it was created
    unlink: bool
    segments: tuple[Segment, ...]
    exists: bool
    size: int | None  # of the whole file; None when it is gone
    allocated: int | None  # blocks that the file system gave it
    resident: int | None
    dirty: int | None
    coarray: Coarray | None = None
    coarrays: tuple[Coarray, ...] = ()  # of a file that holds all those of an image

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({segment.rank for segment in self.segments}))


class _NoSidecarError(SillError):
    """The sidecar isn't there, or not any more."""


def window_file(path: str | os.PathLike) -> WindowFile:
    """Describe one window's file, named by its own path or its sidecar's; raises SillError."""
    path = str(path)
    data_path = path[: -len(SUFFIX)] if path.endswith(SUFFIX) else path
    try:
        return _describe(data_path, Path(data_path + SUFFIX))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _NoSidecarError(_why_no_sidecar(data_path)) from error
    except OSError as error:
        raise _unreadable(error, path) from error


def window_files(
    folder: str | os.PathLike, recursive: bool = False, bad: Callable[[SillError], None] | None = None
) -> Iterator[WindowFile]:
    """All window files of a folder, by name.

    `bad` is told of each sidecar and folder that can't be read; without it the first one raises. What a running job
    removes meanwhile is left out.
    """
    root = Path(folder)
    if not root.is_dir():
        raise SillError(f"{root}: no such folder; name the folder of your windows, e.g. that of sill run --store")

    def complain(error: SillError) -> None:
        if bad is None:
            raise error
        bad(error)

    def unlisted(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            complain(_unreadable(error, str(root)))

    for where, folders, files in os.walk(root, onerror=unlisted):
        folders[:] = sorted(folders) if recursive else []
        for name in sorted(files):
            if not name.endswith(SUFFIX) or name == SUFFIX:
                continue
            try:
                found = window_file(os.path.join(where, name))
            except _NoSidecarError:
                continue
            except SillError as error:
                complain(error)
            else:
                yield found


def _describe(data_path: str, sidecar: Path) -> WindowFile:
    info = sidecar.stat()
    if not stat.S_ISREG(info.st_mode):
        raise FileNotFoundError(sidecar)
    content = _read(sidecar)
    try:
        window = content["window"]
        segments = [Segment(int(s["rank"]), int(s["offset"]), int(s["size"])) for s in window["segments"]]
        coarrays = tuple(_coarray(record) for record in content.get("coarrays", ()))
        own = coarrays[0] if coarrays and coarrays[0].offset is None else None
        if coarrays and not own:  # the segment is that of the last one
            rank = segments[0].rank
            segments = [Segment(rank, coarray.offset, coarray.size) for coarray in coarrays]
        created = _time(window["created"])
        return WindowFile(
            path=data_path,
            job=str(window["job"]),
            window=str(window["window"]),
            created=created,
            last_sync=_last_sync(created, info.st_mtime_ns),
            unlink=bool(window["unlink"]),
            coarray=own,
            coarrays=() if own else coarrays,
            **_measure(data_path, segments),
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise SillError(
            f"{sidecar}: not a sidecar that this Sill reads ({error!r}); remove it if it is stale"
        ) from error


def _coarray(record: dict) -> Coarray:
    texts = {key: str(record[key]) for key in ("name", "program", "team", "state")}
    numbers = {key: int(record[key]) for key in ("image", "images", "size", "offset") if key in record}
    return Coarray(**texts, **numbers)


def _why_no_sidecar(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return f"{path}: no such file; list a folder's windows with: sill ls {os.path.dirname(path) or '.'}"
    if stat.S_ISDIR(mode):
        return f"{path}: a folder; list its windows with: sill ls {path}"
    if stat.S_ISBLK(mode):
        return f"{path}: a block device; windows on devices have no {SUFFIX} file to show"
    return f"{path}: not a window, for there is no {path}{SUFFIX}; list windows with: sill ls DIR"


def _unreadable(error: OSError, path: str) -> SillError:
    return SillError(f"{error.filename or path}: {error.strerror}; look at it as the user who ran the job")


def _read(sidecar: Path) -> dict:
    """The sections of a record; format 1 had that of the window at the top."""
    data = sidecar.read_bytes()
    try:
        content = json.loads(data)
    except ValueError as error:
        raise SillError(f"{sidecar}: not JSON ({error}); remove it if it is stale") from error
    if isinstance(content, dict) and content.get("sill") == 1:
        coarrays = [content["coarray"]] if "coarray" in content else content.get("coarrays", [])
        return {"window": content, "coarrays": coarrays}
    if not isinstance(content, dict) or content.get("sill") != FORMAT:
        raise SillError(f"{sidecar}: not a sidecar of this Sill (format {FORMAT}); use the Sill that wrote it")
    begin = _BEGIN.match(data)
    if not begin or zlib.crc32(data[begin.end() :]) != int(begin[1], 16):
        raise SillError(f"{sidecar}: is damaged, for its checksum doesn't fit; remove it if it is stale")
    return content


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _last_sync(created: datetime, time_ns: int) -> datetime | None:
    """The time of a sidecar, unless it is still that of its creation, which some file systems cut to seconds."""
    created_ns = (created - _EPOCH) // timedelta(microseconds=1) * 1000
    if time_ns in (created_ns, *(created_ns - created_ns % unit for unit in (10**9, 2 * 10**9))):
        return None
    # Files get the time of a clock that ticks some hundred times a second, and may be that much behind.
    return max(created, _EPOCH + timedelta(microseconds=time_ns // 1000))


def _measure(path: str, segments: list[Segment]) -> dict:
    """What the file system and the page cache say of the file and its segments now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return _unmeasured(segments, exists=False)
    except PermissionError:
        info = os.stat(path)
        return {**_unmeasured(segments, exists=True), "size": info.st_size, "allocated": info.st_blocks * 512}
    try:
        info = os.fstat(fd)
        whole = cache_state(fd)
        measured = []
        for segment in segments:
            state = cache_state(fd, segment.offset, segment.size) if segment.size else None
            known = (state.resident, state.dirty) if state else ((0, 0) if whole else (None, None))
            measured.append(Segment(segment.rank, segment.offset, segment.size, *known))
    finally:
        os.close(fd)
    return {
        "segments": tuple(measured),
        "exists": True,
        "size": info.st_size,
        "allocated": info.st_blocks * 512,
        "resident": whole.resident if whole else None,
        "dirty": whole.dirty if whole else None,
    }


def _unmeasured(segments: list[Segment], exists: bool) -> dict:
    unknown = dict.fromkeys(("size", "allocated", "resident", "dirty"))
    return {"segments": tuple(segments), "exists": exists, **unknown}
