"""Arrows between the folders of src/ point downward only, and what lies under the MPI side knows no MPI."""

from __future__ import annotations

import re
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
WORDS_OF_FRONTS = re.compile(r"coarray|libcaf|pcaf|\bdart|mpi_file", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

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
