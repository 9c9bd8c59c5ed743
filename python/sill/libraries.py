"""Where Sill's own files lie: the libraries of the families and the hint table."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import SillError
from .mpis import CHECKOUT, FAMILIES

_PACKAGE = Path(__file__).resolve().parent


def folders() -> list[Path]:
    """Folders that may hold libsill-*.so, first come first: SILL_LIBRARY_DIR, the wheel's, the checkout's build."""
    if named := os.environ.get("SILL_LIBRARY_DIR"):
        return [Path(named).absolute()]
    return [_PACKAGE / "lib", CHECKOUT / "build" / "lib"]


def installed(front: str = "sill") -> dict[str, Path]:
    """Family to library, for the families that are there; the front "sill-caf" has coarrays, too."""
    found: dict[str, Path] = {}
    for folder in folders():
        for family in FAMILIES:
            path = folder / f"lib{front}-{family}.so"
            if family not in found and path.is_file():
                found[family] = path
    return found


def library(family: str, front: str = "sill") -> Path:
    """The library to preload for a family."""
    found = installed(front)
    if family in found:
        return found[family]
    places = " or ".join(str(folder) for folder in folders())
    have = f"; there is {', '.join(found)}" if found else ""
    raise SillError(
        f"no lib{front}-{family}.so in {places}{have}: build Sill where an MPI of this family has its headers, "
        "or set SILL_LIBRARY_DIR"
    )


def hint_table_file() -> Path:
    """hints.json, made by the build from the table in src/base."""
    places = [folder.parent / "hints.json" for folder in folders()] + [folder / "hints.json" for folder in folders()]
    for path in places:
        if path.is_file():
            return path
    raise SillError(f"no hints.json in {' or '.join(str(p.parent) for p in places)}: run make, or reinstall Sill")
