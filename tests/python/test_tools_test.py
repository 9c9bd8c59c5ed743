"""tools/test: several tests at once; the closing line counts each test once, by the worst that happened to it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from launching import ROOT

PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert False\n"
SKIPS = "import pytest\ndef test_skips(): pytest.skip('no such disk')\n"
EXPECTED = "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_known(): assert False\n"
TEARDOWN = """
import pytest
@pytest.fixture
def resource():
    yield
    raise OSError("still mounted")
def test_leaves_something(resource): pass
"""
NEEDS_MORE = "import pytest\npytest.skip('no such MPI', allow_module_level=True)\n"
CRASHES = "import os\ndef test_crashes(): os._exit(3)\n"
# Opening a pipe takes two, so each of them ends only while the other one runs.
MEETS = "def test_meets(): open({pipe!r}, {mode!r}).close()\n"
TOGETHER = """
import os, pytest
@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(20))
def test_together(number):
    with open({note!r}, "a+") as file:
        file.write(f"{{os.getpid()}}\\n")
        file.seek(0)
        assert len(set(file.readlines())) == 1
"""


def run_tests(folder, *arguments):
    command = [sys.executable, ROOT / "tools" / "test", "-p", "no:cacheprovider", *arguments, folder]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def write(folder, *files):
    for number, text in enumerate(files):
        (folder / f"test_{number}.py").write_text(text)


@pytest.mark.parametrize("how", [[], ["-n0"]], ids=["at once", "one by one"])
@pytest.mark.parametrize(
    ("files", "code", "closing"),
    [
        ([PASSES], 0, ["1 passed, 0 failed, 0 skipped"]),
        ([PASSES, SKIPS], 0, ["skipped 1: no such disk", "1 passed, 0 failed, 1 skipped"]),
        (
            [SKIPS, SKIPS, EXPECTED],
            0,
            ["skipped 1: fails: known", "skipped 2: no such disk", "0 passed, 0 failed, 3 skipped"],
        ),
        ([PASSES, FAILS, SKIPS, TEARDOWN], 1, ["skipped 1: no such disk", "1 passed, 2 failed, 1 skipped"]),
        ([TEARDOWN], 1, ["0 passed, 1 failed, 0 skipped"]),
        (
            [PASSES, SKIPS, NEEDS_MORE],
            0,
            ["skipped 1: no such MPI", "skipped 1: no such disk", "1 passed, 0 failed, 2 skipped"],
        ),
        ([], 5, ["0 passed, 0 failed, 0 skipped"]),
    ],
)
def test_closing_line_and_exit_code(how, files, code, closing, tmp_path):
    write(tmp_path, *files)
    done = run_tests(tmp_path, *how)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-len(closing) :] == closing


@pytest.mark.parametrize(
    ("how", "code", "closing"),
    [([], 1, "1 passed, 1 failed, 0 skipped"), (["-n0"], 2, "0 passed, 1 failed, 0 skipped")],
)
def test_a_file_that_cannot_be_read_is_a_failure(how, code, closing, tmp_path):
    """Only one by one it keeps the others from running."""
    write(tmp_path, PASSES, "import no_such_module\n")
    done = run_tests(tmp_path, *how)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == closing


def test_several_run_at_once(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    write(tmp_path, *(MEETS.format(pipe=pipe, mode=mode) for mode in "rw"))
    assert run_tests(tmp_path).stdout.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"


def test_a_group_stays_together(tmp_path):
    write(tmp_path, *[TOGETHER.format(note=str(tmp_path / "note"))] * 2)
    done = run_tests(tmp_path)
    assert done.stdout.splitlines()[-1] == "40 passed, 0 failed, 0 skipped", done.stdout


def test_a_crash_is_a_failure(tmp_path):
    write(tmp_path, CRASHES, PASSES)
    done = run_tests(tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped", done.stdout
