"""Figures of samples by MPI, variant, name and labels, each with its value in every repetition."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from ..text import bytes_of

Labels = tuple[tuple[str, str], ...]  # sorted
Values = dict[int, float]  # by repetition


class Series:
    """Look-up in a list of samples. A figure that a run names more than once counts with its median."""

    def __init__(self, samples: Iterable[dict[str, Any]]) -> None:
        found: dict[tuple[str, str, str], dict[Labels, dict[int, list[float]]]] = {}
        self.units: dict[str, str] = {}
        for sample in samples:
            for result in sample["results"]:
                key = (sample["mpi"], sample["variant"], result["name"])
                labels = labels_of({**sample["point"], **result["labels"]})
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


def labels_of(table: dict[str, Any]) -> Labels:
    return tuple(sorted((name, _text(value)) for name, value in table.items()))


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
