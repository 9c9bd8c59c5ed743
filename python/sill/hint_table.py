"""The hint table of src/base, as the build wrote it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import libraries
from .errors import SillError


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
    path = libraries.hint_table_file()
    try:
        return [Hint(**{**row, "aliases": tuple(row["aliases"])}) for row in json.loads(path.read_text())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SillError(f"{path}: not the hint table of this Sill ({error}); run make, or reinstall Sill") from error
