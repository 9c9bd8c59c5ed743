"""Read scenarios.toml: what is measured, how often, and the goals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios.toml"


def load(path: Path = SCENARIOS, quick: bool = False, repetitions: int | None = None) -> dict[str, Any]:
    """The scenarios, with the replacements of [quick] if asked for."""
    with open(path, "rb") as file:
        scenarios = tomllib.load(file)
    replacements = scenarios.pop("quick")
    if quick:
        for key, value in replacements.items():
            if isinstance(value, dict):
                scenarios[key].update(value)
            else:
                scenarios[key] = value
    if repetitions is not None:
        scenarios["repetitions"] = repetitions
    return scenarios


def groups(rma: dict[str, Any], mpi: str) -> list[tuple[str, list[str]]]:
    """(kind of window, operations measured on it) for an MPI, after the exceptions."""
    kinds = {e["operation"]: e["window"] for e in rma["exceptions"] if e["mpi"] == mpi}
    by_kind: dict[str, list[str]] = {}
    for operation in rma["operations"]:
        by_kind.setdefault(kinds.get(operation, rma["window"]), []).append(operation)
    return list(by_kind.items())
