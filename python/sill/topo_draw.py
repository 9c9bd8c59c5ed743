"""A picture of who shares what: ranks from left to right, a row for each directory, a bar for each store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from .errors import SillError
from .output import pyplot
from .text import ranges, size
from .topology import Directory, Group, Topology, medium, reach

_WIDTH, _ROW, _MARGIN = 9.0, 0.8, 1.3  # inches: the whole, of a directory, above and below
_PER_INCH = 13  # characters of a store's text
_MOST_NODES = 24  # more are drawn without their names
_ABSENT = "#eeeeee"


def write(found: Topology, file: str) -> None:
    """Draw into a file; its ending says in which format."""
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
    few = len(names) <= _MOST_NODES
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
