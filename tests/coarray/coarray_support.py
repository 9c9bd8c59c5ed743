"""What the tests of coarrays share beside fixtures."""

from __future__ import annotations

import contextlib
import subprocess
import time

from launching import BUILD, MPIS, PAUSE_S, TIMEOUT_S

HAVE_COARRAYS = [mpi for mpi in MPIS if (BUILD / "bin" / mpi.name / "coarray_access").exists()]


def passed(outcome):
    assert outcome.code == 0, outcome.text()
    return outcome


def refused(outcome, *texts):
    assert outcome.code != 0, outcome.text()
    for text in texts:
        assert text in outcome.err, outcome.text()


def wait_for_steps(job, log, images, least) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while min(noted_steps(log, images)) < least:
        assert time.monotonic() < deadline, f"the images have noted {noted_steps(log, images)}, not all {least}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(timeout=PAUSE_S)
            raise AssertionError(job.finish(10).text())


def noted_steps(log, images) -> list[int]:
    """The last whole line of each image's notes."""
    last = []
    for image in range(1, images + 1):
        path = log.with_name(f"{log.name}.{image}")
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        last.append(int(lines[-1]) if lines else 0)
    return last
