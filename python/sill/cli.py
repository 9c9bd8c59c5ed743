"""The `sill` command: arguments in, tables or JSON out. What it does is in the modules beside it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Optional

import typer
from rich.text import Text

from . import __version__, doctor, native, predict, run, sidecar, stage
from .bench.cli import app as bench
from .errors import SillError, reason
from .mpi import launchers
from .output import Output, OutputError, open_closed_streams, plain_table, print_table
from .text import ago, ranges, size
from .topo import of_this_machine, view
from .topo import ranks as topo_ranks

# The exceptions of click, which newer releases of typer bring along under another name.
_ClickException = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="sill",
    help="Storage under MPI: run unmodified programs with their windows on files and block devices.",
    epilog="Example: sill run -n 4 --store /scratch/me -- ./program",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(bench, name="bench")
app.command("model", epilog="Example: sill model --measure local=/local/me --draw model.png")(predict.predict)
app.command("stage-out", epilog="Example: sill stage-out -n 8 /local/%h/hacc-io.near /project/me/hacc-io.dat")(
    stage.out
)
app.command("stage-in", epilog="Example: sill stage-in -n 8 /local/%h/hacc-io.near /project/me/hacc-io.dat")(stage.in_)

_COLOURS = {doctor.OK: "green", doctor.WARN: "yellow", doctor.BAD: "bold red"}
_Json = typer.Option(False, "--json", help="Print JSON for machines.")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"sill {__version__}")
        raise typer.Exit


@app.callback()
def _sill(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    pass


@app.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    epilog="Example: sill run -n 4 --store /scratch/me/run1 -- ./program input.dat",
)
def _run(
    program: list[str] = typer.Argument(..., metavar="-- PROGRAM [ARGUMENT]...", help="What to run."),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, help="Number of ranks."),
    mpiexec: Optional[str] = typer.Option(
        None, "--mpiexec", metavar="CMD", help="Launcher with its options; by default that of the program's MPI."
    ),
    windows: Optional[str] = typer.Option(
        None,
        "--windows",
        metavar="RULE",
        help="Hints for all windows that have none: key=value,key=value (SILL_WINDOWS).",
    ),
    store: Optional[str] = typer.Option(
        None, "--store", metavar="DIR", help="Put all windows that have no hints into this folder, a file per rank."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the command line instead of running it."),
) -> None:
    """Run a program with Sill preloaded; without -n and --mpiexec it runs as it is, e.g. below srun.

    Returns the program's exit code.
    """
    command = run.command(program, ranks, mpiexec, windows, store)
    if dry_run:
        print(shlex.join(command))
        return
    if store is not None:
        run.make_store(store)
    run.execute(command)


@app.command("preload", epilog="Example: srun -n 64 env LD_PRELOAD=$(sill preload ./program) ./program")
def _preload(
    program: Optional[str] = typer.Argument(None, help="The program; by default that of the launcher on $PATH."),
) -> None:
    """Print the library to preload for a program, for srun and scripts."""
    print(run.preload_library(program))


@app.command("hints", epilog="Example: sill hints --json")
def _hints(as_json: bool = _Json) -> None:
    """List the MPI_Info keys of windows and communicators, with values and defaults."""
    rows = native.hints()
    if as_json:
        _print_json([asdict(row) for row in rows])
        return
    table = plain_table("of", "key", "values", "default", "same on all ranks", "meaning")
    for row in rows:
        also = f" (also: {', '.join(row.aliases)})" if row.aliases else ""
        unit = f", {row.unit}" if row.unit else ""
        table.add_row(row.of, row.key, row.values + unit, row.default, "yes" if row.collective else "", row.help + also)
    print_table(table)


@app.command("doctor", epilog="Example: sill doctor /scratch/me")
def _doctor(
    folders: Optional[list[str]] = typer.Argument(
        None, metavar="[DIR]...", help="Folders for windows; by default the current, scratch and temporary ones."
    ),
    as_json: bool = _Json,
) -> None:
    """Look at what matters for windows on this machine, and say what to do. Exits 1 if something is bad."""
    findings = list(doctor.examine(folders or []))
    if as_json:
        _print_json([asdict(finding) for finding in findings])
    else:
        table = plain_table("verdict", "area", "item", "found", "what to do")
        for finding in findings:
            verdict = Text(finding.verdict, style=_COLOURS[finding.verdict])
            table.add_row(verdict, finding.area, finding.item, finding.found, finding.advice)
        print_table(table)
    if any(finding.verdict == doctor.BAD for finding in findings):
        raise typer.Exit(1)


@app.command("topo", epilog="Example: sill topo -n 4 /scratch/me /tmp")
def _topo(
    folders: list[str] = typer.Argument(
        ..., metavar="DIR...", help="Directories; %h, %r and %j stand for host, rank and job id."
    ),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, help="Start this many ranks to ask."),
    mpiexec: Optional[str] = typer.Option(
        None, "--mpiexec", metavar="CMD", help="Launcher with its options; by default the one on $PATH."
    ),
    method: Optional[str] = typer.Option(
        None, "--method", metavar="NAME", help="nbhd_method: auto, exhaustive, heuristic or fingerprint."
    ),
    as_json: bool = _Json,
    draw: Optional[str] = typer.Option(None, "--draw", metavar="FILE.png", help="Draw who shares what."),
) -> None:
    """Show which ranks share which stores.

    Below a launcher (mpiexec -n 4 sill topo DIR) its ranks ask; with -n or --mpiexec ranks are started for it; without
    either, what lies under the directories on this machine is shown.
    """
    if ranks is None and mpiexec is None and not launchers.is_rank(os.environ):
        if method is not None:
            raise SillError("--method is for ranks: give -n, or call sill topo below a launcher")
        view.show(of_this_machine(folders), as_json, draw)
        return
    options = [*(["--json"] if as_json else []), *(["--method", method] if method else [])]
    options += ["--draw", os.path.abspath(draw)] if draw else []
    command = topo_ranks.command([*options, "--", *folders], ranks, mpiexec)
    if ranks is None and mpiexec is None:  # this process is a rank
        run.execute(command)
    if draw is not None:
        view.check_drawing(draw)
    raise typer.Exit(run.relay(command))


@app.command("ls", epilog="Example: sill ls -r /scratch/me")
def _ls(
    folder: str = typer.Argument(".", metavar="DIR"),
    recursive: bool = typer.Option(False, "-r", "--recursive", help="Look into folders below, too."),
    as_json: bool = _Json,
) -> None:
    """List which files of a folder are windows, of which job and ranks, and how much of them is on the device.

    What can't be read is named behind the others, and the exit code is 1.
    """
    bad: list[SillError] = []
    files = list(sidecar.window_files(folder, recursive, bad.append))
    if as_json:
        _print_json([asdict(file) for file in files])
    elif files:
        _print_files(files, folder)
    elif not bad:
        print(f"no windows in {folder}")
    sys.stdout.flush()
    for error in bad:
        _complain(str(error))
    if bad:
        raise typer.Exit(1)


def _print_files(files: list[sidecar.WindowFile], folder: str) -> None:
    table = plain_table("file", "job", "window", "ranks", ">size", ">allocated", ">resident", ">dirty", "last sync")
    for file in files:
        length = size(file.size) if file.exists else "gone"
        name = os.path.relpath(file.path, folder)
        rest = (size(file.allocated), size(file.resident), size(file.dirty)) if file.exists else ("", "", "")
        table.add_row(
            name,
            file.job,
            _what_it_is(file),
            ranges(file.ranks),
            length,
            *rest,
            ago(file.last_sync),
        )
    print_table(table)


def _what_it_is(file: sidecar.WindowFile) -> str:
    """The name of its coarray, how many it holds, or the number of its window."""
    if file.coarrays:
        return f"{len(file.coarrays)} coarrays"
    return file.coarray.name if file.coarray else file.window


@app.command("show", epilog="Example: sill show /scratch/me/w0.r0")
def _show(
    file: str = typer.Argument(..., metavar="FILE", help="A window's file, or the FILE.sill beside it."),
    as_json: bool = _Json,
) -> None:
    """Show one window's file: its job, segments, sizes, and what is not on the device yet."""
    found = sidecar.window_file(file)
    if as_json:
        _print_json(asdict(found))
        return
    facts = plain_table("", "")
    facts.show_header = False
    for name, value in (
        ("file", found.path if found.exists else f"{found.path} (gone)"),
        ("job", found.job),
        ("window", found.window),
        ("created", found.created.isoformat(timespec="seconds")),
        ("last sync", _moment(found.last_sync)),
        ("size", size(found.size)),
        ("allocated", size(found.allocated)),
        ("resident", size(found.resident)),
        ("dirty", size(found.dirty)),
        ("removed when freed", "yes" if found.unlink else "no"),
        *_coarray_facts(found.coarray),
        *_image_facts(found.coarrays),
    ):
        facts.add_row(name, value)
    print_table(facts)
    table = plain_table(
        ">rank", ">offset", ">size", ">resident", ">dirty", *(("coarray", "state") * bool(found.coarrays))
    )
    for i, segment in enumerate(found.segments):
        resident, dirty = size(segment.resident), size(segment.dirty)
        coarray = [(of_it.name, of_it.state) for of_it in found.coarrays[i : i + 1]]
        table.add_row(str(segment.rank), str(segment.offset), size(segment.size), resident, dirty, *sum(coarray, ()))
    print_table(table)


def _image_facts(coarrays: tuple[sidecar.Coarray, ...]) -> list[tuple[str, str]]:
    """Of a file that holds all coarrays of an image."""
    if not coarrays:
        return []
    first = coarrays[0]
    team = f", team {first.team}" if first.team else ""
    return [("coarrays", f"{len(coarrays)}{team}"), ("program", first.program), ("image", _image(first))]


def _image(coarray: sidecar.Coarray) -> str:
    return f"{coarray.image} of {coarray.images}" if coarray.image else f"all {coarray.images}"


def _coarray_facts(coarray: sidecar.Coarray | None) -> list[tuple[str, str]]:
    if coarray is None:
        return []
    states = {"fresh": "not synced yet: the next run begins anew", "kept": "kept", "freed": "kept, though deallocated"}
    return [
        ("coarray", coarray.name + (f", team {coarray.team}" if coarray.team else "")),
        ("program", coarray.program),
        ("image", _image(coarray)),
        ("state", states.get(coarray.state, coarray.state)),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; every error is one line that says what to do next."""
    words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    open_closed_streams()
    with contextlib.redirect_stdout(Output(sys.stdout)):
        code, text = _outcome(words)
    if text:
        _complain(text)
    return code


def _outcome(words: list[str]) -> tuple[int, str]:
    """Exit code of a command line, and what is said on standard error."""
    command = typer.main.get_command(app)
    try:
        result = command.main(args=words, prog_name="sill", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0, ""
    except SillError as error:
        return error.exit_code, str(error)
    except _ClickException as error:
        where = f"sill {words[0]}" if words[0] in command.commands else "sill"
        return error.exit_code, f"{error.format_message().rstrip('.')}: see {where} --help"
    except (typer.Abort, KeyboardInterrupt):
        return 130, ""
    except OutputError as failed:
        # Whoever read our output has seen enough; or nobody can.
        seen_enough = isinstance(failed.error, BrokenPipeError)
        return (141, "") if seen_enough else (1, f"standard output: {failed.error.strerror}")
    except OSError as error:
        return 1, f"{reason(error)}; check the path and who may read it"


def _complain(text: str) -> None:
    print(f"sill: {' '.join(text.split())}", file=sys.stderr)


def _moment(time: datetime | None) -> str:
    return f"{time.isoformat(timespec='seconds')} ({ago(time)})" if time else "never"


def _print_json(content: Iterable) -> None:
    print(json.dumps(content, indent=2, default=lambda value: value.isoformat()))
