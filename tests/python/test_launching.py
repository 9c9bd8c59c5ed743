"""What the tests' own launching makes of launchers that don't tell."""

from __future__ import annotations

from dataclasses import replace

import launching
import pytest
from bench_support import executable
from launching import MPIS, Job

ABORTS = "echo 'Abort(1285) on node 1: application called MPI_Abort' >&2"
KILLS_ITSELF = """echo '{"event": "kill", "rank": 1}'"""
IS_KILLED = "tail -f /dev/null & echo $!; wait"


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A job of an MPI of that version, whose launcher does something and ends with 0."""

    def start(version: str, does: str) -> Job:
        launcher = executable(tmp_path / "mpiexec", f"#!/bin/sh\n{does}\nexit 0\n")
        mpi = replace(MPIS[0], name="mpich4", version=version, family="mpich", mpiexec=str(launcher))
        monkeypatch.setattr(launching, "MPIS", [mpi])
        return Job(launching.command_line(mpi, 2, ["program"], []), {})

    return start


@pytest.mark.parametrize(
    ("version", "does", "code"),
    [("4.2.1", ABORTS, 5), ("4.2.1", KILLS_ITSELF, 9), ("4.2.1", "", 0), ("4.0.2", ABORTS, 0), ("4.2.3", ABORTS, 0)],
)
def test_a_launcher_that_loses_codes(started, version, does, code):
    with started(version, does) as job:
        assert job.finish().code == code


@pytest.mark.parametrize(("version", "code"), [("4.2.1", 9), ("4.0.2", 0)])
def test_a_launcher_that_loses_a_kill(started, version, code):
    with started(version, IS_KILLED) as job:
        with job.limited():
            pid = int(job.process.stdout.readline())
        job.kill_rank(pid)
        assert job.finish().code == code
