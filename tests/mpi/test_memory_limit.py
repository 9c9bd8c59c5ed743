"""`storage_alloc_factor=auto`: what exceeds the memory goes to storage. In a memory cgroup where that is allowed."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import disks
import pytest
from launching import PAUSE_S, SHARED_MEMORY

MIB = disks.MIB
LIMIT = 256 * MIB
RANKS = 2


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """A new memory cgroup, version 1 or 2, without processes."""
    disks.need_root()
    name = f"sill-test-{uuid.uuid4().hex[:8]}"
    v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    if (v1 / "memory.limit_in_bytes").exists():
        group, knob = v1 / name, "memory.limit_in_bytes"
    elif "memory" in (v2 / "cgroup.controllers").read_text().split() if (v2 / "cgroup.controllers").exists() else False:
        group, knob = v2 / name, "memory.max"
    else:
        pytest.skip("no memory cgroups here")
    try:
        group.mkdir()
        (group / knob).write_text(str(limit))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"memory cgroups can't be made here: {error}")
    try:
        yield group
    finally:
        # A group's last process may take a moment to go.
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            assert time.monotonic() < deadline, f"{group} is still in use"
            threading.Event().wait(PAUSE_S)


def stored(outcome) -> list[int]:
    assert outcome.code == 0, outcome.text()
    return [int(line.split()[1]) for line in outcome.out.splitlines() if line.startswith("storage ")]


def test_more_than_the_limit(mpi, launcher):
    """Two ranks ask for twice the limit: about 1 - 0.9 * limit / asked goes to storage, the same on both."""
    asked = LIMIT
    with memory_group(LIMIT) as group:
        enter = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        # Another job's promises would count where it had the same id.
        env = {"SILL_JOB_ID": uuid.uuid4().hex}
        shares = stored(launcher.run(mpi, ["automatic", str(asked)], RANKS, prefix=enter, env=env))
    assert len(shares) == RANKS
    assert max(shares) - min(shares) <= os.sysconf("SC_PAGESIZE")
    least = asked - 0.9 * LIMIT / RANKS
    assert least <= shares[0] < asked, shares  # the processes themselves need some of the limit


def test_less_than_the_memory(mpi, launcher):
    assert stored(launcher.run(mpi, ["automatic", str(MIB)], RANKS)) == [0] * RANKS


@pytest.mark.parametrize(
    ("kind", "size", "count", "rounds"), [("window", 16, 10, 2), ("memory", 16, 10, 2), ("self", 64, 1, 32)]
)
def test_many_that_are_not_touched(mpi, launcher, kind, size, count, rounds):
    """Together they get 90 % of the limit, also if made at the same moment; and so do as many after these."""
    limit = 48 * MIB
    env = {"SILL_MEMORY_LIMIT": str(limit), "SILL_JOB_ID": uuid.uuid4().hex}
    words = ["automatic_many", str(size * MIB), str(count), kind, str(rounds)]
    outcome = launcher.run(mpi, words, RANKS, env=env)
    assert outcome.code == 0, outcome.text()
    memory = [int(line.split()[1]) for line in outcome.out.splitlines() if line.startswith("memory ")]
    pages = count * RANKS * os.sysconf("SC_PAGESIZE")
    assert len(memory) == rounds, outcome.text()
    assert all(abs(each - 0.9 * limit) <= pages for each in memory), memory
    assert not list(SHARED_MEMORY.glob(f"*{env['SILL_JOB_ID']}*"))
