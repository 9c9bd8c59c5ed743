#!/usr/bin/env python3
"""Find the MPIs of this machine and the binary family of each.

The one place that knows where MPIs lie. Needs the standard library only and runs as a script, because CMake asks it
before anything is installed: `mpis.py --cmake [PREFIX...]` or `mpis.py --json [PREFIX...]`.

Looked at, in this order: prefixes given, $SILL_MPI_PREFIXES (a colon list), the checkout's .mpi/*, Debian's
/usr/bin/mpicc.<implementation>, $PATH, the prefix of the running Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

FAMILIES = ("mpiabi", "mpich", "ompi")

# What a program of a family has among its NEEDED entries; the number after .so decides between MPICH and Open MPI.
SONAMES = {
    "libmpi_abi.so.0": "mpiabi",
    "libmpi_abi.so.1": "mpiabi",
    "libmpich.so.12": "mpich",
    "libmpi.so.12": "mpich",
    "libmpi.so.40": "ompi",
}

CHECKOUT = Path(__file__).resolve().parents[3]

_IMPLEMENTATIONS = {"mpich": "MPICH", "ompi": "Open MPI", "intel": "Intel MPI", "mpiabi": "MPI ABI"}

# The endings of compiler wrappers and launchers: Debian's, the MPI-5 ABI's of MPICH, the plain one last, because on
# Debian it is a link to one of the others.
_ENDINGS = (".mpich", ".openmpi", "", "_abi")


@dataclass(frozen=True)
class Mpi:
    """One MPI installation in one of its ABIs; the paths are absolute."""

    name: str  # its kind; where there are two of a kind, with the whole version: ompi5.0.7, mpich5.0.2abi
    version: str
    family: str  # one of FAMILIES
    prefix: str
    include: str  # folder with mpi.h
    library: str  # its libmpi
    cc: str | None
    fc: str | None  # None when there is no wrapper or no Fortran compiler behind it
    mpiexec: str | None
    oversubscribe: list[str] = field(default_factory=list)  # options for more ranks than cores
    root_env: dict[str, str] = field(default_factory=dict)  # what it wants to run as root; for test harnesses only

    @property
    def kind(self) -> str:
        """Implementation and major version, e.g. mpich4, ompi5, mpich5abi."""
        return kind_of(self.name)

    @property
    def full_name(self) -> str:
        return _full_name(self.kind, self.version)

    @property
    def title(self) -> str:
        return title(self.name, self.version)

    @property
    def version_tuple(self) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", self.version))


def find(prefixes: Iterable[str] = ()) -> list[Mpi]:
    """All MPIs of this machine, each once, those of `prefixes` first."""
    found: list[Mpi] = []
    for folder in _bin_folders(prefixes):
        for ending in _ENDINGS:
            wrapper = folder / f"mpicc{ending}"
            mpi = _describe(wrapper, ending) if os.access(wrapper, os.X_OK) else None
            if mpi and not any(_same(mpi, other) for other in found):
                found.append(mpi)
    kinds = [mpi.name for mpi in found]
    return [replace(mpi, name=mpi.full_name) if kinds.count(mpi.name) > 1 else mpi for mpi in found]


def named(wanted: str, versions: Mapping[str, str]) -> list[str]:
    """Of these MPIs (names with their versions) those that a user means: the one called so, also by its whole version,
    or all of that kind."""
    called = [name for name, version in versions.items() if wanted in (name, _full_name(kind_of(name), version))]
    return called or [name for name in versions if kind_of(name) == wanted]


def kind_of(name: str) -> str:
    """ompi5 of ompi5.0.7, mpich5abi of mpich5.0.2abi."""
    return re.sub(r"^([a-z]+\d+).*?(abi)?$", r"\1\2", name)


def product(name: str, version: str) -> str:
    """What people call it: Open MPI 5.0.11."""
    return f"{_IMPLEMENTATIONS.get(re.sub(r'[^a-z].*', '', name), 'MPI')} {version}".strip()


def title(name: str, version: str) -> str:
    """The name, and what it stands for: ompi5 (Open MPI 5.0.11)."""
    return f"{name} ({product(name, version)})"


def _full_name(kind: str, version: str) -> str:
    match = re.match(r"([a-z]+)\d+(abi)?$", kind)
    return f"{match[1]}{version}{match[2] or ''}" if match else kind


def ask(*command: str | Path, timeout_s: int = 20) -> subprocess.CompletedProcess | None:
    """What a program answers; None when it can't be started or doesn't end."""
    try:
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired):
        return None


def headers(mpis: Iterable[Mpi]) -> dict[str, Mpi]:
    """For each family the MPI whose headers its library is built with.

    The oldest that has large counts (MPICH 4.0) or a stable ABI (Open MPI 4.1): a library built with it runs on newer
    ones as well; the other way round nobody promises.
    """
    oldest = {"mpich": (4, 0), "ompi": (4, 1), "mpiabi": (0,)}
    chosen: dict[str, Mpi] = {}
    for family in FAMILIES:
        candidates = sorted((m for m in mpis if m.family == family), key=lambda m: m.version_tuple)
        good = [m for m in candidates if m.version_tuple >= oldest[family]]
        if candidates:
            chosen[family] = good[0] if good else candidates[-1]
    return chosen


def cmake_text(mpis: list[Mpi]) -> str:
    """The variables that cmake/Families.cmake describes."""
    chosen = headers(mpis)
    lines = [_set("SILL_FAMILIES", ";".join(chosen)), _set("SILL_DEFAULT_FAMILY", _default_family(mpis, chosen))]
    for family, mpi in chosen.items():
        include = mpi.include
        if family == "mpiabi":
            # MPICH keeps the ABI's header beside its own mpi.h; as a folder's mpi.h it can be included as any other.
            include = "${PROJECT_BINARY_DIR}/mpi-abi"
            lines += [
                f'file(MAKE_DIRECTORY "{include}")',
                f'file(CREATE_LINK "{_quoted(mpi.include)}/mpi_abi.h" "{include}/mpi.h" SYMBOLIC)',
                f'set(SILL_mpiabi_INCLUDE "{include}")',
            ]
        else:
            lines.append(_set(f"SILL_{family}_INCLUDE", include))
        lines.append(_set(f"SILL_{family}_LIBRARY", mpi.library))
    usable = [mpi for mpi in mpis if mpi.cc]
    lines.append(_set("SILL_MPIS", ";".join(mpi.name for mpi in usable)))
    for mpi in usable:
        for key, value in _cmake_values(mpi).items():
            lines.append(_set(f"SILL_MPI_{mpi.name}_{key}", value or ""))
    return "\n".join(lines) + "\n"


def _cmake_values(mpi: Mpi) -> dict[str, str | None]:
    return {"CC": mpi.cc, "FC": mpi.fc, "FAMILY": mpi.family, "VERSION": mpi.version, "LIBRARY": mpi.library}


def _default_family(mpis: list[Mpi], chosen: dict[str, Mpi]) -> str:
    """The family of the mpicc on $PATH, else the first."""
    command = _show(Path(path)) if (path := shutil.which("mpicc")) else []
    for mpi in mpis:
        if mpi.cc and command and _show(Path(mpi.cc)) == command:
            return mpi.family
    return next(iter(chosen), "")


def _set(name: str, value: str) -> str:
    return f'set({name} "{_quoted(value)}")'


def _quoted(value: str) -> str:
    return re.sub(r'(["\\$])', r"\\\1", value)


def _same(one: Mpi, other: Mpi) -> bool:
    """Whether these are one MPI found twice, or the same release in two places."""
    return (one.name, one.version) == (other.name, other.version)


def _bin_folders(prefixes: Iterable[str]) -> Iterator[Path]:
    """Folders that may hold compiler wrappers, each once."""
    roots = [Path(prefix) / "bin" for prefix in prefixes]
    roots += [Path(p) / "bin" for p in os.environ.get("SILL_MPI_PREFIXES", "").split(":") if p]
    roots += [path / "bin" for path in sorted((CHECKOUT / ".mpi").glob("*"))]
    roots += [Path("/usr/bin")]
    roots += [Path(p) for p in os.environ.get("PATH", "").split(":") if p]
    roots += [Path(sys.prefix) / "bin"]
    seen = set()
    for root in roots:
        real = os.path.realpath(root)
        if real not in seen and os.path.isdir(real):
            seen.add(real)
            yield root.absolute()


def _describe(wrapper: Path, ending: str) -> Mpi | None:
    """What a compiler wrapper stands for; None when it isn't one of an MPI that Sill knows."""
    command = _show(wrapper)
    include = _first_with("mpi.h", [*_flags(command, "-I"), str(wrapper.parent.parent / "include")])
    if include is None:
        return None
    family, name, version = _identify(Path(include), "-lmpi_abi" in command)
    library = _find_library(family, _flags(command, "-L") + _library_folders(wrapper.parent.parent))
    if library is None:
        return None
    sibling = "" if ending == "_abi" else ending
    fc = wrapper.with_name(f"mpifort{ending}")
    mpiexec = wrapper.with_name(f"mpiexec{sibling}")
    return Mpi(
        name=name,
        version=version,
        family=family,
        prefix=str(wrapper.parent.parent),
        include=include,
        library=library,
        cc=str(wrapper) if command and shutil.which(command[0]) else None,
        fc=str(fc) if _has_compiler(fc) else None,
        mpiexec=str(mpiexec) if os.access(mpiexec, os.X_OK) else None,
        **_launcher_quirks(family, version),
    )


def _launcher_quirks(family: str, version: str) -> dict:
    if family != "ompi":
        return {"oversubscribe": [], "root_env": {}}
    old = int(version.split(".")[0]) < 5
    names = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]
    if not old:
        names += ["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"]
    return {
        "oversubscribe": ["--oversubscribe"] if old else ["--map-by", ":OVERSUBSCRIBE"],
        "root_env": dict.fromkeys(names, "1"),
    }


def _show(wrapper: Path) -> list[str]:
    """The command line a wrapper would run; MPICH's and Open MPI's both take -show. Empty when it says nothing."""
    answer = ask(wrapper, "-show")
    return shlex.split(answer.stdout) if answer and answer.returncode == 0 else []


def _has_compiler(wrapper: Path) -> bool:
    if not os.access(wrapper, os.X_OK):
        return False
    command = _show(wrapper)
    return bool(command) and shutil.which(command[0]) is not None


def _flags(command: list[str], flag: str) -> list[str]:
    return [word[len(flag) :] for word in command if word.startswith(flag) and len(word) > len(flag)]


def _first_with(name: str, folders: Iterable[str]) -> str | None:
    return next((folder for folder in folders if os.path.isfile(os.path.join(folder, name))), None)


def _identify(include: Path, abi: bool) -> tuple[str, str, str]:
    """Family, name and version that the headers tell."""
    text = (include / "mpi.h").read_text(errors="replace")
    if match := re.search(r'^#define\s+MPICH_VERSION\s+"([^"]+)"', text, re.M):
        version = match[1]
        # Intel MPI says what it is beside the MPICH it is made from.
        intel = re.search(r'^#define\s+I_MPI_VERSION\s+"([^"]+)"', text, re.M)
        name = f"intel{intel[1].split('.')[0]}" if intel else f"mpich{version.split('.')[0]}"
        version = intel[1] if intel else version
        return ("mpiabi", f"{name}abi", version) if abi else ("mpich", name, version)
    parts = [re.search(rf"^#define\s+OMPI_{p}_VERSION\s+(\d+)", text, re.M) for p in ("MAJOR", "MINOR", "RELEASE")]
    if all(parts):
        version = ".".join(part[1] for part in parts if part)
        name = f"ompi{version.split('.')[0]}"
        return ("mpiabi", f"{name}abi", version) if abi else ("ompi", name, version)
    return "mpiabi", "mpiabi", "1"


def _library_folders(prefix: Path) -> list[str]:
    arch = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
    folders = [prefix / "lib", prefix / "lib64", prefix / "lib" / "release"]
    if str(prefix) == "/usr":
        folders.append(Path("/usr/lib") / arch)
    return [str(folder) for folder in folders]


def _find_library(family: str, folders: Iterable[str]) -> str | None:
    folders = list(folders)
    for soname in (name for name, of in SONAMES.items() if of == family):
        if folder := _first_with(soname, folders):
            return os.path.join(folder, soname)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description="List the MPIs of this machine and their binary families.")
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--cmake", action="store_true", help="as CMake variables")
    form.add_argument("--json", action="store_true", help="as a JSON list")
    parser.add_argument("prefixes", nargs="*", help="prefixes to look into first")
    arguments = parser.parse_args()
    mpis = find(arguments.prefixes)
    if arguments.cmake:
        sys.stdout.write(cmake_text(mpis))
    else:
        print(json.dumps([asdict(mpi) for mpi in mpis], indent=2))


if __name__ == "__main__":
    main()
