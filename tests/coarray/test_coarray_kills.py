"""Images that are killed between two syncs, and what is in the files then."""

from __future__ import annotations

import contextlib
import os
import random
import struct
import subprocess
import time
from pathlib import Path

import pytest
from coarray_support import HAVE_COARRAYS, noted_steps, passed, wait_for_steps
from launching import PAUSE_S, TIMEOUT_S
from sill import sidecar

# 50 kills in all with SILL_TEST_KILLS=50; few in `make test`, each being a launch.
KILLS = int(os.environ.get("SILL_TEST_KILLS", "6"))


def find_coarray(kept, name, image) -> tuple[Path, sidecar.Coarray]:
    """A coarray's file and its record, which is one of several in the file of an image."""
    path = kept / f"OpenCoarrays_{image}.win"
    if not path.exists():
        path = kept / f"OpenCoarrays_{name.replace('::', '.')}.{image}"
    file = sidecar.window_file(path)
    return path, file.coarray or next(coarray for coarray in file.coarrays if coarray.name == name)


def check_steps(kept, done, images) -> None:
    """Each element is of the last step that a completed sync covered, or of the one begun behind it."""
    for image in range(1, images + 1):
        for name in ("mine", "from_neighbour"):
            path, coarray = find_coarray(kept, f"steps_of_all::{name}", image)
            with open(path, "rb") as file:
                file.seek(coarray.offset or 0)
                values = set(struct.unpack(f"={coarray.size // 4}i", file.read(coarray.size)))
            assert values <= set(range(max(done), max(done) + 3)), f"{path}: {values}, noted {done}"
            assert coarray.state == "kept"


@pytest.mark.parametrize(("by", "shared"), [("all", "false"), ("images", "false"), ("all", "true")])
def test_kill(mpi, caf, launcher, scratch, kept, by, shared):
    """kill -9 of an image: what the last completed sync covered is in the files; the next run goes on from there."""
    images = 3
    log = scratch / "log"
    chance = random.Random(f"{mpi.name} {by}")
    env = {"PCAF_ENABLED": "true", "PCAF_PATH": str(kept), "PCAF_SHAREDFILE": shared}
    options = {"sill": False, "behind": [caf], "env": env}
    words = ["coarray_steps", log, "1000000000", *(["images"] if by == "images" else [])]
    for _ in range(max(1, KILLS // (2 * len(HAVE_COARRAYS)))):
        with launcher.start(mpi, words, images, **options) as job:
            wait_for_steps(job, log, images, max(noted_steps(log, images)) + chance.randint(1, 5))
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.process.wait(timeout=chance.uniform(0, 0.05))
            pids = job.pids("coarray_steps")
            assert len(pids) == images, f"processes of the job: {pids}"
            job.kill_rank(chance.choice(pids))
            outcome = job.finish(60)
            assert outcome.code not in (0, None), outcome.text()
        check_steps(kept, noted_steps(log, images), images)
    last = max(noted_steps(log, images)) + 3
    words[2] = str(last)
    outcome = launcher.run(mpi, words, images, **options)
    assert outcome.code == 0, outcome.text()
    check_steps(kept, noted_steps(log, images), images)


def test_sync_interval(run, kept, scratch):
    """With an interval that never passes, only the end of the program syncs; images can't disagree or hang."""
    words = ["coarray_steps", scratch / "log", "200", "images"]
    passed(run(words, 3, PCAF_SYNCFREQ="3600000"))
    passed(run([*words[:2], "400"], 3, PCAF_SYNCFREQ="1"))
    assert noted_steps(scratch / "log", 3) == [400] * 3


# What each app is asked for, its option for how long, and its coarrays: the note of what is done, and both states.
APPS = {
    "stencil": (["--rows", "60", "--columns", "50"], "--steps", "plate.done", "plate.heat"),
    "transpose": (["--order", "96"], "--rounds", "matrices.done", "matrices.b"),
}


@pytest.mark.parametrize("app", APPS)
def test_an_app_goes_on_after_a_kill(mpi, caf, launcher, scratch, kept, app):
    """An image is killed at any moment. The next run ends as one that nobody stopped, byte for byte."""
    images = 3
    words, option, note, state = APPS[app]

    def at(folder, name, image):
        return folder / f"OpenCoarrays_{name}.{image}"

    def done():
        notes = [at(kept, note, image) for image in range(1, images + 1)]
        bytes_of = [path.read_bytes() if path.exists() else b"" for path in notes]
        return [struct.unpack("=q", note)[0] if note else -1 for note in bytes_of]  # empty: not made long enough yet

    def options(folder):
        return {"sill": False, "behind": [caf], "env": {"PCAF_ENABLED": "true", "PCAF_PATH": str(folder)}}

    words = [f"sill-caf-{app}", *words, option]
    with launcher.start(mpi, [*words, "1000000000"], images, **options(kept)) as job:
        deadline = time.monotonic() + TIMEOUT_S
        while min(done()) < 3:
            assert time.monotonic() < deadline, f"done: {done()}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.process.wait(timeout=PAUSE_S)
                raise AssertionError(job.finish(10).text())
        job.kill_rank(random.choice(job.pids(f"sill-caf-{app}")))
        assert job.finish(60).code not in (0, None)
    # As far apart as images can be: the second one notes the next step, of which nothing is right yet.
    least, last = min(done()), max(done()) + 4
    at(kept, note, 1).write_bytes(struct.pack("=q", least))
    at(kept, note, 2).write_bytes(struct.pack("=q", least + 1))
    half = at(kept, state, 2).stat().st_size // 2
    with open(at(kept, state, 2), "r+b") as file:
        file.seek((least + 1) % 2 * half)
        file.write(struct.pack("=d", float("nan")) * (half // 8))
    outcome = passed(launcher.run(mpi, [*words, str(last)], images, **options(kept)))
    assert "checked, right" in outcome.out
    whole = scratch / "whole"
    whole.mkdir()
    passed(launcher.run(mpi, [*words, str(last)], images, **options(whole)))
    for image in range(1, images + 1):
        assert at(kept, state, image).read_bytes() == at(whole, state, image).read_bytes()
