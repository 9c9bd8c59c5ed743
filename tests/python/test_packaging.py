"""The recipes under packaging/, as far as they can be checked without Spack and a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types

import pytest
from command_support import ROOT

RECIPE = ROOT / "packaging" / "spack" / "package.py"
DOCKERFILE = ROOT / "packaging" / "Dockerfile"


@pytest.fixture
def recipe(monkeypatch):
    """The recipe's class, made with stand-ins for Spack's directives that note what was said."""
    said: list[tuple] = []

    def directive(name):
        return lambda *arguments, **more: said.append((name, *arguments, more))

    module = types.ModuleType("spack.package")
    for name in ("license", "version", "variant", "depends_on", "extends"):
        setattr(module, name, directive(name))
    module.CMakePackage = type("CMakePackage", (), {"define": staticmethod(lambda key, value: (key, value))})
    module.run_after = lambda phase: lambda method: method
    module.__all__ = [name for name in vars(module) if not name.startswith("__")]
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", module)
    namespace: dict = {}
    exec(compile(RECIPE.read_text(), RECIPE, "exec"), namespace)
    return namespace["Sill"], said


def test_spacks_options_are_those_of_the_build(recipe):
    package, _ = recipe
    package.spec = {"mpi": types.SimpleNamespace(prefix="/mpi")}
    cmake = "\n".join((ROOT / name).read_text() for name in ("CMakeLists.txt", "cmake/Families.cmake"))
    for key, _value in package.cmake_args(package()):
        assert re.search(rf"(option|set)\({key} ", cmake), key


def test_spacks_needs_are_those_of_the_wheel(recipe):
    _, said = recipe
    needs = {words[1].split("@")[0].removeprefix("py-") for words in said if words[0] == "depends_on"}
    project = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"^dependencies = \[(.*)\]", project, re.M)[1]
    assert {re.match(r"\w+", name.strip(' "'))[0] for name in listed.split(",")} <= needs
    assert {"mpi", "tomlplusplus", "nlohmann-json", "zlib-api", "cmake", "python"} <= needs


def test_the_containers_packages_exist():
    if not shutil.which("apt-cache"):
        pytest.skip("needs Debian's package lists")
    lines = re.findall(r"install -y --no-install-recommends((?:.*\\\n)*?.*)\n *&&", DOCKERFILE.read_text())
    packages = {word for line in lines for word in line.split() if word != "\\"}
    assert {"mpich", "openmpi-bin", "libtomlplusplus-dev", "nlohmann-json3-dev", "zlib1g-dev"} <= packages
    known = subprocess.run(
        ["apt-cache", "pkgnames"], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    if not packages & set(known):
        pytest.skip("no package lists on this machine")
    assert packages <= set(known)


def test_the_container_copies_what_is_there():
    for line in re.findall(r"^COPY (?!--from)(\S+)", DOCKERFILE.read_text(), re.M):
        assert (ROOT / line).exists()


def test_the_wheel_and_the_build_have_one_version():
    version = re.search(r'__version__ = "(.*)"', (ROOT / "python/sill/__init__.py").read_text())[1]
    assert re.search(r"project\(sill VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1] == version
    header = (ROOT / "include/sill/sill.h").read_text()
    parts = [re.search(rf"SILL_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(parts) == version
