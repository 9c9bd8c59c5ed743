"""Each GoogleTest of the unit and fuzz tests as a pytest, from the plain build and from the one with sanitizers."""

from __future__ import annotations

import os
import re
import subprocess
import time
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from launching import BUILD, ROOT

BUILDS = {"plain": BUILD, "sanitized": Path(os.environ.get("SILL_SANITIZED", ROOT / "build-sanitized"))}
TIMEOUT_S = 540  # for all runs on a machine that is busy; below pytest's own
CHILD = "  DISABLED_Child"  # what tests start as another process

pytestmark = pytest.mark.quick


def executable(kind: str) -> Path:
    return BUILDS[kind] / "bin" / "sill-unit-tests"


def names_in(listing: str) -> list[str]:
    """Full test names from --gtest_list_tests: a suite per line, its tests indented below, remarks behind '#'."""
    names, suite = [], ""
    for line in listing.splitlines():
        text = line.split("#")[0].rstrip()
        if text.startswith(CHILD):
            continue
        if text.startswith(" "):
            names.append(suite + text.strip())
        elif text.endswith("."):
            suite = text
    return names


def listed(kind: str) -> list[str]:
    if not executable(kind).exists():
        return []
    listing = subprocess.run(
        [executable(kind), "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT_S
    )
    return names_in(listing.stdout)


def run(program: Path, report: Path) -> tuple[dict[str, ElementTree.Element], dict[str, str]]:
    """The test cases by full name; and of those that ended the program, what it wrote. All run at once, and again
    without the one at which the program ended."""
    crashed: dict[str, str] = {}
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        done = subprocess.run(
            [program, f"--gtest_filter=*-{':'.join(crashed)}", f"--gtest_output=xml:{report}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=max(1, deadline - time.monotonic()),
        )
        if report.exists():
            cases = ElementTree.parse(report).iter("testcase")
            return {f"{case.get('classname')}.{case.get('name')}": case for case in cases}, crashed
        begun = re.findall(r"^\[ RUN      \] (\S+)$", done.stdout, re.MULTILINE)
        output = f"{program} ended with status {done.returncode}:\n{done.stdout[-8000:]}"
        assert begun, output
        assert begun[-1] not in crashed, output
        crashed[begun[-1]] = output


@cache
def run_once(program: Path, report: Path) -> tuple[dict[str, ElementTree.Element], dict[str, str]] | Exception:
    """What run() gives. What it raises, too, so that not each of the tests waits for another run."""
    try:
        return run(program, report)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        # One worker for each build, which runs all its tests at once.
        cases = [
            pytest.param(kind, name, id=f"{kind}-{name}", marks=pytest.mark.xdist_group(f"unit-{kind}"))
            for kind in BUILDS
            for name in listed(kind)
        ]
        metafunc.parametrize(("kind", "name"), cases)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gtest")


def test_unit(kind: str, name: str, reports: Path) -> None:
    outcome = run_once(executable(kind), reports / f"{kind}.xml")
    if isinstance(outcome, Exception):
        raise outcome
    cases, crashed = outcome
    assert name not in crashed, crashed[name]
    assert name in cases, f"{name} didn't run"
    case = cases[name]
    failures = [failure.text or "" for failure in case.iter("failure")]
    assert not failures, "\n".join(failures)
    for skipped in case.iter("skipped"):
        pytest.skip(skipped.get("message", "").partition("\n")[2].strip())
    assert case.get("result") == "completed"


# Answers like a GoogleTest of which two tests end the program.
CRASHES = """#!/usr/bin/env python3
import sys
left_out = sys.argv[1].partition("-gtest_filter=*-")[2].split(":")
names = [name for name in ("A.crashes", "A.passes", "B.crashes", "B.passes") if name not in left_out]
for name in names:
    print("[ RUN      ]", name, flush=True)
    if name.endswith("crashes"):
        sys.exit("runtime error in " + name)
cases = "".join('<testcase classname="{}" name="{}"/>'.format(*name.split(".")) for name in names)
open(sys.argv[2].partition("xml:")[2], "w").write(f"<testsuite>{cases}</testsuite>")
"""


def test_a_test_that_ends_the_program_fails_alone(tmp_path: Path) -> None:
    program = tmp_path / "tests"
    program.write_text(CRASHES)
    program.chmod(0o755)
    cases, crashed = run(program, tmp_path / "report.xml")
    assert list(cases) == ["A.passes", "B.passes"]
    assert list(crashed) == ["A.crashes", "B.crashes"]
    assert "runtime error in B.crashes" in crashed["B.crashes"]


def test_a_run_that_fails_is_not_repeated_for_each_test(tmp_path: Path) -> None:
    program, note = tmp_path / "tests", tmp_path / "note"
    program.write_text(f"#!/bin/sh\necho run >>{note}\n")
    program.chmod(0o755)
    for _ in range(2):
        assert isinstance(run_once(program, tmp_path / "report.xml"), AssertionError)
    assert note.read_text() == "run\n"


@pytest.mark.parametrize(("kind", "target"), [("plain", "build"), ("sanitized", "sanitized")])
def test_is_built(kind: str, target: str) -> None:
    assert executable(kind).exists(), f"{executable(kind)} is missing: run make {target}"


def test_hints_page_is_the_table() -> None:
    """docs/hints.md is generated: build/bin/sill-hint-table docs/hints.md.in > docs/hints.md."""
    page = subprocess.run(
        [BUILD / "bin" / "sill-hint-table", ROOT / "docs" / "hints.md.in"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    assert (ROOT / "docs" / "hints.md").read_text() == page.stdout
