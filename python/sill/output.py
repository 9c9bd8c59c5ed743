"""What the command shows: tables on a terminal or line by line in a pipe, pictures; output that can't be written."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .errors import SillError

_COLUMNS, _WIDTH = 3, 4.4  # panels in a row of a picture; inches


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


def pyplot(missing: str) -> Any:
    """Matplotlib, without a display; where it isn't installed, an error with this text."""
    try:
        import matplotlib
    except ImportError as error:
        raise SillError(missing) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def panels(plot: Any, count: int, height: float, title: float = 0) -> tuple[Any, list[Any]]:
    """A figure with so many axes, each so high, below room for a title; inches."""
    columns = max(min(_COLUMNS, count), 1)
    rows = max(-(-count // columns), 1)
    size = (_WIDTH * columns, height * rows + title)
    figure, grid = plot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for ax in grid.flat[count:]:
        ax.axis("off")
    return figure, list(grid.flat)


def label(ax: Any, title: str, x: str, y: str) -> None:
    """What stands around axes, when all is drawn."""
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)
    ax.tick_params(labelsize=7)
    ax.grid(alpha=0.3)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=6)


def png(plot: Any, figure: Any) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=110, format="png")
    plot.close(figure)
    return picture.getvalue()


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
