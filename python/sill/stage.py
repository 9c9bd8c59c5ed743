"""`sill stage-out` and `sill stage-in`: start sill-stage, which does the work on all nodes."""

from __future__ import annotations

import shlex
from typing import Optional

import typer

from . import run
from .errors import SillError
from .mpi import builds

PROGRAM = "sill-stage"
_Near = typer.Argument(..., metavar="NEAR", help="The neighborhood's file on its store; %h: host, %r: rank, %%: %.")
_File = typer.Argument(..., metavar="FILE", help="The canonical file, on a store that all ranks see.")
_Ranks = typer.Option(None, "-n", "--ranks", min=1, help="Number of ranks; at least one on every node with a store.")
_Mpiexec = typer.Option(None, "--mpiexec", metavar="CMD", help='Launcher with its options, e.g. "srun --mpi=pmi2".')
_Split = typer.Option(None, "--split", metavar="METHOD", help="nbhd_method: how ranks that share a store are found.")
_Json = typer.Option(None, "--json", metavar="FILE", help="Write what was done as JSON; -: to standard output.")
_NoVerify = typer.Option(False, "--no-verify", help="Don't read again what was written.")
_DryRun = typer.Option(False, "--dry-run", help="Print the command line instead of running it.")


def out(
    near: str = _Near,
    file: str = _File,
    ranks: Optional[int] = _Ranks,
    mpiexec: Optional[str] = _Mpiexec,
    split: Optional[str] = _Split,
    json: Optional[str] = _Json,
    no_verify: bool = _NoVerify,
    dry_run: bool = _DryRun,
) -> None:
    """Make one canonical file of the files of all neighborhoods.

    Every piece is held against its checksum. A copy that was interrupted goes on where it was; FILE appears when all of
    it is there. Without -n and --mpiexec it runs as it is, e.g. below srun.
    """
    _start("out", near, file, ranks, mpiexec, _options(split, json, no_verify), dry_run)


def in_(
    near: str = _Near,
    file: str = _File,
    ranks: Optional[int] = _Ranks,
    mpiexec: Optional[str] = _Mpiexec,
    values: Optional[str] = typer.Option(
        None, "--values", metavar="BYTES,...", help="Bytes of a record's values; by default those of sill-hacc-io."
    ),
    chunk: Optional[int] = typer.Option(None, "--chunk", min=1, help="Records that a checksum covers."),
    split: Optional[str] = _Split,
    json: Optional[str] = _Json,
    no_verify: bool = _NoVerify,
    dry_run: bool = _DryRun,
) -> None:
    """Divide a canonical file among the neighborhoods of these ranks, one file for each.

    A copy that was interrupted goes on where it was, if FILE is still the same and the ranks are as many; NEAR appears
    when all of it is there.
    """
    more = [*(["--values", values] if values else []), *(["--chunk", str(chunk)] if chunk else [])]
    _start("in", near, file, ranks, mpiexec, [*more, *_options(split, json, no_verify)], dry_run)


def _options(split: Optional[str], json: Optional[str], no_verify: bool) -> list[str]:
    given = [*(["--split", split] if split else []), *(["--json", json] if json else [])]
    return [*given, *(["--no-verify"] if no_verify else [])]


def _start(
    direction: str,
    near: str,
    file: str,
    ranks: Optional[int],
    mpiexec: Optional[str],
    options: list[str],
    dry_run: bool,
) -> None:
    words = command(direction, near, file, ranks, mpiexec, options)
    if dry_run:
        print(shlex.join(words))
        return
    run.execute(words)


def command(
    direction: str, near: str, file: str, ranks: Optional[int], mpiexec: Optional[str], options: list[str]
) -> list[str]:
    """The command line that starts sill-stage under the launcher's MPI, else the preferred one."""
    target = builds.preferred(builds.targets([], None, mpiexec, [PROGRAM]))
    program = target.program(PROGRAM)
    if program is None:
        raise SillError(f"no {PROGRAM} for {target.mpi}: run make, or install Sill's apps")
    words = [str(program), "--near", near, "--file", file, *options, direction]
    return run.command(words, ranks, mpiexec)
