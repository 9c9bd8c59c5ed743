"""tools/test: the closing line counts each test once, by the worst that happened to it."""

from __future__ import annotations

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
        ([PASSES, "import no_such_module\n"], 2, ["0 passed, 1 failed, 0 skipped"]),
        ([], 5, ["0 passed, 0 failed, 0 skipped"]),
    ],
)
def test_closing_line_and_exit_code(files, code, closing, tmp_path):
    for number, text in enumerate(files):
        (tmp_path / f"test_{number}.py").write_text(text)
    command = [sys.executable, ROOT / "tools" / "test", "-p", "no:cacheprovider", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-len(closing) :] == closing
