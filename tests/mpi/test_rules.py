"""Programs that nobody edits: rules in SILL_WINDOWS and sill.toml, reports, and no trace of Sill without rules."""

from __future__ import annotations

import json
import struct

import pytest

RANKS = 2


def run(launcher, mpi, *arguments, **env):
    outcome = launcher.run(mpi, ["plain", *arguments], RANKS, env={k: str(v) for k, v in env.items()})
    assert outcome.code == 0, outcome.text()
    return outcome


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def rule(folder, more=""):
    return f"alloc_type=storage,storage_alloc_filename={folder}/%j.w%w.%r{more}"


@pytest.mark.quick
def test_variable(mpi, launcher, scratch):
    """Two windows and a piece of memory, each in its own file; the sidecars tell who they are."""
    run(launcher, mpi, SILL_WINDOWS=rule(scratch), SILL_JOB_ID="job7")
    windows = [f"job7.w{w}.{rank}" for w in ("0", "1", "m0") for rank in range(RANKS)]
    assert names(scratch) == sorted([*windows, *(name + ".sill" for name in windows)])
    for rank in range(RANKS):
        (last,) = struct.unpack("i", (scratch / f"job7.w1.{rank}").read_bytes()[9996:])
        assert last == 2000 + (rank - 1) % RANKS
        assert (scratch / f"job7.wm0.{rank}").read_bytes() == b"x" * 5000
        sidecar = json.loads((scratch / f"job7.w1.{rank}.sill").read_text())
        assert sidecar["sill"] == 1
        assert sidecar["job"] == "job7"
        assert sidecar["unlink"] is False
        assert sidecar["segments"] == [{"rank": rank, "offset": 0, "size": 10000}]
        assert sidecar["created"].startswith("20")
        assert (scratch / f"job7.w1.{rank}").stat().st_mode & 0o777 == 0o600


def test_unlink(mpi, launcher, scratch):
    run(launcher, mpi, SILL_WINDOWS=rule(scratch, ",storage_alloc_unlink=true,storage_alloc_factor=0.5"))
    assert names(scratch) == []


def test_shared_file(mpi, launcher, scratch):
    """One file for all ranks: one sidecar with all segments."""
    run(launcher, mpi, "windows", SILL_WINDOWS=f"alloc_type=storage,storage_alloc_filename={scratch}/w%w")
    sidecar = json.loads((scratch / "w0.sill").read_text())
    assert sidecar["segments"] == [{"rank": r, "offset": 10000 * r, "size": 10000} for r in range(RANKS)]
    assert (scratch / "w0").stat().st_size == 10000 * RANKS


def test_toml(mpi, launcher, scratch):
    """sill.toml gives the rules, SILL_WINDOWS goes before it key by key."""
    config = scratch / "config.toml"
    config.write_text(
        f'[windows]\nalloc_type = "storage"\nstorage_alloc_filename = "{scratch}/t%w.%r"\nfile_perm = "640"\n'
    )
    run(launcher, mpi, SILL_CONFIG=config)
    assert (scratch / "t0.0").stat().st_mode & 0o777 == 0o640
    run(launcher, mpi, SILL_CONFIG=config, SILL_WINDOWS=f"storage_alloc_filename={scratch}/v%w.%r")
    assert (scratch / "v1.1").stat().st_mode & 0o777 == 0o640


def test_no_toml_from_the_current_folder(mpi, launcher, scratch):
    (scratch / "sill.toml").write_text(
        f'[windows]\nalloc_type = "storage"\nstorage_alloc_filename = "{scratch}/t%w.%r"\n'
    )
    outcome = launcher.run(mpi, "plain", RANKS, cwd=scratch)
    assert outcome.code == 0, outcome.text()
    assert names(scratch) == ["sill.toml"]


def test_bad_rule(mpi, launcher, scratch):
    """A rule that can't be is an error of the program, not a window in memory."""
    outcome = launcher.run(mpi, "plain", RANKS, env={"SILL_WINDOWS": rule(scratch, ",storage_alloc_factor=2")})
    assert outcome.code not in (0, None), outcome.text()
    assert "storage_alloc_factor" in outcome.out + outcome.err, outcome.text()
    assert names(scratch) == []


def test_statistics(mpi, launcher, scratch):
    """SILL_STATS=1: a table at the end with a row for each window."""
    outcome = run(launcher, mpi, SILL_WINDOWS=rule(scratch), SILL_STATS=1)
    said = outcome.err + outcome.out
    assert all(f"w{number}." in said or f"w{number}" in said for number in (0, 1)), outcome.text()
    assert said.lower().count("sync") >= 1, outcome.text()
    quiet = run(launcher, mpi, SILL_WINDOWS=rule(scratch))
    assert "sill" not in (quiet.err + quiet.out).lower(), quiet.text()


def test_log(mpi, launcher, scratch):
    outcome = run(launcher, mpi, SILL_WINDOWS=rule(scratch), SILL_LOG="debug")
    lines = [line for line in outcome.err.splitlines() if line.startswith("sill[")]
    assert any(str(scratch) in line for line in lines), outcome.text()
    assert not [
        line
        for line in run(launcher, mpi, SILL_LOG="debug").err.splitlines()
        if "error" in line.lower() and line.startswith("sill[")
    ]


@pytest.mark.quick
def test_without_rules(mpi, launcher, scratch):
    """No hint, no rule: no file, no word."""
    outcome = run(launcher, mpi)
    assert names(scratch) == []
    assert "sill" not in (outcome.out + outcome.err).lower(), outcome.text()
