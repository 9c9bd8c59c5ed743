"""Two runs side by side: which figures changed by more than their repetitions spread."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from ..errors import SillError
from ..mpi.mpis import kind_of
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


def _figures(name: str, a: Results, b: Results) -> list[tuple[str, ...]]:
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
