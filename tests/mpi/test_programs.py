"""Every program of programs.toml under every MPI, with its numbers of ranks and in its variants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from launching import BUILD, MPIS, SKIPPED, TIMEOUT_S, abilities, is_one_of

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; pytest brings it
    import tomli as tomllib

TABLE = tomllib.loads((Path(__file__).parent / "programs.toml").read_text())
VARIANTS = TABLE["variants"]


def cases():
    for entry in TABLE["program"]:
        for mpi in MPIS:
            for variant, rank_counts in entry["runs"].items():
                if not abilities(mpi).issuperset(VARIANTS[variant].get("needs", [])):
                    continue
                for ranks in rank_counts:
                    marks = [pytest.mark.quick] if entry.get("quick") and variant == "plain" and ranks == 2 else []
                    if "nodes" in VARIANTS[variant]:
                        marks.append(pytest.mark.xdist_group("nodes"))
                    words = "-".join([entry["name"], *entry.get("arguments", [])])
                    name = f"{mpi.name}-{words}-{variant}-{ranks}"
                    yield pytest.param(entry, mpi, variant, ranks, id=name, marks=marks)


@pytest.mark.parametrize(("entry", "mpi", "variant", "ranks"), list(cases()))
def test_program(entry, mpi, variant, ranks, launcher, nodes):
    for which, reason in entry.get("skip", {}).items():
        if is_one_of(mpi, which):
            pytest.skip(reason)
    if entry.get("fortran") and not (BUILD / "bin" / mpi.name / entry["name"]).exists() and not mpi.fc:
        pytest.skip(f"{mpi.name} has no Fortran compiler here")
    options = VARIANTS[variant]
    if "nodes" in options:
        launcher = replace(launcher, nodes=nodes(options["nodes"]))
    outcome = launcher.run(
        mpi,
        [entry["name"], *entry.get("arguments", [])],
        ranks,
        # Jobs of one id on a node share what memory is promised to them.
        env={"SILL_JOB_ID": launcher.scratch.name, **options.get("env", {}), **entry.get("env", {})},
        sill=options.get("sill", True),
        linked=entry.get("linked", False),
        timeout=entry.get("timeout_s", TIMEOUT_S),
    )
    if outcome.code == SKIPPED:
        pytest.skip(outcome.skip_reason())
    assert outcome.code == 0, outcome.text()


@pytest.mark.quick
def test_there_is_an_mpi():
    assert MPIS, "no MPI found: run make"


@pytest.mark.quick
def test_all_rank_counts_appear():
    seen = {(v, n) for entry in TABLE["program"] for v, counts in entry["runs"].items() for n in counts}
    assert {ranks for _, ranks in seen} >= {1, 2, 3, 4}
    assert {variant for variant, _ in seen} == set(VARIANTS)
