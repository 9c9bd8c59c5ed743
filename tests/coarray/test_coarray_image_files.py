"""PCAF_SHAREDFILE=true: one file for each image holds all its coarrays."""

from __future__ import annotations

import mmap
import os
import struct

import records
from coarray_support import noted_steps, passed, refused, wait_for_steps
from sill import cli, sidecar


def test_one_file_for_each_image(run, kept, capsys):
    """All coarrays of an image, in order of creation, each on pages of its own; those of a team in another one."""
    mine = {"PCAF_SHAREDFILE": "true"}
    passed(run(["coarray_types", "fill"], 3, **mine))
    assert {path.name for path in kept.iterdir()} == {
        f"OpenCoarrays_{image}.win{end}" for image in (1, 2, 3) for end in ("", ".sill")
    }
    passed(run(["coarray_types", "check"], 3, **mine))
    file = sidecar.window_file(kept / "OpenCoarrays_2.win")
    assert [coarray.offset for coarray in file.coarrays] == sorted(coarray.offset for coarray in file.coarrays)
    assert all(coarray.offset % mmap.PAGESIZE == 0 and coarray.state == "kept" for coarray in file.coarrays)
    assert len({coarray.offset for coarray in file.coarrays}) == len(file.coarrays) > 15
    i4 = next(coarray for coarray in file.coarrays if coarray.name == "coarrays_of_all_types::i4")
    content = (kept / "OpenCoarrays_2.win").read_bytes()
    assert content[i4.offset : i4.offset + i4.size] == struct.pack("=6i", *[42] * 6)
    assert cli.main(["show", file.path]) == cli.main(["ls", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert "coarrays_of_all_types::i4" in shown
    assert "2 of 3" in shown
    assert f"{len(file.coarrays)} coarrays" in shown
    # Refused, and left as they are.
    refused(run(["coarray_types", "check"], 2, **mine), "image 1 of 3, this is image 1 of 2")
    refused(run("coarray_access", 3, **mine), "is a coarray of the program 'coarray_types'")
    os.truncate(kept / "OpenCoarrays_2.win", len(content) - 2 * mmap.PAGESIZE)
    refused(run(["coarray_types", "check"], 3, **mine), "that it was left with")
    (kept / "OpenCoarrays_2.win").write_bytes(content)
    passed(run(["coarray_types", "check"], 3, **mine))

    def lose(sections: dict) -> None:
        (lost,) = (coarray for coarray in sections["coarrays"] if coarray["name"] == "coarrays_of_all_types::i8")
        lost["name"] = "coarrays_of_all_types::gone"

    records.change(kept / "OpenCoarrays_3.win.sill", lose)
    refused(run(["coarray_types", "check"], 3, **mine), "OpenCoarrays_3.win: 'coarrays_of_all_types::i8': is missing")


def test_coarrays_that_grow_in_the_file_of_an_image(run, kept):
    mine = {"PCAF_SHAREDFILE": "true"}
    passed(run("coarray_access", 3, **mine))
    file = sidecar.window_file(kept / "OpenCoarrays_1.win")
    assert [coarray.size for coarray in file.coarrays if coarray.name == "grown"] == [9 * 8], (
        "the last allocation's size"
    )
    passed(run(["coarray_types", "fill"], 2, **mine, PCAF_UNLINK="true", PCAF_PREFIX="gone_"))
    passed(run("coarray_access", 3, **mine, PCAF_UNLINK="true", PCAF_PREFIX="gone_"))
    assert not list(kept.glob("gone_*"))


def test_teams_in_the_files_of_images(run, kept):
    passed(run("coarray_teams", 4, PCAF_SHAREDFILE="true"))
    assert {"OpenCoarrays_4.win", "OpenCoarrays_team1.2.win", "OpenCoarrays_team2.2.win"} <= {
        path.name for path in kept.iterdir()
    }
    passed(run(["coarray_teams", "kept"], 4, PCAF_SHAREDFILE="true", PCAF_VOLATILE="has_parts,shared,counter"))


def test_a_running_jobs_file_takes_no_coarray_of_another(mpi, run, caf, launcher, scratch, kept):
    """Although no byte of it would be the other's."""
    log = scratch / "log"
    env = {"PCAF_ENABLED": "true", "PCAF_PATH": str(kept), "PCAF_SHAREDFILE": "true"}
    mine = {**env, "PCAF_COARRAYS": "steps_of_all::mine"}
    other = {"PCAF_SHAREDFILE": "true", "PCAF_COARRAYS": "steps_of_all::from_neighbour"}
    with launcher.start(mpi, ["coarray_steps", log, "1000000000"], 3, sill=False, behind=[caf], env=mine) as job:
        wait_for_steps(job, log, 3, 1)
        refused(run(["coarray_steps", scratch / "other", "10"], 3, **other), "another job has it open")
        assert [coarray.name for coarray in sidecar.window_file(kept / "OpenCoarrays_1.win").coarrays] == [
            "steps_of_all::mine"
        ]
        wait_for_steps(job, log, 3, max(noted_steps(log, 3)) + 1)
        job.kill()
    passed(run(["coarray_steps", scratch / "other", "10"], 3, **other))
