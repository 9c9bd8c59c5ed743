"""Windows that are only read: by several jobs, by who may not write, on a read-only mount; and what a store does."""

from __future__ import annotations

import os
import shutil
import subprocess

import disks
import pytest
from launching import check_ended_by_access, library, program

READ = "storage_alloc_readonly=true"


def test_two_jobs_read_one_file(mpi, launcher, scratch):
    """Both have it at once, where a third that would write is refused."""
    data = scratch / "data"
    data.write_bytes(bytes(65536))
    others = [type(launcher)(scratch / name) for name in ("second", "third")]
    for other in others:
        other.scratch.mkdir()
    with launcher.start(mpi, ["hold", data, "65536", READ], 1, stdin=subprocess.PIPE) as holder:
        with holder.limited():
            assert holder.process.stdout.readline() == "held\n"
        outcome = others[0].run(mpi, ["hold", data, "32768", READ], 2, text="go\n")
        assert outcome.code == 0, outcome.text()
        outcome = others[1].run(mpi, ["err_alloc", "in_use", data, "65536"], 1)
        assert outcome.code == 0, outcome.text()
        outcome = holder.finish(text="go\n")
        assert outcome.code == 0, outcome.text()
    assert data.read_bytes() == bytes(65536)


def test_without_permission_to_write(mpi, launcher, scratch):
    """As nobody when we are root, in a folder and on a file that can only be read."""
    place = scratch / "place"
    place.mkdir()
    (place / "data").write_bytes(bytes(65536))
    (place / "data").chmod(0o444)
    place.chmod(0o555)
    words, prefix, linked = ["hold", place / "data", "32768", READ], [], False
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed")
        prefix, linked = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], True
        if subprocess.run([*prefix, "test", "-x", mpi.mpiexec], timeout=20).returncode != 0:
            pytest.skip(f"{mpi.mpiexec} can't be reached by nobody")
        # The checkout may be closed to others, the scratch folder isn't. Launchers fail in a folder that is.
        copies = [shutil.copy(original, scratch) for original in (program(mpi, "hold"), library(mpi))]
        words = ["/usr/bin/env", f"LD_PRELOAD={copies[1]}", copies[0], *words[1:]]
    try:
        env = {"HOME": str(scratch), "TMPDIR": str(scratch)}
        outcome = launcher.run(mpi, words, 2, env=env, prefix=prefix, linked=linked, text="go\n", cwd=scratch)
        assert outcome.code == 0, outcome.text()
        assert not [line for line in outcome.err.splitlines() if line.startswith("sill")], outcome.text()
        assert [path.name for path in place.iterdir()] == ["data"]
    finally:
        place.chmod(0o755)


def test_read_only_mount(mpi, launcher, scratch):
    disks.need_root("mount")
    place = scratch / "place"
    with disks.tmpfs(place, 4 * disks.MIB):
        (place / "data").write_bytes(bytes(65536))
        disks.run("mount", "-o", "remount,ro", place)
        outcome = launcher.run(mpi, ["hold", place / "data", "32768", READ], 2, text="go\n")
        assert outcome.code == 0, outcome.text()
        assert not [line for line in outcome.err.splitlines() if line.startswith("sill")], outcome.text()


@pytest.mark.parametrize("handler", ["none", "returns", "jumps"])
def test_a_store(mpi, launcher, scratch, handler):
    """One line names window, file and reason, after the program's own handler had its turn."""
    data = scratch / "data"
    data.write_bytes(b"k" * 4096)
    outcome = launcher.run(mpi, ["fault_readonly", data, handler], 1, timeout=60)
    lines = [line for line in outcome.err.splitlines() if "storage_alloc_readonly" in line]
    assert data.read_bytes() == b"k" * 4096
    check_ended_by_access(outcome, handler, lines, str(data))
