"""One HTML page with everything in it: goals met or missed, and for each scenario figures, ratios, samples."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from . import plots, tables
from .results import Results, conditions, latest

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 78em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: .8em 0; }
th, td { padding: .2em .7em; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.met td:last-child { color: #176b2c; } tr.missed td:last-child { color: #b3141b; font-weight: bold; }
img { max-width: 100%; } .warn { color: #b3141b; } small, .about { color: #555; }
"""
_LEGEND = (
    "Each ratio is formed pair by pair from runs that took turns on one machine: the median over repetitions, "
    "spread (largest - smallest) / median. In the figures a band or a thin line goes from the lowest to the highest "
    "repetition, a diamond is what the paper published, a triangle the goal."
)


def write(folder: Path, output: Path) -> list[Path]:
    """Write the page and a PNG for each scenario and MPI into `output`; returns what was written."""
    found = latest(folder)
    output.mkdir(parents=True, exist_ok=True)
    written, sections = [], []
    for name, results in found.items():
        pictures = {}
        for mpi in dict.fromkeys(sample["mpi"] for sample in results["samples"]):
            pictures[mpi] = output / f"{name}-{mpi}.png"
            pictures[mpi].write_bytes(plots.draw(results, mpi))
        sections.append(_section(results, pictures))
        written += pictures.values()
    page = output / "report.html"
    page.write_text(_page(list(found.values()), sections), encoding="utf-8")
    return [page, *written]


def _page(all_results: Sequence[Results], sections: Sequence[str]) -> str:
    rows = [row for results in all_results for row in tables.goal_rows(results)]
    small = [r["scenario"]["name"] for r in all_results if r["options"].get("quick") or r["options"].get("null")]
    with_goal = [row for row in rows if row[-1] != tables.VERDICTS[None] and row[0] not in small]
    met = sum(row[-1] == tables.VERDICTS[True] for row in with_goal)
    not_counted = (
        f" Goals of scenarios that were run with --quick or --null don't count: {', '.join(small)}." if small else ""
    )
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Sill: benchmarks</title>",
        f"<style>{_STYLE}</style></head><body><h1>Sill: benchmarks</h1>",
        f"<p>{met} of {len(with_goal)} goals met.{escape(not_counted)} {_LEGEND}</p>",
        "<h2>Goals</h2>",
        _table(tables.GOAL_HEAD, rows),
        *sections,
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _section(results: Results, pictures: dict[str, Path]) -> str:
    scenario = results["scenario"]
    parts = [f"<h2 id='{escape(scenario['name'])}'>{escape(scenario['title'])}</h2>"]
    parts.append(f"<p class='about'>{escape(scenario['about'])}</p>")
    commit = f", commit {results['machine']['commit']}" if results["machine"]["commit"] else ""
    lines = [f"{results['created']}{commit}", *conditions(results)]
    parts.append("<p><small>" + "<br>".join(map(escape, lines)) + "</small></p>")
    parts += [f"<p class='warn'>Not measured: {escape(failure)}</p>" for failure in results["failures"]]
    parts += [_image(path, f"{scenario['name']}, {mpi}") for mpi, path in pictures.items()]
    parts.append(_table(tables.GOAL_HEAD, tables.goal_rows(results)))
    samples = _table(tables.SAMPLE_HEAD, tables.sample_rows(results))
    parts.append(f"<details><summary>All figures, {len(results['samples'])} runs</summary>{samples}</details>")
    return "\n".join(parts)


def _image(path: Path, name: str) -> str:
    content = base64.b64encode(path.read_bytes()).decode()
    return f"<p><img alt='{escape(name)}' src='data:image/png;base64,{content}'></p>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    kinds = [" class='n'" if name.startswith(">") else "" for name in head]
    titles = "".join(f"<th{kind}>{escape(name.lstrip('>'))}</th>" for name, kind in zip(head, kinds))
    lines = []
    for row in rows:
        verdict = {"met": " class='met'", "MISSED": " class='missed'"}.get(row[-1], "")
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds))
        lines.append(f"<tr{verdict}>{cells}</tr>")
    return f"<table><tr>{titles}</tr>{''.join(lines)}</table>"
