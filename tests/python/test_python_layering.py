"""Arrows between the modules and packages of python/sill point downward only, and no two modules need each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from launching import ROOT

# What each module or package right in python/sill may import beside itself; "__init__" is `import sill`.
BELOW = {
    "errors": set(),
    "system": set(),
    "text": {"errors"},
    "output": {"errors"},
    "mpi": {"errors"},
    "sidecar": {"errors", "system"},
    "native": {"errors", "mpi"},
    "run": {"errors", "mpi", "native"},
    "__init__": {"errors", "native", "run", "sidecar"},
    "topo": {"errors", "text", "output", "mpi", "native", "run"},
    "predict": {"errors", "text", "output"},
    "bench": {"errors", "text", "output", "system", "mpi", "__init__"},
    "stage": {"errors", "mpi", "run"},
    "doctor": {"errors", "text", "system", "mpi", "native", "topo"},
    "cli": {
        *("__init__", "errors", "text", "output", "mpi", "native", "sidecar"),
        *("run", "topo", "predict", "bench", "stage", "doctor"),
    },
    "__main__": {"cli"},
}

pytestmark = pytest.mark.quick


def imports(package: Path) -> dict[str, set[str]]:
    """What each module imports of the package, with dots; a package is its __init__.py."""
    files = {".".join(path.relative_to(package).with_suffix("").parts): path for path in package.rglob("*.py")}
    known = {name.removesuffix(".__init__"): path for name, path in files.items()}
    return {name: set(_imported(name, path, known)) for name, path in known.items()}


def _imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    folder = ["sill", *(name.split(".") if name != "__init__" else [])]
    folder = folder if path.name == "__init__.py" else folder[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            candidates = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) + 1 - node.level] if node.level else []
            candidates = [(".".join([*above, *filter(None, [node.module])]), alias.name) for alias in node.names]
        else:
            continue
        for module, what in candidates:
            if module.split(".")[0] == "sill":
                whole = f"{module}.{what}".strip(".")[len("sill.") :]
                yield whole if whole in known else module[len("sill.") :] or "__init__"


def wrong_imports(package: Path) -> list[str]:
    """All imports that break the rule, and a circle of modules, one line each."""
    graph = imports(package)
    wrong = []
    for name, targets in sorted(graph.items()):
        room = name.split(".")[0]
        if room not in BELOW:
            wrong.append(f"{name}: {room} has no place in the order")
            continue
        rooms = {target.split(".")[0] for target in targets} - {room}
        wrong += [f"{name}: {target} is above or beside it" for target in sorted(rooms - BELOW[room])]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        wrong.append(f"a circle: {' <- '.join(error.args[1])}")
    return wrong


def test_imports_point_downward() -> None:
    assert wrong_imports(ROOT / "python" / "sill") == []


def test_every_module_has_its_place() -> None:
    assert {name.split(".")[0] for name in imports(ROOT / "python" / "sill")} == set(BELOW)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"mpi/elf.py": "from ..bench import cli", "bench/cli.py": ""}, "mpi.elf: bench is above"),
        ({"errors.py": "import sill.text", "text.py": ""}, "errors: text is above"),
        ({"text.py": "def f():\n    from .output import png", "output.py": ""}, "text: output is above or beside"),
        ({"topo/__init__.py": "from .. import doctor", "doctor.py": ""}, "topo: doctor is above"),
        ({"run.py": "from sill import hints", "__init__.py": ""}, "run: __init__ is above"),
        ({"cellar.py": ""}, "cellar has no place"),
        ({"mpi/a.py": "from . import b", "mpi/b.py": "from .a import thing"}, "a circle: mpi."),
    ],
)
def test_a_wrong_import_is_seen(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    [wrong] = wrong_imports(tmp_path)
    assert reason in wrong
