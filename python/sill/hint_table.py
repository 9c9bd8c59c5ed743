"""The hint table of src/base, as the build wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .errors import SillError
from .mpi import builds


@dataclass(frozen=True)
class Hint:
    """One MPI_Info key; texts are "" where there is nothing to say."""

    of: str  # "window" or "communicator"
    key: str
    values: str
    default: str
    unit: str
    aliases: tuple[str, ...]
    help: str
    collective: bool  # all ranks must give the same value


def hints() -> list[Hint]:
    """All hints, in the table's order."""
    path = _file()
    try:
        return [Hint(**{**row, "aliases": tuple(row["aliases"])}) for row in json.loads(path.read_text())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SillError(f"{path}: not the hint table of this Sill ({error}); run make, or reinstall Sill") from error


def _file() -> Path:
    """hints.json, made by the build from the table in src/base."""
    folders = builds.library_folders()
    places = [*(folder.parent / "hints.json" for folder in folders), *(folder / "hints.json" for folder in folders)]
    for path in places:
        if path.is_file():
            return path
    raise SillError(f"no hints.json in {' or '.join(str(p.parent) for p in places)}: run make, or reinstall Sill")
