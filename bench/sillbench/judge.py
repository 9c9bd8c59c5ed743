"""From measured values to ratios, and from ratios to goals met or missed."""

from __future__ import annotations

import math
import statistics
from typing import Any

Records = list[dict[str, Any]]

TITLES = {
    "storage_geomean": "storage : memory window, speed, geometric mean",
    "storage_slowest": "storage : memory window, speed, slowest point",
    "preloaded_geomean": "Sill loaded : not loaded, speed, geometric mean",
    "alloc_ratio": "storage : memory window, time to allocate",
    "alloc_free_ratio": "storage : memory window, time to allocate and free",
    "sync_bandwidth": "full sync : write + fsync, bandwidth",
    "sync_piece": "sync of 1 % in one piece : full sync, time",
    "sync_scattered_random": "bytes written per byte dirtied, 1 % scattered, random",
    "sync_scattered_default": "bytes written per byte dirtied, 1 % scattered, default",
}


def geomean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def spread(values: list[float]) -> float:
    """From the smallest to the largest, as a share of the median; 0 where the median is."""
    middle = abs(statistics.median(values))
    return (max(values) - min(values)) / middle if middle else 0.0


def add_ratios(records: Records) -> None:
    """Give each rma record the speed ratios of its pairs, their median and their spread."""
    for r in records:
        pairs = list(zip(r["plain_values"], r["side_values"]))
        faster_is_less = r["metric"] == "latency"
        r["ratios"] = [plain / side if faster_is_less else side / plain for plain, side in pairs]
        r["ratio"], r["spread"] = statistics.median(r["ratios"]), spread(r["ratios"])


def add_alloc_ratios(records: Records, counted_apart: list[str]) -> None:
    """Give each alloc record time of storage : memory, what the file system takes to reserve not counted."""
    for r in records:
        apart = _sums(*(r[f"file_{step}"] for step in counted_apart))
        for key, steps in (("allocate", ["allocate"]), ("both", ["allocate", "free"])):
            memory = _sums(*(r[f"memory_{step}"] for step in steps))
            whole = _sums(*(r[f"storage_{step}"] for step in steps))
            r[f"{key}_ratios"] = [(s - f) / m for m, s, f in zip(memory, whole, apart)]


def _sums(*lists: list[float]) -> list[float]:
    return [sum(values) for values in zip(*lists)]


def judge(mpi: str, results: dict[str, Any], scenarios: dict[str, Any]) -> Records:
    """The rows of the goals table for one MPI: those whose measurements were made."""
    rows = _judge_rma(mpi, [r for r in results["rma"] if r["mpi"] == mpi])
    rows += _judge_alloc([r for r in results["alloc"] if r["mpi"] == mpi])
    rows += _judge_sync([r for r in results["sync"] if r["mpi"] == mpi])
    for row in rows:
        bounds = scenarios["goals"].get(row["goal"], {})
        row.update(mpi=mpi, title=TITLES[row["goal"]], noisy=row["spread"] > scenarios["noisy"])
        for bound in ("at_least", "at_most"):
            if bound in bounds:
                row[bound] = bounds[bound].get(mpi, bounds[bound]["default"])
        row["met"] = _met(row)
    return rows


def _met(row: dict[str, Any]) -> bool | None:
    """None where there is no goal, or nothing to hold against it."""
    if row["value"] is None:
        return None
    if "at_least" in row:
        return row["value"] >= row["at_least"]
    return row["value"] <= row["at_most"] if "at_most" in row else None


def _row(goal: str, values: list[float], value: float | None = None, note: str = "") -> dict[str, Any]:
    value = statistics.median(values) if value is None else value
    return {"goal": goal, "value": value, "spread": spread(values), "note": note}


def _judge_rma(mpi: str, records: Records) -> Records:
    rows = []
    for side in ("storage", "preloaded"):
        points = [r for r in records if r["side"] == side]
        if not points:
            continue
        per_repetition = [geomean(list(ratios)) for ratios in zip(*(r["ratios"] for r in points))]
        rows.append(_row(f"{side}_geomean", per_repetition, geomean([r["ratio"] for r in points])))
        if side == "storage":
            slowest = min(points, key=lambda r: r["ratio"])
            where = f"{slowest['op']} {slowest['metric']} {size_text(slowest['bytes'])}"
            rows.append(_row("storage_slowest", slowest["ratios"], note=where))
    return rows


def _judge_alloc(records: Records) -> Records:
    rows = []
    for goal, key in (("alloc_ratio", "allocate_ratios"), ("alloc_free_ratio", "both_ratios")):
        if records:
            worst = max(records, key=lambda r: statistics.median(r[key]))
            rows.append(_row(goal, worst[key], note=f"{worst['case']}, {size_text(worst['bytes'])}"))
    return rows


def _judge_sync(records: Records) -> Records:
    found = {(r["advice"], r["case"]): r for r in records}
    if not found:
        return []
    full, dd, piece = (found["default", case]["seconds"] for case in ("full", "dd", "piece"))
    rows = [
        _row("sync_bandwidth", [d / f for d, f in zip(dd, full)]),
        _row("sync_piece", [p / f for p, f in zip(piece, full)]),
    ]
    for advice in ("random", "default"):
        goal, r = f"sync_scattered_{advice}", found[advice, "scattered"]
        if r["written"]:
            rows.append(_row(goal, [w / r["dirtied"] for w in r["written"]]))
        else:
            rows.append({"goal": goal, "value": None, "spread": 0.0, "note": "the store's device counts no writes"})
    return rows


def size_text(size: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GiB"
