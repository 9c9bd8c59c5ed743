"""What can be wrong with a window's file: one class on every rank, at once, and nothing changed on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import disks
import pytest
from launching import check_ended_by_access, library, program

RANKS = 4
MIB = disks.MIB


def state_of(folder: Path) -> dict[str, tuple]:
    """Name, kind, size and contents of all that is in a folder."""
    state = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        contents = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
        state[str(path)] = (status.st_mode, status.st_size, contents)
    return state


def must_fail(launcher, mpi, error_class, path, size=65536, hints=(), watched=(), ranks=RANKS, **options):
    """Allocating on `path` fails on every rank with the class, and the watched folders stay as they are."""
    before = [state_of(folder) for folder in watched]
    words = ["err_alloc", error_class, path, str(size), *hints]
    outcome = launcher.run(mpi, words, ranks, timeout=60, **options)
    assert outcome.code == 0, outcome.text()
    assert [state_of(folder) for folder in watched] == before


@pytest.mark.quick
def test_paths(mpi, launcher, scratch):
    """Missing folders, folders, pipes, sockets, names too long, a file as a folder."""
    place = scratch / "place"
    (place / "folder").mkdir(parents=True)
    (place / "file").write_text("kept")
    os.mkfifo(place / "fifo")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as unix:
        unix.bind(str(place / "socket"))
        for error_class, name in [
            ("no_such_file", "missing/w.%r"),
            ("bad_file", "folder"),
            ("bad_file", "fifo"),
            ("bad_file", "socket"),
            ("bad_file", "n" * 300),
            ("bad_file", "file/w.%r"),
        ]:
            if mpi.family == "ompi" and len(name) >= 256:
                continue  # Open MPI takes no hint of that length
            must_fail(launcher, mpi, error_class, f"{place}/{name}", watched=[place])
    must_fail(launcher, mpi, "bad_file", "/dev/null", ranks=2)


def test_bad_values(mpi, launcher):
    """The list of bad hint values, ranks that differ, a missing file name."""
    outcome = launcher.run(mpi, "err_values", RANKS)
    assert outcome.code == 0, outcome.text()


def test_no_permission(mpi, launcher, scratch):
    """A folder that isn't ours to write, and a file that isn't ours to open; as nobody when we are root."""
    place = scratch / "place"
    place.mkdir()
    (place / "theirs").write_bytes(b"kept")
    (place / "theirs").chmod(0o400)
    place.chmod(0o555)
    prefix, copied = [], {}
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed")
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        reachable = subprocess.run([*prefix, "test", "-x", mpi.mpiexec], timeout=20).returncode == 0
        if not reachable:
            pytest.skip(f"{mpi.mpiexec} can't be reached by nobody")
        # The checkout may be closed to others, the scratch folder isn't. Launchers fail in a folder that is.
        for original in (program(mpi, "err_alloc"), library(mpi)):
            copied[original.name] = Path(shutil.copy(original, scratch))
    try:
        for name in ("theirs", "new.%r"):
            words = [copied.get("err_alloc", "err_alloc"), "access", f"{place}/{name}", "65536"]
            if copied:
                words = ["/usr/bin/env", f"LD_PRELOAD={copied[library(mpi).name]}", *words]
            env = {"HOME": str(scratch), "TMPDIR": str(scratch)}
            outcome = launcher.run(mpi, words, 2, env=env, prefix=prefix, linked=bool(copied), timeout=60, cwd=scratch)
            assert outcome.code == 0, outcome.text()
        assert [p.name for p in place.iterdir()] == ["theirs"]
    finally:
        place.chmod(0o755)


def test_read_only_mount(mpi, launcher, scratch):
    disks.need_root("mount")
    with disks.tmpfs(scratch / "ro", MIB, "ro"):
        must_fail(launcher, mpi, "read_only", f"{scratch}/ro/w.%r", watched=[scratch / "ro"])


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_full_file_system(mpi, launcher, scratch, kind):
    """No room for new files, nor for more of a file that is there; what is there stays."""
    disks.need_root("mount", "losetup", "mkfs.ext4")
    place, images = scratch / "full", scratch / "images"
    images.mkdir()
    file_system = disks.tmpfs(place, 8 * MIB) if kind == "tmpfs" else disks.ext4(place, images / "i", 24 * MIB)
    with file_system:
        (place / "old").write_bytes(b"kept" * 1000)
        disks.fill(place, MIB)
        must_fail(launcher, mpi, "no_space", f"{place}/w.%r", 4 * MIB, watched=[place])
        must_fail(launcher, mpi, "no_space", f"{place}/old", 4 * MIB, watched=[place], ranks=2)
        combined = ["storage_alloc_factor=0.5", "storage_alloc_order=storage_first"]
        must_fail(launcher, mpi, "no_space", f"{place}/w.%r", 8 * MIB, combined, watched=[place], ranks=1)


def test_devices(mpi, launcher, scratch):
    """Too small, too small behind the offset, mounted; a device that was refused isn't written to."""
    disks.need_root("losetup", "mkfs.ext4")
    images = scratch / "images"
    images.mkdir()
    with disks.loop_device(images / "small", 2 * MIB) as device:
        must_fail(launcher, mpi, "no_space", device, 3 * MIB)
        must_fail(launcher, mpi, "no_space", device, 65536, [f"storage_alloc_offset={2 * MIB}"], ranks=2)
        must_fail(
            launcher,
            mpi,
            "no_space",
            device,
            65536,
            ["storage_alloc_reserve=sparse", f"storage_alloc_offset={4 * MIB}"],
            ranks=1,
        )
    assert not any((images / "small").read_bytes())
    with disks.ext4(scratch / "used", images / "ext4", 16 * MIB) as device:
        must_fail(launcher, mpi, "in_use", device, watched=[scratch / "used"])


def test_two_jobs_on_one_file(mpi, launcher, scratch):
    """The second job is refused while the first is alive, and the first one's bytes stay."""
    place = scratch / "place"
    place.mkdir()
    other = type(launcher)(scratch / "other")
    other.scratch.mkdir()
    with launcher.start(mpi, ["hold", f"{place}/w.%r", "65536"], 2, stdin=subprocess.PIPE) as holder:
        with holder.limited():
            assert holder.process.stdout.readline() == "held\n"
        env = {"SILL_JOB_ID": "second"}
        watched = [place]
        must_fail(other, mpi, "in_use", f"{place}/w.%r", 65536, watched=watched, ranks=2, env=env)
        must_fail(other, mpi, "in_use", f"{place}/w.0", 100, ["storage_alloc_offset=60000"], watched, 1, env=env)
        must_fail(other, mpi, "in_use", f"{place}/w.1", 65536, ["storage_alloc_unlink=true"], watched, 1, env=env)
        outcome = holder.finish(text="go\n")
        assert outcome.code == 0, outcome.text()
    # Now that it is over, the file is free.
    outcome = launcher.run(mpi, ["hold", f"{place}/w.%r", "65536"], 2, text="go\n")
    assert outcome.code == 0, outcome.text()


def test_sync_on_a_full_device(mpi, launcher, scratch):
    """What a sync can't write is an error of that sync."""
    disks.need_root("mount")
    with disks.tmpfs(scratch / "small", MIB):
        words = ["sill_sync_error", "no_space", "staged", f"{scratch}/small/w", str(4 * MIB)]
        outcome = launcher.run(mpi, words, 3, linked=True)
        assert outcome.code == 0, outcome.text()


# The kernel's answers are played: in a folder named "poor" the user may have no more blocks; no device can be written.
NO_BLOCKS = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int fallocate(int fd, int mode, off_t offset, off_t length) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0) return -1;
  if (!strstr(path, "/poor/")) return (int)syscall(SYS_fallocate, fd, mode, offset, length);
  errno = EDQUOT;
  return -1;
}
"""
NO_WRITES = "#include <errno.h>\nint msync(void) { errno = EIO; return -1; }\n"


def test_quota(mpi, launcher, scratch, compile_c):
    """A user who may have no more blocks."""
    place = scratch / "poor"
    place.mkdir()
    (place / "old").write_bytes(b"kept" * 1000)
    before = [compile_c(NO_BLOCKS, "-shared", "-fPIC", name="libnoblocks.so")]
    must_fail(launcher, mpi, "quota", f"{place}/w.%r", watched=[place], before=before)
    must_fail(launcher, mpi, "quota", f"{place}/old", watched=[place], ranks=2, before=before)


def test_sync_on_a_broken_device(mpi, launcher, scratch, compile_c):
    """An error of the device is an error of the sync."""
    words = ["sill_sync_error", "io", "mapped", f"{scratch}/w", str(MIB)]
    before = [compile_c(NO_WRITES, "-shared", "-fPIC", name="libnowrites.so")]
    outcome = launcher.run(mpi, words, 3, linked=True, before=before)
    assert outcome.code == 0, outcome.text()


# A device that can't be written any more by the process that says so.
BROKEN = """
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int msync(void* begin, size_t length, int flags) {
  if (!getenv("SILL_TEST_BROKEN")) return (int)syscall(SYS_msync, begin, length, flags);
  errno = EIO;
  return -1;
}
"""


@pytest.mark.parametrize("what", ["window", "memory"])
def test_the_last_sync_fails_at_the_end_of_mpi(mpi, launcher, compile_c, what):
    """What was never freed is synced by MPI_Finalize, whose error it is on every rank if that goes wrong."""
    before = [compile_c(BROKEN, "-shared", "-fPIC", name="libbroken.so")]
    outcome = launcher.run(mpi, ["unsynced", what, "return"], 2, before=before)
    assert outcome.code == 0, outcome.text()
    outcome = launcher.run(mpi, ["unsynced", what, "fatal"], 2, before=before)
    assert outcome.code not in (0, None), outcome.text()
    if mpi.kind != "ompi4":  # which loses the text at times
        assert "Input/output error" in outcome.out + outcome.err, outcome.text()


@pytest.mark.parametrize("how", ["full", "sparse"])
def test_file_size_limit(mpi, launcher, scratch, how):
    """A file larger than `ulimit -f` allows is an error, not the signal that the kernel sends along."""
    place = scratch / "place"
    place.mkdir()
    limited = ["/bin/sh", "-c", f'ulimit -f {2 << 20} && exec "$@"', "sh"]  # 1 GiB, or 2: the MPI wants files, too
    words = [*limited, program(mpi, "err_alloc"), "no_space", f"{place}/w", str(4096 * MIB)]
    outcome = launcher.run(mpi, [*words, f"storage_alloc_reserve={how}"], 1)
    assert outcome.code == 0, outcome.text()
    assert not list(place.iterdir())


@pytest.mark.parametrize("handler", ["none", "returns", "jumps"])
@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_store_on_a_full_device(mpi, launcher, scratch, kind, handler):
    """A store that finds no room ends the program with one line, after its own handler had its turn."""
    disks.need_root("mount", "losetup", "mkfs.ext4")
    place, images = scratch / "small", scratch / "images"
    images.mkdir()
    file_system = disks.tmpfs(place, MIB) if kind == "tmpfs" else disks.ext4(place, images / "i", 16 * MIB)
    with file_system:
        outcome = launcher.run(mpi, ["fault", f"{place}/w", str(32 * MIB), handler], 1, timeout=60)
    lines = [line for line in outcome.err.splitlines() if f"{place}/w" in line]
    check_ended_by_access(outcome, handler, lines, "space")
