"""Tables on a terminal, or line by line in a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

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
