"""What the tests of the command share: running it as a user would, tiny programs, stand-ins for the libraries."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from bench_support import fake_target
from command_support import MPIS, PROGRAM, ROOT, mpis, run_job
from launching import surroundings
from sill import cli
from sill.mpi.builds import Target


@pytest.fixture(scope="session")
def harness_environment() -> dict[str, str]:
    """The surroundings of every command here: those of a job under any of the MPIs, which it finds as the tests do."""
    environment = {"PYTHONPATH": str(ROOT / "python"), "COLUMNS": "200"}
    environment["SILL_MPI_PREFIXES"] = os.environ.get("SILL_MPI_PREFIXES", "")
    for mpi in MPIS:
        environment = surroundings(mpi, environment)
    return environment


@pytest.fixture
def sill(harness_environment):
    """Run the command; returns its exit code and texts, as subprocess.run does.

    `sill run` becomes the launcher, so it has a process of its own. The others run here, for a start of Python and of
    the command's libraries takes far longer than what is tested.
    """

    def run(*arguments, env=None, cwd=None):
        words = [str(argument) for argument in arguments]
        environment = {**harness_environment, **(env or {})}
        if words[:1] == ["run"]:
            return run_job([sys.executable, "-m", "sill", *words], environment, cwd)
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, environment, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = cli.main(words)
        return subprocess.CompletedProcess(["sill", *words], code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def stand_ins(compile_c, tmp_path_factory) -> Path:
    """A folder with a libsill-<family>.so for each family that does nothing: what is preloaded can be seen anyway."""
    folder = tmp_path_factory.mktemp("libraries")
    for family in mpis.FAMILIES:
        for front in ("sill", "sill-caf"):
            library = compile_c("int sill_stand_in;\n", "-shared", "-fPIC", name=f"lib{front}-{family}.so")
            library.rename(folder / library.name)
    return folder


@pytest.fixture(scope="session")
def mpi_program(compile_c):
    """PROGRAM, compiled once for each MPI asked for."""
    made: dict[str, Path] = {}

    def program(mpi: mpis.Mpi) -> Path:
        if mpi.name not in made:
            made[mpi.name] = compile_c(PROGRAM, cc=mpi.cc)
        return made[mpi.name]

    return program


@pytest.fixture
def target(tmp_path, stand_ins) -> Target:
    """Where `sill bench` finds fake programs."""
    return fake_target(tmp_path / "build", stand_ins)


@pytest.fixture
def log(tmp_path, monkeypatch) -> Path:
    """What they were started with, for started()."""
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    return tmp_path / "log"
