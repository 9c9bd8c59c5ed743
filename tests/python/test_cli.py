"""The `sill` command as a whole: help, errors, output for people and for machines."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from command_support import ROOT

COMMANDS = ("run", "preload", "hints", "doctor", "topo", "ls", "show", "model", "stage-out", "stage-in", "bench")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_that_the_command_takes(command, sill):
    result = sill(command, "--help")
    assert result.returncode == 0
    assert re.search(rf"Example: .*\bsill {command}\b", result.stdout)
    assert result.stderr == ""


def test_no_arguments_is_help(sill):
    result = sill()
    assert result.returncode == 0
    assert all(f"  {command} " in result.stdout for command in COMMANDS)
    assert "Example: sill run" in result.stdout


def test_version_is_the_libraries(sill):
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(sill VERSION (\S+)", cmake)[1]
    assert sill("--version").stdout == f"sill {version}\n"


@pytest.mark.parametrize(
    ("arguments", "help_of"),
    [
        (["nothing"], "sill"),
        (["--nothing"], "sill"),
        (["show"], "sill show"),
        (["ls", "--nothing"], "sill ls"),
        (["hints", "extra"], "sill hints"),
        (["run", "-n"], "sill run"),
        (["topo"], "sill topo"),
        (["preload", "one", "two"], "sill preload"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help(arguments, help_of, sill):
    result = sill(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert f"see {help_of} --help" in result.stderr


def test_hints_list_the_whole_table(sill, tmp_path):
    rows = [
        {"of": "window", "key": "alloc_type", "values": "memory, storage", "default": "memory", "unit": "",
         "aliases": ["kind"], "help": "What it lies on.", "collective": True},
        {"of": "communicator", "key": "x" * 60, "values": "[0-9]+ | {a}", "default": "", "unit": "bytes", "aliases": [],
         "help": "h" * 200, "collective": False},
    ]  # fmt: skip
    (tmp_path / "hints.json").write_text(json.dumps(rows))
    env = {"SILL_LIBRARY_DIR": str(tmp_path)}
    text = sill("hints", env=env).stdout
    assert len(text.splitlines()) == 3
    assert "x" * 60 in text
    assert "h" * 200 in text
    assert "[0-9]+ | {a}, bytes" in text
    assert json.loads(sill("hints", "--json", env=env).stdout) == rows


@pytest.mark.parametrize("text", [None, "", "{}", '[{"key": "a"}]'])
def test_a_missing_or_foreign_hint_table_is_said(text, sill, tmp_path):
    if text is not None:
        (tmp_path / "hints.json").write_text(text)
    result = sill("hints", env={"SILL_LIBRARY_DIR": str(tmp_path / "lib" if text is None else tmp_path)})
    if text == "{}":
        assert result.stdout.splitlines()[1:] == []
        return
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "hints.json" in result.stderr


def test_a_pipe_gets_no_colour_and_whole_lines(sill, tmp_path):
    name = "long-" * 30
    content = {
        "sill": 1,
        "job": "j",
        "created": "2026-01-02T03:04:05+00:00",
        "window": "0",
        "segments": [],
        "unlink": True,
    }
    (tmp_path / f"{name}.sill").write_text(json.dumps(content))
    result = sill("ls", tmp_path, env={"COLUMNS": "40", "FORCE_COLOR": ""})
    assert name in result.stdout
    assert "\x1b" not in result.stdout


def test_a_terminal_gets_lines_that_fit(harness_environment, tmp_path):
    """80 columns, as a terminal says itself; nothing is lost, only folded."""
    main, other = pty.openpty()
    environment = {**harness_environment, "COLUMNS": "80", "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "sill", "doctor", str(tmp_path)],
        env=environment,
        stdout=other,
        stderr=other,
        stdin=other,
    ) as process:
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # the terminal is closed
                break
            if not part:
                break
            text += part
        process.wait(timeout=60)
    os.close(main)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.decode())
    assert "Traceback" not in plain
    assert max(len(line.rstrip("\r\n")) for line in plain.splitlines()) <= 80
    assert "\x1b" in text.decode()


def test_the_python_interface_needs_the_standard_library_alone(tmp_path):
    """apps/demo and others import it with a Python that has neither typer nor rich."""
    (tmp_path / "hints.json").write_text("[]")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); import sill;"
        f"print(sill.hints(), list(sill.window_files({str(tmp_path)!r})), 'typer' in sys.modules)"
    )
    environment = {"SILL_LIBRARY_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr) == ("[] [] False\n", "")
