"""One file for ranks of several nodes: it is one only where that is proven, and every node sees all of it.

The nodes are MPICH's simulated ones; what other machines and file systems would answer is played by a library.
"""

from __future__ import annotations

import re

import disks
import pytest
from launching import MPIS, abilities, program

BYTES = 100_000  # of a rank: no whole pages
NODES = {"MPIR_CVAR_NUM_CLIQUES": "2", "MPIR_CVAR_CLIQUES_BY_BLOCK": "1"}

# For files in folders named "shared":
#   LIE_RANK    sees no more than LIE_SIZE bytes of them
#   LIE_NODES   ranks below and from this one on have kernels of their own, and the file system is NFS without fallocate
#   LIE_LOG     gets a line for each fdatasync
LIAR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static int rank(void) { return atoi(getenv("PMI_RANK")); }

static int is_shared(int fd) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/shared/");
}

int fstat(int fd, struct stat* found) {
  const char* lie = getenv("LIE_RANK") && rank() == atoi(getenv("LIE_RANK")) ? getenv("LIE_SIZE") : NULL;
  const int result = (int)syscall(SYS_fstat, fd, found);
  if (result == 0 && lie && S_ISREG(found->st_mode) && is_shared(fd) && found->st_size > atol(lie))
    found->st_size = atol(lie);
  return result;
}

int fstatfs(int fd, struct statfs* found) {
  const int result = (int)syscall(SYS_fstatfs, fd, found);
  if (result == 0 && getenv("LIE_NODES") && is_shared(fd)) found->f_type = 0x6969;
  return result;
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (!getenv("LIE_NODES") || !is_shared(fd)) return (int)syscall(SYS_fallocate, fd, mode, offset, length);
  errno = EOPNOTSUPP;
  return -1;
}

int fdatasync(int fd) {
  FILE* log = getenv("LIE_LOG") && is_shared(fd) ? fopen(getenv("LIE_LOG"), "ae") : NULL;
  if (log) fclose(fprintf(log, "rank %d\n", rank()) > 0 ? log : stderr);
  return (int)syscall(SYS_fdatasync, fd);
}

/* A temporary file with another text. */
static FILE* instead(const char* name, FILE* (*next)(const char*, const char*)) {
  char line[8192];
  FILE* made = tmpfile();
  if (!made) abort();
  if (strstr(name, "boot_id")) {
    fprintf(made, "kernel-%d\n", rank() >= atoi(getenv("LIE_NODES")));
  } else {
    FILE* real = next(name, "re");
    while (fgets(line, sizeof line, real)) {
      char* type = strstr(line, " - ");
      char* source = type ? strchr(type + 3, ' ') : NULL;
      if (source) *type = '\0';
      fprintf(made, source ? "%s - nfs4%s" : "%s", line, source);
    }
    fclose(real);
  }
  rewind(made);
  return made;
}

static FILE* open_as(const char* call, const char* name, const char* mode) {
  FILE* (*next)(const char*, const char*);
  *(void**)&next = dlsym(RTLD_NEXT, call);
  const int lie = getenv("LIE_NODES") && (strstr(name, "/boot_id") || strstr(name, "/mountinfo"));
  return lie ? instead(name, next) : next(name, mode);
}

FILE* fopen(const char* name, const char* mode) { return open_as("fopen", name, mode); }
FILE* fopen64(const char* name, const char* mode) { return open_as("fopen64", name, mode); }
"""


@pytest.fixture(params=[mpi for mpi in MPIS if "cliques" in abilities(mpi)], ids=lambda mpi: mpi.name)
def mpi(request):
    return request.param


@pytest.fixture
def run(mpi, launcher, scratch, compile_c):
    """Run node_files with a liar loaded; the file lies in a folder that is shared, or seems so."""
    place = scratch / "shared"
    place.mkdir()
    liar = compile_c(LIAR, "-shared", "-fPIC", "-ldl", name="libliar.so")

    def run_it(expected, ranks, *before, **lies):
        words = [*map(str, before), program(mpi, "node_files"), f"{place}/w", expected, str(BYTES)]
        outcome = launcher.run(mpi, words, ranks, env={**NODES, **lies}, before=[liar])
        assert outcome.code == 0, outcome.text()
        return outcome

    return run_it


def test_a_node_that_sees_less_of_a_file_than_was_reserved(run, scratch):
    """What its ranks stored there would be a signal."""
    run("refused", 2, LIE_RANK="1", LIE_SIZE=str(BYTES))
    assert not list((scratch / "shared").iterdir())
    run("refused", 4, LIE_RANK="3", LIE_SIZE="0")


def test_a_file_of_several_kernels(run, scratch):
    """One folder for all: the file is one, and what other nodes must find in it is written out."""
    log = scratch / "log"
    run("4", 4, LIE_NODES="2", LIE_LOG=str(log))
    assert log.read_text() == "rank 0\n"
    assert sorted(path.name for path in (scratch / "shared").iterdir()) == ["w", "w.sill"]


def test_files_that_only_look_alike(run, scratch):
    """Each node has a file of its own, of the same name, number, and kind of file system."""
    disks.need_root("unshare")
    place = scratch / "shared"
    private = f'mount -t tmpfs none {place} && exec "$@"'
    outcome = run("1", 2, "/usr/bin/env", "unshare", "-m", "/bin/sh", "-c", private, "sh", LIE_NODES="1")
    inodes = re.findall(r"inode (\d+)", outcome.out)
    assert len(inodes) == 2, outcome.text()
    assert inodes[0] == inodes[1], outcome.text()
    assert not list(place.iterdir())
