"""Start a benchmark program under an MPI, on one of the sides that get compared, and read its lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sill.mpis import Mpi

TIMEOUT_S = 180


class BenchError(Exception):
    """One line for the user."""


@dataclass(frozen=True)
class Side:
    """What a program runs with: nothing, Sill loaded, or Sill loaded and a rule that puts windows on storage."""

    name: str
    preload: bool = False
    rule: str = ""

    def at(self, store: Path) -> Side:
        return Side(self.name, self.preload, self.rule.format(store=store))


PLAIN = Side("plain")
PRELOADED = Side("preloaded", preload=True)


def storage(rule: str) -> Side:
    return Side("storage", preload=True, rule=rule)


@dataclass(frozen=True)
class Machine:
    """Where the programs and libraries were built, and where windows and probes put their files."""

    build: Path
    store: Path
    null: bool = False  # every side runs plain: what comes out is the noise of this machine

    def library(self, mpi: Mpi) -> Path:
        return self.build / "lib" / f"libsill-{mpi.family}.so"

    def program(self, mpi: Mpi, name: str) -> Path:
        return self.build / "bin" / mpi.name / f"bench-{name}"

    def check(self, mpi: Mpi) -> None:
        """Raise unless all that a run under this MPI needs is there."""
        programs = [self.program(mpi, name) for name in ("rma", "alloc", "sync")]
        for path in programs + ([] if self.null else [self.library(mpi)]):
            if not path.exists():
                raise BenchError(f"{path} isn't built: run `make` first")

    def run(self, mpi: Mpi, name: str, side: Side, ranks: int, options: dict[str, Any]) -> list[dict[str, Any]]:
        """The records that a program printed, the `run` records checked and left out."""
        side = PLAIN if self.null else side.at(self.store)
        command = [mpi.mpiexec, "-n", str(ranks), "env", *self._settings(mpi, side), str(self.program(mpi, name))]
        for key, value in options.items():
            command += [f"--{key}", _text(value)]
        output = _output(command, _environment(mpi))
        records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        runs = [r for r in records if r["kind"] == "run"]
        if not runs:
            raise BenchError(f"{mpi.name}: bench-{name} did not say what it ran on")
        for record in runs:
            self._check_side(mpi, side, record)
        return [r for r in records if r["kind"] != "run"]

    def _settings(self, mpi: Mpi, side: Side) -> list[str]:
        settings = [f"LD_PRELOAD={self.library(mpi)}"] if side.preload else []
        return settings + ([f"SILL_WINDOWS={side.rule}"] if side.rule else [])

    def _check_side(self, mpi: Mpi, side: Side, record: dict[str, Any]) -> None:
        """A ratio is worth something only if each side was what it is called."""
        on_storage = record["backing"].startswith(f"{self.store}/")
        if (record["sill"], on_storage) != (side.preload, bool(side.rule)):
            loaded = "with" if record["sill"] else "without"
            raise BenchError(
                f"{mpi.name}: the {side.name} side ran {loaded} Sill, its window on {record['backing'] or 'memory'}"
            )


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _environment(mpi: Mpi) -> dict[str, str]:
    """This environment without what would change a side: rules and settings of the user, other preloaded tools."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SILL_") and k != "LD_PRELOAD"}
    return kept | mpi.root_env | {"SILL_CONFIG": os.devnull, "SILL_JOB_ID": "bench"}


def _output(command: list[str], environment: dict[str, str]) -> str:
    """Standard output of a command that must succeed; at a time-out its whole session is ended."""
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise BenchError(f"no end after {TIMEOUT_S} s: {' '.join(command)}") from None
    if process.returncode != 0:
        lines = [line.strip(" =\t-") for line in (errors + output).splitlines() if not line.startswith("{")]
        reason = " / ".join([line for line in lines if line][:4]) or "no message"
        raise BenchError(f"exit code {process.returncode}: {' '.join(command)}: {reason}")
    return output
