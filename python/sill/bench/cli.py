"""`sill bench`: arguments in, tables out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

import typer

from ..errors import SillError, unwound_by_signals
from ..mpi import builds, programs
from ..output import plain_table, print_table
from ..text import pairs

app = typer.Typer(
    help="Measure storage windows against memory windows, MPI-IO and others; see docs/benchmarks.md.",
    epilog="Example: sill bench run mstream --quick --store /scratch/me && sill bench report",
    rich_markup_mode=None,
)

_Store = typer.Option(None, "--store", metavar="DIR", help="Where windows' files go: on the device of interest.")
_Results = typer.Option(None, "--results", metavar="DIR", help="Where results go: bench/results, or ./sill-bench.")


@app.command("list", epilog="Example: sill bench list")
def _list() -> None:
    """List the scenarios that come with Sill."""
    from . import scenario

    table = plain_table("scenario", "program", "MPIs", ">jobs", ">disk", "what it measures")
    for name in scenario.files():
        s = scenario.load(name)
        jobs = len(s.points) * s.repetitions * sum(not variant.missing for variant in s.variants)
        table.add_row(name, s.program, "all" if s.every_mpi else "one", str(jobs), f"{s.disk >> 20} MiB", s.title)
    print_table(table)


@app.command("run", epilog="Example: sill bench run mstream dht --quick --mpi mpich5 --store /scratch/me")
def _run(
    names: list[str] = typer.Argument(
        ..., metavar="SCENARIO...", help="Names from `sill bench list`, .toml files, or all."
    ),
    quick: bool = typer.Option(False, "--quick", help="Smaller sizes, fewer points and repetitions."),
    repetitions: Optional[int] = typer.Option(None, "--repetitions", min=1, help="Runs of each variant."),
    ranks: Optional[str] = typer.Option(None, "--ranks", metavar="N[,N]...", help="Other numbers of ranks."),
    parameters: Optional[list[str]] = typer.Option(
        None, "--set", metavar="NAME=VALUE", help="Another parameter of the program; repeatable."
    ),
    mpi: Optional[list[str]] = typer.Option(None, "--mpi", help="Only this MPI, e.g. mpich5; repeatable."),
    mpiexec: Optional[str] = typer.Option(
        None, "--mpiexec", metavar="CMD", help='Launcher with its options, e.g. "srun --mpi=pmi2"; it gets -n RANKS.'
    ),
    commands: Optional[list[str]] = typer.Option(
        None, "--command", metavar="VARIANT=CMD", help="The command of an optional variant, e.g. a competitor."
    ),
    places_given: Optional[list[str]] = typer.Option(
        None, "--place", metavar="NAME=DIR", help="A folder for a place of the scenario, e.g. near=/local; repeatable."
    ),
    store: Optional[Path] = _Store,
    results: Optional[Path] = _Results,
    build: Optional[Path] = typer.Option(None, "--build", metavar="DIR", help="Build folder with the programs."),
    null: bool = typer.Option(False, "--null", help="All variants run as the first: the noise of this machine."),
    strict: bool = typer.Option(False, "--strict", help="Exit 1 if a goal is missed, too."),
) -> None:
    """Run scenarios, variants in turns, and print their ratios beside the paper's and the goals.

    Exits 1 if something could not be measured.
    """
    from . import resources, runner, scenario
    from . import results as result_file

    names = list(scenario.files()) if names == ["all"] else names
    own = {name: programs.split(text, "--command") for name, text in pairs(commands, "--command")}
    loaded = [
        scenario.load(name, quick, repetitions, _numbers(ranks), own, dict(pairs(parameters, "--set")))
        for name in names
    ]
    _check_names("--command", "variant", own, {variant.name for s in loaded for variant in s.variants})
    loaded = [runner.without_difference(s) for s in loaded] if null else loaded
    given = dict(pairs(places_given, "--place"))
    _check_names("--place", "place", given, {place.name for s in loaded for place in s.places})
    found = builds.targets(mpi or [], build, mpiexec, [s.program for s in loaded if s.program])
    folder, options = results or result_file.usual_folder(), {"quick": quick, "null": null, "mpiexec": mpiexec}
    base = (store or (build or builds.build_folder() or Path()) / "bench-store").absolute()
    bad = False
    with unwound_by_signals():
        for s in loaded:
            # Coarray programs are there for those MPIs only that OpenCoarrays is installed for.
            able = found if mpi else [t for t in found if not s.program or t.program(s.program)] or found
            chosen = able if s.every_mpi or mpi else [builds.preferred(able)]
            try:
                with resources.places(s.places, given, base) as made:
                    own_store = next((Path(place.path) for place in made if place.name == "store"), base)
                    bad |= _run_one(s, chosen, own_store, made, folder, options, strict)
            except SillError as error:
                if len(loaded) == 1:
                    raise
                print(f"NOT MEASURED: {s.name}: {error}\n", flush=True)
                bad = True
    if bad:
        raise typer.Exit(1)


def _run_one(scenario, targets, store: Path, made: list, folder: Path, options: dict, strict: bool) -> bool:
    """Run, store, print; whether something failed, or with `strict` a goal was missed."""
    from . import results as result_file
    from . import runner, tables

    machine = result_file.describe(store, made)
    # A batch system's launcher starts ranks where a control group made here means nothing.
    groups = options["mpiexec"] is None
    samples, failures = runner.run(
        scenario, targets, store, groups, lambda line: print(line, file=sys.stderr, flush=True), made
    )
    found = result_file.build(scenario, targets, machine, options, samples, failures)
    path = result_file.write(found, folder)
    print_table(plain_table(*tables.GOAL_HEAD), tables.goal_rows(found))
    for line in [*result_file.conditions(found), *(f"NOT MEASURED: {failure}" for failure in failures)]:
        print(line)
    print(f"results: {path}\n", flush=True)
    return bool(failures) or (strict and any(row["met"] is False for row in found["comparisons"]))


@app.command("report", epilog="Example: sill bench report bench/results")
def _report(
    folder: Optional[Path] = typer.Argument(None, metavar="[DIR]", help="Results; bench/results, or ./sill-bench."),
    output: Optional[Path] = typer.Option(None, "--output", metavar="DIR", help="Where the report goes: DIR itself."),
) -> None:
    """Write report.html and a PNG for each scenario from the newest results, ours beside the paper's."""
    from . import report
    from . import results as result_file

    folder = folder or result_file.usual_folder()
    output = output or (folder if folder.is_dir() else folder.parent)
    for path in report.write(folder, output):
        print(path)


@app.command("compare", epilog="Example: sill bench compare results-before results-after")
def _compare(
    a: Path = typer.Argument(..., metavar="A", help="Results: a file, or a folder (the newest of each scenario)."),
    b: Path = typer.Argument(..., metavar="B", help="Likewise."),
    figures: bool = typer.Option(False, "--figures", help="Every figure, too, not only the ratios."),
) -> None:
    """Hold two runs against each other; "changed" where their repetitions don't overlap."""
    from . import tables

    ratios, rows = tables.compared_rows(a, b)
    print_table(plain_table(*tables.COMPARED_RATIOS_HEAD), ratios)
    if figures:
        print()
        print_table(plain_table(*tables.COMPARED_FIGURES_HEAD), rows)


def _numbers(text: Optional[str]) -> Optional[list[int]]:
    if text is None:
        return None
    words = text.split(",")
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise SillError(f"--ranks {text}: write numbers above 0 with commas between them, e.g. 1,2,4", 2)
    return [int(word) for word in words]


def _check_names(option: str, what: str, given: Iterable[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            there = ", ".join(sorted(known)) or f"none: it has no {what}s"
            raise SillError(f"{option} {name}=...: no {what} of that name; choose of {there}", 2)
