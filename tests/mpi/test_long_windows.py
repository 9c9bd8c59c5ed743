"""Windows of many large pages: placed where large pages fit, and reached without a detour through Sill."""

from __future__ import annotations

import pytest

RANKS = 2


@pytest.mark.parametrize("allocation", ["allocate", "shared"])
def test_displacements_stay_as_they_are(mpi, launcher, scratch, allocation):
    if mpi.family == "ompi" and mpi.version.startswith("4."):
        pytest.skip("Open MPI 4 begins segments inside a page, so displacements are always translated")
    if mpi.family != "ompi" and mpi.version.startswith("4.") and allocation == "shared":
        pytest.skip("MPICH 4 maps shared windows at addresses drawn by lot")
    words = ["sill-rma", "--window", "storage", "--store", scratch, "--allocation", allocation, "--ops", "put,get"]
    few = ["--window-bytes", "64m", "--sizes", "8", "--rounds", "1", "--budget-us", "1"]
    outcome = launcher.run(mpi, [*words, *few], RANKS, env={"SILL_LOG": "info"})
    assert outcome.code == 0, outcome.text()
    windows = [line for line in outcome.err.splitlines() if " path: " in line]
    assert len(windows) == RANKS, outcome.text()
    assert not any("translated" in line for line in windows), outcome.text()
