"""The tables that a run ends with. Plain text, so that it reads the same in a terminal, a file and a mail."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from .judge import geomean, size_text

Results = dict[str, Any]


def text(results: Results) -> str:
    """All tables of the results."""
    parts = []
    for mpi in results["mpis"]:
        name = mpi["name"]
        head = f"{name}: {mpi['version']}"
        parts += [f"{head}\n{'=' * len(head)}"]
        parts += _rma(name, results["rma"]) + _alloc(name, results["alloc"]) + _sync(name, results["sync"])
    parts += _goals(results["goals"])
    if results["failures"]:
        parts.append("\n".join(["Not measured:", *(f"  {line}" for line in results["failures"])]))
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns under a line; the first `left` columns flush left, the others flush right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])


def _rma(mpi: str, records: list[dict[str, Any]]) -> list[str]:
    by_point: dict[tuple, dict[str, dict[str, Any]]] = {}
    for r in records:
        if r["mpi"] == mpi:
            by_point.setdefault((r["op"], r["metric"], r["bytes"]), {})[r["side"]] = r
    if not by_point:
        return []
    rows = []
    for op, metric in dict.fromkeys(key[:2] for key in by_point):
        of_op = {key[2]: sides for key, sides in by_point.items() if key[:2] == (op, metric)}
        for size, sides in sorted(of_op.items()):
            rows.append(_point_row(op, metric, size, sides))
        if len(of_op) > 1:
            means = [geomean([sides[side]["ratio"] for sides in of_op.values()]) for side in ("storage", "preloaded")]
            rows.append([op, metric, "all", "", "", f"{means[0]:.3f}", "", "", f"{means[1]:.3f}", ""])
    head = ["operation", "", "size", "memory", "storage", "speed", "spread", "preloaded", "speed", "spread"]
    title = "Operations: us (latency) or MB/s (bandwidth), medians; speed = side : memory window without Sill"
    return [f"{title}\n{table(head, rows, left=2)}"]


def _point_row(op: str, metric: str, size: int, sides: dict[str, dict[str, Any]]) -> list[str]:
    plain = statistics.median(sides["storage"]["plain_values"])
    row = [op, metric, size_text(size), _number(plain)]
    for side in ("storage", "preloaded"):
        r = sides[side]
        row += [_number(statistics.median(r["side_values"])), f"{r['ratio']:.3f}", f"{r['spread']:.0%}"]
    return row


def _alloc(mpi: str, records: list[dict[str, Any]]) -> list[str]:
    steps = ["memory_allocate", "memory_free", "storage_allocate", "storage_free"]
    steps += ["file_create", "file_reserve", "file_remove"]
    rows = [
        [r["case"], size_text(r["bytes"])]
        + [_number(statistics.median(r[step])) for step in steps]
        + [f"{statistics.median(r[key]):.2f}" for key in ("allocate_ratios", "both_ratios")]
        for r in records
        if r["mpi"] == mpi
    ]
    head = ["windows", "size", *(step.replace("_", " ") for step in steps), "allocate", "both"]
    title = "Allocation: us, the slowest of the ranks; ratios = (storage - file reserve) : memory"
    return [f"{title}\n{table(head, rows)}"] if rows else []


def _sync(mpi: str, records: list[dict[str, Any]]) -> list[str]:
    rows = []
    for r in (r for r in records if r["mpi"] == mpi):
        seconds = statistics.median(r["seconds"])
        written = statistics.median(r["written"]) if r["written"] else None
        rows.append(
            [r["advice"], r["case"], _number(r["dirtied"] / 1e6), f"{seconds * 1e3:.2f}"]
            + [_number(r["dirtied"] / seconds / 1e6), f"{(max(r['seconds']) - min(r['seconds'])) / seconds:.0%}"]
            + ([_number(written / 1e6), f"{written / r['dirtied']:.2f}"] if written is not None else ["?", "?"])
        )
    head = ["advice", "case", "MB dirtied", "ms", "MB/s", "spread", "MB written", "per byte"]
    title = "Sync: one rank; dd = sequential write and fsync of a file beside the window's"
    return [f"{title}\n{table(head, rows, left=2)}"] if rows else []


def _goals(goals: list[dict[str, Any]]) -> list[str]:
    rows = []
    for g in goals:
        wanted = f">= {g['at_least']:g}" if "at_least" in g else f"<= {g['at_most']:g}" if "at_most" in g else ""
        verdict = {True: "met", False: "MISSED", None: "-"}[g["met"]]
        value = "?" if g["value"] is None else f"{g['value']:.3f}"
        note = g["note"] + (", noisy" if g["noisy"] and g["note"] else "noisy" if g["noisy"] else "")
        rows.append([g["mpi"], g["title"], note, value, wanted, f"{g['spread']:.0%}", verdict])
    head = ["MPI", "figure", "", "value", "goal", "spread", ""]
    return [f"Goals\n{table(head, rows, left=3)}"] if rows else []


def _number(value: float) -> str:
    """Three or four digits that count."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
