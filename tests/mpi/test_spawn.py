"""MPI_Comm_spawn: children get the library and the rules, their windows have names of their own, and windows together
with ranks that may run without Sill are in memory."""

from __future__ import annotations

import shutil

import pytest
from launching import first_of, is_one_of, program

RANKS = 2
MPICH = first_of("mpich5")


@pytest.fixture
def spawning(mpi, launcher):
    outcome = launcher.run(mpi, ["spawn", program(mpi, "spawn")], RANKS, sill=False)
    if outcome.code != 0 and any(is_one_of(mpi, which) for which in ("mpich 4", "ompi 5.0.7")):
        pytest.skip(f"{mpi.name} can't spawn here, without Sill either")
    assert outcome.code == 0, outcome.text()
    return mpi


def names(folder):
    return sorted(path.name for path in folder.glob("w*") if path.suffix != ".sill")


def rule(folder):
    return {"SILL_WINDOWS": f"alloc_type=storage,storage_alloc_filename={folder}/w%w.%r"}


def test_children_are_as_their_parents(spawning, launcher, scratch):
    expected = {f"w{number}.{rank}" for number in range(5) for rank in range(RANKS)}
    for world, numbers in (("s0.1", (0, 1, 2)), ("s0.2", (0, 3, 4))):
        expected |= {f"w{world}-{number}.{rank}" for number in numbers for rank in range(2)}
    for _ in ("new", "restored"):
        outcome = launcher.run(spawning, ["spawn", program(spawning, "spawn")], RANKS, env=rule(scratch))
        assert outcome.code == 0, outcome.text()
        assert "sill" not in outcome.err, outcome.text()
        assert names(scratch) == sorted(expected), outcome.text()


def test_children_without_sill(spawning, launcher, scratch):
    """A program that gives rights isn't given libraries: the windows with its ranks are in memory, and that is said."""
    copy = shutil.copy(program(spawning, "spawn"), scratch / "copy")
    copy.chmod(0o4755)
    outcome = launcher.run(spawning, ["spawn", copy], RANKS, env=rule(scratch))
    assert outcome.code == 0, outcome.text()
    assert names(scratch) == ["w0.0", "w0.1"], outcome.text()
    said = [line for line in outcome.err.splitlines() if line.startswith("sill")]
    assert len([line for line in said if "can't be given Sill" in line]) == 2, outcome.text()
    # Each rank is the first of its world in one of the windows, and says so once.
    assert len([line for line in said if "may run without Sill" in line]) == RANKS, outcome.text()
    assert len(said) == 2 + RANKS, outcome.text()


@pytest.mark.skipif(not MPICH, reason="there is no MPICH 5; windows that are made so hang in Open MPI 5 itself")
def test_a_rank_that_meets_another_world_by_its_neighbour(launcher, scratch):
    """It has spawned nobody, and all together are no ranks of one spawn."""
    outcome = launcher.run(MPICH, ["spawn_bridge", program(MPICH, "spawn_bridge")], RANKS, env=rule(scratch))
    assert outcome.code == 0, outcome.text()
    assert names(scratch) == [], outcome.text()
