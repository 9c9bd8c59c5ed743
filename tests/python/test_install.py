"""What users install: the prefix of cmake --install by pkg-config and find_package, and the wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from command_support import BUILD, EVERY_MPI, MPIS, ROOT
from launching import library as built_library
from sill.native import ABI

# Installed once.
pytestmark = pytest.mark.xdist_group("install")
# A wheel takes a whole build, which is long on a busy machine without ccache.
WHEEL_TIMEOUT_S = 1700

PROGRAM = """
#include <sill/sill.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Win window;
  void* base;
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  sill_win_stats stats;
  stats.size = sizeof stats;
  int error = sill_win_get_stats(window, &stats);
  printf("error %d, memory %d\\n", error, (int)stats.memory_bytes);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(sill 0.1 REQUIRED)
add_executable(program program.c)
target_link_libraries(program PRIVATE sill::sill)
"""
# Programs that name their MPI as MPI programs do, beside Sill, in front of it, and by way of other libraries.
CMAKE_BESIDE_MPI = """
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
find_package(sill 0.1 REQUIRED)
foreach(language C CXX)
  string(TOLOWER program.${language} source)
  add_library(${language}-public STATIC ${source})
  target_link_libraries(${language}-public PUBLIC MPI::MPI_${language} sill::sill)
  add_library(${language}-private STATIC ${source})
  target_link_libraries(${language}-private PRIVATE MPI::MPI_${language} sill::sill)
  add_executable(${language}-before ${source})
  target_link_libraries(${language}-before PRIVATE sill::sill MPI::MPI_${language})
  add_executable(${language}-behind ${source})
  target_link_libraries(${language}-behind PRIVATE MPI::MPI_${language} sill::sill)
  foreach(scope public private)
    add_executable(${language}-by-${scope} empty.c)
    target_link_libraries(${language}-by-${scope} PRIVATE MPI::MPI_${language} ${language}-${scope})
  endforeach()
endforeach()
"""
FORTRAN = """
program main
  use mpi
  implicit none
  integer :: error, win
  integer(kind=MPI_ADDRESS_KIND) :: base
  call MPI_Init(error)
  call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
  call MPI_Win_free(win, error)
  call MPI_Finalize(error)
end program
"""
CMAKE_FORTRAN = """
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES Fortran)
find_package(MPI REQUIRED COMPONENTS Fortran)
find_package(sill 0.1 REQUIRED)
add_executable(before program.f90)
target_link_libraries(before PRIVATE sill::sill MPI::MPI_Fortran)
add_executable(behind program.f90)
target_link_libraries(behind PRIVATE MPI::MPI_Fortran sill::sill)
"""


def run(*command, env=None, timeout=600, **more):
    result = subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        **more,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    if not (BUILD / "cmake_install.cmake").is_file():
        pytest.fail(f"{BUILD} is not built: run make")
    folder = tmp_path_factory.mktemp("a prefix")
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    return tmp_path


@EVERY_MPI
def test_pkg_config_builds_a_program(mpi, prefix, project, harness_environment):
    library = next(prefix.glob("lib*/**/libsill-*.so")).parent
    env = {**harness_environment, "PKG_CONFIG_PATH": str(library / "pkgconfig")}
    # eval, for pkg-config escapes the spaces of the prefix.
    name = f"sill-{mpi.family}"
    flags = f"$(pkg-config --cflags --libs {name}) -Wl,-rpath,$(pkg-config --variable=libdir {name})"
    run("sh", "-c", f'eval "{mpi.cc} program.c -o program {flags}"', env=env, cwd=project)
    # Open MPI 5.0.11 has something to say of its own before.
    assert run(project / "program", env=env).endswith("error 0, memory 8\n")
    # Another file of the same library that is preloaded takes the place of the one linked.
    for preloaded, there in (("", library), (str(built_library(mpi)), BUILD)):
        taken = run(project / "program", env={**env, "LD_PRELOAD": preloaded, "LD_TRACE_LOADED_OBJECTS": "1"})
        (line,) = (line for line in taken.splitlines() if "libsill-" in line)
        assert str(there) in line


@pytest.mark.parametrize("suffix", ["c", "cpp"])
def test_plain_sill_is_that_of_the_default_family(suffix, prefix, project, harness_environment):
    """As C, and as C++ of the oldest standard that sill.h takes."""
    library = next(prefix.glob("lib*/**/libsill-*.so")).parent
    env = {**harness_environment, "PKG_CONFIG_PATH": str(library / "pkgconfig"), "LD_LIBRARY_PATH": str(library)}
    family = run("pkg-config", "--variable=family", "sill", env=env).strip()
    mpi = next(mpi for mpi in MPIS if mpi.family == family)
    wrapper = Path(mpi.cc)
    if suffix == "cpp":
        (project / "program.c").rename(project / "program.cpp")
        wrapper = wrapper.with_name(wrapper.name.replace("mpicc", "mpicxx"))
    standard = {"c": "c99", "cpp": "c++11"}[suffix]
    flags = f"-std={standard} -Wall -Wextra -Wpedantic -Werror -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX"
    command = f'eval "{wrapper} {flags} program.{suffix} -o program $(pkg-config --cflags --libs sill)"'
    run("sh", "-c", command, env=env, cwd=project)
    assert f"[libsill-{family}.so.{ABI}]" in run("readelf", "-d", project / "program")
    assert run(project / "program", env=env).endswith("error 0, memory 8\n")


@EVERY_MPI
def test_find_package_chooses_the_family_of_the_mpi_found(mpi, prefix, project, harness_environment):
    built = cmake(project, prefix, harness_environment, f"-DMPI_C_COMPILER={mpi.cc}")
    assert libraries_of_mpi(built / "program")[0] == f"libsill-{mpi.family}.so.{ABI}"
    assert run(built / "program", env=harness_environment).endswith("error 0, memory 8\n")


def cmake(project, prefix, env, *options):
    """Configures and builds the project, and returns the folder."""
    run("cmake", "-S", project, "-B", project / "b", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *options, env=env)
    run("cmake", "--build", project / "b", env=env)
    return project / "b"


def libraries_of_mpi(program) -> list[str]:
    """Sill and the MPI libraries, in the order in which the program has them loaded."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program))
    return [name for name in needed if name.startswith(("libsill", "libmpi"))]


@pytest.mark.parametrize("mpi", {mpi.family: mpi for mpi in MPIS}.values(), ids=lambda mpi: mpi.name)
def test_find_package_puts_sill_before_mpi(mpi, prefix, project, harness_environment):
    """Whatever order they are named in, and where a library in between brings them; one MPI of each family."""
    (project / "CMakeLists.txt").write_text(CMAKE_BESIDE_MPI)
    (project / "program.cxx").write_text(PROGRAM)
    (project / "empty.c").write_text("")
    cxx = mpi.cc.replace("mpicc", "mpicxx")
    built = cmake(project, prefix, harness_environment, f"-DMPI_C_COMPILER={mpi.cc}", f"-DMPI_CXX_COMPILER={cxx}")
    for name in ("before", "behind", "by-public", "by-private"):
        for language in ("C", "CXX"):
            program = built / f"{language}-{name}"
            assert libraries_of_mpi(program)[0] == f"libsill-{mpi.family}.so.{ABI}", program
    # The others only differ in how they were linked.
    assert run(built / "CXX-by-private", env=harness_environment).endswith("error 0, memory 8\n")


@pytest.mark.parametrize("mpi", [mpi for mpi in MPIS if mpi.fc], ids=lambda mpi: mpi.name)
def test_find_package_puts_sill_before_mpi_in_fortran(mpi, prefix, project, harness_environment):
    (project / "CMakeLists.txt").write_text(CMAKE_FORTRAN)
    (project / "program.f90").write_text(FORTRAN)
    built = cmake(project, prefix, harness_environment, f"-DMPI_Fortran_COMPILER={mpi.fc}")
    for name in ("before", "behind"):
        assert libraries_of_mpi(built / name)[0] == f"libsill-{mpi.family}.so.{ABI}", name
    rule = f"alloc_type=storage,storage_alloc_filename={project}/w"
    run(built / "behind", env={**harness_environment, "SILL_WINDOWS": rule})
    assert (project / "w").stat().st_size == 8


def test_only_what_users_need_is_installed(prefix):
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    assert {"include/sill/sill.h", "include/sill/sill.f90"} <= files
    assert {"share/sill/hints.json", "bin/sill-mstream"} <= files
    assert {f"libexec/sill/{mpi.name}/{name}" for mpi in MPIS for name in ("sill-mstream", "bench-sync")} <= files
    assert not [name for name in files if name.endswith((".a", ".hpp")) and not name.startswith("include/sill/")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("wheel")
    # Two compilers at a time leave something to the tests beside it.
    prefixes = ":".join(sorted({mpi.prefix for mpi in MPIS}))
    env = {**os.environ, "SILL_MPI_PREFIXES": prefixes, "CMAKE_BUILD_PARALLEL_LEVEL": "2", "CC": "cc", "CXX": "c++"}
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    # Compiled as the build beside it was, by the same compiler's name, so that ccache has it all.
    build = BUILD.with_name(BUILD.name + "-wheel")
    settings = {"build-dir": build, "cmake.build-type": "RelWithDebInfo", "cmake.define.SILL_WERROR": "ON"}
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *options,
        *(f"--config-settings={key}={value}" for key, value in settings.items()),
        "-w",
        folder,
        ROOT,
        env=env,
        cwd=folder,
        timeout=WHEEL_TIMEOUT_S,
    )
    shutil.rmtree(build)
    return next(folder.glob("*.whl"))


@pytest.mark.timeout(WHEEL_TIMEOUT_S + 100)
def test_the_wheel_has_command_libraries_and_table(wheel, tmp_path):
    names = set(zipfile.ZipFile(wheel).namelist())
    fronts = {f"{front}-{mpi.family}" for mpi in MPIS for front in ("sill", "sill-caf")}
    assert {name for name in names if "libsill" in name} == {f"sill/lib/lib{front}.so" for front in fronts}
    for front in fronts:
        library = zipfile.ZipFile(wheel).extract(f"sill/lib/lib{front}.so", tmp_path)
        assert f"[lib{front}.so.{ABI}]" in run("readelf", "-d", library)
    assert {"sill/cli.py", "sill/lib/hints.json", "sill/include/sill/sill.h"} <= names
    assert {"sill/bench/data/rma.toml", "sill/bench/data/result.schema.json"} <= names
    assert not [name for name in names if name.endswith((".a", ".cpp")) or name.startswith(("tests/", "lib/"))]
    assert "-py3-none-linux" in wheel.name


@pytest.mark.timeout(WHEEL_TIMEOUT_S + 100)
def test_the_command_works_from_the_wheel_alone(wheel, tmp_path):
    """In a fresh environment far from the checkout; typer and rich are borrowed, so that no network is needed."""
    venv.create(tmp_path / "v", with_pip=False, symlinks=True)
    python = tmp_path / "v" / "bin" / "python"
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-c", purelib).strip())
    options = (
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        "--prefix",
        tmp_path / "v",
        "--ignore-installed",
    )
    run(sys.executable, "-m", "pip", "install", *options, wheel, cwd=tmp_path)
    borrowed = sysconfig.get_path("purelib")
    (site / "borrowed.pth").write_text(f"import sys; sys.path.append({borrowed!r})\n")
    env = {key: value for key, value in os.environ.items() if not key.startswith("SILL_") and key != "PYTHONPATH"}
    sill = (python, "-m", "sill")
    where = run(python, "-c", "import sill; print(sill.__file__)", env=env, cwd=tmp_path).strip()
    assert where.startswith(str(site))
    assert "Example: sill run" in run(*sill, "--help", env=env, cwd=tmp_path)
    assert "storage_alloc_factor" in run(*sill, "hints", env=env, cwd=tmp_path)
    assert "\nmstream " in run(*sill, "bench", "list", env=env, cwd=tmp_path)
    path = f"{Path(MPIS[0].mpiexec).parent}:{os.environ['PATH']}"
    library = run(*sill, "preload", env={**env, "PATH": path}, cwd=tmp_path).strip()
    assert Path(library).parent == site / "sill" / "lib"
    assert Path(library).is_file()
