"""Run the scenarios under one MPI; what comes back is the lists of result.schema.json, without any judgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sill.mpis import Mpi

from . import scenarios as scenario
from .jobs import PLAIN, PRELOADED, Machine, Side, storage

Say = Callable[[str], None]
Records = list[dict[str, Any]]


def interleaved(sides: Sequence[Side], repetitions: int) -> list[tuple[int, Side]]:
    """A B C, C B A, A B C ...: neighbours in time get compared, and a drift favours nobody."""
    order = []
    for repetition in range(repetitions):
        order += [(repetition, side) for side in (sides if repetition % 2 == 0 else sides[::-1])]
    return order


def rma(machine: Machine, mpi: Mpi, scenarios: dict[str, Any], say: Say) -> Records:
    """One record for each kind of side, operation, metric and size, with a value for each repetition."""
    settings, repetitions = scenarios["rma"], scenarios["repetitions"]
    values: dict[tuple, dict[str, list[float]]] = {}
    for repetition, side in interleaved([PLAIN, storage(settings["rule"]), PRELOADED], repetitions):
        say(f"{mpi.name} rma {repetition + 1}/{repetitions} {side.name}")
        for window, operations in scenario.groups(settings, mpi.name):
            options = {"window": window, "ops": operations}
            options |= {key: settings[key] for key in ("sizes", "window_bytes", "rounds", "budget_us")}
            for r in machine.run(mpi, "rma", side, settings["ranks"], options):
                key = (window, r["op"], r["metric"], r["bytes"], r["unit"])
                values.setdefault(key, {}).setdefault(side.name, []).append(r["value"])
    return [
        {"mpi": mpi.name, "side": side, "window": window, "op": op, "metric": metric, "bytes": size, "unit": unit}
        | {"plain_values": by_side["plain"], "side_values": by_side[side]}
        for (window, op, metric, size, unit), by_side in values.items()
        for side in ("storage", "preloaded")
    ]


def alloc(machine: Machine, mpi: Mpi, scenarios: dict[str, Any], say: Say) -> Records:
    """One record for each case and size: the steps of memory and storage windows and of the file probe, in us."""
    settings, repetitions = scenarios["alloc"], scenarios["repetitions"]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for case in settings["cases"]:
        for repetition, side in interleaved([PLAIN, storage(case["rule"])], repetitions):
            say(f"{mpi.name} alloc {repetition + 1}/{repetitions} {case['name']}, {side.name}")
            options = {key: settings[key] for key in ("sizes", "iterations")}
            if side.name == "storage":
                options["probe"] = machine.store / "probe"
            for r in machine.run(mpi, "alloc", side, settings["ranks"], options):
                start = {"mpi": mpi.name, "case": case["name"], "bytes": r["bytes"], "unit": "us"}
                record = found.setdefault((case["name"], r["bytes"]), start)
                record.setdefault(_step_of(r["step"], side), []).append(r["value"])
    return list(found.values())


def _step_of(step: str, side: Side) -> str:
    """`memory_allocate`, `storage_free`, ... of windows; `file_reserve`, ... of the probe."""
    if step in ("allocate", "free"):
        return f"{'memory' if side.name == 'plain' else 'storage'}_{step}"
    return f"file_{step}"


def sync(machine: Machine, mpi: Mpi, scenarios: dict[str, Any], say: Say) -> Records:
    """One record for each advice and each of full, dd, piece, scattered: seconds and, if known, bytes written."""
    settings, repetitions = scenarios["sync"], scenarios["repetitions"]
    options = {"bytes": settings["bytes"], "repetitions": repetitions, "percent": settings["percent"]}
    options["probe"] = machine.store / "probe"
    if counter := device_counter(machine.store):
        options["counter"] = counter
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for case in settings["cases"]:
        say(f"{mpi.name} sync, {case['name']} advice")
        for r in machine.run(mpi, "sync", storage(case["rule"]), settings["ranks"], options):
            start = {"mpi": mpi.name, "advice": case["name"], "case": r["case"], "dirtied": r["dirtied"]}
            record = found.setdefault((case["name"], r["case"]), start | {"seconds": [], "written": []})
            record["seconds"].append(r["seconds"])
            if "written" in r:
                record["written"].append(r["written"])
    return list(found.values())


def device_counter(store: Path) -> Path | None:
    """The statistics of the block device under a folder; None when there is no single one (tmpfs, NFS, some btrfs)."""
    number = store.stat().st_dev
    path = Path(f"/sys/dev/block/{number >> 8 & 0xFFF}:{number & 0xFF}/stat")
    return path if path.exists() else None
