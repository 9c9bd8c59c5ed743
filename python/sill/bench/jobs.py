"""Start a program under an MPI for one variant, wait for it, and read the JSON it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SillError, held_signals
from ..mpi.builds import Target
from ..text import bytes_of
from .model import Point, Scenario, Table, Variant
from .resources import Limit

_GRACE_S = 10


class RunError(SillError):
    """A run that failed; the other runs go on."""


@dataclass(frozen=True)
class Job:
    """One run: everything that decides what is started. `folder` is its own, empty, and removed by the caller."""

    scenario: Scenario
    target: Target
    variant: Variant
    point: Point
    folder: Path
    text: Path | None = None
    places: dict[str, str] = field(default_factory=dict)  # by name, what {name} stands for

    @property
    def json_file(self) -> Path:
        # In the store, because with a batch system rank 0 may be on another node.
        return self.folder / "result.json"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def command(self, limit: Limit) -> list[str]:
        """The whole command line. `env` sets variables for the program alone, on every node and with every launcher."""
        variables = [f"{key}={value}" for key, value in self._variables(limit).items()]
        # The shell of a limit comes first: what is preloaded for the program may not load into a shell.
        return [*self.target.start(self.point.ranks), *limit.prefix, "env", *variables, *self._program()]

    def _variables(self, limit: Limit) -> dict[str, str]:
        variables = {"SILL_CONFIG": os.devnull, "SILL_JOB_ID": "bench"}
        if self.variant.sill:
            program = None if self.variant.command else self.target.program(self.scenario.program)
            variables["LD_PRELOAD"] = str(self.target.library(program))
        if self.variant.rule:
            variables["SILL_WINDOWS"] = self._filled(self.variant.rule)
        own = {**self.scenario.environment, **self.variant.environment}
        return {**variables, **limit.environment, **{key: self._filled(value) for key, value in own.items()}}

    def _program(self) -> list[str]:
        parameters: Table = {**self.scenario.parameters, **self.variant.parameters, **self.point.parameters}
        for key, value in self.scenario.per_rank.items():
            parameters[key] = _times(value, self.point.ranks, f"{self.scenario.path}, per_rank: {key}")
        if self.variant.command:
            words = [self._filled(word) for word in self.variant.command]
        else:
            path = self.target.program(self.scenario.program)
            if path is None:
                raise RunError(f"no {self.scenario.program} for {self.target.title}: run make, or install Sill's apps")
            words = [str(path)]
        for key, value in parameters.items():
            words += [self._filled(word) for word in _option(key, value)]
        words += ["--store", str(self.store), "--json", str(self.json_file)]
        return [*words, *(self._filled(word) for word in self.scenario.arguments)]

    def _filled(self, text: str) -> str:
        values = {"{store}": self.store, "{ranks}": self.point.ranks, "{folder}": self.folder, "{text}": self.text}
        values.update({f"{{{name}}}": path for name, path in self.places.items() if name != "store"})
        for name, value in values.items():
            text = text.replace(name, str(value))
        return text


def _option(key: str, value: Any) -> list[str]:
    """`--key value`; true and false are --key and --no-key, a list repeats the option."""
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--no-{key}"]
    return [word for one in (value if isinstance(value, list) else [value]) for word in (f"--{key}", str(one))]


def _times(value: Any, ranks: int, where: str) -> int:
    try:
        return bytes_of(value) * ranks
    except ValueError as error:
        raise SillError(f"{where} = {value!r} is no size; write it like 64m") from error


def run(job: Job, limit: Limit) -> dict[str, Any]:
    """What the program wrote, checked, with the wall time as `seconds` and the command line as `command`."""
    job.store.mkdir()
    command = job.command(limit)
    begun = time.monotonic()
    _wait(command, _environment(job.target), job.scenario.timeout_s)
    seconds = time.monotonic() - begun
    try:
        found = json.loads(job.json_file.read_text())
        rows = [(r["name"], dict(r.get("labels") or {}), float(r["value"]), r["unit"]) for r in found["results"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{' '.join(command)}: no results in its --json file ({error!r})") from error
    check_variant(job, found)
    results = [{"name": n, "labels": labels, "value": value, "unit": unit} for n, labels, value, unit in rows]
    return {**found, "results": results, "seconds": seconds, "command": command}


def check_variant(job: Job, found: dict[str, Any]) -> None:
    """A ratio is worth something only if each variant was what it is called, and its data were right."""
    who = f"{job.target.title}, {job.variant.name}"
    if found.get("verified") is False:
        raise RunError(f"{who}: the program found wrong data")
    if job.variant.command:
        return
    if found.get("sill") is not None and found["sill"] != job.variant.sill:
        raise RunError(f"{who}: it ran {'with' if found['sill'] else 'without'} Sill, which is not what it is called")
    backing = found.get("backing") or ""
    stored = backing.startswith((f"{job.store}/", f"{job.store.resolve()}/"))
    if job.variant.backing != "any" and stored != (job.variant.backing == "storage"):
        raise RunError(f"{who}: its window lay on {backing or 'memory'}, which is not what it is called")


def _environment(target: Target) -> dict[str, str]:
    """This environment without what would change a variant: rules and settings of the user, other preloaded tools."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SILL_", "PCAF_")) and key != "LD_PRELOAD"
    }
    return {**kept, **target.environment}


def _wait(command: Sequence[str], environment: dict[str, str], timeout_s: int) -> None:
    """Run a command that must succeed; at a time-out, or when the user interrupts, its whole session is ended."""
    process = None
    try:
        with held_signals():
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _end(process)
        raise RunError(f"no end after {timeout_s} s: {' '.join(command)}") from None
    except BaseException:
        if process is not None:
            _end(process)
        raise
    if process.returncode != 0:
        lines = [line.strip(" =\t-") for line in output.splitlines()]
        reason = " / ".join([line for line in lines if line][:4]) or "no message"
        raise RunError(f"exit code {process.returncode}: {' '.join(command)}: {reason}")


def _end(process: subprocess.Popen) -> None:
    """First politely: a launcher ends ranks that have sessions of their own, or are on other nodes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=_GRACE_S)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
