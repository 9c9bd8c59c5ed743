"""Launchers (mpiexec, srun, ...) and the binary family of the MPI behind each."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from . import mpis
from .errors import SillError

# What launchers leave in the environment of the ranks they start.
_RANK_VARIABLES = {"ompi": ("OMPI_COMM_WORLD_SIZE",), "mpich": ("PMI_SIZE", "HYDI_CONTROL_FD", "PMI_RANK")}


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
    if path is None:
        return None
    try:
        result = subprocess.run(
            [path, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = (result.stdout + result.stderr).lower()
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


def on_path() -> str | None:
    """The launcher a user would get: mpiexec, else mpirun."""
    return shutil.which("mpiexec") or shutil.which("mpirun")
