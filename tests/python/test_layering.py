"""Arrows between the folders of src/ point downward only, and what lies under the MPI side knows no MPI; no two C files
of a mini-app need each other."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from launching import ROOT

# What each folder may include beside its own headers ("The folders" in docs/architecture.md).
BELOW = {
    "base": set(),
    "storage": {"base"},
    "mpi": {"base"},
    "topology": {"base", "mpi"},
    "window": {"base", "mpi", "storage", "topology"},
    "pmpi": {"base", "mpi", "storage", "topology", "window"},
    "coarray": {"base", "mpi", "storage", "window"},
}
WITHOUT_MPI = {"base", "storage"}
# The rooms below know of no front, not even by name.
ROOMS_BELOW = {"base", "storage", "mpi", "topology", "window"}
WORDS_OF_FRONTS = re.compile(r"coarray|libcaf|pcaf|\bdart|mpiio|pool:", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# What others can name of a C file as clang-format leaves it: a function or a variable that isn't static.
DEFINED = re.compile(r"^(?!static |extern |typedef |#)\w[\w *]*?\b(\w+)(?:\([^;{}]*\)| = |;|\[)", re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

pytestmark = pytest.mark.quick


def wrong_includes(src: Path) -> list[str]:
    """All includes under `src` that break the rule, as "file: reason"."""
    wrong = []
    for file in sorted(path for path in src.rglob("*") if path.suffix in {".c", ".cpp", ".h", ".hpp"}):
        folder = file.relative_to(src).parts[0]
        if folder not in BELOW:
            wrong.append(f"{file}: folder {folder} has no place in the order")
            continue
        for quoted, angled in INCLUDE.findall(file.read_text()):
            name = quoted or angled
            target = name.split("/")[0]
            if name.startswith("."):
                wrong.append(f"{file}: {name} doesn't start from src/")
            elif target in BELOW and target != folder and target not in BELOW[folder]:
                wrong.append(f"{file}: {name} points upward or sideways")
            elif folder in WITHOUT_MPI and (target == "sill" or Path(name).name in {"mpi.h", "mpi_abi.h"}):
                wrong.append(f"{file}: {name} brings MPI into {folder}")
    return wrong


def named_fronts(src: Path) -> list[str]:
    """The lines in the rooms below that name a front, but for the variables that spawned programs inherit."""
    return [
        f"{file}: {line.strip()}"
        for room in sorted(ROOMS_BELOW)
        for file in sorted((src / room).glob("*"))
        for line in file.read_text().splitlines()
        if WORDS_OF_FRONTS.search(line) and not line.strip().startswith("for (const std::string_view prefix : {")
    ]


def test_no_room_below_names_a_front() -> None:
    assert named_fronts(ROOT / "src") == []


def test_a_named_front_is_seen(tmp_path: Path) -> None:
    (tmp_path / "window").mkdir()
    (tmp_path / "window" / "file.cpp").write_text("int a;\nbool is_Coarray;  // no\n")
    assert named_fronts(tmp_path) == [f"{tmp_path}/window/file.cpp: bool is_Coarray;  // no"]


def test_includes_point_downward() -> None:
    assert wrong_includes(ROOT / "src") == []


def test_every_folder_is_there() -> None:
    assert {path.name for path in (ROOT / "src").iterdir() if path.is_dir()} == set(BELOW)


@pytest.mark.parametrize(
    ("folder", "line", "reason"),
    [
        ("base", '#include "storage/file.hpp"', "upward"),
        ("storage", '#include "mpi/errors.hpp"', "sideways"),
        ("mpi", '  #  include "window/window.hpp"', "upward"),
        ("storage", "#include <mpi.h>", "brings MPI"),
        ("base", "#include <sill/sill.h>", "brings MPI"),
        ("window", '#include "../base/text.hpp"', "start from src/"),
        ("cellar", "#include <vector>", "no place"),
    ],
)
def test_a_wrong_include_is_seen(tmp_path: Path, folder: str, line: str, reason: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "file.cpp").write_text(f"// text\n{line}\n")
    [wrong] = wrong_includes(tmp_path)
    assert reason in wrong


def cycle(folder: Path) -> list[str]:
    """C files of a folder that need each other, as names from one to the next and back to the first; [] if none do."""
    files = {file.name: COMMENT_OR_TEXT.sub("", file.read_text()) for file in folder.glob("*.c")}
    home = {name: file for file, text in files.items() for name in DEFINED.findall(text)}
    words = {file: set(re.findall(r"(?<![.\w])(?<!->)\w+", text)) for file, text in files.items()}
    needs = {file: {home[word] for word in words[file] & home.keys()} - {file} for file in files}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_two_files_of_an_app_need_each_other() -> None:
    folders = {file.parent for file in (ROOT / "apps").rglob("*.c")}
    assert {"common", "stage"} <= {folder.name for folder in folders}
    assert {folder.name: found for folder in folders if (found := cycle(folder))} == {}


@pytest.mark.parametrize(
    "second", ["int two(void) {\n  return one(1);\n}", "int two = 2;\nstatic void f(void) { one(two); }"]
)
def test_two_files_that_need_each_other_are_seen(tmp_path: Path, second: str) -> None:
    (tmp_path / "a.c").write_text("int one(int of) {\n  return of + two;\n}\n")
    (tmp_path / "b.c").write_text("/* one */ int main(void) { return one(0); }\n")
    assert cycle(tmp_path) == []
    (tmp_path / "c.c").write_text(f"{second}\n")
    assert {"a.c", "c.c"} == set(cycle(tmp_path))
