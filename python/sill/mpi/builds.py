"""What of Sill is there for each MPI, built or installed: the libraries of the families, and the programs."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import SillError
from . import elf, launchers, mpis, programs
from .mpis import CHECKOUT, FAMILIES

_PACKAGE = Path(__file__).resolve().parents[1]

# Of the MPIs of a machine, those that a scenario for one MPI runs under, first come first.
PREFERRED = ("mpich5", "ompi5", "mpich4", "ompi4")


@dataclass(frozen=True)
class Target:
    """An MPI, how it starts ranks, and the folder with its build of the programs (None: installed ones)."""

    mpi: str
    version: str
    family: str
    launcher: tuple[str, ...]
    folder: Path | None
    libraries: Path | None  # folder; None: those that `sill preload` finds
    environment: dict[str, str] = field(default_factory=dict)
    oversubscribe: tuple[str, ...] = ()  # the launcher's options for more ranks than cores

    @property
    def title(self) -> str:
        return mpis.title(self.mpi, self.version)

    def start(self, ranks: int) -> list[str]:
        """The launcher's part of a command line."""
        crowded = ranks > len(os.sched_getaffinity(0))
        return [*self.launcher, *(self.oversubscribe if crowded else ()), "-n", str(ranks)]

    def library(self, program: Path | None = None) -> Path:
        """What is preloaded, for a program with coarrays another library."""
        front = "sill-caf" if program is not None and elf.coarrays(program) == "shared" else "sill"
        if self.libraries is None:
            return library(self.family, front)
        path = self.libraries / f"lib{front}-{self.family}.so"
        if not path.is_file():
            raise SillError(f"{path} isn't built: run make first, or name another folder with --build")
        return path

    def program(self, name: str) -> Path | None:
        """A program by its name or path; None where it isn't there for this MPI."""
        if "/" in name:
            return Path(name).absolute() if os.access(name, os.X_OK) else None
        if self.folder is not None:
            path = self.folder / name
            return path if path.is_file() else None
        return installed_program(name)


def library_folders() -> list[Path]:
    """Folders that may hold libsill-*.so, first come first: SILL_LIBRARY_DIR, the wheel's, the checkout's build."""
    if named := os.environ.get("SILL_LIBRARY_DIR"):
        return [Path(named).absolute()]
    return [_PACKAGE / "lib", CHECKOUT / "build" / "lib"]


def libraries(front: str = "sill") -> dict[str, Path]:
    """Family to library, for the families that are there; the front "sill-caf" has coarrays, too."""
    found: dict[str, Path] = {}
    for folder in library_folders():
        for family in FAMILIES:
            path = folder / f"lib{front}-{family}.so"
            if family not in found and path.is_file():
                found[family] = path
    return found


def library(family: str, front: str = "sill") -> Path:
    """The library to preload for a family."""
    found = libraries(front)
    if family in found:
        return found[family]
    places = " or ".join(str(folder) for folder in library_folders())
    have = f"; there is {', '.join(found)}" if found else ""
    raise SillError(
        f"no lib{front}-{family}.so in {places}{have}: build Sill where an MPI of this family has its headers, "
        "or set SILL_LIBRARY_DIR"
    )


def build_folder() -> Path | None:
    """The checkout's build; None for an installed Sill."""
    folder = CHECKOUT / "build"
    return folder if (folder / "bin").is_dir() else None


def installed_program(name: str) -> Path | None:
    """A program beside the `sill` command, with the other scripts of this Python, or on $PATH."""
    found = shutil.which(name, path=os.pathsep.join(_command_folders()))
    return Path(found) if found else None


def _command_folders() -> list[str]:
    beside = [os.path.dirname(os.path.abspath(sys.argv[0])), sysconfig.get_path("scripts")]
    return [*beside, *filter(None, os.environ.get("PATH", "").split(os.pathsep))]


def targets(names: Sequence[str], build: Path | None, mpiexec: str | None, needed: Sequence[str]) -> list[Target]:
    """Every MPI to measure under: those named, else all that are there. `needed`: programs, to know the installed ones.

    `mpiexec` is the user's launcher with its options; then there is one target.
    """
    build = build.resolve() if build else build_folder()
    words = launchers.words_of(mpiexec)
    known = launchers.known_with(words[0] if words else None)
    built = _built(build / "bin", build / "lib", known) if build else _installed_for_each(known)
    if words:
        return [_own_launcher(words, names, built, known, needed)]
    found = built or ({} if build else _installed(known, needed))
    chosen = []
    for name in names:
        if not _named(name, found):
            raise SillError(f"no MPI {name} here; choose of {', '.join(found) or 'none: install one'}", 2)
        chosen += _named(name, found)
    if not found:
        raise SillError("no MPI with a build of the programs: run make, or install sill's apps and name --mpiexec")
    return [found[name] for name in dict.fromkeys(chosen or found)]


def _named(name: str, found: dict[str, Target]) -> list[str]:
    return mpis.named(name, {own: target.version for own, target in found.items()})


def preferred(all_of_them: list[Target]) -> Target:
    """The one for scenarios that run under one MPI."""
    places = {kind: place for place, kind in enumerate(PREFERRED)}
    return min(all_of_them, key=lambda t: places.get(mpis.kind_of(t.mpi), len(PREFERRED)))


def _built(programs_folder: Path, libraries_folder: Path | None, known: list[mpis.Mpi]) -> dict[str, Target]:
    """The MPIs of this machine for which programs were built, in a folder each."""
    folder = programs_folder.resolve()
    there = [(mpi, own) for mpi in known if mpi.mpiexec and (own := _own_folder(folder, mpi))]
    return {mpi.name: _target(mpi, own, libraries_folder) for mpi, own in there}


def _own_folder(folder: Path, mpi: mpis.Mpi) -> Path | None:
    """Its folder of programs. When they were built there may have been another number of its kind, and it had another
    name."""
    names = (mpi.name, mpi.full_name, mpi.kind)
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def _installed_for_each(known: list[mpis.Mpi]) -> dict[str, Target]:
    """The same for what cmake --install put beside one of the folders with commands: libexec/sill/MPI."""
    for prefix in (Path(folder).parent for folder in _command_folders()):
        if (prefix / "libexec" / "sill").is_dir():
            own = next((path.parent for path in sorted(prefix.glob("lib*/**/libsill-*.so"))), None)
            return _built(prefix / "libexec" / "sill", own, known)
    return {}


def _target(mpi: mpis.Mpi, folder: Path | None, libraries_folder: Path | None) -> Target:
    return Target(
        mpi.name,
        mpi.version,
        mpi.family,
        (mpi.mpiexec or "mpiexec",),
        folder,
        libraries_folder,
        _as_root(mpi),
        tuple(mpi.oversubscribe),
    )


def _as_root(mpi: mpis.Mpi) -> dict[str, str]:
    """Open MPI refuses to run as root; who started a benchmark as root meant it."""
    return mpi.root_env if os.geteuid() == 0 else {}


def _installed(known: list[mpis.Mpi], needed: Sequence[str]) -> dict[str, Target]:
    """Installed programs are of one MPI: the first of them tells which."""
    for path in filter(None, map(installed_program, needed)):
        program = programs.find(str(path))
        if program.family is None:
            continue
        launcher = launchers.choose(program.family, program.library, known)
        mpi = launchers.mpi_of(launcher, known)
        if mpi is None:
            return {program.family: Target(program.family, "", program.family, (launcher,), None, None)}
        return {mpi.name: replace(_target(mpi, None, None), launcher=(launcher,))}
    return {}


def _own_launcher(
    launcher: list[str], names: Sequence[str], built: dict[str, Target], known: list[mpis.Mpi], needed: Sequence[str]
) -> Target:
    """The target of --mpiexec: its MPI is the one named, or the launcher's, or that of the installed programs."""
    if len(names) > 1:
        raise SillError("--mpiexec goes with one --mpi; name one", 2)
    own = launchers.mpi_of(launcher[0], known)
    chosen = _named(names[0], built) if names else [own.name] if own else []
    found = built.get(chosen[0]) if len(chosen) == 1 else None
    if found is None and len(built) == 1 and not names:
        found = next(iter(built.values()))
    if found is None and not built:
        found = next(iter(_installed(known, needed).values()), None)
    if found is None:
        there = ", ".join(built) or "none"
        raise SillError(f"{launcher[0]} doesn't tell which MPI's programs to run: add --mpi NAME (there: {there})", 2)
    environment = {**found.environment, **(_as_root(own) if own else {})}
    return replace(found, launcher=tuple(launcher), environment=environment, oversubscribe=())
