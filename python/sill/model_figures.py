"""The figures of `sill model`: time of a split over the nodes, by method; of a checkpoint, by store; what is gained."""

from __future__ import annotations

from typing import Any

from . import output
from .model import METHODS, Machine


def draw(machine: Machine, rows: list[dict[str, Any]]) -> bytes:
    """One PNG with a panel for the splits of each store, one for checkpoints and one for their ratios."""
    plot = output.pyplot("sill model --draw needs matplotlib: pip install matplotlib")
    stores = list(machine.stores)
    figure, axes = output.panels(plot, len(stores) + 2, 3.4)
    for ax in axes:
        ax.set(xscale="log", yscale="log")
    for name, ax in zip(stores, axes):
        for method in METHODS:
            _line(ax, _points(rows, what="split", store=name, method=method), method)
        output.label(ax, f"split, {machine.stores[name].title}", "nodes", "seconds")
    writing = {name: dict(_points(rows, what="checkpoint", store=name)) for name in stores}
    for name in stores:
        _line(axes[len(stores)], list(writing[name].items()), machine.stores[name].title)
    output.label(axes[len(stores)], "checkpoint", "nodes", "seconds")
    last = stores[-1]
    for name in stores[:-1]:
        gained = [(nodes, writing[last][nodes] / seconds) for nodes, seconds in writing[name].items()]
        _line(axes[len(stores) + 1], gained, machine.stores[name].title)
    output.label(axes[len(stores) + 1], f"checkpoint, times as fast as {machine.stores[last].title}", "nodes", "ratio")
    return output.png(plot, figure)


def _points(rows: list[dict[str, Any]], **wanted: str) -> list[tuple[int, float]]:
    return [(r["nodes"], r["seconds"]) for r in rows if all(r.get(key) == value for key, value in wanted.items())]


def _line(ax: Any, points: list[tuple[int, float]], label: str) -> None:
    ax.plot([x for x, _ in points], [y for _, y in points], "o-", ms=3, lw=1, label=label)
