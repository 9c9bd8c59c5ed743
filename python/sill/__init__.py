"""Sill: storage under MPI. The `sill` command, and what of it is useful from Python:

hints() is the hint table, preload_library(PROGRAM) the library to preload, query_store(PATH) what lies under a path,
window_files(FOLDER) and window_file(FILE) say which files are windows. All raise SillError, whose text says what to do.
Needs the standard library only; the command itself needs typer and rich.
"""

from .errors import SillError
from .native import Hint, Store, hints
from .native import query as query_store
from .run import preload_library
from .sidecar import Segment, WindowFile, window_file, window_files

__version__ = "0.1.0"
__all__ = [
    "Hint",
    "Segment",
    "SillError",
    "Store",
    "WindowFile",
    "hints",
    "preload_library",
    "query_store",
    "window_file",
    "window_files",
]
