"""`sill topo` on every rank: what starts it there, and MPI through ctypes, with Sill's and an MPI library preloaded.

No mpi4py and no compiled program of an MPI is needed, so it works wherever `sill run` does.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .. import native, run
from ..errors import SillError, reason
from ..mpi import builds, launchers, mpis
from . import Cost, Directory, Group, Node, Topology

_METHODS = ("auto", "exhaustive", "heuristic", "fingerprint")  # in the order of SILL_SPLIT_...


def command(options: Sequence[str], ranks: int | None, mpiexec: str | None) -> list[str]:
    """The command line that asks on every rank; below a launcher (neither is given) it is that of this very rank."""
    words = launchers.words_of(mpiexec)
    known = launchers.known_with(words[0] if words else None)
    if not words and ranks is not None:
        words = [_usual_launcher(known)]
    mpi = launchers.mpi_of(words[0], known) if words else launchers.mpi_above(known)
    family = mpi.family if mpi else _family_of(words)
    if mpi and family not in (there := builds.libraries()):
        same = [m for m in launchers.served_with(mpi, known) if m.family in there]
        mpi, family = (same[0], same[0].family) if same else (mpi, family)
    settings = run.program_environment(family, None, None, os.environ)
    settings["LD_PRELOAD"] += f":{mpi.library if mpi else _library_by_name(family)}"
    if (folder := Path(__file__).resolve().parents[2]) == mpis.CHECKOUT / "python":
        # Each rank's Python has to find this very package, which is not installed.
        settings["PYTHONPATH"] = ":".join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    count = ["-n", str(ranks)] if ranks is not None else []
    assignments = [f"{key}={value}" for key, value in settings.items()]
    python = [sys.executable, "-m", "sill.topo.ranks", "--family", family]
    return [*words, *count, "env", *assignments, *python, *options]


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


# --- on a rank ---


class _SplitStats(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("method", ctypes.c_int),
        ("store", ctypes.c_int),
        ("store_count", ctypes.c_int),
        ("unproven", ctypes.c_int),
        ("creates", ctypes.c_uint64),
        ("looks", ctypes.c_uint64),
        ("removes", ctypes.c_uint64),
        ("time_ns", ctypes.c_uint64),
    )


class _SharedStore(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("info", ctypes.POINTER(native.StoreInfo)),
        ("path", ctypes.c_char_p),
        ("directory", ctypes.c_int),
        ("unproven", ctypes.c_int),
        ("rank_count", ctypes.c_int),
        ("ranks", ctypes.POINTER(ctypes.c_int)),
    )


class _StoreList(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("store_count", ctypes.c_int),
        ("stores", ctypes.POINTER(ctypes.POINTER(_SharedStore))),
        ("directory_count", ctypes.c_int),
        ("splits", ctypes.POINTER(ctypes.POINTER(_SplitStats))),
        ("rank_count", ctypes.c_int),
        ("node_of", ctypes.POINTER(ctypes.c_int)),
        ("node_count", ctypes.c_int),
        ("node_names", ctypes.POINTER(ctypes.c_char_p)),
    )


class _Mpi:
    """The few calls of MPI, with the handles of the family's ABI."""

    def __init__(self, family: str) -> None:
        self.library = ctypes.CDLL(None)
        self.function("sill_stores")
        native.check_abi(self.library, os.environ.get("LD_PRELOAD", "what is loaded"))
        if family == "ompi":  # handles are addresses of data
            self.world, self.no_info = (self._address(name) for name in ("ompi_mpi_comm_world", "ompi_mpi_info_null"))
            self.handle = ctypes.c_void_p
        elif family == "mpich":
            self.world, self.no_info, self.handle = 0x44000000, 0x1C000000, ctypes.c_int
        else:
            self.world, self.no_info, self.handle = 0x101, 0x130, ctypes.c_void_p

    def _address(self, name: str) -> int:
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(self.library, name))
        except ValueError as error:
            raise SillError(f"no MPI library of Open MPI's family is loaded: {error}; name its mpiexec") from error

    def function(self, name: str) -> Callable[..., int]:
        try:
            return getattr(self.library, name)
        except AttributeError as error:
            raise SillError(f"no {name} is loaded; does the launcher remove LD_PRELOAD?") from error

    def call(self, name: str, *arguments) -> None:
        if self.function(name)(*arguments) != 0:
            raise SillError(f"{name} failed: {native.error_text(self.library) or 'see what the MPI library said'}")

    def rank(self) -> int:
        rank = ctypes.c_int()
        self.call("MPI_Comm_rank", self.handle(self.world), ctypes.byref(rank))
        return rank.value

    def info(self, method: str | None) -> ctypes._SimpleCData:
        info = self.handle(self.no_info)
        if method:
            self.call("MPI_Info_create", ctypes.byref(info))
            self.call("MPI_Info_set", info, b"nbhd_method", method.encode())
        return info

    def stores(self, directories: Sequence[str], method: str | None) -> Topology:
        """Collective; what comes back is whole on rank 0 alone."""
        names = (ctypes.c_char_p * len(directories))(*map(os.fsencode, directories))
        found = ctypes.POINTER(_StoreList)()
        world = self.handle(self.world)
        self.call("sill_stores", world, 0, len(directories), names, self.info(method), ctypes.byref(found))
        result = _topology(found.contents, directories)
        self.library.sill_stores_free(ctypes.byref(found))
        return result


def _topology(found: _StoreList, names: Sequence[str]) -> Topology:
    nodes = [os.fsdecode(found.node_names[i]) for i in range(found.node_count)]
    directories = []
    for index in range(found.directory_count):
        split = found.splits[index].contents
        groups = [
            _group(store, found, nodes)
            for store in (found.stores[i].contents for i in range(found.store_count))
            if store.directory == index
        ]
        seen = {rank for group in groups for rank in group.ranks}
        cost = Cost(_METHODS[split.method], split.creates, split.looks, split.removes, split.time_ns / 1e9)
        without = [rank for rank in range(found.rank_count) if rank not in seen]
        directories.append(Directory(names[index], groups, without, cost))
    return Topology(found.rank_count, nodes, directories)


def _group(store: _SharedStore, found: _StoreList, names: Sequence[str]) -> Group:
    by_node: dict[int, list[int]] = {}
    for rank in store.ranks[: store.rank_count]:
        by_node.setdefault(found.node_of[rank], []).append(rank)
    nodes = [Node(names[node], ranks) for node, ranks in by_node.items()]
    return Group(os.fsdecode(store.path), store.info.contents.store(), bool(store.unproven), nodes)


def _ask(options: argparse.Namespace) -> Topology | None:
    """All ranks ask; rank 0 has the answer, the others None. An error is that of every rank."""
    mpi = _Mpi(options.family)
    mpi.call("MPI_Init", None, None)
    try:
        found = mpi.stores(options.directories, options.method)
        return found if mpi.rank() == 0 else None
    except SillError:
        if mpi.rank() == 0:
            raise
        return None
    finally:
        mpi.call("MPI_Finalize")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--family", required=True)
    parser.add_argument("--method")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--draw")
    parser.add_argument("directories", nargs="+")
    options = parser.parse_args()
    try:
        if found := _ask(options):
            from . import view  # only on the rank that shows: a thousand others need none of it

            view.show(found, options.json, options.draw)
    except (SillError, OSError) as error:
        text = reason(error) if isinstance(error, OSError) else str(error)
        print(f"sill: {' '.join(text.split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
