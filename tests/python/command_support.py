"""What the tests of the command share beside fixtures."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import launching
import pytest
from launching import BUILD, ROOT, mpis

__all__ = ["BUILD", "EVERY_MPI", "MPIS", "PROGRAM", "ROOT", "SAYING_LAUNCHER", "launcher", "mpis", "run_job"]

# Tests of the command compile programs of their own.
MPIS = [mpi for mpi in launching.MPIS if mpi.cc]
EVERY_MPI = pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)


def run_job(
    command: Sequence[str | Path], env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess:
    """Run a command that starts ranks; whatever it leaves behind is ended, and so is all of it after the time limit."""
    words = [str(word) for word in command]
    with launching.Job(words, env, cwd=cwd) as job:
        outcome = job.finish()
    assert outcome.code is not None, outcome.text()
    return subprocess.CompletedProcess(words, outcome.code, outcome.out, outcome.err)


def launcher(mpi: mpis.Mpi) -> str:
    """What --mpiexec gets: more ranks than cores are fine."""
    return shlex.join([mpi.mpiexec, *mpi.oversubscribe])


# A launcher of MPICH's kind that starts nothing, says how it was called, and takes no notice of its output.
SAYING_LAUNCHER = '#!/bin/sh\necho HYDRA "$@"\nexit 3\n'

# Says what a rank sees: who is preloaded, which rules there are, its arguments; exits as told.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_preloaded(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  const char* found = "none";
  while (maps && fgets(line, sizeof line, maps)) {
    if (strstr(line, "libsill-mpiabi.so")) found = "mpiabi";
    if (strstr(line, "libsill-mpich.so")) found = "mpich";
    if (strstr(line, "libsill-ompi.so")) found = "ompi";
  }
  if (maps) fclose(maps);
  printf("preloaded=%s\n", found);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    const char* rule = getenv("SILL_WINDOWS");
    const char* preload = getenv("LD_PRELOAD");
    print_preloaded();
    printf("ranks=%d\nparent=%d\n", ranks, (int)getppid());
    printf("rule=%s\npreload=%s\n", rule ? rule : "", preload ? preload : "");
    for (int i = 2; i < argc; ++i) printf("argument=%s\n", argv[i]);
    fflush(stdout);
  }
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""
