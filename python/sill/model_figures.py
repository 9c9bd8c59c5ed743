"""The figures of `sill model`: time of a split over the nodes, by method; of a checkpoint, by store; what is gained."""

from __future__ import annotations

import io
from typing import Any

from .bench.plots import pyplot
from .model import METHODS, Machine


def draw(machine: Machine, rows: list[dict[str, Any]]) -> bytes:
    """One PNG with a panel for the splits of each store, one for checkpoints and one for their ratios."""
    plot = pyplot("sill model --draw")
    stores = list(machine.stores)
    panels = len(stores) + 2
    columns = min(3, panels)
    figure, grid = plot.subplots(
        -(-panels // columns),
        columns,
        figsize=(4.4 * columns, 3.4 * -(-panels // columns)),
        layout="constrained",
        squeeze=False,
    )
    axes = list(grid.flat)
    for name, ax in zip(stores, axes):
        for method in METHODS:
            _line(ax, _points(rows, what="split", store=name, method=method), method)
        _finish(ax, f"split, {machine.stores[name].title}", "seconds")
    writing = {name: dict(_points(rows, what="checkpoint", store=name)) for name in stores}
    for name in stores:
        _line(axes[len(stores)], list(writing[name].items()), machine.stores[name].title)
    _finish(axes[len(stores)], "checkpoint", "seconds")
    last = stores[-1]
    for name in stores[:-1]:
        gained = [(nodes, writing[last][nodes] / seconds) for nodes, seconds in writing[name].items()]
        _line(axes[len(stores) + 1], gained, machine.stores[name].title)
    _finish(axes[len(stores) + 1], f"checkpoint, times as fast as {machine.stores[last].title}", "ratio")
    for ax in axes[panels:]:
        ax.axis("off")
    picture = io.BytesIO()
    figure.savefig(picture, dpi=110, format="png")
    plot.close(figure)
    return picture.getvalue()


def _points(rows: list[dict[str, Any]], **wanted: str) -> list[tuple[int, float]]:
    return [(r["nodes"], r["seconds"]) for r in rows if all(r.get(key) == value for key, value in wanted.items())]


def _line(ax: Any, points: list[tuple[int, float]], label: str) -> None:
    ax.plot([x for x, _ in points], [y for _, y in points], "o-", ms=3, lw=1, label=label)


def _finish(ax: Any, title: str, unit: str) -> None:
    ax.set(xscale="log", yscale="log")
    ax.set_title(title, fontsize=9)
    ax.set_xlabel("nodes", fontsize=8)
    ax.set_ylabel(unit, fontsize=8)
    ax.tick_params(labelsize=7)
    ax.grid(alpha=0.3)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=6)
