"""The figures of a scenario as PNG: what its [[figures]] ask for, and its ratios beside the paper's and the goals."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from .. import output
from .judge import Series, number, without
from .model import Figure
from .results import Results, titles
from .scenario import figures_of
from .tables import goal_text, scaled

_WIDE = 50  # ratios that differ by more than this factor get a logarithmic axis


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a figure, and the labels that choose its part."""

    figure: Figure
    title: str
    wanted: dict[str, Any]


def draw(results: Results, mpi: str) -> bytes:
    """One PNG with all panels of a scenario under one MPI."""
    plot = output.pyplot("sill bench report needs matplotlib: pip install matplotlib")
    series = Series(results["samples"])
    variants = [
        v for v in results["scenario"]["tables"]["variants"] if any(s["variant"] == v for s in results["samples"])
    ]
    panels = [p for figure in figures_of(results["scenario"]["tables"]) for p in _panels(figure, mpi, variants, series)]
    rows = [row for row in results["comparisons"] if row["mpi"] == mpi and row["value"] is not None]
    count = len(panels) + bool(rows)
    figure, axes = output.panels(plot, count, 3.3, title=0.5)
    for panel, ax in zip(panels, axes):
        (_lines if panel.figure.kind == "lines" else _bars)(ax, panel, mpi, variants, series)
    if rows:
        _ratios(axes[len(panels)], rows)
    figure.suptitle(f"{results['scenario']['title']}: {titles(results)[mpi]}", fontsize=11)
    return output.png(plot, figure)


def _panels(figure: Figure, mpi: str, variants: list[str], series: Series) -> list[Panel]:
    """A panel for each combination of the labels in `panels` that was measured."""
    found: dict[tuple, None] = {}
    for variant in variants:
        for labels in series.find(mpi, variant, figure.result, figure.labels):
            found[tuple(dict(labels).get(name, "") for name in figure.panels)] = None
    return [
        Panel(figure, " ".join([figure.title, *key]), {**figure.labels, **dict(zip(figure.panels, key))})
        for key in found
    ]


def _curves(panel: Panel, mpi: str, variants: list[str], series: Series) -> dict[str, dict[str, list[float]]]:
    """Values by x, by what to call the curve: the variant, and labels in which its curves differ."""
    found: dict[tuple, dict[str, list[float]]] = {}
    for variant in variants:
        for labels, values in series.find(mpi, variant, panel.figure.result, panel.wanted).items():
            x = dict(labels).get(panel.figure.x, "")
            rest = without(labels, [panel.figure.x, *panel.wanted, *panel.figure.ignore])
            found.setdefault((variant, rest), {}).setdefault(x, []).extend(values.values())
    rests = [set(rest) for _, rest in found]
    common = set.intersection(*rests) if rests else set()
    return {
        " ".join([variant, *(value for pair in rest if pair not in common for value in pair[1:])]): by_x
        for (variant, rest), by_x in found.items()
    }


def _unit(panel: Panel, curves: dict[str, dict[str, list[float]]], series: Series) -> tuple[str, float]:
    values = [v for by_x in curves.values() for some in by_x.values() for v in some]
    return scaled(max(values), series.units[panel.figure.result])


def _lines(ax: Any, panel: Panel, mpi: str, variants: list[str], series: Series) -> None:
    """A line for each curve, with a band from the lowest to the highest repetition."""
    curves = _curves(panel, mpi, variants, series)
    unit, scale = _unit(panel, curves, series)
    for name, by_x in curves.items():
        at = sorted((number(x) or 0.0, [scale * v for v in values]) for x, values in by_x.items())
        xs = [x for x, _ in at]
        ax.plot(xs, [statistics.median(values) for _, values in at], "o-", ms=3, lw=1, label=name)
        ax.fill_between(xs, [min(values) for _, values in at], [max(values) for _, values in at], alpha=0.15)
    ticks = sorted({number(x) or 0.0 for by_x in curves.values() for x in by_x})
    if panel.figure.log:
        ax.set(xscale="log", yscale="log")
    ax.set_xticks(ticks, [_tick(tick) for tick in ticks], rotation=30, fontsize=7)
    ax.minorticks_off()
    if panel.figure.limit:
        ax.axvline(number(panel.figure.limit) or 0.0, color="black", lw=0.8, ls="--", label="memory limit")
    if not panel.figure.log:
        ax.set_ylim(bottom=0)
    _finish(ax, panel, unit)


def _bars(ax: Any, panel: Panel, mpi: str, variants: list[str], series: Series) -> None:
    """Bars in groups, one for each x; `share` is drawn as the hatched part of each."""
    curves = _curves(panel, mpi, variants, series)
    unit, scale = _unit(panel, curves, series)
    groups = list(dict.fromkeys(x for by_x in curves.values() for x in by_x))
    width = 0.8 / max(len(curves), 1)
    shares = {}
    if panel.figure.share:
        share = Panel(Figure(panel.figure.title, panel.figure.kind, panel.figure.share, panel.figure.x), "", {})
        shares = _curves(share, mpi, variants, series)
    for index, (name, by_x) in enumerate(curves.items()):
        for x, values in by_x.items():
            at = groups.index(x) + width * (index - (len(curves) - 1) / 2)
            middle = scale * statistics.median(values)
            reach = [[middle - scale * min(values)], [scale * max(values) - middle]]
            label = name if x == next(iter(by_x)) else None
            ax.bar(at, middle, width * 0.92, yerr=reach, color=f"C{index}", error_kw={"lw": 0.8}, label=label)
            if part := shares.get(name, {}).get(x):
                height = middle * statistics.median(part)
                ax.bar(at, height, width * 0.92, fill=False, hatch="////", edgecolor="black", lw=0.5)
    if shares:
        ax.bar(0, 0, 0, fill=False, hatch="////", edgecolor="black", lw=0.5, label=panel.figure.share.replace("_", " "))
    if panel.figure.log:
        ax.set_yscale("log")
    ax.set_xticks(range(len(groups)), groups, fontsize=7)
    _finish(ax, panel, unit)


def _finish(ax: Any, panel: Panel, unit: str) -> None:
    output.label(ax, panel.title, panel.figure.x, f"{panel.figure.result.replace('_', ' ')}, {unit}".rstrip(", 1"))


def _ratios(ax: Any, rows: list[dict[str, Any]]) -> None:
    """Ours as bars from the lowest to the highest repetition; the paper's as diamonds, above goals as triangles."""
    for index, row in enumerate(rows):
        reach = [[max(0.0, row["value"] - min(row["ratios"]))], [max(0.0, max(row["ratios"]) - row["value"])]]
        ax.barh(-index, row["value"], 0.35, xerr=reach, color="C0" if row["met"] is not False else "C3", alpha=0.7)
        if row["paper"] is not None:
            ax.plot(row["paper"], 0.1 - index, "D", color="C1", ms=6)
        for key, sign in (("at_least", ">"), ("at_most", "<")):
            if key in row:
                ax.plot(row[key], -0.1 - index, marker=sign, color="black", ms=7)
        beside = [f"paper {row['paper']:g}" if row["paper"] is not None else "", goal_text(row)]
        text = f"{row['title']}: {row['value']:.3f}" + (f" ({', '.join(filter(None, beside))})" if any(beside) else "")
        ax.text(0.01, 0.25 - index, text, fontsize=6.5, va="bottom", transform=ax.get_yaxis_transform())
    values = [row["value"] for row in rows]
    if min(values) > 0 and max(values) > _WIDE * min(values):
        ax.set_xscale("log")
    ax.set_yticks([])
    ax.set_ylim(-len(rows) + 0.4, 0.9)
    ax.plot([], [], "D", color="C1", label="paper")
    ax.plot([], [], ">", color="black", label="goal")
    ax.set_title("ratios: ours (bars), the paper's, the goals", fontsize=9)
    ax.tick_params(axis="x", labelsize=7)
    ax.grid(axis="x", alpha=0.3)
    ax.legend(fontsize=6, loc="lower right")


def _tick(value: float) -> str:
    """65536 as 64k, 3 as 3."""
    for shift, suffix in ((30, "g"), (20, "m"), (10, "k")):
        if value >= 1 << shift and (value / (1 << shift) * 4).is_integer():
            return f"{value / (1 << shift):g}{suffix}"
    return f"{value:g}"
