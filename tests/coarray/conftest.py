"""What tests of coarrays share: the MPIs that have OpenCoarrays, starting programs whose coarrays are kept."""

from __future__ import annotations

import pytest
from coarray_support import HAVE_COARRAYS
from launching import BUILD

NONE = pytest.param(
    None, id="none", marks=pytest.mark.skip("no OpenCoarrays and gfortran here (Debian: libcoarrays-openmpi-dev)")
)


@pytest.fixture(params=HAVE_COARRAYS or [NONE], ids=lambda mpi: mpi.name)
def mpi(request):
    return request.param


@pytest.fixture
def caf(mpi):
    """The library to preload for coarrays."""
    return BUILD / "lib" / f"libsill-caf-{mpi.family}.so"


@pytest.fixture
def kept(scratch):
    folder = scratch / "kept"
    folder.mkdir()
    return folder


@pytest.fixture
def run(mpi, caf, launcher, kept):
    """Run a coarray program; by default its coarrays are kept in the folder `kept`."""

    def start(words, images, keep=True, sill=True, **env):
        if images == 1 and mpi.kind == "ompi4":
            pytest.skip("with Open MPI 4.1, OpenCoarrays itself can't start one image alone (MPI_Win_create refuses)")
        settings = {"PCAF_ENABLED": "true", "PCAF_PATH": str(kept)} if keep else {}
        return launcher.run(
            mpi, words, images, sill=False, behind=[caf] if sill else [], env={**settings, **env}, timeout=60
        )

    return start
