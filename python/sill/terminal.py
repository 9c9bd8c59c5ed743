"""Standard output: tables on a terminal, or line by line in a pipe; what becomes of one that can't be written to."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text


def plain_table(*columns: str) -> Table:
    """A table without lines; a column named >X is flush right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return table


def print_table(table: Table, rows: Iterable[Sequence[str]] = (), piped: bool = False) -> None:
    """Add rows, and fit the table to a terminal; in a pipe each row stays one line, whatever its length.

    `piped`: take standard output for one, for launchers give ranks a terminal that isn't the user's.
    """
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    if console.is_terminal and not piped:
        console.print(table)
        return
    wide = Console(highlight=False, width=10_000, no_color=True, file=io.StringIO())
    wide.print(table)
    for line in wide.file.getvalue().splitlines():
        print(line.rstrip())


class OutputError(Exception):
    """Standard output can't be written to; the cause is `error`. No OSError, which is for who opens files."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Output:
    """Standard output whose errors are told from those of other files. After one, what is written gets lost."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise self._given_up(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise self._given_up(error) from error

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def _given_up(self, error: OSError) -> OutputError:
        # Python writes what is left once more at exit, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        return OutputError(error)


def open_closed_streams() -> None:
    """Where standard output or error is closed, what is opened next must not get its number.

    Output then refuses what is written; errors, which nobody could be told of, are swallowed. Both are closed again for
    a program that this process becomes.
    """
    for number, name, way in ((1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, way)
            if opened != number:
                os.dup2(opened, number, inheritable=False)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w", closefd=False))
