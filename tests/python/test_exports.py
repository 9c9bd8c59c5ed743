"""What libsill-*.so export: what src/pmpi/exports.map lists, and no MPI function that the libmpi below doesn't have."""

from __future__ import annotations

import fnmatch
import re
import subprocess
from pathlib import Path

from command_support import EVERY_MPI
from launching import ROOT, library

# As a program's compiler or dlsym() asks for them: a caller that finds a name expects that it works.
C_FUNCTION = re.compile(r"P?MPI_[A-Z][a-z]\w*")


def exported(path: str | Path) -> set[str]:
    """The names that a shared library defines for others, without their symbol versions."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def listed_in_map() -> list[str]:
    """The patterns of exports.map's global part."""
    shown = re.search(r"global:(.*)local:", (ROOT / "src/pmpi/exports.map").read_text(), re.S)[1]
    return [pattern.strip() for pattern in shown.split(";") if pattern.strip()]


@EVERY_MPI
def test_a_library_exports_what_the_map_lists(mpi):
    names = exported(library(mpi))
    patterns = listed_in_map()
    assert [name for name in sorted(names) if not any(fnmatch.fnmatchcase(name, p) for p in patterns)] == []
    assert [pattern for pattern in patterns if not fnmatch.filter(names, pattern)] == [], "patterns for nothing"


@EVERY_MPI
def test_every_mpi_function_exported_is_one_of_the_libmpi_below(mpi):
    """mpi4py, for one, calls large counts where it finds them; Open MPI 4 and 5 have none."""
    ours = {name for name in exported(library(mpi)) if C_FUNCTION.fullmatch(name)}
    assert {"MPI_Win_allocate", "PMPI_Win_allocate"} <= ours
    assert sorted(ours - exported(mpi.library)) == []


@EVERY_MPI
def test_functions_are_exported_under_both_names(mpi):
    """Some Fortran bindings call PMPI_*."""
    ours = {name for name in exported(library(mpi)) if C_FUNCTION.fullmatch(name)}
    assert {name for name in ours if name.startswith("PMPI_")} == {f"P{name}" for name in ours if name[0] == "M"}


@EVERY_MPI
def test_the_library_for_coarrays_exports_its_entries_beside(mpi):
    plain = exported(library(mpi))
    more = exported(library(mpi).with_name(f"libsill-caf-{mpi.family}.so")) - plain
    assert {"_gfortran_caf_register", "_gfortran_caf_sync_all", "sill_coarray_persist"} <= more
    assert {name for name in more if not name.startswith(("_gfortran_caf_", "sill_coarray"))} == set()
