"""Each GoogleTest of the unit and fuzz tests as a pytest, from the plain build and from the one with sanitizers."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from launching import BUILD, ROOT

BUILDS = {"plain": BUILD, "sanitized": Path(os.environ.get("SILL_SANITIZED", ROOT / "build-sanitized"))}
TIMEOUT_S = 300

pytestmark = pytest.mark.quick


def executable(kind: str) -> Path:
    return BUILDS[kind] / "bin" / "sill-unit-tests"


def names_in(listing: str) -> list[str]:
    """Full test names from --gtest_list_tests: a suite per line, its tests indented below, remarks behind '#'."""
    names, suite = [], ""
    for line in listing.splitlines():
        text = line.split("#")[0].rstrip()
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


@cache
def run(kind: str, report: Path) -> tuple[dict[str, ElementTree.Element], str]:
    """One run of all tests: the test cases by full name (none when the program crashed), and what it wrote."""
    done = subprocess.run(
        [executable(kind), f"--gtest_output=xml:{report}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
    )
    if not report.exists():
        return {}, f"{executable(kind)} ended with status {done.returncode}:\n{done.stdout[-8000:]}"
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": case for case in cases}, done.stdout


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
    cases, output = run(kind, reports / f"{kind}.xml")
    assert name in cases, output
    case = cases[name]
    failures = [failure.text or "" for failure in case.iter("failure")]
    assert not failures, "\n".join(failures)
    for skipped in case.iter("skipped"):
        pytest.skip(skipped.get("message", "").partition("\n")[2].strip())
    assert case.get("result") == "completed"


@pytest.mark.parametrize(("kind", "target"), [("plain", "build"), ("sanitized", "sanitized")])
def test_is_built(kind: str, target: str) -> None:
    assert executable(kind).exists(), f"{executable(kind)} is missing: run make {target}"


def test_hints_page_is_the_table() -> None:
    """docs/hints.md is generated: build/bin/sill-hint-table --markdown > docs/hints.md."""
    page = subprocess.run(
        [BUILD / "bin" / "sill-hint-table", "--markdown"], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert (ROOT / "docs" / "hints.md").read_text() == page.stdout
