"""What Sill's build knows: the hint table, and through ctypes what its library tells without MPI."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .errors import SillError
from .mpi import builds

ABI = 1  # SILL_ABI of the sill.h that the structures below follow
_MEDIA = (None, "memory", "solid state", "rotational")
_ANSWERS = {0: False, 1: True}


@dataclass(frozen=True)
class Hint:
    """One MPI_Info key; texts are "" where there is nothing to say."""

    of: str  # "window" or "communicator"
    key: str
    values: str
    default: str
    unit: str
    aliases: tuple[str, ...]
    help: str
    collective: bool  # all ranks must give the same value


@dataclass(frozen=True)
class Store:
    """The store under a path, as sill_store_query describes it; None where the system can't tell."""

    file_system: str
    source: str
    mount_point: str
    device: str
    identity: str
    capacity_bytes: int
    available_bytes: int
    block_bytes: int
    medium: str | None
    shared: bool | None
    served: bool
    read_only: bool
    dax: bool | None
    reflink: bool | None
    direct_io: bool | None


class StoreInfo(ctypes.Structure):
    """sill_store_info."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("file_system", ctypes.c_char * 32),
        ("source", ctypes.c_char * 256),
        ("mount_point", ctypes.c_char * 256),
        ("device", ctypes.c_char * 64),
        ("identity", ctypes.c_char * 256),
        ("capacity_bytes", ctypes.c_uint64),
        ("available_bytes", ctypes.c_uint64),
        ("block_bytes", ctypes.c_uint64),
        ("medium", ctypes.c_int),
        ("shared", ctypes.c_int),
        ("served", ctypes.c_int),
        ("read_only", ctypes.c_int),
        ("dax", ctypes.c_int),
        ("reflink", ctypes.c_int),
        ("direct_io", ctypes.c_int),
    )

    def store(self) -> Store:
        texts = ("file_system", "source", "mount_point", "device", "identity")
        numbers = ("capacity_bytes", "available_bytes", "block_bytes")
        answers = ("shared", "dax", "reflink", "direct_io")
        return Store(
            **{name: os.fsdecode(getattr(self, name)) for name in texts},
            **{name: getattr(self, name) for name in numbers},
            **{name: _ANSWERS.get(getattr(self, name)) for name in answers},
            medium=_MEDIA[self.medium],
            served=bool(self.served),
            read_only=bool(self.read_only),
        )


def hints() -> list[Hint]:
    """All hints, in the table's order."""
    path = _hint_table()
    try:
        return [Hint(**{**row, "aliases": tuple(row["aliases"])}) for row in json.loads(path.read_text())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SillError(f"{path}: not the hint table of this Sill ({error}); run make, or reinstall Sill") from error


def query(path: str | os.PathLike) -> Store:
    """Describe the store under a file, directory or block device, which must exist."""
    library = _any_library("sill_store_query")
    info = StoreInfo(size=ctypes.sizeof(StoreInfo))
    if library.sill_store_query(os.fsencode(path), ctypes.byref(info)) != 0:
        raise SillError(f"{error_text(library)}; check the path and who may reach it")
    return info.store()


def check_rule(rule: str) -> None:
    """Check a value of SILL_WINDOWS, and sill.toml, as a window would. Nothing where no library can be used, as on a
    node without the MPI library of the only one: there the program's windows are the first that can tell."""
    try:
        library = _any_library("sill_check_rule")
    except SillError:
        return
    if library.sill_check_rule(os.fsencode(rule)) != 0:
        raise SillError(f"{error_text(library)}; see: sill hints")


def check_abi(library: ctypes.CDLL, path: str) -> None:
    """Refuse a library whose structures may be others."""
    abi = library.sill_abi() if hasattr(library, "sill_abi") else "none"
    if abi != ABI:
        raise SillError(
            f"{path}: its SILL_ABI is {abi}, this command's is {ABI}: one is of another Sill; build or install both "
            "anew, or name the folder of this one's libraries in SILL_LIBRARY_DIR"
        )


def error_text(library: ctypes.CDLL) -> str:
    """The text of the last error of a library."""
    library.sill_error_string.restype = ctypes.c_char_p
    return os.fsdecode(library.sill_error_string())


def _hint_table() -> Path:
    """hints.json, made by the build from the table in src/base."""
    folders = builds.library_folders()
    places = [*(folder.parent / "hints.json" for folder in folders), *(folder / "hints.json" for folder in folders)]
    for path in places:
        if path.is_file():
            return path
    raise SillError(f"no hints.json in {' or '.join(str(p.parent) for p in places)}: run make, or reinstall Sill")


def _any_library(function: str) -> ctypes.CDLL:
    """A library of any family that has this function, which needs no MPI; Open MPI's last, for it brings an MPI library
    with it."""
    found = builds.libraries()
    return _load(builds.library(next((f for f in ("mpich", "mpiabi", "ompi") if f in found), "mpich")), function)


@cache
def _load(path: Path, function: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        check_abi(library, str(path))
        getattr(library, function)
    except (OSError, AttributeError) as error:
        raise SillError(f"{path} can't be used: {error}; build or install Sill anew") from error
    return library
