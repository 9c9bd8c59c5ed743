"""Formats and lints of everything under version control."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_support import ROOT

pytestmark = pytest.mark.quick
TOOLS = Path(sys.prefix) / "bin"


def sources(*patterns: str) -> list[str]:
    """Files of the checkout, also those not yet added, that match."""
    command = ["git", "ls-files", "-co", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


def check(*command: str | Path) -> None:
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def first_line(name: str) -> str:
    with open(ROOT / name, errors="replace") as file:
        return file.readline()


def test_c_and_cpp_have_the_houses_format():
    files = sources("*.c", "*.h", "*.cpp", "*.hpp")
    assert files
    check(TOOLS / "clang-format", "--dry-run", "-Werror", *files)


def test_python_has_the_houses_format():
    check(TOOLS / "ruff", "format", "--check")


def test_python_is_clean():
    check(TOOLS / "ruff", "check")


def test_python_of_the_command_parses_as_the_oldest_supported():
    """The command has to start with Python 3.9; newer grammar would only show there."""
    import ast

    for name in sources("python/*.py"):
        ast.parse((ROOT / name).read_text(), name, feature_version=(3, 9))


def test_shell_scripts_are_clean():
    scripts = [
        name for name in sources() if first_line(name).startswith(("#!/usr/bin/env bash", "#!/bin/bash", "#!/bin/sh"))
    ]
    assert "tools/setup" in scripts
    check("shellcheck", *scripts)


def test_no_file_is_longer_than_livable():
    """CONTRIBUTING.md, "Style": a file rarely over 500 lines; 700 is where it stops being rare."""
    for name in sources("*.c", "*.h", "*.cpp", "*.hpp", "*.py"):
        assert len((ROOT / name).read_text().splitlines()) <= 700, name
