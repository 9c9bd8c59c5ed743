"""Read TOML with one-line errors, and take tables apart so that a misspelt key is an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from ..errors import SillError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Table = dict[str, Any]


def read(path: Path) -> Table:
    """The tables of a file."""
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SillError(f"{path}: {error}; correct it") from error
    except UnicodeDecodeError as error:
        raise SillError(f"{path}: not a text file; name a scenario in TOML") from error


def merge(table: Table, over: Table) -> Table:
    """`table` with what `over` says instead: tables key by key, all else as a whole."""
    merged = dict(table)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


class Reader:
    """One table of a scenario: take() its keys, then done(). `where` names file and table in errors."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise SillError(f'{where}: wants to be a table; see docs/benchmarks.md, "Scenarios"')
        self._left, self.where = dict(table), where

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """The value of a key, which must be of that kind; without a default it must be there."""
        if key not in self._left:
            if default is ...:
                raise SillError(f"{self.where}: {key} is missing; add it")
            return default
        value = self._left.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join(k.__name__ for k in kinds)
            raise SillError(f"{self.where}: {key} = {value!r} is not of type {names}; correct it")
        return value

    def bytes(self, key: str) -> int:
        """A size, 0 where the key isn't there."""
        value = self.take(key, (int, str), 0)
        try:
            return size(value)
        except ValueError as error:
            raise SillError(f"{self.where}: {key} = {value!r} is no size; write it like 512m or 1.5g") from error

    def rest(self) -> Table:
        """What wasn't taken yet."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        for key in self._left:
            raise SillError(f'{self.where}: unknown key {key}; see docs/benchmarks.md, "Scenarios"')


def size(text: str | int) -> int:
    """Bytes of 4096, "4k", "1.5g"; powers of 1024. ValueError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)", str(text).strip().lower())
    if match is None or isinstance(text, bool):
        raise ValueError(text)
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))
