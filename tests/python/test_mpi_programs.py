"""python/sill/mpi/programs.py: what a program is and which MPI family it uses."""

from __future__ import annotations

import os
import sys

import pytest
from command_support import EVERY_MPI, MPIS
from sill.errors import SillError
from sill.mpi import elf, programs


@pytest.fixture
def script(tmp_path):
    def write(first_line, name="script", mode=0o755):
        file = tmp_path / name
        file.write_text(f"{first_line}\nexit 0\n")
        file.chmod(mode)
        return str(file)

    return write


@EVERY_MPI
def test_a_compiled_program_has_its_mpis_family(mpi, mpi_program):
    program = programs.find(str(mpi_program(mpi)))
    assert program.family == mpi.family
    assert os.path.realpath(program.library) == os.path.realpath(mpi.library)


@pytest.mark.parametrize(
    "line", ["#!{}", "#! {} -u", "#!/usr/bin/env {}", "#!/usr/bin/env -S {} -u", "#!/usr/bin/env A=1 {}"]
)
def test_a_script_is_run_by_what_its_first_line_says(script, line):
    python = os.path.realpath(sys.executable)
    assert programs.find(script(line.format(python))).interpreter == python


def test_a_script_of_a_script_is_followed(script):
    inner = script("#!/bin/sh", "inner")
    program = programs.find(script(f"#!{inner}", "outer"))
    assert elf.is_elf(program.interpreter)
    assert program.family is None


def test_a_script_may_be_run_by_an_mpi_program(script, mpi_program):
    program = programs.find(script(f"#!{mpi_program(MPIS[0])}"))
    assert program.family == MPIS[0].family


def test_a_script_without_a_first_line_is_the_shells(script):
    assert programs.find(script("# nothing")).family is None


def test_a_loop_of_scripts_ends(script, tmp_path):
    with pytest.raises(SillError, match="too deep"):
        programs.find(script(f"#!{tmp_path}/script"))


@pytest.mark.parametrize("name", ["no-such-program", "./no/such/program", ""])
def test_a_missing_program_is_said(name):
    with pytest.raises(SillError, match="no such program") as caught:
        programs.find(name)
    assert caught.value.exit_code == 127


def test_a_file_that_is_not_executable_is_said(script):
    with pytest.raises(SillError, match=r"chmod \+x") as caught:
        programs.find(script("#!/bin/sh", mode=0o644))
    assert caught.value.exit_code == 126


def test_a_folder_is_not_a_program(tmp_path):
    with pytest.raises(SillError, match="no such program"):
        programs.find(str(tmp_path))


def test_a_missing_interpreter_is_said(script):
    with pytest.raises(SillError, match="asks for /no/such/shell"):
        programs.find(script("#!/no/such/shell"))


def test_a_static_program_is_refused(compile_c):
    with pytest.raises(SillError, match="statically linked"):
        programs.find(str(compile_c("int main(void) { return 0; }", "-static")))


def test_two_mpis_in_one_program_are_refused(compile_c):
    libraries = {mpi.family: mpi.library for mpi in MPIS}
    if len(libraries) < 2:
        pytest.skip("needs MPIs of two families")
    one, two = list(libraries.values())[:2]
    program = compile_c(
        "int main(void) { return 0; }", "-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-all", one, two
    )
    with pytest.raises(SillError, match="two MPIs at once"):
        programs.find(str(program))


def test_mpi4pys_wheel_is_seen_and_the_users_choice_counts(monkeypatch):
    pytest.importorskip("mpi4py")
    module = programs.find(sys.executable).python
    if not module.wheel:
        pytest.skip("this mpi4py is built for one MPI")
    assert module.family is None
    monkeypatch.setenv("MPI4PY_MPIABI", "openmpi")
    assert programs.find(sys.executable).family == "ompi"
    for mpi in MPIS:
        monkeypatch.setenv("MPI4PY_LIBMPI", mpi.library)
        assert programs.find(sys.executable).family == mpi.family
    monkeypatch.setenv("MPI4PY_LIBMPI", "/no/such/libmpi.so")
    with pytest.raises(SillError, match="MPI4PY_LIBMPI"):
        programs.find(sys.executable)
