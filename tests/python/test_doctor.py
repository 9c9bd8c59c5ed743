"""`sill doctor`: every item has a verdict, and whoever gets a bad one is told what to do."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import subprocess
import sys

import pytest
from command_support import BUILD, MPIS, ROOT
from sill import doctor, native, system


@pytest.fixture
def built(monkeypatch):
    """The libraries of the build folder, which describe file systems."""
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(BUILD / "lib"))


@pytest.fixture
def findings(built, tmp_path):
    return {(f.area, f.item): f for f in doctor.examine([str(tmp_path)])}


def test_every_item_is_there(findings, tmp_path):
    expected = {("MPI", mpi.name) for mpi in MPIS} | {("Sill", f"libsill-{mpi.family}") for mpi in MPIS}
    expected |= {("file system", str(tmp_path)), ("limits", "file size"), ("limits", "open files")}
    expected |= {("memory", "/dev/shm"), ("memory", "cgroup limit"), ("memory", "huge pages"), ("memory", "page size")}
    expected |= {("memory", "dirty pages"), ("memory", "swap")}
    expected |= {("kernel", "io_uring"), ("kernel", "cachestat")}
    assert expected <= set(findings)


def test_all_that_is_not_ok_says_what_to_do(findings):
    for finding in findings.values():
        assert finding.verdict in (doctor.OK, doctor.WARN, doctor.BAD)
        assert bool(finding.advice) == (finding.verdict != doctor.OK), finding


def test_a_file_system_is_described(findings, tmp_path):
    found = findings[("file system", str(tmp_path))].found
    findmnt = ["findmnt", "-n", "-o", "FSTYPE", "-T", tmp_path]
    kind = subprocess.run(findmnt, capture_output=True, text=True, check=True).stdout.strip()
    assert found.startswith(f"{kind}, ")
    store = native.query(tmp_path)
    for word in ("free", "reflink", "DAX", "O_DIRECT", "fallocate", store.device):
        assert word in found


def test_a_file_system_that_no_library_describes_is_said(stand_ins, monkeypatch, tmp_path):
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(stand_ins))
    finding = next(f for f in doctor.examine([str(tmp_path)]) if f.area == "file system")
    assert finding.verdict == doctor.WARN
    assert finding.found.startswith("unknown: ")
    assert str(stand_ins) in finding.found


def test_nothing_is_left_behind(findings, tmp_path):
    assert list(tmp_path.iterdir()) == []


def test_memory_file_systems_are_warned_of(built):
    if native.query("/dev/shm").medium != "memory":
        pytest.skip("/dev/shm is no memory file system here")
    finding = next(f for f in doctor.examine(["/dev/shm"]) if f.area == "file system")
    assert finding.verdict == doctor.WARN
    assert "gone after a reboot" in finding.advice


@pytest.mark.parametrize("served", [True, False])
def test_a_servers_files_are_warned_of(served, built, monkeypatch, tmp_path):
    store = dataclasses.replace(native.query(tmp_path), file_system="any", medium=None, served=served)
    monkeypatch.setattr(native, "query", lambda folder: store)
    finding = next(f for f in doctor.examine([str(tmp_path)]) if f.area == "file system")
    assert finding.advice.startswith("a server's files") == served


def test_a_folder_one_may_not_write_to_is_bad(built):
    finding = next(f for f in doctor.examine(["/proc"]) if f.area == "file system")
    assert finding.verdict == doctor.BAD
    assert "may write to" in finding.advice


def test_missing_libraries_are_bad_and_end_with_one(sill, tmp_path):
    result = sill("doctor", "--json", tmp_path, env={"SILL_LIBRARY_DIR": str(tmp_path)})
    assert result.returncode == 1
    bad = [row for row in json.loads(result.stdout) if row["verdict"] == "bad"]
    assert {row["item"] for row in bad} == {f"libsill-{mpi.family}" for mpi in MPIS}


def test_all_well_ends_with_zero(sill):
    result = sill("doctor", ROOT, env={"SILL_LIBRARY_DIR": str(BUILD / "lib")})
    assert result.returncode == 0, result.stdout


def test_a_missing_folder_is_one_line(sill):
    result = sill("doctor", "/no/such/folder")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1


def test_cgroup_limits_are_found(tmp_path, monkeypatch):
    """A group below one with the smaller limit, in the layout of version 2 and of version 1."""
    for lines, root, file, unlimited in (
        ("0::/a/b\n", "/sys/fs/cgroup", "memory.max", "max"),
        ("3:memory:/a/b\n2:cpu:/x\n", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712"),
    ):
        texts = {
            "/proc/self/cgroup": lines,
            f"{root}/a/b/{file}": "2147483648\n",
            f"{root}/a/{file}": "1073741824\n",
            f"{root}/{file}": unlimited,
        }
        monkeypatch.setattr(system, "read", texts.get)
        assert system.memory_limit() == (1 << 30, f"{root}/a")


@pytest.mark.parametrize(
    ("ratio", "count", "swap", "verdicts", "found"),
    [
        ("20", "0", "0", ("ok", "ok"), "held back at 20 % of memory, written out from 10 % on"),
        ("80", "0", "4", ("ok", "warn"), "held back at 80 % of memory, written out from 10 % on"),
        ("5", "0", "0", ("warn", "ok"), "held back at 5 % of memory, written out from 10 % on"),
        ("0", "104857600", "0", ("warn", "ok"), "held back at 100 MiB of memory, written out from 10 % on"),
        ("0", "943718400", "0", ("ok", "ok"), "held back at 900 MiB of memory, written out from 10 % on"),
    ],
)
def test_what_slows_down_filling_windows_is_named(ratio, count, swap, verdicts, found, monkeypatch):
    texts = {
        "/proc/meminfo": f"MemTotal:  1048576 kB\nSwapTotal:  {swap} kB\n",
        "/proc/sys/vm/dirty_ratio": f"{ratio}\n",
        "/proc/sys/vm/dirty_bytes": f"{count}\n",
        "/proc/sys/vm/dirty_background_ratio": "10\n",
        "/proc/sys/vm/dirty_background_bytes": "0\n",
    }
    monkeypatch.setattr(system, "read", texts.get)
    dirty, swapping = doctor._dirty_pages(), doctor._swap()
    assert (dirty.verdict, swapping.verdict) == verdicts
    assert dirty.found == found


def test_a_small_limit_of_files_is_warned_of(stand_ins, harness_environment):
    """In a process of its own, for a limit can't be raised again."""
    script = 'ulimit -f 1000; exec "$0" -m sill doctor --json /tmp'
    result = subprocess.run(
        ["bash", "-c", script, sys.executable],
        env={**harness_environment, "SILL_LIBRARY_DIR": str(stand_ins)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    (row,) = [row for row in json.loads(result.stdout) if row["item"] == "file size"]
    assert (row["verdict"], row["advice"]) == ("warn", "windows can't grow beyond it: ulimit -f unlimited")


@pytest.mark.parametrize(
    ("limits", "cores", "verdict", "windows", "advice"),
    [
        ((1024, 524288), 2, "ok", 888, ""),
        ((1024, 4096), 192, "warn", 128, "ulimit -n 4096"),
        ((4096, 4096), 192, "ok", 3200, ""),
        ((64, 64), 2, "warn", 0, "ulimit -n 4096, which administrators have to allow: now at most 64"),
        ((1024, resource.RLIM_INFINITY), 1024, "warn", 0, "ulimit -n 8960"),
    ],
)
def test_the_limit_of_descriptors_is_judged_by_windows(limits, cores, verdict, windows, advice):
    finding = doctor._descriptors(*limits, cores=cores)
    assert (finding.verdict, finding.advice) == (verdict, advice)
    assert finding.found == f"{limits[0]}: {windows} windows or coarrays a rank"


def test_no_limit_of_descriptors_is_no_problem():
    assert doctor._descriptors(resource.RLIM_INFINITY, resource.RLIM_INFINITY, cores=2).verdict == "ok"


def test_a_wrapper_that_links_coarrays_statically_is_warned_of(tmp_path, monkeypatch):
    for name, library in (("caf", "/usr/lib/libcaf_openmpi.a"), ("caf.mpich", "/usr/lib/libcaf_mpich.so")):
        wrapper = tmp_path / name
        wrapper.write_text(f"#!/bin/sh\necho gfortran -fcoarray=lib {library}\n")
        wrapper.chmod(0o755)
    broken = tmp_path / "caf.openmpi"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    static, failing, shared = doctor._coarrays()
    assert (static.item, static.verdict) == ("caf", "warn")
    assert "-lcaf_openmpi" in static.advice
    assert (failing.item, failing.verdict) == ("caf.openmpi", "warn")
    assert (shared.item, shared.verdict, shared.advice) == ("caf.mpich", "ok", "")
