"""sill-hacc-io: one file, the same byte by byte, whoever writes it; every restart reads it and finds what is wrong."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from launching import MPIS

METHODS = ["window", "mpiio", "mpiio-collective", "posix"]
PARTICLES = 1237  # odd, so that pid isn't aligned, and no rank's part ends with a page
PARTICLE_BYTES = 38
WORD = 2**64 - 1


def random_of(state: int) -> int:
    """splitmix64's next number."""
    z = (state + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


@pytest.fixture(scope="session")
def expected() -> bytes:
    """The file of a checkpoint, made without the program."""
    parts = []
    for variable in range(7):
        values = [(random_of(i * 9 + variable) >> 40) / 2**24 for i in range(PARTICLES)]
        parts.append(struct.pack(f"<{PARTICLES}f", *values))
    parts.append(struct.pack(f"<{PARTICLES}q", *range(PARTICLES)))
    parts.append(struct.pack(f"<{PARTICLES}H", *(random_of(i * 9 + 8) & 0xFFFF for i in range(PARTICLES))))
    return b"".join(parts)


def command(store: Path, method: str, *arguments: str | Path, window: str = "storage") -> list[str | Path]:
    words = ["sill-hacc-io", "--window", window, "--store", store, "--method", method, "--quiet"]
    return [*words, "--particles", str(PARTICLES), *arguments]


@pytest.mark.parametrize("method", METHODS)
def test_the_file_is_the_same_for_all(mpi, method, launcher, scratch, expected):
    """Written by each method on 1 and on 3 ranks, and read by the next one on others."""
    store = scratch / "a store, 100%"
    store.mkdir()
    path = store / "hacc-io.dat"
    reader = METHODS[(METHODS.index(method) + 1) % len(METHODS)]
    path.write_bytes(bytes(len(expected) + 5000))  # a longer file of another run: cut
    for ranks, repeat, readers in ((3, "2", 2), (1, "1", 4)):
        written = launcher.run(mpi, command(store, method, "--write", "--repeat", repeat), ranks)
        assert written.code == 0, written.text()
        assert path.read_bytes() == expected, f"{method} on {ranks} ranks"
        before = store.stat().st_mtime_ns
        read = launcher.run(mpi, command(store, reader, "--read"), readers)
        assert read.code == 0, read.text()
        if reader.startswith("mpiio"):  # what an MPI library makes there, a kill would leave behind
            assert store.stat().st_mtime_ns == before
        path.unlink()


@pytest.mark.parametrize(("window", "ranks"), [("memory", 1), ("memory", 3), ("storage", 4), ("combined", 2)])
def test_every_window(mpi, window, ranks, launcher, scratch):
    result = scratch / "result.json"
    words = command(scratch, "window", "--repeat", "3", "--json", result, window=window)
    outcome = launcher.run(mpi, words, ranks)
    assert outcome.code == 0, outcome.text()
    told = json.loads(result.read_text())
    assert told["verified"] is True
    assert told["notes"]["method"] == "window"
    checkpoints = [r["labels"]["checkpoint"] for r in told["results"] if r["name"] == "write-bandwidth"]
    assert checkpoints == ["1", "2", "3", "further"]
    assert all(value["value"] >= 0 for value in told["results"])
    assert [path.name for path in scratch.iterdir()] == ["result.json"], "files are left"


@pytest.mark.parametrize("method", METHODS)
def test_a_restart_finds_a_flipped_bit(method, launcher, scratch, expected):
    mpi = MPIS[0]
    path = scratch / "hacc-io.dat"
    for at, text in (
        (0, "xx of particle 0"),
        (36 * PARTICLES - 1, "pid of particle 1236"),
        (-1, "mask of particle 1236"),
    ):
        damaged = bytearray(expected)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        outcome = launcher.run(mpi, command(scratch, method, "--read"), 2)
        assert outcome.code == 1, outcome.text()
        assert f"{text} is wrong" in outcome.err
        assert path.read_bytes() == damaged, "reading changed the file"


@pytest.mark.parametrize("window", ["memory", "storage", "combined"])
def test_self_check_finds_what_was_written_wrong(mpi, window, launcher, scratch):
    outcome = launcher.run(mpi, command(scratch, "window", "--test-corrupt", window=window), 2)
    assert outcome.code == 1, outcome.text()
    assert "xx of particle 0 is wrong" in outcome.err


def test_fewer_particles_than_ranks(mpi, launcher, scratch):
    for method in ("window", "mpiio-collective"):
        outcome = launcher.run(mpi, command(scratch, method, "--particles", "2"), 3)
        assert outcome.code == 0, outcome.text()


WRONG = [
    (["--method", "parrot"], "storage", 2, "--method parrot: window, mpiio"),
    (["--particles", "0"], "storage", 2, "--particles 0"),
    (["--repeat", "0"], "storage", 2, "--repeat 0"),
    (["--read"], "memory", 2, "needs --window storage"),
    (["--write"], "combined", 2, "needs --window storage"),
    (["--read"], "storage", 1, "No such file or directory"),
]


@pytest.mark.parametrize(("arguments", "window", "code", "reason"), WRONG)
def test_says_what_is_wrong(arguments, window, code, reason, launcher, scratch):
    outcome = launcher.run(MPIS[0], command(scratch, "window", *arguments, window=window), 2)
    assert outcome.code == code, outcome.text()
    assert reason in outcome.err
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("method", METHODS)
def test_refuses_a_checkpoint_of_other_particles(method, launcher, scratch, expected):
    (scratch / "hacc-io.dat").write_bytes(expected)
    outcome = launcher.run(MPIS[0], command(scratch, method, "--read", "--particles", "1236"), 2)
    assert outcome.code == 1, outcome.text()
    assert f"has {PARTICLES * PARTICLE_BYTES} bytes" in outcome.err
    assert (scratch / "hacc-io.dat").read_bytes() == expected
