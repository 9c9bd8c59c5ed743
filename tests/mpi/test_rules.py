"""Programs that nobody edits: rules in SILL_WINDOWS and sill.toml, reports, and no trace of Sill without rules."""

from __future__ import annotations

import re
import struct

import pytest
from records import sections_of

RANKS = 2


def run(launcher, mpi, *arguments, **env):
    outcome = launcher.run(mpi, ["plain", *arguments], RANKS, env={k: str(v) for k, v in env.items()})
    assert outcome.code == 0, outcome.text()
    return outcome


def assert_failed(mpi, outcome, reason):
    """The job ended with an error that gives the reason."""
    assert outcome.code not in (0, None), outcome.text()
    assert reason in outcome.out + outcome.err, outcome.text()


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
        sidecar = sections_of(scratch / f"job7.w1.{rank}.sill")["window"]
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
    sidecar = sections_of(scratch / "w0.sill")["window"]
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
    assert_failed(mpi, outcome, "storage_alloc_factor")
    assert names(scratch) == []


def test_memory_without_a_file_per_rank(mpi, launcher, scratch):
    """MPI_Alloc_mem isn't collective, so nobody divides a file among the ranks: the second rank is refused."""
    env = {"SILL_WINDOWS": f"alloc_type=storage,storage_alloc_filename={scratch}/w%w"}
    outcome = launcher.run(mpi, "plain", RANKS, env=env)
    assert_failed(mpi, outcome, f"{scratch}/wm0: another window")


ROW = re.compile(
    r"sill: (?P<window>\S+) +(?P<ranks>\d+) +(?P<memory>\S+ \S+) +(?P<storage>\S+ \S+) +(?P<synced>\S+ \S+)"
    r" +(?P<syncs>\d+) +(?P<seconds>\S+) s  (?P<file>\S+)"
)


def test_statistics(mpi, launcher, scratch):
    """SILL_STATS=1: a table at the end with a row for each window."""
    outcome = run(launcher, mpi, SILL_WINDOWS=rule(scratch), SILL_STATS=1)
    said = [line for line in outcome.err.splitlines() if line.startswith("sill: ")]
    assert said[0].split()[1:3] == ["window", "ranks"], outcome.text()
    rows = [ROW.fullmatch(line) for line in said[1:]]
    assert all(rows), outcome.text()
    assert [(row["window"], row["ranks"], row["memory"], row["storage"], row["file"]) for row in rows] == [
        (str(number), str(RANKS), "0 B", "19.5 KiB", f"{scratch}/test.w{number}.0") for number in (0, 1)
    ]
    for row in rows:
        assert int(row["syncs"]) >= RANKS, outcome.text()
        assert float(row["seconds"]) < outcome.seconds, outcome.text()
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


COUNTING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int seen;

int MPI_Put(const void* origin, int count, MPI_Datatype type, int rank, MPI_Aint at, int target_count,
            MPI_Datatype target_type, MPI_Win win) {
  int (*next)(const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Put");
  seen++;
  return next(origin, count, type, rank, at, target_count, target_type, win);
}

int MPI_Finalize(void) {
  int (*next)(void);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
  fprintf(stderr, "%d puts\\n", seen);
  return next();
}
"""


@pytest.mark.parametrize("order", ["before", "behind"])
def test_another_tool(mpi, launcher, scratch, compile_c, order):
    """A tool that counts puts sees them all, before Sill and behind it, and the windows are on storage."""
    tool = compile_c(COUNTING, "-shared", "-fPIC", "-ldl", cc=mpi.cc, name="libcounting.so")
    # On other paths Sill copies by itself, and nobody behind it gets to see that.
    env = {"SILL_WINDOWS": rule(scratch), "SILL_WINDOW_PATH": "native"}
    outcome = launcher.run(mpi, ["plain", "windows"], RANKS, env=env, **{order: [tool]})
    assert outcome.code == 0, outcome.text()
    assert [line for line in outcome.err.splitlines() if "puts" in line] == ["2 puts"] * RANKS, outcome.text()
    assert "stands before" not in outcome.err, outcome.text()
    for rank in range(RANKS):
        (last,) = struct.unpack("i", (scratch / f"test.w1.{rank}").read_bytes()[9996:])
        assert last == 2000 + (rank - 1) % RANKS


@pytest.mark.quick
def test_without_rules(mpi, launcher, scratch):
    """No hint, no rule: no file, no word."""
    outcome = run(launcher, mpi)
    assert names(scratch) == []
    assert "sill" not in (outcome.out + outcome.err).lower(), outcome.text()
