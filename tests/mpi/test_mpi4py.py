"""mpi4py programs get storage windows too, in the family that its wheel uses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "mpi4py_window.py"
ABIS = {"mpich": "mpich", "ompi": "openmpi", "mpiabi": "mpiabi"}


def test_mpi4py(mpi, launcher):
    spec = importlib.util.find_spec("mpi4py")
    if spec is None:
        pytest.skip("mpi4py is not installed")
    abi = ABIS[mpi.family]
    if not list(Path(spec.origin).parent.glob(f"MPI.{abi}.*.so")):
        pytest.skip(f"this mpi4py has no build for the family {mpi.family}")
    if not Path(mpi.library).name.startswith("libmpi.so"):
        pytest.skip(f"mpi4py's wheel needs libmpi.so.12, and {mpi.name} is {Path(mpi.library).name}")
    env = {"MPI4PY_MPIABI": abi, "MPI4PY_LIBMPI": mpi.library, "LD_LIBRARY_PATH": str(Path(mpi.library).parent)}
    outcome = launcher.run(mpi, [sys.executable, PROGRAM], 2, env=env)
    assert outcome.code == 0, outcome.text()
