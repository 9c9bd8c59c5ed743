"""What the PCAF_ variables choose."""

from __future__ import annotations

import struct
from pathlib import Path

import disks
from coarray_support import passed, refused
from launching import program
from sill import sidecar


def test_shared_file(run, kept):
    passed(run(["coarray_types", "fill"], 3, PCAF_SHAREDFILE="images"))
    passed(run(["coarray_types", "check"], 3, PCAF_SHAREDFILE="images"))
    shared = kept / "OpenCoarrays_coarrays_of_all_types.i4"
    assert shared.read_bytes() == b"".join(struct.pack("=6i", *[40 + image] * 6) for image in (1, 2, 3))


def test_unlink_keeps_nothing(run, kept):
    passed(run(["coarray_types", "fill"], 2, PCAF_UNLINK="true", PCAF_PREFIX="gone_"))
    assert list(kept.iterdir()) == []


def test_lists_choose_by_name(run, kept):
    module = "coarrays_of_all_types::"
    passed(
        run(
            ["coarray_types", "fill"], 2, PCAF_COARRAYS=f"{module}i8,of_program,{module}a1", PCAF_VOLATILE=f"{module}i8"
        )
    )
    names = {path.name for path in kept.glob("*.1")}
    assert names == {"OpenCoarrays_of_program.1", "OpenCoarrays_coarrays_of_all_types.a1.1"}


def test_a_name_that_no_coarray_has_is_told(run, kept):
    outcome = passed(run(["coarray_types", "fill"], 2, PCAF_COARRAYS="of_program,off_program"))
    assert outcome.err.count("no coarray was called") == 1
    assert "PCAF_COARRAYS: no coarray was called 'off_program'" in outcome.err


def test_images_with_other_variables_are_refused(mpi, run, kept):
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    script = f"if [ {rank} = 1 ]; then export PCAF_ENABLED=false; fi; exec {program(mpi, 'coarray_types')} fill"
    refused(run([Path("/bin/sh"), "-c", script], 2), "image 2 has other PCAF_ variables than image 1")


def test_bad_variables_are_refused(run):
    refused(run("coarray_access", 2, PCAF_SYNCFREQ="-1"), "PCAF_SYNCFREQ=-1: expected a whole number")
    refused(run("coarray_access", 2, PCAF_ENABLED="yes"), "PCAF_ENABLED=yes: expected true or false")
    refused(run("coarray_access", 2, PCAF_PATH="/no/such/folder"), "/no/such/folder")


def test_hints_for_the_windows_of_coarrays(run, kept):
    sparse = {"PCAF_WINDOW": "storage_alloc_reserve=sparse,file_perm=0640"}
    passed(run(["coarray_types", "fill"], 2, **sparse))
    passed(run(["coarray_types", "check"], 2, **sparse))
    file = kept / "OpenCoarrays_coarrays_of_all_types.a1.1"
    assert file.stat().st_mode & 0o777 == 0o640
    half = {"PCAF_WINDOW": "storage_alloc_factor=0.5"}
    refused(run(["coarray_types", "fill"], 2, **half), "storage_alloc_factor would lose a part")
    passed(run(["coarray_types", "check"], 2))
    refused(
        run(["coarray_types", "fill"], 2, PCAF_WINDOW="storage_alloc_unlink=true"), "PCAF_WINDOW=", "_unlink is not"
    )


def test_coarrays_partly_in_memory(run, kept):
    half = {"PCAF_WINDOW": "storage_alloc_factor=0.5", "PCAF_PREFIX": "half_"}
    outcome = passed(run("coarray_access", 3, **half))
    assert outcome.err.count("none comes back in the next run") == 1
    passed(run(["coarray_types", "fill"], 2, **half))
    states = [file.coarray.state for file in sidecar.window_files(kept)]
    assert states
    assert set(states) == {"fresh"}
    passed(run(["coarray_types", "fill"], 2, **half))


def test_a_variable_that_is_none_is_told(run, kept):
    outcome = passed(run(["coarray_types", "fill"], 2, PCAF_SYNCFRQ="5", PCAF_STRIPEIZE="65536"))
    assert outcome.err.count("there is no such variable") == 1
    assert "PCAF_SYNCFRQ: there is no such variable; is PCAF_SYNCFREQ meant?" in outcome.err


def test_a_folder_of_each_node(mpi, run, kept):
    """Images on nodes of two names: each has its files in the folder of its own."""
    disks.need_root("unshare")
    for name in ("host0", "host1"):
        (kept / f"test-{name}").mkdir()
    rank = "host${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    for mode in ("fill", "check"):
        script = f"exec unshare -u sh -c 'hostname $0; exec {program(mpi, 'coarray_types')} {mode}' {rank}"
        passed(run([Path("/bin/sh"), "-c", script], 2, PCAF_PATH=f"{kept}/%j-%h"))
    for image in (1, 2):
        assert (kept / f"test-host{image - 1}" / f"OpenCoarrays_of_program.{image}").exists()
