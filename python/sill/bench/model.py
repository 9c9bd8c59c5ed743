"""What a scenario consists of. Read by scenario.py, run by runner.py, judged by judge.py, drawn by plots.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..mpi.mpis import kind_of

Table = dict[str, Any]

AS = ("speed", "time", "value")
MEANS = ("mean", "geometric", "worst")
BACKINGS = ("memory", "storage", "any")
KINDS = ("lines", "bars")


@dataclass(frozen=True)
class Variant:
    """One way to run the program; variants of a scenario take turns."""

    name: str
    title: str
    parameters: Table
    environment: dict[str, str]
    sill: bool  # preloaded
    rule: str  # SILL_WINDOWS
    backing: str  # what the first window must lie on, of BACKINGS
    limit: int  # memory in bytes, 0: none
    command: list[str]  # instead of the scenario's program
    optional: bool  # left out where its command isn't given

    @property
    def missing(self) -> bool:
        """Whether it waits for `--command NAME=...`."""
        return self.optional and not self.command


@dataclass(frozen=True)
class Point:
    """One place on the axes of a figure: ranks and parameters; `labels` tell its results from other points'."""

    ranks: int
    parameters: Table
    labels: dict[str, Any]
    only: tuple[str, ...] = ()  # kinds of MPIs; empty: all
    without: tuple[str, ...] = ()

    def runs_under(self, mpi: str) -> bool:
        kind = kind_of(mpi)
        return (not self.only or kind in self.only) and kind not in self.without


@dataclass(frozen=True)
class Side:
    """Which figures of which variants stand on one side of a ratio."""

    variants: tuple[str, ...]  # several: the best of them
    results: tuple[str, ...]  # names; several: each has its points
    labels: Table


@dataclass(frozen=True)
class Comparison:
    """A ratio, what the paper says of it, and the goal."""

    name: str
    title: str
    of: Side
    over: Side | None  # None: the figure itself counts
    minus: Side | None  # taken off `of` before the ratio is formed
    total: tuple[str, ...]  # labels over which figures are added up first
    form: str  # of AS: speed (more is better), time (less is better), value (of : over as they are)
    mean: str  # of MEANS, over the points
    paper: float | None
    paper_note: str
    at_least: dict[str, float]  # by MPI and "default"
    at_most: dict[str, float]


@dataclass(frozen=True)
class Figure:
    """What a plot shows: a result over a label `x`, a panel for each value of the labels in `panels`."""

    title: str
    kind: str  # of KINDS
    result: str
    x: str
    labels: Table = field(default_factory=dict)  # which of the results
    panels: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()  # labels that make no curve of their own
    log: bool = False
    limit: str = ""  # a size on the x axis, drawn as the memory limit
    share: str = ""  # a result from 0 to 1: the hatched part of bars


@dataclass(frozen=True)
class Text:
    """A folder of text to work on, made before the first run that needs it."""

    bytes: int = 0  # 0: none
    per_rank: bool = False
    file_bytes: int = 4 << 20

    def size(self, ranks: int) -> int:
        return self.bytes * (ranks if self.per_rank else 1)


@dataclass(frozen=True)
class Place:
    """A store of a known speed, which {name} stands for; one that is named "store" holds the runs' folders."""

    name: str
    rate: int  # bytes/s
    size: int  # bytes
    count: int  # stores, which ranks take in turns


@dataclass(frozen=True)
class Scenario:
    """One experiment."""

    name: str
    path: Path
    title: str
    about: str
    program: str
    repetitions: int
    noisy: float  # a spread beyond which a figure is marked
    timeout_s: int
    disk: int  # bytes that must be free
    every_mpi: bool
    parameters: Table
    per_rank: Table  # parameters that are multiplied with the number of ranks
    arguments: tuple[str, ...]  # behind the parameters
    text: Text  # what {text} among the arguments stands for
    environment: dict[str, str]
    places: tuple[Place, ...]
    points: tuple[Point, ...]
    variants: tuple[Variant, ...]
    comparisons: tuple[Comparison, ...]
    figures: tuple[Figure, ...] = ()
    source: Table = field(default_factory=dict)  # the tables, as used
