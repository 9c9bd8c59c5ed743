"""What the tests of coarrays share beside fixtures."""

from __future__ import annotations

from launching import BUILD, MPIS

HAVE_COARRAYS = [mpi for mpi in MPIS if (BUILD / "bin" / mpi.name / "coarray_access").exists()]


def passed(outcome):
    assert outcome.code == 0, outcome.text()
    return outcome


def refused(outcome, *texts):
    assert outcome.code != 0, outcome.text()
    for text in texts:
        assert text in outcome.err, outcome.text()
