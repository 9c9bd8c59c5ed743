"""The command with the built libraries: an unmodified program's windows are files, and the command shows them."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import pytest
from command_support import BUILD, EVERY_MPI, MPIS, ROOT, launcher

PROGRAM = """
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, ranks;
  double* base;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(1000 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  double mine = 10.0 + rank;
  MPI_Win_fence(0, window);
  MPI_Put(&mine, 1, MPI_DOUBLE, (rank + 1) % ranks, 7, 1, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
"""
PYTHON_PROGRAM = """
from mpi4py import MPI
import numpy
world = MPI.COMM_WORLD
window = MPI.Win.Allocate(8000, 8, comm=world)
window.Fence()
window.Put(numpy.array([10.0 + world.rank]), (world.rank + 1) % world.size, 7)
window.Fence()
window.Free()
"""


@pytest.fixture
def with_library(sill):
    """The command with the libraries of the build folder."""

    def run(*arguments, **more):
        if not (BUILD / "lib").is_dir():
            pytest.fail(f"{BUILD} has no libraries: run make")
        return sill(*arguments, env={"SILL_LIBRARY_DIR": str(BUILD / "lib")}, **more)

    return run


def check_files(store: Path) -> None:
    """What each rank's neighbour put is in its file, at its offset, as raw bytes."""
    for rank in (0, 1):
        data = (store / f"w0.r{rank}").read_bytes()
        assert len(data) == 8000
        assert struct.unpack_from("d", data, 7 * 8) == (10.0 + (rank + 1) % 2,)


@EVERY_MPI
def test_windows_of_an_unmodified_program_are_files(mpi, with_library, compile_c, tmp_path):
    store = tmp_path / "a store"
    result = with_library(
        "run", "-n", 2, "--mpiexec", launcher(mpi), "--store", store, "--", compile_c(PROGRAM, cc=mpi.cc)
    )
    assert result.returncode == 0, result.stderr
    check_files(store)
    rows = json.loads(with_library("ls", "--json", store).stdout)
    assert [(Path(row["path"]).name, row["segments"][0]["rank"]) for row in rows] == [("w0.r0", 0), ("w0.r1", 1)]
    for row in rows:
        assert (row["exists"], row["size"], row["segments"][0]["size"]) == (True, 8000, 8000)
        assert row["dirty"] in (0, None), "freeing a window syncs it"
    assert "w0.r1" in with_library("show", store / "w0.r1").stdout


@EVERY_MPI
def test_windows_of_mpi4py_programs_are_files(mpi, with_library, tmp_path):
    pytest.importorskip("mpi4py")
    if Path(mpi.library).name.startswith("libmpich."):
        pytest.skip("mpi4py's wheel asks for libmpi.so.12, Debian's MPICH is libmpich.so.12")
    if mpi.family == "mpiabi":
        pytest.skip("its launcher is that of MPICH's other ABI, which is used then")
    program = tmp_path / "program.py"
    program.write_text(PYTHON_PROGRAM)
    store = tmp_path / "store"
    result = with_library("run", "-n", 2, "--mpiexec", launcher(mpi), "--store", store, "--", sys.executable, program)
    assert result.returncode == 0, result.stderr
    check_files(store)


def test_a_bad_rule_is_the_programs_error(with_library, compile_c):
    program = compile_c(PROGRAM, cc=MPIS[0].cc)
    result = with_library("run", "-n", 1, "--windows", "alloc_type=tape", "--", program)
    assert result.returncode != 0
    assert "alloc_type" in result.stderr
    assert "tape" in result.stderr


def test_the_table_is_the_libraries(with_library):
    keys = [row["key"] for row in json.loads(with_library("hints", "--json").stdout)]
    header = (ROOT / "include" / "sill" / "sill.h").read_text()
    assert keys
    assert {key for key in keys if f'"{key}"' in header} == set(keys)


def test_doctor_finds_a_library_for_every_mpi(with_library, tmp_path):
    rows = json.loads(with_library("doctor", "--json", tmp_path).stdout)
    found = {row["item"] for row in rows if row["area"] == "Sill" and row["verdict"] == "ok"}
    assert {f"libsill-{mpi.family}" for mpi in MPIS} <= found
