"""What the program `generations` must have left behind: the reading side of generations.c."""

from __future__ import annotations

import array
from dataclasses import dataclass
from pathlib import Path

WORDS = 1 << 15
NEVER_ENDING = 1_000_000


@dataclass(frozen=True)
class Layout:
    """Hints of a window, and where the storage of a rank's segment then lies."""

    name: str
    hints: tuple[str, ...]
    shared: bool = False  # one file for all ranks
    offset: int = 0
    first: int = 0  # number of the segment's first word on storage
    count: int = WORDS

    def words(self, folder: Path) -> list[str]:
        """The hints as words of the command line."""
        return [f"storage_alloc_filename={folder}/{'g' if self.shared else 'g.%r'}", *self.hints]

    def read(self, folder: Path, rank: int) -> array.array:
        path = folder / ("g" if self.shared else f"g.{rank}")
        with path.open("rb") as file:
            file.seek(self.offset + (rank * self.count * 8 if self.shared else 0))
            stored = array.array("Q")
            stored.frombytes(file.read(self.count * 8))
        return stored


HALF = WORDS // 2
LAYOUTS = [
    Layout("own-files", ()),
    Layout("one-file-unaligned", ("storage_alloc_offset=100",), shared=True, offset=100),
    Layout("staged", ("storage_alloc_engine=staged",)),
    Layout("combined", ("storage_alloc_factor=0.5",), first=HALF, count=HALF),
    Layout("sparse-random", ("storage_alloc_reserve=sparse", "access_style=random")),
]


def synced(log: Path, ranks: int) -> list[int]:
    """The last generation whose sync each rank has noted, 0 for none. A line that is cut off doesn't count."""
    latest = [0] * ranks
    if log.exists():
        for line in log.read_text().split("\n")[:-1]:
            rank, generation = map(int, line.split())
            latest[rank] = generation
    return latest


def check(layout: Layout, folder: Path, before: list[int], after: list[int]) -> None:
    """Every word is where it belongs, as new as the sync noted `before` at least, one newer than `after` at most."""
    for rank, (least, most) in enumerate(zip(before, after)):
        if least == 0 and not (folder / ("g" if layout.shared else f"g.{rank}")).exists():
            continue  # no sync, no promise
        stored = layout.read(folder, rank)
        assert len(stored) == layout.count or least == 0, f"rank {rank}: {len(stored)} words"
        generations = {value >> 32 for value in stored}
        places = (value & 0xFFFFFFFF for value in stored if value)
        expected = (rank << 24 | layout.first + i for i, value in enumerate(stored) if value)
        assert all(a == b for a, b in zip(places, expected)), f"rank {rank}: words in wrong places"
        assert min(generations, default=0) >= least, f"rank {rank}: {min(generations)} after a sync of {least}"
        assert max(generations, default=0) <= most + 1, f"rank {rank}: {max(generations)} when {most} was noted"
