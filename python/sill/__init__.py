"""Sill: storage under MPI. The `sill` command and what of it is useful from Python."""

__version__ = "0.1.0"
