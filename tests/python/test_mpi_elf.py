"""python/sill/mpi/elf.py against the dynamic loader itself."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys

import pytest
from command_support import EVERY_MPI
from sill.mpi import elf


def loaders_view(program, env=None) -> dict[str, str]:
    """Name to path of what the loader would map, by its own trace mode."""
    trace = {"LD_TRACE_LOADED_OBJECTS": "1", **(env or {})}
    result = subprocess.run([program], env=trace, capture_output=True, text=True, check=True, timeout=60)
    return dict(re.findall(r"^\s*(\S+) => (\S+) \(", result.stdout, re.M))


@pytest.mark.parametrize(
    "name", [os.path.realpath(sys.executable), "cmake", "mpiexec.hydra", "orterun", "git", "ninja"]
)
def test_closure_is_what_the_loader_maps(name):
    path = shutil.which(name)
    if path is None or not elf.is_elf(path):
        pytest.skip(f"{name} is not an ELF program of this machine")
    assert {n.name: n.path for n in elf.closure(path) if "ld-linux" not in n.name} == loaders_view(path)


@EVERY_MPI
def test_an_mpi_program_shows_its_family_and_libmpi(mpi, mpi_program):
    (found,) = elf.mpis_needed(mpi_program(mpi)).items()
    assert found[0] == mpi.family
    assert found[1] is not None
    assert os.path.realpath(found[1]) == os.path.realpath(mpi.library)


@pytest.fixture
def chain(compile_c, tmp_path):
    """program -> libone.so -> libtwo.so, where only the program or libone says where libtwo lies."""

    def build(tags, program_rpath, one_rpath=None):
        two = compile_c("int two(void) { return 2; }", "-shared", "-fPIC", name="libtwo.so")
        deep = tmp_path / "deep"
        deep.mkdir()
        shutil.move(two, deep / "libtwo.so")
        extra = [f"-Wl,{tags},-rpath,{one_rpath}"] if one_rpath else []
        one = compile_c(
            "int two(void); int one(void) { return two(); }",
            *("-shared", "-fPIC", f"-L{deep}", "-ltwo", *extra),
            name="libone.so",
        )
        shutil.move(one, tmp_path / "libone.so")
        program = compile_c(
            "int one(void); int main(void) { return one(); }",
            *(f"-L{tmp_path}", "-lone", f"-Wl,-rpath-link,{deep}", f"-Wl,{tags},-rpath,{program_rpath}"),
        )
        return shutil.move(program, tmp_path / "program")

    return build


def test_runpath_is_not_handed_down(chain, tmp_path):
    program = chain("--enable-new-dtags", f"{tmp_path}:{tmp_path}/deep")
    found = {n.name: n.path for n in elf.closure(program)}
    assert found["libone.so"] == f"{tmp_path}/libone.so"
    assert found["libtwo.so"] is None
    assert "libtwo.so" not in loaders_view(program)


def test_rpath_is_handed_down(chain, tmp_path):
    program = chain("--disable-new-dtags", f"{tmp_path}:{tmp_path}/deep")
    found = {n.name: n.path for n in elf.closure(program)}
    assert found["libtwo.so"] == f"{tmp_path}/deep/libtwo.so" == loaders_view(program)["libtwo.so"]


def test_origin_is_the_folder_of_the_file_that_says_it(chain, tmp_path):
    program = chain("--enable-new-dtags", "$ORIGIN", "${ORIGIN}/deep")
    found = {n.name: n.path for n in elf.closure(program)}
    assert found["libtwo.so"] == f"{tmp_path}/deep/libtwo.so"


def test_ld_library_path_comes_before_runpath(chain, tmp_path, monkeypatch):
    program = chain("--enable-new-dtags", f"{tmp_path}", f"{tmp_path}/deep")
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "libone.so", other)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(other))
    found = {n.name: n.path for n in elf.closure(program)}
    assert (
        found["libone.so"]
        == f"{other}/libone.so"
        == loaders_view(program, {"LD_LIBRARY_PATH": str(other)})["libone.so"]
    )


def test_a_static_program_needs_nothing(compile_c):
    program = elf.read(compile_c("int main(void) { return 0; }", "-static"))
    assert not program.dynamic
    assert program.needed == ()


def test_broken_files_are_refused_or_read_but_never_crash(compile_c, tmp_path):
    whole = compile_c("int main(void) { return 0; }").read_bytes()
    generator = random.Random(1)
    file = tmp_path / "broken"
    refused = 0
    for round_ in range(300):
        data = bytearray(whole)
        for _ in range(generator.randrange(1, 8)):
            data[generator.randrange(4, 1024)] = generator.randrange(256)
        file.write_bytes(data[: generator.randrange(0, len(data))] if round_ % 2 else data)
        try:
            elf.read(file)
        except elf.NotElfError:
            refused += 1
    assert 0 < refused < 300


def test_other_files_are_not_elf(tmp_path):
    file = tmp_path / "text"
    file.write_text("#!/bin/sh\n" * 100)
    with pytest.raises(elf.NotElfError):
        elf.read(file)
