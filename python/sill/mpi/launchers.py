"""Launchers (mpiexec, srun, ...) and the binary family of the MPI behind each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import SillError
from . import mpis, programs

# What launchers leave in the environment of the ranks they start.
_RANK_VARIABLES = {"ompi": ("OMPI_COMM_WORLD_SIZE",), "mpich": ("PMI_SIZE", "HYDI_CONTROL_FD", "PMI_RANK")}
_ANY_RANK_VARIABLES = ("PMIX_RANK", "PALS_RANKID", "FLUX_TASK_RANK")
# The programs of a launcher that are parents of its ranks.
_PARENTS = ("hydra", "mpiexec", "mpirun", "orted", "orterun", "prted", "prte", "prun", "prterun")


def words_of(mpiexec: str | None) -> list[str]:
    """The launcher that --mpiexec names, which must be there, and its options; empty where none is named."""
    words = programs.split(mpiexec, "--mpiexec") if mpiexec else []
    if words and shutil.which(words[0]) is None:
        raise SillError(f"{words[0]}: no such launcher; give its path with --mpiexec", 127)
    return words


def known_with(launcher: str | None) -> list[mpis.Mpi]:
    """The MPIs of this machine, and first that of a launcher, wherever it is installed."""
    path = shutil.which(launcher) if launcher else None
    own = [os.path.abspath(path), os.path.realpath(path)] if path else []
    return mpis.find(str(Path(name).parents[1]) for name in own)


def mpi_of(launcher: str, known: list[mpis.Mpi]) -> mpis.Mpi | None:
    """The MPI that a launcher belongs to; None for launchers of batch systems."""
    path = shutil.which(launcher)
    if path is None:
        return None
    same_file = [m for m in known if m.mpiexec and os.path.realpath(m.mpiexec) == os.path.realpath(path)]
    # PyPI's mpiexec and mpirun are copies of one file in each prefix: the folder counts then.
    same_folder = [m for m in known if m.mpiexec and Path(m.mpiexec).parent == Path(path).absolute().parent]
    named = [m for m in same_folder if m.mpiexec and Path(m.mpiexec).name == Path(path).name]
    for candidates in (named, same_file, [] if str(Path(path).parent) == "/usr/bin" else same_folder):
        if candidates:
            return candidates[0]
    return None


def family_of(launcher: str, known: list[mpis.Mpi]) -> str | None:
    """The family that programs of a launcher belong to, from where it lies or from what it says of itself."""
    mpi = mpi_of(launcher, known)
    if mpi:
        return mpi.family
    path = shutil.which(launcher)
    answer = mpis.ask(path, "--version") if path else None
    text = (answer.stdout + answer.stderr).lower() if answer else ""
    if any(word in text for word in ("open mpi", "openrte", "prrte", "prte")):
        return "ompi"
    if any(word in text for word in ("hydra", "mpich", "intel(r) mpi")):
        return "mpich"
    return None


def family_of_surroundings(environment: Mapping[str, str]) -> str | None:
    """The family of the launcher that started this process as a rank; None when none did."""
    for family, names in _RANK_VARIABLES.items():
        if any(name in environment for name in names):
            return family
    return None


def is_rank(environment: Mapping[str, str]) -> bool:
    """Whether a launcher has started this process."""
    return family_of_surroundings(environment) is not None or any(name in environment for name in _ANY_RANK_VARIABLES)


def mpi_above(known: list[mpis.Mpi]) -> mpis.Mpi | None:
    """The MPI whose launcher has started this rank: by the program that is its parent, else by that on $PATH."""
    family = family_of_surroundings(os.environ)
    fitting = [mpi for mpi in known if family is None or mpi.family == family]
    for program in _programs_above():
        if os.path.basename(program).startswith(_PARENTS):
            folders = [os.path.realpath(mpi.prefix) for mpi in fitting]
            for mpi, folder in zip(fitting, folders):
                if program.startswith(f"{folder}/"):
                    return mpi
    launcher = on_path()
    usual = mpi_of(launcher, fitting) if launcher else None
    return usual or next(iter(fitting), None)


def _programs_above() -> Iterator[str]:
    """The executables of the processes above this one, the nearest first."""
    process = os.getppid()
    while process > 1:
        try:
            program = os.readlink(f"/proc/{process}/exe")
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="surrogateescape") as file:
                above = int(file.read().rpartition(")")[2].split()[1])
        except OSError:  # another user's, or gone
            return
        yield program
        process = above


def choose(family: str, library: str | None, known: list[mpis.Mpi]) -> str:
    """The launcher for a program of `family` that uses libmpi at `library` (None: unknown).

    The one of the same installation, else the one on $PATH if it fits, else any of the family.
    """
    if library:
        real = os.path.realpath(library)
        for mpi in known:
            if mpi.mpiexec and os.path.realpath(mpi.library) == real:
                return mpi.mpiexec
    # MPICH's launcher serves both of its ABIs.
    fitting = (family, "mpich") if family == "mpiabi" else (family,)
    for name in ("mpiexec", "mpirun"):
        path = shutil.which(name)
        if path and family_of(path, known) in fitting:
            return path
    for mpi in known:
        if mpi.mpiexec and mpi.family in fitting:
            return mpi.mpiexec
    raise SillError(f"no launcher for programs of the {family} family found: name one with --mpiexec CMD")


def served_with(mpi: mpis.Mpi, known: list[mpis.Mpi]) -> list[mpis.Mpi]:
    """Those that have the same launcher: MPICH's serves both of its ABIs."""
    path = os.path.realpath(mpi.mpiexec or "")
    return [other for other in known if other.mpiexec and os.path.realpath(other.mpiexec) == path]


def check_fit(launcher: str, program: programs.Program, known: list[mpis.Mpi]) -> None:
    """Refuse a launcher that is known to belong to another MPI family than a program: its ranks would be alone."""
    own = mpi_of(launcher, known)
    # srun and others serve every MPI, wherever they lie.
    if own is None or not os.path.basename(launcher).startswith(_PARENTS):
        return
    served = {own.family, *(mpi.family for mpi in served_with(own, known))}
    # MPICH's launcher serves both of its ABIs.
    if program.family in served or (program.family == "mpiabi" and "mpich" in served):
        return
    try:
        advice = f"leave out --mpiexec, or give {choose(program.family, program.library, known)}"
    except SillError:
        advice = "give the launcher of the program's MPI"
    raise SillError(
        f"{program.path} belongs to the {program.family} family ({program.library or 'its library was not found'}), "
        f"{launcher} to {own.title} in {own.prefix}: its ranks would not find each other; {advice}"
    )


def on_path() -> str | None:
    """The launcher a user would get: mpiexec, else mpirun."""
    return shutil.which("mpiexec") or shutil.which("mpirun")
