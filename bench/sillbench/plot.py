"""One picture of a run: speed ratios over size for each MPI, allocation and sync below."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from .judge import size_text

Results = dict[str, Any]


def draw(results: Results, path: Path) -> None:
    """Write the picture as PNG; rows without measurements are left out."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rows = [
        row for row, key in ((_latency, "rma"), (_bandwidth, "rma"), (_alloc, "alloc"), (_sync, "sync")) if results[key]
    ]
    names = [mpi["name"] for mpi in results["mpis"]]
    shape = {"figsize": (4.2 * len(names), 3.2 * len(rows)), "squeeze": False, "layout": "constrained"}
    figure, axes = pyplot.subplots(len(rows), len(names), **shape)
    for row, line in zip(rows, axes):
        for name, ax in zip(names, line):
            row(ax, results, name)
            ax.grid(alpha=0.3)
        for ax in [ax for ax in line if ax.get_legend_handles_labels()[0]][:1]:
            ax.legend(fontsize=7)
    kind = "plain against plain" if results["options"]["null"] else "Sill's storage windows against memory windows"
    figure.suptitle(f"{kind}, {results['machine']['processor']}, {results['created']}")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _latency(ax: Any, results: Results, mpi: str) -> None:
    _speed(ax, results, mpi, "latency")


def _bandwidth(ax: Any, results: Results, mpi: str) -> None:
    _speed(ax, results, mpi, "bandwidth")


def _speed(ax: Any, results: Results, mpi: str, metric: str) -> None:
    """Storage drawn with its repetitions' range, preloaded as thin dots."""
    points = [r for r in results["rma"] if r["mpi"] == mpi and r["metric"] == metric]
    for number, op in enumerate(dict.fromkeys(r["op"] for r in points)):
        colour = f"C{number}"
        for side, style in (("storage", "o-"), ("preloaded", ".:")):
            line = sorted((r for r in points if r["op"] == op and r["side"] == side), key=lambda r: r["bytes"])
            sizes = [r["bytes"] for r in line]
            label = op if side == "storage" else None
            ax.plot(sizes, [r["ratio"] for r in line], style, color=colour, ms=3, lw=1, label=label)
            if side == "storage":
                low, high = [min(r["ratios"]) for r in line], [max(r["ratios"]) for r in line]
                ax.fill_between(sizes, low, high, color=colour, alpha=0.1)
    for height in (1.0, 0.8):
        ax.axhline(height, color="black", lw=0.7, ls="-" if height == 1 else "--")
    ax.set(title=f"{mpi}: {metric}", xscale="log", ylim=(0.5, 1.5), ylabel="speed : memory window")
    sizes = sorted({r["bytes"] for r in points})
    ax.set_xticks(sizes, [size_text(size) for size in sizes], rotation=30, fontsize=7, minor=False)
    ax.minorticks_off()


def _alloc(ax: Any, results: Results, mpi: str) -> None:
    records = [r for r in results["alloc"] if r["mpi"] == mpi]
    labels = [size_text(r["bytes"]) for r in records]
    parts = {
        "memory window": ["memory_allocate", "memory_free"],
        "storage window": ["storage_allocate", "storage_free"],
        "file alone: reserve": ["file_reserve"],
    }
    for number, (label, steps) in enumerate(parts.items()):
        heights = [sum(statistics.median(r[step]) for step in steps) for r in records]
        ax.bar([i + 0.27 * (number - 1) for i in range(len(records))], heights, 0.25, label=label)
    ax.set(title=f"{mpi}: allocate and free", ylabel="us", yscale="log", xticks=range(len(records)), xticklabels=labels)


def _sync(ax: Any, results: Results, mpi: str) -> None:
    records = [r for r in results["sync"] if r["mpi"] == mpi]
    for number, advice in enumerate(dict.fromkeys(r["advice"] for r in records)):
        line = [r for r in records if r["advice"] == advice]
        heights = [statistics.median(r["seconds"]) * 1e3 for r in line]
        at = [i + 0.4 * (number - 0.5) for i in range(len(line))]
        ax.bar(at, heights, 0.38, label=f"{advice} advice")
        ax.set(xticks=range(len(line)), xticklabels=[r["case"] for r in line])
    ax.set(title=f"{mpi}: sync", ylabel="ms", yscale="log")
