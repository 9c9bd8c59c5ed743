"""Coarray programs with OpenCoarrays as it is installed: as right as without Sill, and kept from run to run."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from dataclasses import replace

import pytest
from coarray_support import passed, refused
from launching import BUILD, ROOT, TIMEOUT_S, is_one_of, program
from records import sections_of
from sill import sidecar
from sill.mpi import elf


@pytest.mark.parametrize("images", [1, 2, 3, 4])
def test_accesses_in_memory(run, images):
    passed(run("coarray_access", images, keep=False))


@pytest.mark.parametrize("images", [1, 3])
def test_accesses_of_kept_coarrays(run, kept, images):
    passed(run("coarray_access", images))
    assert (kept / "OpenCoarrays_grown.1").stat().st_size == 9 * 8, "the last allocation's size"


def test_accesses_across_nodes(mpi, run):
    if mpi.family == "ompi":
        pytest.skip("Open MPI can't simulate nodes by a variable")
    nodes = {"MPIR_CVAR_NUM_CLIQUES": "2", "MPIR_CVAR_CLIQUES_BY_BLOCK": "1"}
    passed(run("coarray_access", 4, keep=False, **nodes))
    passed(run("coarray_access", 4, **nodes))


@pytest.mark.xdist_group("nodes")
def test_on_nodes(mpi, caf, launcher, nodes, kept):
    """Accesses from node to node; files in each node's own /tmp, and in a folder that both see."""
    made = nodes(2)

    def run(words, path):
        env = {"PCAF_ENABLED": "true", "PCAF_PATH": str(path)}
        passed(replace(launcher, nodes=made).run(mpi, words, 4, sill=False, behind=[caf], env=env))

    run("coarray_access", kept)
    assert {path.name for path in kept.glob("OpenCoarrays_grown.?")} == {f"OpenCoarrays_grown.{i}" for i in range(1, 5)}
    run(["coarray_types", "fill"], "/tmp")
    run(["coarray_types", "check"], "/tmp")
    for node in range(2):
        found = {path.name for path in made.tmp(node).glob("OpenCoarrays_of_program.?")}
        assert found == {f"OpenCoarrays_of_program.{2 * node + 1}", f"OpenCoarrays_of_program.{2 * node + 2}"}


@pytest.mark.parametrize("shared", ["false", "true"])
def test_many_coarrays_have_few_descriptors(run, shared):
    passed(run("coarray_descriptors", 4, PCAF_SHAREDFILE=shared))


@pytest.mark.parametrize("images", [1, 2, 4])
def test_all_types_come_back(run, kept, images):
    passed(run(["coarray_types", "fill"], images))
    passed(run(["coarray_types", "check"], images))
    names = {file.coarray.name for file in sidecar.window_files(kept)}
    prefix = "coarrays_of_all_types::"
    assert {f"{prefix}i1", f"{prefix}a3", f"{prefix}derived", "of_program", "own"} <= names
    # Which of two is which, another build of the program couldn't tell.
    builds = [sections_of(kept / f"OpenCoarrays_{name}.1.sill")["coarrays"][0]["build"] for name in ("own", "own-2")]
    assert all(builds)
    # Any tool can read them: the file is the coarray.
    assert (kept / "OpenCoarrays_coarrays_of_all_types.i4.1").read_bytes() == struct.pack("=6i", *[41] * 6)


def test_teams_and_what_is_left_to_opencoarrays(mpi, run, kept):
    passed(run("coarray_teams", 4, keep=False))
    outcome = passed(run("coarray_teams", 4))
    assert "'has_parts' is not kept: it has allocatable components" in outcome.err
    names = {path.name for path in kept.iterdir()}
    assert "OpenCoarrays_shared.1" in names
    assert not any("lock" in name or "event" in name or "has_parts" in name for name in names)
    assert {"OpenCoarrays_of_team.team1.2", "OpenCoarrays_of_team.team2.2"} <= names
    passed(run(["coarray_teams", "kept"], 4, PCAF_VOLATILE="has_parts,shared,counter"))


def test_the_modules_procedures(mpi, launcher, scratch):
    def start(mode, images=2):
        words = ["coarray_choice", scratch, mode]
        return launcher.run(mpi, words, images, sill=False, timeout=60)

    passed(start("first"))
    assert (scratch / "chosen.1").read_bytes() == struct.pack("=100i", *[1] * 100)
    passed(start("again"))
    passed(start("volatile"))
    assert not list(scratch.glob("chosen*"))


def test_windows_rules_leave_the_runtime_alone(run, kept, scratch):
    rule = f"alloc_type=storage,storage_alloc_filename={scratch}/w%w.%r"
    passed(run("coarray_teams", 2, keep=False, SILL_WINDOWS=rule))
    assert not list(scratch.glob("w*"))


def test_sill_run_preloads_what_coarrays_need(mpi, kept):
    words = [sys.executable, "-m", "sill", "run", "--mpiexec", " ".join([mpi.mpiexec, *mpi.oversubscribe])]
    environment = {
        **os.environ,
        **mpi.root_env,
        "PYTHONPATH": str(ROOT / "python"),
        "SILL_LIBRARY_DIR": str(BUILD / "lib"),
        "PCAF_ENABLED": "true",
        "PCAF_PATH": str(kept),
    }
    command = [*words, "-n", "2", "--", str(program(mpi, "coarray_types")), "fill"]
    subprocess.run(command, env=environment, check=True, timeout=TIMEOUT_S)
    shown = subprocess.run(
        [*words[:3], "show", str(kept / "OpenCoarrays_of_program.2")],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "of_program" in shown
    assert "2 of 2" in shown


def test_opencoarrays_linked_statically_is_said_plainly(mpi, run, kept, tmp_path):
    wrapper = shutil.which({"ompi": "caf.openmpi", "mpich": "caf.mpich"}[mpi.family])
    if wrapper is None:
        pytest.skip("no caf wrapper")
    binary = tmp_path / "linked_statically"
    subprocess.run([wrapper, ROOT / "tests/coarray/coarray_teams.f90", "-o", binary], check=True, cwd=tmp_path)
    assert elf.coarrays(binary) == "static"
    refused(run([binary], 2), "OpenCoarrays is linked statically")
    if is_one_of(mpi, "mpich 4.2"):
        pytest.skip(
            "with MPICH 4.2, a program with a static OpenCoarrays aborts at its end by itself (MPI_Comm_free refuses)"
        )
    passed(run([binary], 2, keep=False))
