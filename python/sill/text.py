"""Numbers and times as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone

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


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers in short, e.g. 0-3,7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
