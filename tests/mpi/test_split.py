"""Communicators of the ranks that see the same directory: on simulated nodes, and where something goes wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import disks
import pytest

NETWORKS = 3
# Random ones; each MPI draws its own, so five make 200.
TOPOLOGIES = 40
# What the kernel would say of a broken device, or of a directory that was deleted a moment ago.
BREAK = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int breaks(void) {
  const char* how = getenv("SILL_TEST_BREAK");
  if (how && strcmp(how, "io") != 0) rmdir(how);
  errno = EIO;
  return how && strcmp(how, "io") == 0;
}
int symlinkat(const char* target, int fd, const char* name) {
  return breaks() ? -1 : (int)syscall(SYS_symlinkat, target, fd, name);
}
int mkdirat(int fd, const char* name, mode_t mode) {
  return breaks() ? -1 : (int)syscall(SYS_mkdirat, fd, name, mode);
}
"""


def overlay(where: Path, layers: Path):
    """A mount that any namespace can bind; its source is its name."""
    for name in ("lower", "upper", "work"):
        (layers / name).mkdir(parents=True)
    options = ",".join(f"{name}dir={layers / name}" for name in ("lower", "upper", "work"))
    return disks.mounted(where.name, where, "-t", "overlay", "-o", options)


@contextlib.contextmanager
def network_stores(scratch: Path) -> Iterator[None]:
    """net0, net1, ... as split_nodes.c wants them, each with a folder; and `full`, which has room for no file."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(disks.tmpfs(scratch / "layers", disks.MIB))
        for number in range(NETWORKS):
            where = scratch / f"net{number}"
            stack.enter_context(overlay(where, scratch / "layers" / where.name))
            (where / "folder").mkdir()
            (where / "folder").chmod(0o777)
        small = stack.enter_context(disks.tmpfs(scratch / "small", disks.MIB, "nr_inodes=20"))
        full = stack.enter_context(overlay(scratch / "full", small / "layers"))
        with contextlib.suppress(OSError):
            for number in range(20):
                (full / str(number)).touch()
        with pytest.raises(OSError, match="No space left"):
            (full / "more").touch()
        yield


def test_namespaces(mpi, launcher):
    """8 ranks in 3 mount namespaces of one node give exactly the 3 groups."""
    disks.need_root("mount")
    outcome = launcher.run(mpi, ["split_nodes", "namespaces"], 8, linked=True)
    assert outcome.code == 0, outcome.text()


def test_cluster(mpi, launcher, scratch):
    """4 nodes with burst buffers, own disks and a common file system; refusals; random topologies."""
    disks.need_root("mount")
    seed = str(sum(mpi.name.encode()))
    with network_stores(scratch):
        outcome = launcher.run(mpi, ["split_nodes", "cluster", seed, str(TOPOLOGIES)], 5, linked=True)
    assert outcome.code == 0, outcome.text()


def test_failures(mpi, launcher, scratch, compile_c):
    """A device error is everybody's error, a deleted directory is nobody's; nothing is left."""
    disks.need_root("mount")
    before = [compile_c(BREAK, "-shared", "-fPIC", name="libbreak.so")]
    with network_stores(scratch):
        outcome = launcher.run(mpi, ["split_nodes", "failures"], 5, linked=True, before=before)
    assert outcome.code == 0, outcome.text()
