"""Which ranks share which stores, as people see it: a table of stores, a tree of who shares them, costs, a picture."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from rich.table import Table

from ..errors import SillError
from ..output import plain_table, print_table, pyplot
from ..text import answer, ranges, size
from . import Directory, Group, Topology, medium, reach

_MOST_NODES = 20  # lines of a store's tree; JSON has all
_MOST_NAMES = 24  # of nodes in a picture; more are drawn without
_WIDTH, _ROW, _MARGIN = 9.0, 0.8, 1.3  # inches: the whole, of a directory, above and below
_PER_INCH = 13  # characters of a store's text
_ABSENT = "#eeeeee"


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
        draw(found, drawing)
    if as_json:
        print(json.dumps(asdict(found), indent=2))
        return
    print(headline(found), end="\n\n")
    print_table(store_table(found), piped=found.ranks > 0)
    if found.ranks:
        print()
        print(*tree(found), sep="\n")
        print()
        print_table(cost_table(found), piped=True)


def store_table(found: Topology) -> Table:
    """A line for each store."""
    common = ("directory", "file system", "on", "reach", ">free", ">capacity")
    if found.ranks == 0:
        table = plain_table(*common, ">block", "reflink", "DAX", "O_DIRECT")
        for directory, group in _groups(found):
            store = group.store
            abilities = [answer(ability) for ability in (store.reflink, store.dax, store.direct_io)]
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
    return [name, store.file_system, medium(store), reach(store) + mode, *space]


def _title(group: Group) -> str:
    store = group.store
    where = "in" if store.medium == "memory" else "on"
    return f"{store.file_system} {where} {medium(store)}, {size(store.available_bytes)} free"


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


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {ranges(ranks)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# --- a picture ---


def draw(found: Topology, file: str) -> None:
    """Ranks from left to right, a row for each directory, a bar for each store; the file's ending says the format."""
    plot = pyplot("--draw needs Matplotlib: pip install 'sill[report]'")
    columns = max(found.ranks, 1)
    figure, axes = plot.subplots(figsize=(_WIDTH, _MARGIN + _ROW * len(found.directories)), layout="constrained")
    palette = _Palette(plot.get_cmap("Set3").colors)
    for row, directory in enumerate(found.directories):
        _draw_row(axes, row, directory, columns, palette)
    _draw_nodes(axes, found, columns)
    names = [directory.name for directory in found.directories]
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)), yticklabels=names)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if found.ranks:
        axes.set_xlabel("rank")
    else:
        axes.set_xticks([])
    axes.spines[:].set_visible(False)
    try:
        figure.savefig(file, dpi=150)
    except ValueError as error:
        raise SillError(f"{file}: {error}; end its name in .png, .svg or .pdf") from error
    finally:
        plot.close(figure)


class _Palette:
    """A colour for each store: the same one where directories lie on one store of the same ranks."""

    def __init__(self, colours: Sequence) -> None:
        self._colours = colours
        self._numbers: dict[tuple, int] = {}

    def of(self, group: Group) -> tuple:
        number = self._numbers.setdefault((group.store.identity, *group.ranks), len(self._numbers))
        return self._colours[number % len(self._colours)]


def _draw_row(axes, row: int, directory: Directory, columns: int, palette: _Palette) -> None:
    """The bars of one directory; a store whose ranks aren't neighbours has several, of one colour."""
    for group in directory.groups:
        runs = list(_runs(group.ranks)) or [(0, columns)]
        for first, length in runs:
            axes.barh(row, length - 0.1, left=first - 0.45, height=0.7, color=palette.of(group), zorder=2)
        store = group.store
        first, length = max(runs, key=lambda run: run[1])
        lines = [store.file_system, medium(store), f"{reach(store)}, {size(store.available_bytes)} free"]
        if length / columns * _WIDTH * _PER_INCH > max(map(len, lines)):
            axes.text(first + (length - 1) / 2, row, "\n".join(lines), ha="center", va="center", fontsize=8, zorder=3)
    for first, length in _runs(directory.without):
        axes.barh(row, length - 0.1, left=first - 0.45, height=0.7, color=_ABSENT, zorder=2)
        axes.text(
            first + (length - 1) / 2, row, "not there", ha="center", va="center", fontsize=8, color="grey", zorder=3
        )


def _draw_nodes(axes, found: Topology, columns: int) -> None:
    """Where each run of ranks of one node begins, and the node's name."""
    top = axes.secondary_xaxis("top")
    node_of = {rank: node for directory in found.directories for node, rank in _placed(directory)}
    starts, names = [], []
    for name, run in groupby(range(found.ranks), key=lambda rank: node_of.get(rank, "")):
        ranks = list(run)
        starts.append((ranks[0] + ranks[-1]) / 2)
        names.append(name)
        if ranks[0] > 0:
            axes.axvline(ranks[0] - 0.5, color="black", linewidth=0.8, linestyle=":", zorder=1)
    if found.ranks == 0:
        starts, names = [(columns - 1) / 2], found.nodes
    few = len(names) <= _MOST_NAMES
    top.set_xticks(starts if few else [], names if few else [], rotation=30 if len(names) > 6 else 0)
    top.tick_params(length=0)
    top.spines[:].set_visible(False)
    if not few:
        top.set_xlabel(f"{len(found.nodes)} nodes, ranks {ranges(range(found.ranks))}")


def _placed(directory: Directory) -> Iterator[tuple[str, int]]:
    for group in directory.groups:
        for node in group.nodes:
            for rank in node.ranks:
                yield node.name, rank


def _runs(ranks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First number and length of each stretch of ascending numbers without a gap."""
    for _, run in groupby(enumerate(ranks), key=lambda pair: pair[1] - pair[0]):
        stretch = [rank for _, rank in run]
        yield stretch[0], len(stretch)
