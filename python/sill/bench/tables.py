"""The tables of the terminal and, as rows, of the report: ratios and goals, samples, two runs side by side."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from ..errors import SillError
from ..mpi.mpis import kind_of
from .judge import Series, spread
from .results import Results, latest

GOAL_HEAD = ("scenario", "MPI", "figure", "", ">ours", ">spread", ">paper", ">goal", "")
SAMPLE_HEAD = ("MPI", "variant", "figure", "at", ">median", "unit", ">lowest", ">highest", ">spread")
COMPARED_RATIOS_HEAD = ("scenario", "MPI", "ratio", ">A", ">B", ">B : A", "")
COMPARED_FIGURES_HEAD = ("scenario", "MPI", "variant", "figure", "at", ">A", ">B", ">B : A", "")
VERDICTS = {True: "met", False: "MISSED", None: "-"}


def goal_rows(results: Results) -> list[tuple[str, ...]]:
    """A row for each ratio: ours, the paper's, the goal, and whether it is met."""
    rows = []
    for row in results["comparisons"]:
        note = ", ".join(filter(None, [row["note"], "noisy" if row["noisy"] else ""]))
        reach = f"{row['spread']:.0%}" if len(row["ratios"]) > 1 else ""
        ours = "?" if row["value"] is None else f"{row['value']:.3f}"
        where = (results["scenario"]["name"], row["mpi"], row["title"], note)
        rows.append((*where, ours, reach, paper_text(row), goal_text(row), VERDICTS[row["met"]]))
    return rows


def paper_text(row: dict[str, Any]) -> str:
    if row["paper"] is None:
        return ""
    return f"{row['paper']:g}" + (f" ({row['paper_note']})" if row["paper_note"] else "")


def goal_text(row: dict[str, Any]) -> str:
    bounds = [f"{sign} {row[key]:g}" for key, sign in (("at_least", ">="), ("at_most", "<=")) if key in row]
    return ", ".join(bounds)


def sample_rows(results: Results) -> list[tuple[str, ...]]:
    """A row for each figure of each variant: median and spread over the repetitions."""
    series = Series(results["samples"])
    rows = []
    for (mpi, variant, name), by_labels in series.all():
        # Labels that are the same everywhere tell nothing.
        common = set.intersection(*(set(labels) for labels in by_labels)) if len(by_labels) > 1 else set()
        for labels, by_repetition in by_labels.items():
            values = list(by_repetition.values())
            middle = statistics.median(values)
            at = " ".join(f"{key}={value}" for key, value in labels if (key, value) not in common)
            unit, scale = scaled(middle, series.units[name])
            numbers = (f"{scale * v:.4g}" for v in (min(values), max(values)))
            rows.append((mpi, variant, name, at, f"{scale * middle:.4g}", unit, *numbers, f"{spread(values):.0%}"))
    return rows


def scaled(value: float, unit: str) -> tuple[str, float]:
    """A unit in which a value reads well, and what to multiply with."""
    if unit == "s" and 0 < abs(value) < 1:
        return ("ms", 1e3) if abs(value) >= 1e-3 else ("us", 1e6)
    if unit in ("B/s", "1/s", "B"):
        for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
            if abs(value) >= factor:
                return f"{prefix}{unit}" if unit != "1/s" else f"{prefix}/s", 1 / factor
    return unit, 1.0


# --- two runs ---


def compared_rows(a: Path, b: Path) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The ratios and the figures that both runs have."""
    left, right = latest(a), latest(b)
    common = [name for name in left if name in right]
    if not common:
        raise SillError(f"{a} and {b} have no scenario in common; name two runs of the same one")
    ratios = [row for name in common for row in _compared_ratios(name, left[name], right[name])]
    figures = [row for name in common for row in _compared_figures(name, left[name], right[name])]
    return ratios, figures


def _compared_ratios(name: str, a: Results, b: Results) -> list[tuple[str, ...]]:
    right = {(row["mpi"], row["name"]): row for row in b["comparisons"]}
    there = _names_there(a, b)
    found = []
    for row in a["comparisons"]:
        other = right.get((there[row["mpi"]], row["name"]))
        if other and row["ratios"] and other["ratios"]:
            numbers = _numbers(row["value"], other["value"])
            found.append(
                (name, _who(row["mpi"], a, b), row["title"], *numbers, verdict(row["ratios"], other["ratios"]))
            )
    return found


def _compared_figures(name: str, a: Results, b: Results) -> list[tuple[str, ...]]:
    right = dict(Series(b["samples"]).all())
    there = _names_there(a, b)
    found = []
    for key, by_labels in Series(a["samples"]).all():
        for labels, values in by_labels.items():
            others = right.get((there[key[0]], *key[1:]), {}).get(labels)
            if others:
                one, two = list(values.values()), list(others.values())
                at = " ".join(f"{label}={value}" for label, value in labels)
                numbers = _numbers(statistics.median(one), statistics.median(two))
                found.append((name, _who(key[0], a, b), *key[1:], at, *numbers, verdict(one, two)))
    return found


def _names_there(a: Results, b: Results) -> dict[str, str]:
    """What B calls each MPI of A: the same version may be ompi5 or ompi5.0.11, by what else was there. Where B hasn't
    that version, the one of the same name."""
    same = {(kind_of(m["name"]), m["version"]): m["name"] for m in b["mpis"]}
    return {m["name"]: same.get((kind_of(m["name"]), m["version"]), m["name"]) for m in a["mpis"]}


def _who(mpi: str, a: Results, b: Results) -> str:
    """The MPI, with both versions where they differ."""
    one = {m["name"]: m["version"] for m in a["mpis"]}[mpi]
    two = {m["name"]: m["version"] for m in b["mpis"]}[_names_there(a, b)[mpi]]
    return mpi if one == two else f"{mpi} ({one}, then {two})"


def _numbers(a: float, b: float) -> tuple[str, str, str]:
    return f"{a:.4g}", f"{b:.4g}", f"{b / a:.3f}" if a else "?"


def verdict(a: list[Any], b: list[Any]) -> str:
    """Changed only if the two lots of repetitions don't overlap, and there is more than one of each."""
    if len(a) < 2 or len(b) < 2:
        return "one sample"
    return "" if max(a) >= min(b) and max(b) >= min(a) else "changed"
