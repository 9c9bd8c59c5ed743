"""`sill model`: constants in, a table, JSON or figures out. The formulas are in model.py, the machine in model.toml."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Optional

import typer

from .. import output
from ..errors import SillError
from ..text import pairs, read_toml
from . import model

CONSTANTS = Path(__file__).with_name("model.toml")
NODES = "10,100,1000,10000,100000"
_PROBE_BYTES, _BLOCK, _PROBE_FILES = 256 << 20, 4 << 20, 200


def predict(
    nodes: str = typer.Option(NODES, "--nodes", metavar="N[,N]...", help="Numbers of nodes."),
    constants: Optional[Path] = typer.Option(
        None, "--constants", metavar="FILE", help="The machine in TOML; --print-constants shows it."
    ),
    changes: Optional[list[str]] = typer.Option(
        None, "--set", metavar="NAME=VALUE", help="Another constant, e.g. stores.local.operation_s=1e-5; repeatable."
    ),
    measured: Optional[list[str]] = typer.Option(
        None, "--measure", metavar="STORE=DIR", help="Measure a store's constants in a folder; repeatable."
    ),
    draw: Optional[Path] = typer.Option(None, "--draw", metavar="FILE.png", help="Draw the figures."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON for machines."),
    print_constants: bool = typer.Option(False, "--print-constants", help="Print the constants, to be edited."),
) -> None:
    """Predict the time of a split by directory and of a checkpoint for 10 to 100,000 nodes and several kinds of stores.

    The constants are those of a made-up cluster unless you give your own.
    """
    if print_constants:
        print((constants or CONSTANTS).read_text(), end="")
        return
    table = read_toml(constants or CONSTANTS)
    for store, folder in pairs(measured, "--measure", filled=True):
        table = _with_measured(table, store, Path(folder))
    for name, value in pairs(changes, "--set", filled=True):
        table = model.changed(table, name, _number(name, value))
    machine = model.machine(table)
    rows = model.predict(machine, _nodes(nodes))
    if draw:
        draw.write_bytes(_figures(machine, rows))
    if as_json:
        print(json.dumps({"constants": table, "predictions": rows}, indent=2))
    else:
        _print(machine, rows)
    if draw:
        print(f"figures: {draw}")


def _print(machine: model.Machine, rows: list[dict[str, Any]]) -> None:
    table = output.plain_table("store", ">nodes", *(f">split: {method}" for method in model.METHODS), ">checkpoint")
    by_place: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        by_place.setdefault((row["store"], row["nodes"]), []).append(seconds_text(row["seconds"]))
    lines = [(machine.stores[store].title, f"{nodes:,}", *texts) for (store, nodes), texts in by_place.items()]
    output.print_table(table, lines)


def seconds_text(seconds: float) -> str:
    """12.3 us, 4.56 ms, 78.9 s."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:,.0f} {unit}"
    return ""


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise SillError(f"--set {name}={text}: not a number", 2) from None
    return int(number) if number.is_integer() else number


def _nodes(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdigit() and 0 < int(word) <= 10**9 for word in words):
        raise SillError(f"--nodes {text}: write numbers above 0 with commas between them, e.g. 10,100", 2)
    return sorted(set(map(int, words)))


# --- figures ---


def _figures(machine: model.Machine, rows: list[dict[str, Any]]) -> bytes:
    """One PNG with a panel for the splits of each store, one for checkpoints and one for their ratios."""
    plot = output.pyplot("sill model --draw needs matplotlib: pip install matplotlib")
    stores = list(machine.stores)
    figure, axes = output.panels(plot, len(stores) + 2, 3.4)
    for ax in axes:
        ax.set(xscale="log", yscale="log")
    for name, ax in zip(stores, axes):
        for method in model.METHODS:
            _line(ax, _points(rows, what="split", store=name, method=method), method)
        output.label(ax, f"split, {machine.stores[name].title}", "nodes", "seconds")
    writing = {name: dict(_points(rows, what="checkpoint", store=name)) for name in stores}
    for name in stores:
        _line(axes[len(stores)], list(writing[name].items()), machine.stores[name].title)
    output.label(axes[len(stores)], "checkpoint", "nodes", "seconds")
    last = stores[-1]
    for name in stores[:-1]:
        gained = [(nodes, writing[last][nodes] / seconds) for nodes, seconds in writing[name].items()]
        _line(axes[len(stores) + 1], gained, machine.stores[name].title)
    output.label(axes[len(stores) + 1], f"checkpoint, times as fast as {machine.stores[last].title}", "nodes", "ratio")
    return output.png(plot, figure)


def _points(rows: list[dict[str, Any]], **wanted: str) -> list[tuple[int, float]]:
    return [(r["nodes"], r["seconds"]) for r in rows if all(r.get(key) == value for key, value in wanted.items())]


def _line(ax: Any, points: list[tuple[int, float]], label: str) -> None:
    ax.plot([x for x, _ in points], [y for _, y in points], "o-", ms=3, lw=1, label=label)


# --- measuring ---


def _with_measured(table: dict[str, Any], store: str, folder: Path) -> dict[str, Any]:
    """The table with a store's constants as they are found in a folder. Its first level is what this machine sees."""
    if not isinstance(table.get("stores"), dict) or store not in table["stores"]:
        raise SillError(f"--measure {store}={folder}: no such store; choose of {', '.join(table.get('stores', {}))}", 2)
    for name, value in measure(folder).items():
        table = model.changed(table, f"stores.{store}.{name}", value)
    return table


def measure(folder: Path) -> dict[str, float]:
    """Constants of the store below a folder: bandwidth of one writer, time of an operation, speed of listings."""
    with tempfile.TemporaryDirectory(prefix="sill-model-", dir=folder) as made:
        place = Path(made)
        begun = time.monotonic()
        for i in range(_PROBE_FILES):
            (place / f"token.{i}").touch(exist_ok=False)
        operation_s = (time.monotonic() - begun) / _PROBE_FILES
        begun = time.monotonic()
        found = len(os.listdir(place))
        listing_s = time.monotonic() - begun
        return {
            "levels.0.bandwidth": _PROBE_BYTES / _write_seconds(place / "bytes"),
            "operation_s": operation_s,
            "operations_per_s": 1 / operation_s,
            "entries_per_s": found / listing_s,
        }


def _write_seconds(path: Path) -> float:
    """Of a new file, until it is durable."""
    block = os.urandom(_BLOCK)
    begun = time.monotonic()
    with open(path, "wb", buffering=0) as file:
        for _ in range(_PROBE_BYTES // _BLOCK):
            file.write(block)
        os.fsync(file.fileno())
    return time.monotonic() - begun
