"""What splits and checkpoints would take on a machine of any size: pure functions, whose constants are inputs.

Derived from first principles; docs/benchmarks.md has the formulas. A phase takes as long as its slowest part: what is
done at one place is done one after the other there, what is done at several places is done at the same time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Callable

from ..errors import SillError

METHODS = ("none", "heuristic", "exhaustive", "fingerprint", "auto")
RECORD_BYTES = 64  # what a node tells of its directory
COLOUR_BYTES = 8  # what a rank tells in MPI_Comm_split


@dataclass(frozen=True)
class Level:
    """One part of the way from a node to its store."""

    nodes: int  # that share one of it; 0: all
    bandwidth: float  # bytes/s, of one

    def sharing(self, nodes: int) -> int:
        """How many of a machine's nodes use the fullest one."""
        return min(nodes, self.nodes) if self.nodes else nodes


@dataclass(frozen=True)
class Store:
    """A kind of store, of which there is one for each group of nodes that its last level serves."""

    title: str
    levels: tuple[Level, ...]
    operation_s: float  # of a file operation, alone
    operations_per_s: float  # of one store, for all its nodes
    entries_per_s: float  # names that a listing of a folder reads
    plain: bool  # known by the kernel alone to belong to this node

    def count(self, nodes: int) -> int:
        """How many there are."""
        return math.ceil(nodes / self.levels[-1].sharing(nodes))


@dataclass(frozen=True)
class Machine:
    ranks_per_node: int
    bytes_per_node: float
    message_s: float
    message_bandwidth: float
    stores: dict[str, Store]


@dataclass(frozen=True)
class Operations:
    """File operations of one split, of all ranks together."""

    creates: int = 0
    looks: int = 0
    removes: int = 0


# --- splits ---


def operations(method: str, store: Store, nodes: int, ranks_per_node: int) -> Operations:
    """What a method asks of the file systems when nothing fails.

    heuristic: one file, and one look from another node. exhaustive: a file and a
    listing by each rank, in a folder in each store.
    auto: a token for each store that isn't of one kernel alone, and a look by every other node.
    """
    ranks, stores = nodes * ranks_per_node, store.count(nodes)
    if method == "heuristic":
        return Operations(1, 1 if ranks > 1 else 0, 1)
    if method == "exhaustive":
        return Operations(ranks + stores, ranks, ranks + stores)
    if method == "auto" and not store.plain and nodes > 1:
        return Operations(stores, nodes - stores, stores)
    return Operations()


def split_seconds(machine: Machine, store: Store, nodes: int, method: str) -> float:
    """Time of one MPI_Comm_split_type by directory."""
    ranks = nodes * machine.ranks_per_node
    seconds = _messages(machine, ranks, COLOUR_BYTES * ranks)  # MPI_Comm_split
    if method == "none":
        return seconds
    seconds += 2 * _messages(machine, ranks, 0)  # agreement before and after
    if method in ("auto", "fingerprint"):
        seconds += 2 * _messages(machine, nodes, RECORD_BYTES * nodes)  # what is known goes to one node, places back
    counts = operations(method, store, nodes, machine.ranks_per_node)
    for phase in (counts.creates, counts.looks, counts.removes):
        seconds += _operations_seconds(store, phase, nodes)
    if method == "exhaustive":
        # Each rank reads the names of all files in its store.
        in_one = math.ceil(ranks / store.count(nodes))
        seconds += in_one * in_one / store.entries_per_s
    return seconds


def _messages(machine: Machine, count: int, total_bytes: float) -> float:
    """A collective: as many steps as a tree is high, and all bytes through one node."""
    return math.ceil(math.log2(max(count, 1))) * machine.message_s + total_bytes / machine.message_bandwidth


def _operations_seconds(store: Store, count: int, nodes: int) -> float:
    """Operations that begin together, spread evenly over the stores."""
    if count == 0:
        return 0.0
    return max(store.operation_s, math.ceil(count / store.count(nodes)) / store.operations_per_s)


# --- checkpoints ---


def checkpoint_seconds(machine: Machine, store: Store, nodes: int) -> float:
    """Time to write a checkpoint, one file a neighborhood, until it is durable."""
    slowest = max(level.sharing(nodes) * machine.bytes_per_node / level.bandwidth for level in store.levels)
    return store.operation_s + slowest


# --- tables ---


def predict(machine: Machine, node_counts: list[int]) -> list[dict[str, Any]]:
    """Rows of what = split or checkpoint; seconds; splits with method and operations."""
    rows: list[dict[str, Any]] = []
    for name, store in machine.stores.items():
        for nodes in node_counts:
            for method in METHODS:
                counts = operations(method, store, nodes, machine.ranks_per_node)
                row = {"what": "split", "store": name, "nodes": nodes, "method": method}
                rows.append({**row, "seconds": split_seconds(machine, store, nodes, method), **vars(counts)})
            row = {"what": "checkpoint", "store": name, "nodes": nodes}
            rows.append({**row, "seconds": checkpoint_seconds(machine, store, nodes)})
    return rows


# --- constants ---


def machine(table: dict[str, Any]) -> Machine:
    """A machine from its table, as model.toml has it; every number must be there and above 0."""
    stores = _table(table.get("stores"), "stores")
    made = {name: _store(_table(values, f"stores.{name}"), f"stores.{name}") for name, values in stores.items()}
    if not made:
        raise SillError("stores: none; describe at least one, as `sill model --print-constants` prints it")
    return _fill(Machine, {**table, "stores": made}, "")


def _store(values: dict[str, Any], where: str) -> Store:
    levels = values.get("levels")
    if not isinstance(levels, list) or not levels:
        raise SillError(f"{where}.levels: wants a list of tables with nodes and bandwidth")
    made = tuple(
        _fill(Level, _table(level, f"{where}.levels.{i}"), f"{where}.levels.{i}.") for i, level in enumerate(levels)
    )
    return _fill(Store, {**values, "levels": made}, f"{where}.")


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SillError(f"{where}: wants to be a table; see `sill model --print-constants`")
    return value


_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
}


def _fill(kind: type, values: dict[str, Any], where: str) -> Any:
    names = {field.name: str(field.type) for field in fields(kind)}
    for name in values:
        if name not in names:
            raise SillError(f"{where}{name}: unknown; known are {', '.join(names)}")
    for name, expected in names.items():
        if name not in values:
            raise SillError(f"{where}{name}: missing; `sill model --print-constants` prints all of them")
        if expected in _KINDS and not _KINDS[expected](values[name]):
            raise SillError(f"{where}{name} = {values[name]!r}: not a {expected} that makes sense; correct it")
    if kind is Machine and values["ranks_per_node"] < 1:
        raise SillError("ranks_per_node: at least 1")
    return kind(**values)


def changed(table: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The table with another value at `path` ("stores.local.levels.0.bandwidth")."""
    head, _, rest = path.partition(".")
    inner = table[int(head)] if isinstance(table, list) and head.isdigit() and int(head) < len(table) else None
    if isinstance(table, dict):
        inner = table.get(head)
    if inner is None or (rest and not isinstance(inner, (dict, list))):
        raise SillError(f"{path}: no such constant; `sill model --print-constants` prints all of them", 2)
    new = changed(inner, rest, value) if rest else value
    if isinstance(table, list):
        return [*table[: int(head)], new, *table[int(head) + 1 :]]
    return {**table, head: new}
