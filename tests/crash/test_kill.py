"""kill -9 of a random rank at random moments, 50 times in all: what a completed sync covered is in the files.

What is simulated: the death of processes. The page cache survives it, so this shows that no state of Sill's that
matters lives in the processes, and that a job can go on after another's death. Power cuts are in test_power_cut.py.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import time

import generations
import pytest
from launching import MPIS, PAUSE_S, TIMEOUT_S

RANKS = 3
KILLS = 50
KILLS_EACH = max(1, -(-KILLS // max(1, len(MPIS) * len(generations.LAYOUTS))))


def wait_for(job, log, ranks, least) -> None:
    """Until every rank has noted that generation."""
    deadline = time.monotonic() + TIMEOUT_S
    while min(noted := generations.synced(log, ranks)) < least:
        assert time.monotonic() < deadline, f"after {TIMEOUT_S} s the ranks have noted {noted}, not all {least}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(timeout=PAUSE_S)
            raise AssertionError(job.finish(10).text())


def kill_a_rank(job, chance) -> None:
    pids = job.pids("generations")
    assert len(pids) == RANKS, f"processes of the job: {pids}"
    job.kill_rank(chance.choice(pids))


@pytest.mark.parametrize("layout", generations.LAYOUTS, ids=lambda layout: layout.name)
def test_kill(mpi, launcher, scratch, layout):
    chance = random.Random(f"{mpi.name} {layout.name}")
    store, log = scratch / "store", scratch / "log"
    store.mkdir()
    for _ in range(KILLS_EACH):
        words = ["generations", log, str(generations.NEVER_ENDING), *layout.words(store)]
        with launcher.start(mpi, words, RANKS) as job:
            wait_for(job, log, RANKS, min(generations.synced(log, RANKS)) + chance.randint(1, 5))
            # Anywhere in the writing, the syncing or between them.
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.process.wait(timeout=chance.uniform(0, 0.05))
            kill_a_rank(job, chance)
            outcome = job.finish(60)
            assert outcome.code not in (0, None), outcome.text()
        done = generations.synced(log, RANKS)
        generations.check(layout, store, done, done)
    # A last job goes on from there and ends in peace.
    last = max(generations.synced(log, RANKS)) + 3
    outcome = launcher.run(mpi, ["generations", log, str(last), *layout.words(store)], RANKS)
    assert outcome.code == 0, outcome.text()
    assert generations.synced(log, RANKS) == [last] * RANKS
    generations.check(layout, store, [last] * RANKS, [last - 1] * RANKS)
