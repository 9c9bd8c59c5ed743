"""Run a scenario: variants take turns, each turn is a job of its own; what comes back is every single sample."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ..errors import SillError
from ..mpi.builds import Target
from . import jobs, resources
from .model import Point, Scenario, Variant
from .resources import Made

Say = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Turn:
    """One job to run, and which repetition of its variant it is."""

    target: Target
    point: Point
    repetition: int
    variant: Variant


def interleaved(variants: Sequence[T], repetitions: int) -> Iterator[tuple[int, T]]:
    """A B C, C B A, A B C ...: neighbours in time get compared, and a drift favours nobody."""
    for repetition in range(repetitions):
        for variant in variants if repetition % 2 == 0 else variants[::-1]:
            yield repetition, variant


def turns(scenario: Scenario, targets: Sequence[Target]) -> list[Turn]:
    """All jobs of a scenario in their order."""
    variants = [variant for variant in scenario.variants if not variant.missing]
    return [
        Turn(target, point, repetition, variant)
        for target in targets
        for point in scenario.points
        if point.runs_under(target.mpi)
        for repetition, variant in interleaved(variants, scenario.repetitions)
    ]


def without_difference(scenario: Scenario) -> Scenario:
    """Every variant runs as the first one: what comes out is the noise of the machine."""
    first = scenario.variants[0]
    same = [replace(first, name=v.name, title=v.title) for v in scenario.variants if not v.missing]
    return replace(scenario, variants=tuple(same))


def run(
    scenario: Scenario, targets: Sequence[Target], store: Path, groups: bool, say: Say, places: Sequence[Made] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """All samples, and the failures, one line each. A variant that failed isn't tried again at the same point."""
    samples: list[dict[str, Any]] = []
    failures: list[str] = []
    given_up: set[tuple] = set()
    plan = turns(scenario, targets)
    begun = time.monotonic()
    with work_folder(store, scenario.disk) as folder:
        for number, turn in enumerate(plan):
            key = (turn.target.mpi, turn.variant.name, scenario.points.index(turn.point))
            if key in given_up:
                continue
            say(_progress(scenario, turn, number, len(plan), time.monotonic() - begun))
            try:
                text = resources.text_folder(folder, scenario.text, turn.point.ranks)
                samples.append(_sample(scenario, turn, folder / str(number), groups, number, text, places))
            except SillError as error:
                given_up.add(key)
                failures.append(f"{turn.target.title}, {turn.variant.name}: {error}")
    return samples, failures


def _sample(
    scenario: Scenario, turn: Turn, folder: Path, groups: bool, number: int, text: Path | None, places: Sequence[Made]
) -> dict[str, Any]:
    folder.mkdir()
    try:
        job = jobs.Job(
            scenario, turn.target, turn.variant, turn.point, folder, text, {place.name: place.path for place in places}
        )
        with resources.limited(turn.variant.limit, groups) as limit:
            found = jobs.run(job, limit)
    finally:
        shutil.rmtree(folder)
        for place in places:
            if place.name != "store":
                place.empty()
    return {
        "mpi": turn.target.mpi,
        "variant": turn.variant.name,
        "point": turn.point.labels,
        "repetition": turn.repetition,
        "order": number,
        "seconds": round(found["seconds"], 4),
        "limit": {"how": limit.how, "bytes": limit.bytes},
        "command": found["command"],
        "app": str(found.get("app", "")),
        "app_version": str(found.get("version", "")),
        "library": str(found.get("mpi", "")),
        "sill": found.get("sill"),
        "backing": str(found.get("backing") or ""),
        "verified": found.get("verified"),
        "notes": found.get("notes") or {},
        "results": found["results"],
    }


def _progress(scenario: Scenario, turn: Turn, number: int, total: int, passed: float) -> str:
    left = f", about {_duration(passed / number * (total - number))} left" if number else ""
    values = (str(value) for value in turn.point.labels.values())
    where = f"{scenario.name}: {turn.target.title}, {turn.variant.name}, {turn.point.ranks} ranks"
    settings = " ".join(list(values)[1:])
    repetition = f"{turn.repetition + 1}/{scenario.repetitions}"
    return f"[{number + 1}/{total}{left}] {where}{', ' + settings if settings else ''}, {repetition}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def work_folder(store: Path, disk: int) -> Iterator[Path]:
    """A folder of this run's own in the store, gone afterwards; an error if there isn't enough room."""
    try:
        store.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(store).free
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=store.resolve()))
    except OSError as error:
        raise SillError(f"{store}: {error.strerror}; name a folder that you may write to with --store") from error
    try:
        if free < disk:
            raise SillError(
                f"{store}: {free >> 20} MiB free, {disk >> 20} MiB needed; name another with --store, or use --quick"
            )
        yield folder
    finally:
        shutil.rmtree(folder)
