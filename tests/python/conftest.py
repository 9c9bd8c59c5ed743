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
from command_support import MPIS, PROGRAM, ROOT, mpis
from sill import cli


@pytest.fixture(scope="session")
def harness_environment() -> dict[str, str]:
    """The surroundings of every command here: no rules of the developer's, and what Open MPI wants as root."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SILL_", "MPI4PY_")) and k != "LD_PRELOAD"}
    if os.geteuid() == 0:
        for mpi in MPIS:
            kept.update(mpi.root_env)
    return {**kept, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "200"}


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
            command = [sys.executable, "-m", "sill", *words]
            more = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": 120}
            return subprocess.run(command, env=environment, cwd=cwd, **more)
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
def compile_c(tmp_path_factory):
    """Compile one C source text; returns the path of what came out."""

    def compile_source(source, *flags, cc="cc", name="program"):
        folder = tmp_path_factory.mktemp("compiled")
        file = folder / f"{name}.c"
        file.write_text(source)
        output = folder / name
        subprocess.run([cc, file, "-o", output, *map(str, flags)], check=True, timeout=60)
        return output

    return compile_source


@pytest.fixture(scope="session")
def stand_ins(compile_c, tmp_path_factory) -> Path:
    """A folder with a libsill-<family>.so for each family that does nothing: what is preloaded can be seen anyway."""
    folder = tmp_path_factory.mktemp("libraries")
    for family in mpis.FAMILIES:
        library = compile_c("int sill_stand_in;\n", "-shared", "-fPIC", name=f"libsill-{family}.so")
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
