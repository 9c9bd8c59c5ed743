"""tools/setup and the Makefile: quiet and without network when all is there, clear when they can't go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest
from command_support import ROOT

SETUP = ROOT / "tools" / "setup"


def set_up_here() -> bool:
    """Whether make set up this very checkout: tools/setup would clear a .venv that is another one's."""
    note = ROOT / ".venv" / ".sill-setup"
    return note.is_file() and not (ROOT / ".venv").is_symlink() and note.read_text().startswith(f"{ROOT} ")


pytestmark = [
    pytest.mark.skipif(not set_up_here(), reason="this checkout was not set up by make"),
    pytest.mark.xdist_group("setup"),  # it is one checkout
]


def run(*command, env=None, **more):
    return subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        **more,
    )


def test_nothing_to_do_is_silent_and_fast():
    start = time.monotonic()
    result = run(SETUP)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert time.monotonic() - start < 20


def test_nothing_to_do_needs_no_network():
    if os.geteuid() != 0:
        pytest.skip("taking the network away needs root")
    result = run("unshare", "-n", SETUP)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.fixture
def checkout(tmp_path):
    """A folder with the script alone, in which nothing was set up, readable for everyone."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    return tmp_path


def test_an_ordinary_user_is_told_which_packages_are_missing(checkout, tmp_path):
    """Root can't play it: as nobody, with a dpkg-query that knows no package and no sudo."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("becoming another user needs root and setpriv")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (
        ("dpkg-query", "exit 1"),
        ("sudo", "exit 1"),
        ("apt-get", "echo must not be called >&2; exit 9"),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    result = run(*nobody, "bash", checkout / "tools" / "setup", env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert result.returncode == 1
    assert "apt-get install" in result.stderr
    for package in ("libmpich-dev", "libopenmpi-dev", "cmake", "libtomlplusplus-dev"):
        assert package in result.stderr
    assert "must not be called" not in result.stderr


@pytest.mark.parametrize("code", [0, 9])
def test_slurm_for_tests(code, checkout, tmp_path):
    """No daemon may start, now or with the machine; where it can't be had, the tests run all the same."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user gets no packages")
    policy, calls = tmp_path / "policy", tmp_path / "calls"
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (
        ("dpkg-query", "exit 1"),
        (
            "apt-get",
            f"""echo "$@" >>{calls}
case "$*" in *install*) {policy} munge start; echo "policy $?" >>{calls}; exit {code} ;; esac""",
        ),
        ("systemctl", f'echo systemctl "$@" >>{calls}'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    result = run(
        "bash",
        checkout / "tools" / "setup",
        "--tests",
        env={"PATH": f"{tools}:/usr/bin:/bin", "SILL_POLICY_FILE": str(policy)},
    )
    assert result.returncode == 0, result.stderr
    assert ("no Slurm" in result.stdout) == bool(code)
    assert not policy.exists()
    told = calls.read_text()
    assert "slurmctld" in told
    assert "policy 101" in told
    assert [f"systemctl disable {daemon}" in told for daemon in ("munge", "slurmctld", "slurmd")] == [True] * 3


def test_another_release_is_not_made_over_what_is_there(tmp_path):
    (tmp_path / "diary").write_text("mine")
    release = ROOT / "tools" / "release"
    result = run("bash", release, "trixie", tmp_path)
    assert result.returncode == 1
    said = "neither empty nor a Debian system" if os.geteuid() == 0 else "only root"
    assert said in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["diary"]
    assert "usage: tools/release NAME FOLDER" in run("bash", release).stderr


def test_a_path_with_spaces_is_refused_at_once(tmp_path):
    shutil.copytree(ROOT / "tools", tmp_path / "a b" / "tools")
    result = run("bash", tmp_path / "a b" / "tools" / "setup")
    assert result.returncode == 1
    assert "spaces" in result.stderr
    assert list((tmp_path / "a b").iterdir()) == [tmp_path / "a b" / "tools"]


@pytest.mark.parametrize("name", [".venv", ".mpi"])
def test_folders_of_another_checkout_are_left_alone(name, checkout, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").write_text("kept")
    (checkout / name).symlink_to(theirs)
    result = run("bash", checkout / "tools" / "setup")
    assert result.returncode == 1
    assert f"{name} is a link to {theirs}" in result.stderr
    assert [path.name for path in theirs.iterdir()] == ["kept"]


def test_make_help_lists_every_target():
    result = run("make", "help", cwd=ROOT)
    for target in ("setup", "build", "demo", "test", "bench", "format", "lint", "clean"):
        assert f"make {target} " in result.stdout


def test_the_command_of_the_checkout_works_from_anywhere(tmp_path):
    result = run(ROOT / ".venv" / "bin" / "sill", "--version", cwd=tmp_path)
    assert result.stdout.startswith("sill ")
