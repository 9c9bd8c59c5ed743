"""From samples to figures, from figures to ratios pair by pair, and from ratios to goals met or missed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from ..mpi.mpis import kind_of
from ..text import bytes_of
from .model import Comparison, Scenario, Side

Labels = tuple[tuple[str, str], ...]  # sorted
Values = dict[int, float]  # by repetition
Row = dict[str, Any]
_TIMES = ("s", "ms", "us", "ns")  # units of which less is better


class Series:
    """Look-up in a list of samples. A figure that a run names more than once counts with its median."""

    def __init__(self, samples: Iterable[dict[str, Any]]) -> None:
        found: dict[tuple[str, str, str], dict[Labels, dict[int, list[float]]]] = {}
        self.units: dict[str, str] = {}
        for sample in samples:
            for result in sample["results"]:
                key = (sample["mpi"], sample["variant"], result["name"])
                labels = tuple(sorted((n, _text(v)) for n, v in {**sample["point"], **result["labels"]}.items()))
                by_repetition = found.setdefault(key, {}).setdefault(labels, {})
                by_repetition.setdefault(sample["repetition"], []).append(result["value"])
                self.units[result["name"]] = result["unit"]
        self._found = {
            key: {labels: {n: statistics.median(v) for n, v in runs.items()} for labels, runs in by_labels.items()}
            for key, by_labels in found.items()
        }

    def find(self, mpi: str, variant: str, name: str, wanted: dict[str, Any] | None = None) -> dict[Labels, Values]:
        """All series of that name with the labels wanted: a value, one of a list, "" for a label that isn't there."""
        rows = self._found.get((mpi, variant, name), {})
        return {labels: values for labels, values in rows.items() if _fits(dict(labels), wanted or {})}

    def all(self) -> Iterable[tuple[tuple[str, str, str], dict[Labels, Values]]]:
        """((MPI, variant, name), its series), in the order in which they were measured."""
        return self._found.items()


def _text(value: Any) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def _fits(labels: dict[str, str], wanted: dict[str, Any]) -> bool:
    for name, value in wanted.items():
        allowed = value if isinstance(value, list) else [value]
        if labels.get(name, "") not in map(_text, allowed):
            return False
    return True


def without(labels: Labels, names: Iterable[str]) -> Labels:
    """The labels but for some."""
    left_out = set(names)
    return tuple((name, value) for name, value in labels if name not in left_out)


def number(text: str) -> float | None:
    """A label as a number: 4096, 4k, 1.5g; None for other text."""
    try:
        return float(text)
    except ValueError:
        try:
            return float(bytes_of(text))
        except ValueError:
            return None


# --- ratios ---


def geomean(values: Sequence[float]) -> float:
    """0 if one of them is 0 or less."""
    return math.exp(statistics.fmean(map(math.log, values))) if min(values) > 0 else 0.0


def spread(values: Sequence[float]) -> float:
    """From the smallest to the largest, as a share of the median; 0 where the median is."""
    middle = abs(statistics.median(values))
    return (max(values) - min(values)) / middle if middle else 0.0


def judge(mpi: str, scenario: Scenario, series: Series) -> list[Row]:
    """A row for each comparison of the scenario; one that wasn't measured has no value."""
    missing = {variant.name for variant in scenario.variants if variant.missing}
    return [
        _row(mpi, comparison, scenario.noisy, _points(mpi, comparison, series, missing))
        for comparison in scenario.comparisons
        if not missing.intersection(comparison.of.variants)
    ]


def _row(mpi: str, c: Comparison, noisy: float, points: list[Row]) -> Row:
    bounds = {"at_least": c.at_least, "at_most": c.at_most}
    # Goals are for kinds of MPIs: ompi4, whatever its version.
    found = {key: by.get(kind_of(mpi), by.get("default")) for key, by in bounds.items()}
    goal = {key: bound for key, bound in found.items() if bound is not None}
    row = {"mpi": mpi, "name": c.name, "title": c.title, "form": c.form, "mean": c.mean, "value": None, "ratios": []}
    row |= {"spread": None, "noisy": False, "note": "", "paper": c.paper, "paper_note": c.paper_note, "points": points}
    row |= {**goal, "met": None}
    if not points:
        row["note"] = "not measured"
        return row
    value, row["ratios"], row["note"] = _together(c, points)
    row.update(value=value, spread=spread(row["ratios"]), noisy=spread(row["ratios"]) > noisy)
    if goal:
        row["met"] = value >= goal.get("at_least", -math.inf) and value <= goal.get("at_most", math.inf)
    return row


def _together(c: Comparison, points: list[Row]) -> tuple[float, list[float], str]:
    """Value over all points, the same for each repetition, and which point it is if it is one."""
    if c.mean == "worst":
        lowest = bool(c.at_least) or (not c.at_most and c.form == "speed")
        point = (min if lowest else max)(points, key=lambda p: p["ratio"])
        return point["ratio"], point["ratios"], _name(point["labels"], points)
    mean = geomean if c.mean == "geometric" else statistics.fmean
    # Repetitions that every point has, so that the same points are in each mean.
    per_repetition = [mean(ratios) for ratios in zip(*(p["ratios"] for p in points))]
    against = sorted({p["base"] for p in points if p["base"]}) if c.over and len(c.over.variants) > 1 else []
    return mean([p["ratio"] for p in points]), per_repetition, f"best: {', '.join(against)}" if against else ""


def _name(labels: dict[str, str], points: list[Row]) -> str:
    """The labels that tell a point from the others."""
    return " ".join(f"{k}={v}" for k, v in labels.items() if len({p["labels"].get(k) for p in points}) > 1)


def _points(mpi: str, c: Comparison, series: Series, missing: set[str]) -> list[Row]:
    """The ratio at each point that both sides have; of several results, each has points of its own."""
    rows = []
    for index, name in enumerate(c.of.results):
        more = {"result": name} if len(c.of.results) > 1 else {}
        for row in _points_of(mpi, c, index, series, missing):
            rows.append({**row, "labels": {**row["labels"], **more}})
    return rows


def _points_of(mpi: str, c: Comparison, index: int, series: Series, missing: set[str]) -> list[Row]:
    # A label that a side is chosen by doesn't tell its points apart.
    chosen = [*_chosen(c.of), *(_chosen(c.over) if c.over else [])]
    unit = series.units.get(c.of.results[index], "1")
    of = _values(mpi, c, c.of, c.of.variants[0], index, series, chosen)
    variants = [v for v in c.over.variants if v not in missing] if c.over else []
    bases = {v: _values(mpi, c, c.over, v, index, series, chosen) for v in variants if c.over}
    rows = []
    for labels, values in of.items():
        there = {v: found[labels] for v, found in bases.items() if labels in found}
        base = _best(there, unit) if there else ""
        if c.minus:
            apart = _apart(mpi, c, index, labels, series)
            values = {n: value - apart[n] for n, value in values.items() if n in apart}
        ratios = _ratios(values, there[base], unit, c.form) if there else [] if c.over else list(values.values())
        if ratios:
            middle, reach = statistics.median(ratios), spread(ratios)
            rows.append({"labels": dict(labels), "base": base, "ratio": middle, "ratios": ratios, "spread": reach})
    return rows


def _chosen(side: Side) -> list[str]:
    return [name for name, value in side.labels.items() if not isinstance(value, list)]


def _values(
    mpi: str, c: Comparison, side: Side, variant: str, index: int, series: Series, chosen: list[str]
) -> dict[Labels, Values]:
    """The figures of a side by the labels that tell its points apart, added up over those of `total`."""
    found: dict[Labels, Values] = {}
    for labels, values in series.find(mpi, variant, side.results[index], side.labels).items():
        sums = found.setdefault(without(labels, [*chosen, *c.total]), {})
        for n, value in values.items():
            sums[n] = sums.get(n, 0.0) + value
    return found


def _apart(mpi: str, c: Comparison, index: int, labels: Labels, series: Series) -> Values:
    """What is taken off at a point: the figure that has no labels but the point's, beside those it is chosen by."""
    found = _values(mpi, c, c.minus, c.of.variants[0], index, series, _chosen(c.minus)) if c.minus else {}
    return next((values for own, values in found.items() if set(own) <= set(labels)), {})


def _best(candidates: dict[str, Values], unit: str) -> str:
    """The variant with the best median: the least time, the highest rate."""
    medians = {name: statistics.median(values.values()) for name, values in candidates.items()}
    return (min if unit in _TIMES else max)(medians, key=lambda name: medians[name])


def _ratios(of: Values, over: Values, unit: str, form: str) -> list[float]:
    """Repetition by repetition: speed or time of one side over the other's, or the figures as they are."""
    turned = form != "value" and (form == "speed") == (unit in _TIMES)
    pairs = [(of[n], over[n]) for n in sorted(of) if n in over]
    ordered = [(b, a) if turned else (a, b) for a, b in pairs]
    return [a / b for a, b in ordered if b]
