"""Numbers and times as people read them, and what they write: sizes, NAME=VALUE, TOML."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import SillError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def size(count: int | None) -> str:
    """A number of bytes, e.g. 1.5 GiB; "unknown" for None."""
    if count is None:
        return "unknown"
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or value >= 100 else 1
    return f"{value:.{digits}f} {_UNITS[unit]}"


def ago(time: datetime | None) -> str:
    """How long ago a moment was; "never" for None."""
    if time is None:
        return "never"
    seconds = max(0, int((datetime.now(timezone.utc) - time).total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def answer(known: bool | None) -> str:
    return {True: "yes", False: "no", None: "unknown"}[known]


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers in short, e.g. 0-3,7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def bytes_of(text: str | int) -> int:
    """Bytes of 4096, "4k", "1.5g"; powers of 1024. ValueError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)", str(text).strip().lower())
    if match is None or isinstance(text, bool):
        raise ValueError(text)
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


def pairs(texts: Iterable[str] | None, option: str, filled: bool = False) -> list[tuple[str, str]]:
    """The names and values of a repeated option; `filled`: "" is no value."""
    found = []
    for text in texts or []:
        name, sign, value = text.partition("=")
        if not name or not (value if filled else sign):
            raise SillError(f"{option} {text}: write it as NAME=VALUE", 2)
        found.append((name, value))
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file."""
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SillError(f"{path}: {error}; correct it") from error
    except UnicodeDecodeError as error:
        raise SillError(f"{path}: not a text file; name a scenario in TOML") from error
