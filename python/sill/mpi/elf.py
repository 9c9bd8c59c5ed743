"""What an ELF program needs: its NEEDED libraries and theirs, found as the dynamic loader would find them."""

from __future__ import annotations

import functools
import mmap
import os
import re
import struct
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass

from .mpis import SONAMES, ask

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 14, 15, 29


class NotElfError(ValueError):
    """The file isn't an ELF file, or a broken one."""


@dataclass(frozen=True)
class Elf:
    """The dynamic section of one file. Static programs have `dynamic` False and nothing else."""

    path: str
    bits: int
    dynamic: bool
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


@dataclass(frozen=True)
class Needed:
    """One library of a closure; path is None when it wasn't found."""

    name: str
    path: str | None


def is_elf(path: str | os.PathLike) -> bool:
    """Whether the file starts as an ELF file does."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def read(path: str | os.PathLike) -> Elf:
    """Read the dynamic section; raises NotElfError or OSError."""
    if os.path.getsize(path) < 64 or not is_elf(path):
        raise NotElfError(f"{path}: not an ELF file")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            return _parse(str(path), data)
    except (struct.error, OverflowError) as error:
        raise NotElfError(f"{path}: a broken ELF file") from error


def closure(path: str | os.PathLike) -> Iterator[Needed]:
    """The libraries that a program needs, breadth first, each name once."""
    program = read(path)
    seen = set()
    queue = [(program, program.rpath)]
    while queue:
        elf, inherited = queue.pop(0)
        for name in elf.needed:
            if name in seen:
                continue
            seen.add(name)
            found = _resolve(name, elf, inherited)
            yield Needed(name, found.path if found else None)
            if found:
                # RPATHs are handed down to what a library needs, RUNPATHs aren't.
                queue.append((found, inherited + found.rpath))


def mpis_needed(path: str | os.PathLike) -> dict[str, str | None]:
    """The MPI families in a program's closure, each with the libmpi that was found for it."""
    found: dict[str, str | None] = {}
    for needed in closure(path):
        if family := SONAMES.get(needed.name):
            found.setdefault(family, needed.path)
    return found


def coarrays(path: str | os.PathLike) -> str | None:
    """How a program has its coarrays: "shared" with OpenCoarrays' shared library, "static" with OpenCoarrays' functions
    in the program itself, None without any (or none that can be seen, in a stripped program or a script)."""
    if not is_elf(path):
        return None
    if any(needed.name.startswith("libcaf_") for needed in closure(path)):
        return "shared"
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        return "static" if data.find(b"\0_gfortran_caf_register\0") >= 0 else None


def _parse(path: str, data: mmap.mmap) -> Elf:
    bits = {1: 32, 2: 64}.get(data[4], 0)
    order = {1: "<", 2: ">"}.get(data[5], "")
    if not bits or not order:
        raise NotElfError(f"{path}: an ELF file of unknown class")
    word = "Q" if bits == 64 else "I"
    phoff = struct.unpack_from(order + word, data, 32 if bits == 64 else 28)[0]
    phentsize, phnum = struct.unpack_from(order + "HH", data, 54 if bits == 64 else 42)
    loads, dynamic = [], None
    for number in range(phnum):
        kind, offset, address, size = _program_header(data, phoff + number * phentsize, bits, order)
        if kind == _PT_LOAD:
            loads.append((address, offset, size))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, size)
    if dynamic is None:
        return Elf(path, bits, dynamic=False)
    entry = struct.Struct(order + word * 2)
    entries = list(entry.iter_unpack(data[dynamic[0] : dynamic[0] + dynamic[1] // entry.size * entry.size]))
    table = next((value for tag, value in entries if tag == _DT_STRTAB), None)
    if table is None:
        return Elf(path, bits, dynamic=True)
    strings = next((table - address + offset for address, offset, size in loads if 0 <= table - address < size), table)

    def texts(wanted: int) -> tuple[str, ...]:
        starts = [strings + value for tag, value in entries if tag == wanted]
        ends = [data.find(b"\0", start) for start in starts]
        if -1 in ends:
            raise NotElfError(f"{path}: a broken ELF file")
        return tuple(data[start:end].decode(errors="surrogateescape") for start, end in zip(starts, ends))

    origin = os.path.dirname(os.path.realpath(path))

    def folders(wanted: int) -> tuple[str, ...]:
        return tuple(
            re.sub(r"\$ORIGIN\b|\$\{ORIGIN\}", lambda _: origin, folder)
            for text in texts(wanted)
            for folder in text.split(":")
            if folder
        )

    soname = next(iter(texts(_DT_SONAME)), "")
    return Elf(path, bits, True, soname, texts(_DT_NEEDED), folders(_DT_RPATH), folders(_DT_RUNPATH))


def _program_header(data: mmap.mmap, at: int, bits: int, order: str) -> tuple[int, int, int, int]:
    """Type, file offset, virtual address and size in the file of a program header."""
    if bits == 64:
        kind, _, offset, address, _, size = struct.unpack_from(order + "IIQQQQ", data, at)
    else:
        kind, offset, address, _, size = struct.unpack_from(order + "IIIII", data, at)
    return kind, offset, address, size


def _resolve(name: str, elf: Elf, inherited: tuple[str, ...]) -> Elf | None:
    """The library `name` as needed by `elf`, in the loader's order; a file of the other word size doesn't count."""
    if "/" in name:
        return _fitting(name, elf.bits)
    folders = [] if elf.runpath else list(elf.rpath + inherited)
    folders += [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders += elf.runpath
    candidates = [os.path.join(folder, name) for folder in folders]
    candidates += _loader_cache().get(name, [])
    candidates += [os.path.join(folder, name) for folder in _default_folders()]
    return next((found for path in candidates if (found := _fitting(path, elf.bits))), None)


def _fitting(path: str, bits: int) -> Elf | None:
    if not os.path.isfile(path):
        return None
    try:
        found = read(path)
    except (OSError, NotElfError):
        return None
    return found if found.bits == bits else None


@functools.lru_cache(maxsize=1)
def _loader_cache() -> dict[str, list[str]]:
    """What `ldconfig -p` lists: library name to paths. Empty where there is no ldconfig (musl)."""
    for ldconfig in ("/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"):
        answer = ask(ldconfig, "-p")
        if answer and answer.returncode == 0:
            cache: dict[str, list[str]] = {}
            for name, path in re.findall(r"^\s*(\S+) \(.*\) => (.+)$", answer.stdout, re.M):
                cache.setdefault(name, []).append(path)
            return cache
    return {}


def _default_folders() -> list[str]:
    multiarch = sysconfig.get_config_var("MULTIARCH")
    folders = [f"/lib/{multiarch}", f"/usr/lib/{multiarch}"] if multiarch else []
    word = "64" if sys.maxsize > 2**32 else ""
    return [*folders, f"/lib{word}", f"/usr/lib{word}", "/lib", "/usr/lib"]
