"""Two runs side by side: which figures changed by more than their repetitions spread."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from ..errors import SillError
from .results import Results, latest
from .series import Series

RATIO_HEAD = ("scenario", "MPI", "ratio", ">A", ">B", ">B : A", "")
FIGURE_HEAD = ("scenario", "MPI", "variant", "figure", "at", ">A", ">B", ">B : A", "")


def rows(a: Path, b: Path) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The ratios and the figures that both runs have."""
    left, right = latest(a), latest(b)
    common = [name for name in left if name in right]
    if not common:
        raise SillError(f"{a} and {b} have no scenario in common; name two runs of the same one")
    ratios = [row for name in common for row in _ratios(name, left[name], right[name])]
    figures = [row for name in common for row in _figures(name, left[name], right[name])]
    return ratios, figures


def _ratios(name: str, a: Results, b: Results) -> list[tuple[str, ...]]:
    right = {(row["mpi"], row["name"]): row for row in b["comparisons"]}
    found = []
    for row in a["comparisons"]:
        other = right.get((row["mpi"], row["name"]))
        if other and row["ratios"] and other["ratios"]:
            numbers = _numbers(row["value"], other["value"])
            found.append(
                (name, _who(row["mpi"], a, b), row["title"], *numbers, verdict(row["ratios"], other["ratios"]))
            )
    return found


def _figures(name: str, a: Results, b: Results) -> list[tuple[str, ...]]:
    right = dict(Series(b["samples"]).all())
    found = []
    for key, by_labels in Series(a["samples"]).all():
        for labels, values in by_labels.items():
            others = right.get(key, {}).get(labels)
            if others:
                one, two = list(values.values()), list(others.values())
                at = " ".join(f"{label}={value}" for label, value in labels)
                numbers = _numbers(statistics.median(one), statistics.median(two))
                found.append((name, _who(key[0], a, b), *key[1:], at, *numbers, verdict(one, two)))
    return found


def _who(mpi: str, a: Results, b: Results) -> str:
    """The MPI, with both versions where they differ."""
    one, two = ({m["name"]: m["version"] for m in results["mpis"]}[mpi] for results in (a, b))
    return mpi if one == two else f"{mpi} ({one}, then {two})"


def _numbers(a: float, b: float) -> tuple[str, str, str]:
    return f"{a:.4g}", f"{b:.4g}", f"{b / a:.3f}" if a else "?"


def verdict(a: list[Any], b: list[Any]) -> str:
    """Changed only if the two lots of repetitions don't overlap, and there is more than one of each."""
    if len(a) < 2 or len(b) < 2:
        return "one sample"
    return "" if max(a) >= min(b) and max(b) >= min(a) else "changed"
