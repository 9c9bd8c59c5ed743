"""Windows of many large pages: placed where large pages fit, and reached without a detour through Sill."""

from __future__ import annotations

import pytest

RANKS = 2


def stay_as_they_are(mpi, allocation, words, ranks, launcher):
    if mpi.family == "ompi" and mpi.version.startswith("4."):
        pytest.skip("Open MPI 4 begins segments inside a page, so displacements are always translated")
    if mpi.family != "ompi" and mpi.version.startswith("4.") and allocation == "shared":
        pytest.skip("MPICH 4 maps shared windows at addresses drawn by lot")
    outcome = launcher.run(mpi, words, ranks, env={"SILL_LOG": "info"})
    assert outcome.code == 0, outcome.text()
    windows = [line for line in outcome.err.splitlines() if " path: " in line]
    assert len(windows) == ranks, outcome.text()
    assert not any("translated" in line for line in windows), outcome.text()


@pytest.mark.parametrize("allocation", ["allocate", "shared"])
def test_displacements_stay_as_they_are(mpi, launcher, scratch, allocation):
    words = ["sill-rma", "--window", "storage", "--store", scratch, "--allocation", allocation, "--ops", "put,get"]
    few = ["--window-bytes", "64m", "--sizes", "8", "--rounds", "1", "--budget-us", "1"]
    stay_as_they_are(mpi, allocation, [*words, *few], RANKS, launcher)


def test_displacements_stay_as_they_are_beside_ranks_without_bytes(mpi, launcher):
    """Also these must put the common segment somewhere else when it is asked for once more."""
    stay_as_they_are(mpi, "shared", ["shared_one"], 3, launcher)
