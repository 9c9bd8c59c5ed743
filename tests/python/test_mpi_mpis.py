"""python/sill/mpi/mpis.py: finding MPIs, their families, and the headers to build with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_support import MPIS, ROOT, mpis
from sill.mpi import launchers

MPICH = '#define MPICH_VERSION "{version}"\n'
OMPI = "#define OMPI_MAJOR_VERSION {}\n#define OMPI_MINOR_VERSION {}\n#define OMPI_RELEASE_VERSION {}\n"


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Make a prefix that looks like an MPI's, with wrappers that answer -show; nothing else is to be found."""
    monkeypatch.setattr(mpis, "_bin_folders", lambda prefixes: [Path(p) / "bin" for p in prefixes])

    def make(name, header, soname, *, flags="-lmpi", wrapper="mpicc", parts=("mpiexec",)):
        root = tmp_path / name
        for folder in ("bin", "include", "lib"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "include" / "mpi.h").write_text(header)
        (root / "lib" / soname).write_bytes(b"")
        show = f"cc -I{root}/include -L{root}/lib {flags}"
        for part in (wrapper, *parts):
            file = root / "bin" / part
            file.write_text(f"#!/bin/sh\necho '{show}'\n")
            file.chmod(0o755)
        return str(root)

    return make


def test_names_families_and_versions_come_from_the_headers(prefix):
    roots = [
        prefix("a", MPICH.format(version="4.2.1"), "libmpi.so.12"),
        prefix("b", OMPI.format(5, 0, 3), "libmpi.so.40"),
        prefix("c", MPICH.format(version="3.4") + '#define I_MPI_VERSION "2021.10.0"\n', "libmpi.so.12"),
    ]
    found = [(m.name, m.family, m.version) for m in mpis.find(roots)]
    assert found == [("mpich4", "mpich", "4.2.1"), ("ompi5", "ompi", "5.0.3"), ("intel2021", "mpich", "2021.10.0")]


def test_both_abis_of_one_prefix_are_two_mpis_with_one_launcher(prefix):
    header = MPICH.format(version="5.0.1")
    root = prefix("a", header, "libmpi.so.12")
    prefix("a", header, "libmpi_abi.so.1", flags="-lmpi_abi", wrapper="mpicc_abi")
    one, two = mpis.find([root])
    assert (one.name, one.family) == ("mpich5", "mpich")
    assert (two.name, two.family) == ("mpich5abi", "mpiabi")
    assert one.mpiexec == two.mpiexec == f"{root}/bin/mpiexec"


def test_the_mpi_of_a_launcher_is_found_wherever_it_is(prefix, tmp_path):
    root = prefix("elsewhere", MPICH.format(version="5.0.1"), "libmpi.so.12")
    for launcher in (tmp_path / "mpiexec", Path(root) / "bin" / "mpiexec"):
        if not launcher.exists():
            launcher.symlink_to(f"{root}/bin/mpiexec")
        assert launchers.mpi_of(str(launcher), launchers.known_with(str(launcher))).prefix == root
    assert launchers.known_with(None) == launchers.known_with("no-such-launcher") == []


def test_a_second_release_of_a_major_version_gets_another_name(prefix):
    roots = [prefix(v, MPICH.format(version=v), "libmpi.so.12") for v in ("4.0.2", "4.2.0", "4.1.2")]
    roots.append(prefix("4.0.2-again", MPICH.format(version="4.0.2"), "libmpi.so.12"))
    found = mpis.find([*roots, roots[0]])
    assert [m.name for m in found] == ["mpich4.0.2", "mpich4.2.0", "mpich4.1.2"]
    assert {m.kind for m in found} == {"mpich4"}
    assert found[1].title == "mpich4.2.0 (MPICH 4.2.0)"
    versions = {m.name: m.version for m in found}
    assert mpis.named("mpich4", versions) == list(versions)
    assert mpis.named("mpich4.2.0", versions) == ["mpich4.2.0"]
    assert mpis.named("mpich4.2", versions) == []


def test_two_releases_in_two_abis_keep_apart(prefix):
    for version in ("5.0.1", "5.0.2"):
        prefix(version, MPICH.format(version=version), "libmpi.so.12")
        root = prefix(version, MPICH.format(version=version), "libmpi_abi.so.1", flags="-lmpi_abi", wrapper="mpicc_abi")
    found = mpis.find([root.replace("5.0.2", "5.0.1"), root])
    assert [m.name for m in found] == ["mpich5.0.1", "mpich5.0.1abi", "mpich5.0.2", "mpich5.0.2abi"]
    assert [m.kind for m in found] == ["mpich5", "mpich5abi", "mpich5", "mpich5abi"]


def test_the_only_one_of_its_kind_is_found_by_every_name(prefix):
    (mpi,) = mpis.find([prefix("a", OMPI.format(5, 0, 11), "libmpi.so.40")])
    assert (mpi.name, mpi.title) == ("ompi5", "ompi5 (Open MPI 5.0.11)")
    for wanted in ("ompi5", "ompi5.0.11"):
        assert mpis.named(wanted, {mpi.name: mpi.version}) == ["ompi5"]
    assert mpis.named("ompi", {mpi.name: mpi.version}) == []


def test_the_oldest_fitting_headers_are_built_with(prefix):
    versions = {"3.4.3": 12, "5.0.0": 12, "4.1.0": 12}
    roots = [prefix(v, MPICH.format(version=v), f"libmpi.so.{so}") for v, so in versions.items()]
    roots += [prefix(f"o{v}", OMPI.format(*v.split(".")), "libmpi.so.40") for v in ("5.0.6", "4.1.4", "4.0.9")]
    chosen = mpis.headers(mpis.find(roots))
    assert {family: mpi.version for family, mpi in chosen.items()} == {"mpich": "4.1.0", "ompi": "4.1.4"}


def test_only_old_headers_are_better_than_none(prefix):
    chosen = mpis.headers(mpis.find([prefix("a", MPICH.format(version="3.4.3"), "libmpi.so.12")]))
    assert chosen["mpich"].version == "3.4.3"


def test_an_mpi_without_its_library_is_not_one(prefix):
    assert mpis.find([prefix("a", MPICH.format(version="4.0"), "libsomething.so")]) == []


def test_open_mpi_says_how_to_oversubscribe(prefix):
    old, new = mpis.find([prefix(v, OMPI.format(*v.split(".")), "libmpi.so.40") for v in ("4.1.4", "5.0.1")])
    assert old.oversubscribe == ["--oversubscribe"]
    assert new.oversubscribe == ["--map-by", ":OVERSUBSCRIBE"]
    assert "PRTE_ALLOW_RUN_AS_ROOT" in new.root_env
    assert "PRTE_ALLOW_RUN_AS_ROOT" not in old.root_env


def test_cmake_reads_back_what_is_printed(prefix, tmp_path):
    """Paths with spaces, dollars and quotes survive."""
    root = prefix('a b$c"d', MPICH.format(version="5.0.1"), "libmpi_abi.so.1", flags="-lmpi_abi", wrapper="mpicc_abi")
    (Path(root) / "include" / "mpi_abi.h").write_text("/* the ABI's */\n")
    found = [mpis.Mpi("mpich5abi", "5.0.1", "mpiabi", root, f"{root}/include", f"{root}/lib/x.so", "cc", None, None)]
    script = tmp_path / "read.cmake"
    script.write_text(
        f'set(PROJECT_BINARY_DIR "{tmp_path}")\n{mpis.cmake_text(found)}'
        'message("${SILL_FAMILIES}|${SILL_MPIS}|${SILL_mpiabi_LIBRARY}|${SILL_MPI_mpich5abi_FC}")\n'
    )
    result = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True, timeout=60)
    assert result.stderr.strip() == f"mpiabi|mpich5abi|{root}/lib/x.so|"
    assert (tmp_path / "mpi-abi" / "mpi.h").read_text() == "/* the ABI's */\n"


def test_the_mpis_of_this_machine_have_all_their_parts():
    assert MPIS, "no MPI found: tools/setup installs some"
    for mpi in MPIS:
        assert os.path.isfile(mpi.library)
        assert os.path.isfile(os.path.join(mpi.include, "mpi.h"))
        assert mpi.family in mpis.FAMILIES


def test_it_runs_as_a_script_without_the_package():
    script = ROOT / "python" / "sill" / "mpi" / "mpis.py"
    result = subprocess.run([sys.executable, "-I", script, "--json"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert [row["name"] for row in json.loads(result.stdout)] == [mpi.name for mpi in mpis.find()]
