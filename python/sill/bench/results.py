"""Results of a scenario: a JSON file as bench/result.schema.json says."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import SillError
from ..mpi.builds import Target
from ..mpi.mpis import CHECKOUT, title
from ..system import file_system_of
from .judge import Series, judge
from .model import Scenario
from .resources import Made
from .scenario import data

FORMAT = 2
Results = dict[str, Any]
_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def build(
    scenario: Scenario,
    targets: Sequence[Target],
    machine: dict[str, Any],
    options: dict[str, Any],
    samples: list[dict[str, Any]],
    failures: list[str],
) -> Results:
    """Samples with all that belongs to them, and the ratios that come from them."""
    series = Series(samples)
    return {
        "schema": FORMAT,
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "scenario": {
            "name": scenario.name,
            "title": scenario.title,
            "about": scenario.about,
            "noisy": scenario.noisy,
            "repetitions": scenario.repetitions,
            "tables": scenario.source,
        },
        "options": options,
        "machine": {**machine, "load_after": os.getloadavg()[0]},
        "mpis": [{"name": t.mpi, "version": t.version, "family": t.family} for t in targets],
        "samples": samples,
        "comparisons": [row for t in targets for row in judge(t.mpi, scenario, series)],
        "failures": failures,
    }


def describe(store: Path, places: Sequence[Made] = ()) -> dict[str, Any]:
    """What the figures depend on besides the code; to be called before the runs."""
    cpu = Path("/proc/cpuinfo")
    model = [line for line in cpu.read_text().splitlines() if line.startswith("model name")] if cpu.exists() else []
    store.mkdir(parents=True, exist_ok=True)
    return {
        "host": platform.node(),
        "kernel": platform.release(),
        "processor": model[0].split(":")[1].strip() if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_before": os.getloadavg()[0],
        "store": str(store),
        "file_system": file_system_of(store),
        "places": [{"name": p.name, "path": p.path, "how": p.how, "rate": p.rate, "count": p.count} for p in places],
        "sill": __version__,
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _commit() -> str:
    """Of the checkout; "" for an installed Sill."""
    if not (CHECKOUT / ".git").exists():
        return ""
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def usual_folder() -> Path:
    """Where results go unless told otherwise."""
    in_checkout = data("") == CHECKOUT / "bench"
    return CHECKOUT / "bench" / "results" if in_checkout else Path("sill-bench").absolute()


def write(results: Results, folder: Path) -> Path:
    """Store results, checked against the schema, as TIME-SCENARIO.json; the path."""
    if wrong := problems(results):
        raise SillError(f"results are not as result.schema.json says: {wrong[0]}; please report it")
    folder.mkdir(parents=True, exist_ok=True)
    time = results["created"].replace(":", "").split("+")[0]
    path = folder / f"{time}-{results['scenario']['name']}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path


def read(path: Path) -> Results:
    """Results from a file."""
    try:
        results = json.loads(path.read_text())
    except ValueError as error:
        raise SillError(f"{path}: not JSON ({error}); name a file that `sill bench run` wrote") from error
    if wrong := problems(results):
        raise SillError(f"{path}: not a result of this version ({wrong[0]}); measure again with `sill bench run`")
    return results


def latest(folder: Path) -> dict[str, Results]:
    """The newest results of each scenario in a folder, or those of one file."""
    if not folder.exists():
        raise SillError(f"{folder}: no such file or folder; run `sill bench run` first, or name its --results")
    paths = [folder] if folder.is_file() else sorted(folder.glob("*.json"))
    if not paths:
        raise SillError(f"{folder}: no results in it; run `sill bench run` first, or name its --results")
    found: dict[str, Results] = {}
    for results in map(read, paths):
        name = results["scenario"]["name"]
        if name not in found or results["created"] >= found[name]["created"]:
            found[name] = results
    return dict(sorted(found.items()))


def titles(results: Results) -> dict[str, str]:
    """What to call each MPI, by its name."""
    return {mpi["name"]: title(mpi["name"], mpi["version"]) for mpi in results["mpis"]}


def conditions(results: Results) -> list[str]:
    """What a reader of the figures has to know, one line each: machine, limits, doubts."""
    machine = results["machine"]
    memory = machine["memory_bytes"] / 2**30
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {memory:.0f} GiB, Linux {machine['kernel']}, "
        f"{machine['file_system']} ({machine['store']})",
        "; ".join(titles(results).values()) + f"; Sill {machine['sill']}",
    ]
    for place in machine.get("places", []):
        many = f"{place['count']} x " if place["count"] > 1 else ""
        rate = f", {many}{place['rate'] / 2**20:.4g} MiB/s" if place["rate"] else ""
        lines.append(f"{place['name']}: {place['how']}{rate} ({place['path']})")
    limits = {(s["limit"]["how"], s["limit"]["bytes"]) for s in results["samples"] if s["limit"]["bytes"]}
    for how, count in sorted(limits):
        bound = " (binds storage_alloc_factor=auto only)" if how == "SILL_MEMORY_LIMIT" else ""
        lines.append(f"memory limit: {count >> 20} MiB by {how}{bound}")
    if machine["load_before"] > machine["cores"] / 2:
        load = f"load {machine['load_before']:.1f} on {machine['cores']} cores"
        lines.append(f"the machine was busy when the run began ({load}): figures may be off")
    if results["scenario"]["repetitions"] == 1:
        lines.append("one repetition: how much the figures spread isn't known")
    noisy = sum(row["noisy"] for row in results["comparisons"])
    if noisy:
        many = f"{noisy} of {len(results['comparisons'])} ratios spread by more than {results['scenario']['noisy']:.0%}"
        lines.append(f"noisy: {many}; don't conclude from those, run again on a quiet machine or with --repetitions")
    if results["options"].get("null"):
        lines.append("--null: all variants ran alike; the ratios show the noise of this machine")
    if results["options"].get("quick"):
        lines.append("--quick: smaller sizes, which the goals were not set for")
    return lines


# --- the schema ---


def problems(results: Any, schema: dict[str, Any] | None = None, at: str = "results") -> list[str]:
    """What is not as the schema says, one line each; as much of JSON Schema as result.schema.json uses."""
    if schema is None:
        schema = json.loads(data("result.schema.json").read_text())
    wanted = schema.get("type", list(_TYPES))
    if not any(_is(results, name) for name in ([wanted] if isinstance(wanted, str) else wanted)):
        return [f"{at}: not of type {wanted}"]
    if "enum" in schema and results not in schema["enum"]:
        return [f"{at}: {results!r} is none of {schema['enum']}"]
    found = []
    if isinstance(results, dict):
        properties = schema.get("properties", {})
        found += [f"{at}: no {key}" for key in schema.get("required", []) if key not in results]
        if schema.get("additionalProperties") is False:
            found += [f"{at}: {key} isn't in the schema" for key in results if key not in properties]
        for key, rule in properties.items():
            found += problems(results[key], rule, f"{at}.{key}") if key in results else []
    elif isinstance(results, list) and "items" in schema:
        for index, item in enumerate(results):
            found += problems(item, schema["items"], f"{at}[{index}]")
    return found


def _is(value: Any, name: str) -> bool:
    """Whether a value has a JSON type; in Python True is also an int."""
    return isinstance(value, _TYPES[name]) and not (isinstance(value, bool) and name in ("integer", "number"))
