"""The tables of the terminal and, as rows, of the report."""

from __future__ import annotations

import statistics
from typing import Any

from .results import Results
from .series import Series

GOAL_HEAD = ("scenario", "MPI", "figure", "", ">ours", ">spread", ">paper", ">goal", "")
SAMPLE_HEAD = ("MPI", "variant", "figure", "at", ">median", "unit", ">lowest", ">highest", ">spread")
VERDICTS = {True: "met", False: "MISSED", None: "-"}


def goal_rows(results: Results) -> list[tuple[str, ...]]:
    """A row for each ratio: ours, the paper's, the goal, and whether it is met."""
    rows = []
    for row in results["comparisons"]:
        note = ", ".join(filter(None, [row["note"], "noisy" if row["noisy"] else ""]))
        spread = f"{row['spread']:.0%}" if len(row["ratios"]) > 1 else ""
        ours = "?" if row["value"] is None else f"{row['value']:.3f}"
        where = (results["scenario"]["name"], row["mpi"], row["title"], note)
        rows.append((*where, ours, spread, paper_text(row), goal_text(row), VERDICTS[row["met"]]))
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
            spread = (max(values) - min(values)) / middle if middle else 0
            rows.append((mpi, variant, name, at, f"{scale * middle:.4g}", unit, *numbers, f"{spread:.0%}"))
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
