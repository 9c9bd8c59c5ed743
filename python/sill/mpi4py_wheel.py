"""Which MPI a Python's mpi4py uses: the one it was built for, or for wheels the one it is told to load."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

from . import elf
from .errors import SillError
from .mpis import SONAMES, Mpi

# mpi4py's names of the ABIs, as in MPI4PY_MPIABI.
_FAMILIES = {"mpiabi": "mpiabi", "mpich": "mpich", "impi": "mpich", "openmpi": "ompi"}

_MODULES = """
import importlib.util, os
spec = importlib.util.find_spec("mpi4py")
for folder in spec.submodule_search_locations if spec else ():
    for name in sorted(os.listdir(folder)):
        if name.startswith("MPI.") and name.endswith(".so"):
            print(os.path.join(folder, name))
"""


@dataclass(frozen=True)
class Mpi4py:
    """What is known of a Python's mpi4py before it is imported; all empty when there is none."""

    family: str | None = None
    library: str | None = None
    wheel: bool = False


def inspect(python: str) -> Mpi4py:
    """Look at the modules of a Python's mpi4py, and at the user's choice in MPI4PY_LIBMPI and MPI4PY_MPIABI."""
    modules = _modules(python)
    if not modules:
        return Mpi4py()
    needed = elf.mpis_needed(modules[0])
    if len(modules) == 1 and needed:
        family, library = next(iter(needed.items()))
        return Mpi4py(family, library)
    if library := os.environ.get("MPI4PY_LIBMPI"):
        return Mpi4py(_family_of_library(library), library, wheel=True)
    choice = os.environ.get("MPI4PY_MPIABI", "").lower().replace("-", "").replace("_", "")
    return Mpi4py(_FAMILIES.get(choice), wheel=True)


def settings(module: Mpi4py, family: str, mpis: list[Mpi]) -> dict[str, str]:
    """The variables that make a wheel load the first of `mpis` that is of `family`; none when the user chose."""
    if not module.wheel or "MPI4PY_LIBMPI" in os.environ or "MPI4PY_MPIABI" in os.environ:
        return {}
    fitting = [mpi for mpi in mpis if mpi.family == family]
    if not fitting:
        return {}
    if os.path.basename(fitting[0].library).startswith("libmpich."):
        raise SillError(
            f"mpi4py's wheel can't load {fitting[0].library}, it asks for libmpi.so.12: use another MPI's mpiexec, "
            "or build mpi4py with this one's mpicc"
        )
    return {"MPI4PY_LIBMPI": fitting[0].library}


def _modules(python: str) -> list[str]:
    try:
        result = subprocess.run(
            [python, "-c", _MODULES], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return result.stdout.split("\n")[:-1] if result.returncode == 0 else []


def _family_of_library(path: str) -> str | None:
    try:
        soname = elf.read(path).soname
    except (OSError, elf.NotElfError) as error:
        raise SillError(f"MPI4PY_LIBMPI={path}: {error}; correct or unset it") from error
    return SONAMES.get(soname)
