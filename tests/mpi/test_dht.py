"""sill-dht finds what it inserted: under every window, in another run, and after a kill at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import struct
import time
from pathlib import Path

import pytest
from launching import MPIS

WORD = 2**64 - 1
HEADER = struct.Struct("<9Q")  # magic, seed, volume, heap cells, keys, ranks, rank, synced, cells used
BUCKETS_AT = 4096
SEED, VOLUME, KEYS = 1, 2000, 1600
SYNC_EVERY = 40


def environment(mpi, window: str) -> dict[str, str]:
    """Open MPI 4's osc/rdma crashes in MPI_Compare_and_swap on the windows it allocates, also without Sill."""
    return {"OMPI_MCA_osc": "^rdma"} if (mpi.kind, window) == ("ompi4", "memory") else {}


def volume_for(mpi, ranks: int) -> str:
    """MPICH 4 swaps by messages, which wait for a rank that isn't on a core: milliseconds for each key."""
    return "100" if mpi.kind == "mpich4" and ranks > 2 else str(VOLUME)


def command(store: Path, window: str, *arguments: str) -> list[str | Path]:
    return ["sill-dht", "--window", window, "--store", store, "--quiet", *arguments]


def key_of(number: int) -> int:
    """The key of a number, as the program's documentation has it: splitmix64."""
    z = (SEED + (number + 1) * 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def synced(store: Path, rank: int) -> int:
    """How many keys of a rank the last sync covered: what its file says, at any time."""
    try:
        with (store / f"dht-buckets.{rank}").open("rb") as file:
            header = HEADER.unpack(file.read(HEADER.size))
    except (FileNotFoundError, struct.error):  # not yet made, or not yet grown
        return 0
    return header[7] if header[0] else 0


def keys_in(store: Path, rank: int) -> set[int]:
    """The keys that can be reached in a rank's files."""
    buckets = (store / f"dht-buckets.{rank}").read_bytes()[BUCKETS_AT:]
    heap = (store / f"dht-heap.{rank}").read_bytes()
    found = set()
    for key, link in struct.iter_unpack("<2Q", buckets):
        found.add(key)
        while link:
            key, link = struct.unpack_from("<2Q", heap, 16 * (link - 1))
            found.add(key)
    return found


@pytest.mark.parametrize(
    ("window", "ranks"),
    [("memory", 1), ("memory", 2), ("memory", 4), ("storage", 1), ("storage", 3), ("combined", 3)],
)
def test_finds_every_key(mpi, window, ranks, launcher, scratch):
    arguments = ["--volume", volume_for(mpi, ranks), "--json", scratch / "result.json", "--sync-every", "700"]
    words = command(scratch, window, *arguments)
    outcome = launcher.run(mpi, words, ranks, env=environment(mpi, window))
    assert outcome.code == 0, outcome.text()
    result = json.loads((scratch / "result.json").read_text())
    assert result["verified"] is True
    assert result["window"] == window
    assert {value["labels"]["phase"] for value in result["results"]} >= {"insert", "lookup", "sync"}
    assert all(value["value"] >= 0 for value in result["results"])
    assert [path.name for path in scratch.iterdir()] == ["result.json"], "the windows' files are left"


def test_automatic_factor(mpi, launcher, scratch):
    words = command(scratch, "combined", "--factor", "auto", "--volume", "500")
    outcome = launcher.run(mpi, words, 2, env=environment(mpi, "memory"))  # which is what auto comes to here
    assert outcome.code == 0, outcome.text()


def test_reopened_by_another_run(mpi, launcher, scratch):
    ranks = 4
    volume = volume_for(mpi, ranks)
    built = launcher.run(mpi, command(scratch, "storage", "--volume", volume, "--keep"), ranks)
    assert built.code == 0, built.text()
    keys = int(volume) * 4 // 5
    assert [synced(scratch, rank) for rank in range(ranks)] == [keys] * ranks
    assert set.union(*(keys_in(scratch, rank) for rank in range(ranks))) - {0} == {
        key_of(number) for number in range(ranks * keys)
    }
    again = launcher.run(mpi, command(scratch, "storage", "--volume", volume, "--reopen"), ranks)
    assert again.code == 0, again.text()

    path = scratch / "dht-buckets.2"
    content = bytearray(path.read_bytes())
    at = next(at for at in range(BUCKETS_AT, len(content), 16) if any(content[at : at + 8]))
    content[at + 5] ^= 1
    path.write_bytes(content)
    damaged = launcher.run(mpi, command(scratch, "storage", "--volume", volume, "--reopen"), ranks)
    assert damaged.code == 1, damaged.text()
    assert f"1 of {keys} keys are missing" in damaged.err
    assert path.exists(), "verifying deleted the table"


@pytest.mark.parametrize("window", ["memory", "storage", "combined"])
def test_self_check_finds_a_flipped_bit(mpi, window, launcher, scratch):
    words = command(scratch, window, "--volume", "500", "--test-corrupt")
    outcome = launcher.run(mpi, words, 2, env=environment(mpi, window))
    assert outcome.code == 1, outcome.text()
    assert "1 of 400 keys are missing" in outcome.err


def live_and_be_killed(launcher, mpi, words: list, store: Path, target: int, rng: random.Random) -> None:
    """Kill a rank, or all, a little after the file says that so many keys are synced; too late is possible."""
    extra_s = rng.random() * 0.01
    with launcher.start(mpi, words, 2) as job, job.limited():
        pids: list[int] = []
        while len(pids) < 2 and job.process.poll() is None:
            pids = job.pids("sill-dht")
        while synced(store, 0) < target and job.process.poll() is None:
            pass
        moment = time.monotonic() + extra_s
        while time.monotonic() < moment:
            pass
        for pid in pids if rng.random() < 0.5 else [rng.choice(pids)] if pids else []:
            with contextlib.suppress(ProcessLookupError):  # done meanwhile
                os.kill(pid, signal.SIGKILL)
        outcome = job.finish()
        assert outcome.code is not None, outcome.text()


def test_killed_at_random_again_and_again(mpi, launcher, scratch):
    """4 kills for each MPI. After each, the files hold all that the last sync covered, and the next life goes on."""
    rng = random.Random(f"{mpi.name} dht")
    result = scratch / "result.json"
    words = command(scratch, "storage", "--keep", "--resume", "--volume", str(VOLUME), "--sync-every", str(SYNC_EVERY))
    kills = 0
    for _ in range(20):  # lives
        before = [synced(scratch, rank) for rank in range(2)]
        live_and_be_killed(launcher, mpi, words, scratch, min(before) + rng.randint(0, 9) * SYNC_EVERY, rng)
        marks = [synced(scratch, rank) for rank in range(2)]
        assert min(marks) >= min(before)
        if min(marks) > 0:
            found = keys_in(scratch, 0) | keys_in(scratch, 1)
            covered = {key_of(rank * KEYS + i) for rank in range(2) for i in range(marks[rank])}
            assert covered <= found, f"{len(covered - found)} of {len(covered)} keys are lost"
        if min(marks) == KEYS:
            for file in scratch.iterdir():
                file.unlink()
            continue
        kills += 1
        if kills == 4:
            break
    assert kills == 4
    last = launcher.run(mpi, [*words, "--json", result], 2)
    assert last.code == 0, last.text()
    told = json.loads(result.read_text())
    assert told["verified"] is True
    assert told["notes"]["resumed_at"] == str(min(marks))
    assert keys_in(scratch, 0) | keys_in(scratch, 1) == {0} | {key_of(number) for number in range(2 * KEYS)}


def test_resume_notices_what_is_missing(launcher, scratch):
    """A key that a sync covered is gone: the next life says so."""
    mpi = MPIS[0]
    words = command(scratch, "storage", "--keep", "--volume", "500", "--resume")
    assert launcher.run(mpi, words, 1).code == 0
    path = scratch / "dht-buckets.0"
    content = bytearray(path.read_bytes())
    at = next(at for at in range(BUCKETS_AT, len(content), 16) if any(content[at : at + 8]))
    content[at] ^= 1
    path.write_bytes(content)
    outcome = launcher.run(mpi, words, 1)
    assert outcome.code == 1, outcome.text()
    assert "1 of 400 keys are missing" in outcome.err


WRONG = [
    (["--reopen"], "memory", 2, "need --window storage"),
    (["--resume"], "combined", 2, "need --window storage"),
    (["--reopen", "--resume"], "storage", 2, "one of them"),
    (["--volume", "0"], "memory", 2, "--volume"),
    (["--keys", "0"], "memory", 2, "--keys"),
    (["--heap-factor", "0.01"], "memory", 1, "a larger --heap-factor helps"),
    (["--reopen"], "storage", 1, "--reopen: there is no"),
]


@pytest.mark.parametrize(("arguments", "window", "code", "reason"), WRONG)
def test_says_what_is_wrong(arguments, window, code, reason, launcher, scratch):
    mpi = MPIS[0]
    outcome = launcher.run(
        mpi, command(scratch, window, "--volume", "2000", *arguments), 2, env=environment(mpi, window)
    )
    assert outcome.code == code, outcome.text()
    assert reason in outcome.err
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("action", ["--reopen", "--resume"])
def test_refuses_another_table(action, launcher, scratch):
    mpi = MPIS[0]
    assert launcher.run(mpi, command(scratch, "storage", "--volume", "500", "--keep"), 2).code == 0
    for arguments in (["--seed", "2"], ["--volume", "400"], ["--keys", "0.5"], ["--heap-factor", "2"]):
        words = command(scratch, "storage", "--volume", "500", "--keep", action, *arguments)
        outcome = launcher.run(mpi, words, 2)
        assert outcome.code == 1, outcome.text()
        assert "is another one: of rank" in outcome.err
    fewer = launcher.run(mpi, command(scratch, "storage", "--volume", "500", "--keep", action), 1)
    assert fewer.code == 1, fewer.text()
    assert "of rank 0 of 2" in fewer.err
