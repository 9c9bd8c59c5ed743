"""`sill stage-out` and `sill stage-in`: how they start sill-stage. What that does: tests/mpi/test_neighborhoods.py."""

from __future__ import annotations

import shlex

import pytest
from command_support import BUILD, MPIS, run_job
from sill import stage
from sill.mpi import builds

MPI = MPIS[0]


@pytest.fixture
def here(monkeypatch) -> None:
    monkeypatch.setattr(builds, "build_folder", lambda: BUILD)


def test_the_program_of_the_launchers_mpi_is_started(sill, stand_ins, here):
    done = sill(
        *("stage-out", "/near/%h/f", "/far/f", "-n", "3", "--mpiexec", MPI.mpiexec, "--no-verify", "--dry-run"),
        env={"SILL_LIBRARY_DIR": str(stand_ins)},
    )
    assert done.returncode == 0, done.stderr
    words = shlex.split(done.stdout)
    assert words[:4] == [MPI.mpiexec, "-n", "3", "env"]
    program = words.index(str(BUILD / "bin" / MPI.name / "sill-stage"))
    assert f"LD_PRELOAD={stand_ins}/libsill-{MPI.family}.so" in words[4:program]
    assert words[program + 1 :] == ["--near", "/near/%h/f", "--file", "/far/f", "--no-verify", "out"]


def test_stage_in_says_how_records_look(sill, stand_ins, here):
    more = ["--values", "4,8", "--chunk", "7", "--split", "exhaustive", "--json", "-"]
    done = sill("stage-in", "n", "f", *more, "--dry-run", env={"SILL_LIBRARY_DIR": str(stand_ins)})
    assert done.returncode == 0, done.stderr
    assert shlex.split(done.stdout)[-13:] == ["--near", "n", "--file", "f", *more, "in"]


def test_without_the_program_it_is_said(sill, monkeypatch):
    monkeypatch.setattr(builds, "build_folder", lambda: None)
    monkeypatch.setattr(builds, "installed_program", lambda name: None)
    done = sill("stage-out", "n", "f")
    assert done.returncode == 1
    assert "install sill's apps" in done.stderr


def test_it_runs(harness_environment, here, monkeypatch, tmp_path):
    """The command line starts the program: an error of it comes through."""
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(BUILD / "lib"))
    words = stage.command("out", f"{tmp_path}/near", f"{tmp_path}/far", 1, MPI.mpiexec, [])
    done = run_job(words, harness_environment)
    assert done.returncode != 0
    assert f"{tmp_path}/near: No such file or directory" in done.stdout + done.stderr
