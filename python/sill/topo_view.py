"""Which ranks share which stores, as people read it: a table of stores, a tree of who shares them, and the costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from . import topology
from .output import plain_table
from .text import ranges, size
from .topology import Directory, Group, Topology

_MOST_NODES = 20  # lines of a store's tree; JSON has all


def store_table(found: Topology) -> Table:
    """A line for each store."""
    common = ("directory", "file system", "on", "reach", ">free", ">capacity")
    if found.ranks == 0:
        table = plain_table(*common, ">block", "reflink", "DAX", "O_DIRECT")
        for directory, group in _groups(found):
            store = group.store
            abilities = [_answer(ability) for ability in (store.reflink, store.dax, store.direct_io)]
            table.add_row(*_common(directory, group), size(store.block_bytes), *abilities)
        return table
    table = plain_table(*common, ">nodes", "ranks", "note")
    for directory in found.directories:
        for group in directory.groups:
            note = "by identity: can't be probed" if group.unproven else ""
            table.add_row(*_common(directory, group), str(len(group.nodes)), ranges(group.ranks), note)
        if directory.without:
            table.add_row(directory.name, *["-"] * 6, ranges(directory.without), "not there")
    return table


def tree(found: Topology) -> Iterator[str]:
    """The lines of directory, store, node, ranks, as a tree."""
    for directory in found.directories:
        yield directory.name
        entries = [(_title(group), _node_lines(group)) for group in directory.groups]
        if directory.without:
            entries.append((f"not there: {_ranks(directory.without)}", []))
        yield from _branches(entries)


def cost_table(found: Topology) -> Table:
    """What each directory took; empty without ranks."""
    table = plain_table("directory", "method", ">created", ">looked for", ">removed", ">time")
    for directory in found.directories:
        if cost := directory.cost:
            time = f"{cost.seconds * 1e3:.2f} ms"
            table.add_row(directory.name, cost.method, str(cost.creates), str(cost.looks), str(cost.removes), time)
    return table


def headline(found: Topology) -> str:
    if found.ranks == 0:
        return f"{found.nodes[0]}, no ranks: a launcher, or -n, shows who shares what"
    return f"{_count(found.ranks, 'rank')} on {_count(len(found.nodes), 'node')}"


def _groups(found: Topology) -> Iterator[tuple[Directory, Group]]:
    for directory in found.directories:
        for group in directory.groups:
            yield directory, group


def _common(directory: Directory, group: Group) -> list[str]:
    store = group.store
    mode = ", read-only" if store.read_only else ""
    name = group.path if "%" in directory.name else directory.name
    space = (size(store.available_bytes), size(store.capacity_bytes))
    return [name, store.file_system, topology.medium(store), topology.reach(store) + mode, *space]


def _title(group: Group) -> str:
    store = group.store
    where = "in" if store.medium == "memory" else "on"
    return f"{store.file_system} {where} {topology.medium(store)}, {size(store.available_bytes)} free"


def _node_lines(group: Group) -> list[str]:
    lines = [f"{node.name}: {_ranks(node.ranks)}" if node.ranks else node.name for node in group.nodes]
    if len(lines) <= _MOST_NODES:
        return lines
    return [*lines[: _MOST_NODES - 1], f"and {len(lines) - _MOST_NODES + 1} nodes more: --json has all"]


def _branches(entries: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    for i, (title, leaves) in enumerate(entries):
        last = i == len(entries) - 1
        yield f"{'└─' if last else '├─'} {title}"
        for j, leaf in enumerate(leaves):
            yield f"{'   ' if last else '│  '}{'└─' if j == len(leaves) - 1 else '├─'} {leaf}"


def _answer(known: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[known]


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {ranges(ranks)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
