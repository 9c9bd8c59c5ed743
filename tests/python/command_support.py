"""What the tests of the command share beside fixtures."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from sill import mpis  # noqa: E402

MPIS = [mpi for mpi in mpis.find() if mpi.cc and mpi.mpiexec]

EVERY_MPI = pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
BUILD = Path(os.environ.get("SILL_BUILD", ROOT / "build"))


def launcher(mpi: mpis.Mpi) -> str:
    """What --mpiexec gets: more ranks than cores are fine."""
    return shlex.join([mpi.mpiexec, *mpi.oversubscribe])


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
