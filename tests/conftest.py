"""What all tests share: a scratch folder, the MPIs of this machine, starting programs under them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import BUILD, MPIS, ROOT, Launcher
from nodes import Nodes


@pytest.fixture
def scratch() -> Iterator[Path]:
    """An empty folder with a short name, for MPI cuts error messages at 256 characters. Open to other users."""
    folder = Path(tempfile.mkdtemp(prefix="sill-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory):
    """Compile one C source text; returns the path of what came out."""

    def compile_source(source, *flags, cc="cc", name="program"):
        folder = tmp_path_factory.mktemp("compiled")
        file = folder / f"{name}.c"
        file.write_text(source)
        output = folder / name
        subprocess.run([cc, file, "-o", output, *map(str, flags)], check=True, timeout=60)
        return output

    return compile_source


@pytest.fixture
def launcher(scratch: Path) -> Launcher:
    return Launcher(scratch)


@pytest.fixture
def nodes(scratch: Path):
    """`nodes(2)` makes two nodes, which share `scratch`, for `Launcher(scratch, nodes(2))`. They end with the test.

    Tests that use it are in the xdist_group `nodes`, so that they don't take turns with each other on the cores.
    """
    with contextlib.ExitStack() as stack:

        def make(count: int) -> Nodes:
            made = Nodes(count, [scratch, ROOT, BUILD])
            stack.callback(made.end)
            return made

        yield make


@pytest.fixture(params=MPIS, ids=lambda mpi: mpi.name)
def mpi(request: pytest.FixtureRequest):
    """Each MPI of this machine in turn."""
    return request.param
