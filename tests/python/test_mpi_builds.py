"""python/sill/mpi/builds.py: for which MPIs there are programs, and with which libraries."""

from __future__ import annotations

import os
import shutil

import pytest
from bench_support import LAUNCHER, PROGRAM, executable
from command_support import MPIS
from sill import SillError
from sill.mpi import builds

pytestmark = pytest.mark.quick


def test_a_build_has_a_target_for_each_mpi_with_programs(tmp_path):
    (tmp_path / "bin" / MPIS[0].name).mkdir(parents=True)
    [found] = builds.targets([], tmp_path, None, [])
    assert (found.mpi, found.family, found.launcher) == (MPIS[0].name, MPIS[0].family, (MPIS[0].mpiexec,))
    crowd = found.start(os.cpu_count() + 1)
    assert crowd == [MPIS[0].mpiexec, *MPIS[0].oversubscribe, "-n", str(os.cpu_count() + 1)]


@pytest.mark.parametrize("folder", ["name", "kind", "full_name"])
def test_an_mpi_is_meant_by_each_of_its_names(tmp_path, folder):
    """Its programs may be from a time when there were more or fewer of its kind."""
    mpi = MPIS[0]
    (tmp_path / "bin" / getattr(mpi, folder)).mkdir(parents=True)
    for wanted in (mpi.name, mpi.kind, mpi.full_name):
        [found] = builds.targets([wanted], tmp_path, None, [])
        assert (found.mpi, found.title) == (mpi.name, mpi.title)
        assert found.folder == tmp_path / "bin" / getattr(mpi, folder)
        [found] = builds.targets([wanted], tmp_path, mpi.mpiexec, [])
        assert found.mpi == mpi.name
    with pytest.raises(SillError, match=f"no MPI mpich99 here; choose of {mpi.name}"):
        builds.targets(["mpich99"], tmp_path, None, [])


@pytest.mark.parametrize("own_launcher", [False, True])
def test_installed_programs_tell_their_mpi(tmp_path, monkeypatch, mpi_program, own_launcher):
    """As on a cluster: no checkout, programs on $PATH, and perhaps a launcher that belongs to no MPI."""
    mpi = MPIS[0]
    monkeypatch.setattr(builds, "build_folder", lambda: None)
    launcher = executable(tmp_path / "srun", LAUNCHER)
    program = tmp_path / "bin" / "sill-installed"
    program.parent.mkdir()
    shutil.copy(mpi_program(mpi), program)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    [found] = builds.targets([], None, f"{launcher} --mpi=pmi2" if own_launcher else None, ["sill-installed"])
    assert found.family == mpi.family
    assert found.program("sill-installed") == program
    if own_launcher:
        assert found.start(99) == [str(launcher), "--mpi=pmi2", "-n", "99"]


def test_installed_programs_of_several_mpis_are_found_with_their_libraries(tmp_path, monkeypatch):
    """What cmake --install made; its bin is on $PATH."""
    monkeypatch.setattr(builds, "build_folder", lambda: None)
    for mpi in MPIS[:2]:
        executable(tmp_path / "libexec" / "sill" / mpi.name / "sill-x", PROGRAM)
        executable(tmp_path / "lib" / "here" / f"libsill-{mpi.family}.so", "")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    found = builds.targets([], None, None, ["sill-x"])
    assert [target.mpi for target in found] == [mpi.name for mpi in MPIS[:2]]
    assert found[0].program("sill-x") == tmp_path / "libexec" / "sill" / MPIS[0].name / "sill-x"
    assert found[0].library() == tmp_path / "lib" / "here" / f"libsill-{MPIS[0].family}.so"


def test_no_programs_at_all_is_said(monkeypatch):
    monkeypatch.setattr(builds, "build_folder", lambda: None)
    with pytest.raises(SillError, match="run make, or install"):
        builds.targets([], None, None, ["sill-not-there"])
