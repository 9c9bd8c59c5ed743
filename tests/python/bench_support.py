"""Fake programs and launchers for the tests of `sill bench`: what is tested is the harness, not MPI."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from sill.bench import judge, results, runner, scenario
from sill.mpi.builds import Target

# Writes the JSON of a mini-app. Its figures come from its options; what it was started with goes to $FAKE_LOG.
PROGRAM = r"""#!/usr/bin/env python3
import json, os, sys

options, words, rest = {}, sys.argv[1:], []
while words:
    if not words[0].startswith("--"):
        rest.append(words.pop(0))
        continue
    key = words.pop(0)[2:]
    options[key] = words.pop(0) if words and not words[0].startswith("--") else True
if log := os.environ.get("FAKE_LOG"):
    with open(log, "a") as file:
        file.write(json.dumps({"options": options, "words": rest, "environment": dict(os.environ)}) + "\n")
    with open(log) as file:
        turn = sum(json.loads(line)["options"].get("window") == options.get("window") for line in file) - 1
else:
    turn = 0
if options.get("fail"):
    sys.exit(f"{options['fail']} went wrong\n")
stored = options.get("window") == "storage"
if "backing" in options:
    stored = options["backing"] == "storage"
values = [float(value) for value in str(options.get("values", "1")).split(",")]
results = [
    {"name": name, "labels": {"kernel": kernel}, "unit": unit, "value": factor * values[turn % len(values)]}
    for kernel, factor in (("SEQ", 1), ("RND", float(options.get("rnd", 1))))
    for name, unit in (("bandwidth", "B/s"), ("time", "s"))
]
results.append({"name": "flush_share", "labels": {"kernel": "SEQ"}, "unit": "1", "value": 0.25})
json.dump(
    {
        "app": "fake", "version": "1", "mpi": "Fake MPI", "ranks": 1, "window": options.get("window"),
        "sill": "LD_PRELOAD" in os.environ, "backing": f"{options['store']}/w.0" if stored else "",
        "verified": not options.get("wrong"), "notes": {}, "results": results,
    },
    open(options["json"], "w"),
)
"""
# Takes `-n RANKS` as launchers do, and runs the rest once.
LAUNCHER = '#!/bin/sh\n[ "$1" = -n ] || exit 99\nshift 2\nexec "$@"\n'

MEMORY_AND_STORAGE = """
title = "A fake: bandwidth"
about = "What it is about."
program = "fake"
repetitions = 3
[variants.memory]
parameters = { window = "memory", values = "10,20,40" }
[variants.storage]
parameters = { window = "storage", values = "9,18,36" }
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fake_target(folder: Path, libraries: Path, mpi: str = "mpich5") -> Target:
    """An MPI with one program, `fake`, and a launcher that runs it once."""
    executable(folder / "bin" / mpi / "fake", PROGRAM)
    launcher = executable(folder / "launch", LAUNCHER)
    return Target(mpi, "5.0", "mpich", (str(launcher),), folder / "bin" / mpi, libraries)


def load(folder: Path, text: str, **options) -> scenario.Scenario:
    path = folder / "fake.toml"
    path.write_text(textwrap.dedent(text))
    return scenario.load(str(path), **options)


def measure(s: scenario.Scenario, target: Target, folder: Path) -> results.Results:
    """Run a scenario, and what `sill bench run` makes of it."""
    store = folder / "store"
    machine = results.describe(store)
    samples, failures = runner.run(s, [target], store, True, lambda line: None)
    return results.build(s, [target], machine, {"quick": False, "null": False, "mpiexec": None}, samples, failures)


def sample(variant: str, value: float, repetition: int = 0, unit: str = "B/s", **labels: Any) -> dict[str, Any]:
    """A sample with one figure, `x`."""
    result = {"name": "x", "labels": labels, "value": value, "unit": unit}
    return {"mpi": "mpich5", "variant": variant, "point": {"ranks": 1}, "repetition": repetition, "results": [result]}


def judged(s: scenario.Scenario, *samples: dict[str, Any], mpi: str = "mpich5") -> dict[str, dict[str, Any]]:
    """The comparisons' rows for made-up samples, by name."""
    return {row["name"]: row for row in judge.judge(mpi, s, judge.Series(samples))}


def started(log: Path) -> list[dict]:
    """Options, words and environment of each fake program that has run."""
    return [json.loads(line) for line in log.read_text().splitlines()]
