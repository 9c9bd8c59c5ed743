"""What `sill topo` does beside asking: the command line of its ranks, and showing what they found."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from . import run, topo_view
from .errors import SillError
from .mpi import builds, launchers, mpis
from .output import print_table
from .topology import Topology


def ranks_command(options: Sequence[str], ranks: int | None, mpiexec: str | None) -> list[str]:
    """The command line that asks on every rank; below a launcher (neither is given) it is that of this very rank."""
    words = launchers.words_of(mpiexec)
    known = launchers.known_with(words[0] if words else None)
    if not words and ranks is not None:
        words = [_usual_launcher(known)]
    mpi = launchers.mpi_of(words[0], known) if words else launchers.mpi_above(known)
    family = mpi.family if mpi else _family_of(words)
    if mpi and family not in (there := builds.libraries()):
        # MPICH's launcher serves both of its ABIs.
        same = [m for m in known if m.family in there and m.mpiexec and mpi.mpiexec and _same(m.mpiexec, mpi.mpiexec)]
        mpi, family = (same[0], same[0].family) if same else (mpi, family)
    settings = run.program_environment(family, None, None, os.environ)
    settings["LD_PRELOAD"] += f":{mpi.library if mpi else _library_by_name(family)}"
    if (folder := Path(__file__).resolve().parents[1]) == mpis.CHECKOUT / "python":
        # Each rank's Python has to find this very package, which is not installed.
        settings["PYTHONPATH"] = ":".join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    count = ["-n", str(ranks)] if ranks is not None else []
    assignments = [f"{key}={value}" for key, value in settings.items()]
    python = [sys.executable, "-m", "sill.topo_ranks", "--family", family]
    return [*words, *count, "env", *assignments, *python, *options]


def check_drawing(file: str) -> None:
    """Whether a picture can be made there, before any rank starts."""
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise SillError(f"--draw {file}: there is no folder {folder}; make it, or name another one")
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise SillError(f"--draw {file}: can't be written; name another file")


def show(found: Topology, as_json: bool, drawing: str | None) -> None:
    """Print a table, a tree and the costs, or JSON; draw if a file is named."""
    if drawing is not None:
        from . import topo_draw  # only here: Matplotlib is slow to load, and may be missing

        topo_draw.write(found, drawing)
    if as_json:
        print(json.dumps(asdict(found), indent=2))
        return
    print(topo_view.headline(found), end="\n\n")
    print_table(topo_view.store_table(found), piped=found.ranks > 0)
    if found.ranks:
        print()
        print(*topo_view.tree(found), sep="\n")
        print()
        print_table(topo_view.cost_table(found), piped=True)


def _usual_launcher(known: Sequence[mpis.Mpi]) -> str:
    launcher = launchers.on_path() or next((mpi.mpiexec for mpi in known if mpi.mpiexec), None)
    if launcher is None:
        raise SillError("no launcher found: install an MPI, load its module, or name a launcher with --mpiexec")
    return launcher


def _family_of(words: Sequence[str]) -> str:
    family = launchers.family_of(words[0], []) if words else launchers.family_of_surroundings(os.environ)
    if family is None and len(there := builds.libraries()) == 1:
        family = next(iter(there))
    if family is None:
        raise SillError("the launcher doesn't tell its MPI's family: name the MPI's own mpiexec with --mpiexec")
    return family


def _library_by_name(family: str) -> str:
    """For a family of which no installation is known: the name under which the loader finds a library."""
    names = [name for name, of in mpis.SONAMES.items() if of == family]
    for name in names:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return name
    raise SillError(
        f"no MPI of the {family} family found, and the loader finds no {' or '.join(names)}: load the MPI's module, or "
        "name the folder of the library in LD_LIBRARY_PATH"
    )


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
