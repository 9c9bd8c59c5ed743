"""A program that is linked with Sill behind the MPI library is told so, for its windows can't be on storage."""

from __future__ import annotations

import pytest
from launching import BUILD, ROOT, library

PROGRAM = r"""
#include "check.h"
#include <sill/sill.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* base;
  MPI_Win win;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  sill_win_stats stats = {.size = sizeof stats};
  sill_split_stats split = {.size = sizeof split};
  int restored;
  const int codes[] = {sill_win_sync_all(win), sill_win_get_restored(win, &restored), sill_win_get_stats(win, &stats)};
  for (int i = 0; i < 3; i++) {
    CHECK_EQ(class_of(codes[i]), argc > 1 ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION);
    if (argc == 1) CHECK(strstr(sill_error_string(), "stands before"));
  }
  CHECK_EQ(class_of(sill_split_get_stats(&split)), argc > 1 ? MPI_ERR_ARG : MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
"""


def told(outcome) -> list[str]:
    assert outcome.code == 0, outcome.text()
    return [line for line in outcome.err.splitlines() if "stands before" in line]


@pytest.fixture
def behind(mpi, compile_c):
    flags = (f"-I{ROOT}/include", f"-I{ROOT}/tests/mpi", "-Wl,--no-as-needed", mpi.library, library(mpi))
    return compile_c(PROGRAM, *flags, f"-Wl,-rpath,{BUILD}/lib", cc=mpi.cc)


def test_linked_behind_mpi(mpi, launcher, scratch, behind):
    """Said once, more loudly where a rule names storage, and by every call that would tell of a window."""
    lines = told(launcher.run(mpi, [behind], 2, sill=False))
    # MPICH 4.0 can't carry the text of an error, so the calls say theirs, too, at another level.
    assert len([line for line in lines if line.startswith("sill warn: ")]) == 1, lines
    rule = {"SILL_WINDOWS": f"alloc_type=storage,storage_alloc_filename={scratch}/w.%r"}
    (line,) = set(told(launcher.run(mpi, [behind], 2, sill=False, env=rule)))
    assert line.startswith("sill error: "), line
    assert library(mpi).name in line
    assert "sill run" in line
    assert not list(scratch.iterdir())
    # Preloaded it stands in front all the same.
    assert told(launcher.run(mpi, [behind, "first"], 2, env=rule)) == []
    assert sorted(path.name for path in scratch.glob("w.?")) == ["w.0", "w.1"]
