"""The `sill` command as a whole: help, errors, output for people and for machines."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from bench_support import executable
from command_support import ROOT, SAYING_LAUNCHER
from sill import cli

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


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-n", "2", "--mpiexec", "'x", "--", "true"],
        ["topo", "--mpiexec", "'x", "/tmp"],
        ["stage-out", "--mpiexec", "'x", "near", "file"],
        ["bench", "run", "rma", "--mpiexec", "'x"],
        ["bench", "run", "out-of-core", "--command", "competitor='x"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_line_that_no_shell_takes_is_one_line(arguments, sill):
    result = sill(*arguments)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "'x: No closing quotation" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["hints"], ["hints", "--json"], ["doctor", "DIR"], ["topo", "DIR"], ["ls", "DIR"],
     ["model"], ["bench", "list"], ["run", "--dry-run", "--", "sh"],
     ["topo", "-n", "1", "--mpiexec", "LAUNCHER", "DIR"]],
    ids="-".join,
)  # fmt: skip
def test_output_that_cannot_be_written_is_an_error(arguments, harness_environment, monkeypatch, capfd, tmp_path):
    """Said once, and not again when Python ends, which would flush once more."""
    names = {"DIR": str(tmp_path), "LAUNCHER": str(executable(tmp_path / "launch", SAYING_LAUNCHER))}
    for key, value in harness_environment.items():
        monkeypatch.setenv(key, value)
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert cli.main([names.get(word, word) for word in arguments]) == 1
        full.flush()
    assert capfd.readouterr().err == "sill: standard output: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_a_closed_output_is_an_error_where_something_is_said(closed, harness_environment):
    command = f"{sys.executable} -m sill --version {closed}"
    result = subprocess.run(["sh", "-c", command], env=harness_environment, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (1, "sill: standard output: Bad file descriptor\n")


def test_a_program_gets_its_output_closed_as_the_command_had_it(harness_environment):
    """What the program opens first must not be taken for its output, nor an error line go where the output goes."""
    command = f"{sys.executable} -m sill run -- sh -c 'test -e /proc/$$/fd/1 || exit 7' >&-"
    environment = {**harness_environment, "PMI_SIZE": "1"}
    assert subprocess.run(["sh", "-c", command], env=environment, timeout=60, check=False).returncode == 7
    command = f"{sys.executable} -m sill nothing 2>&-"
    result = subprocess.run(["sh", "-c", command], env=harness_environment, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (2, "")


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
