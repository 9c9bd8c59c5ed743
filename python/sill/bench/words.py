"""Text for programs that count words: the same for everybody, some words frequent and most of them rare."""

from __future__ import annotations

import functools
import random
from pathlib import Path

from .model import Text

_WORDS, _BLOCKS, _BLOCK = 30_000, 4, 1 << 20


def folder(store: Path, text: Text, ranks: int) -> Path | None:
    """The folder with a text of the size for so many ranks, made if it isn't there yet; None if none is asked for."""
    size = text.size(ranks)
    if size == 0:
        return None
    path = store / f"text-{size}"
    if not path.is_dir():
        path.mkdir(parents=True)
        blocks, generator = _blocks(), random.Random(size)
        for number, begin in enumerate(range(0, size, text.file_bytes)):
            _write(path / f"{number:05}.txt", min(text.file_bytes, size - begin), blocks, generator)
    return path


def _write(path: Path, size: int, blocks: list[bytes], generator: random.Random) -> None:
    with open(path, "wb") as file:
        for begin in range(0, size, _BLOCK):
            file.write(generator.choice(blocks)[: min(_BLOCK, size - begin)])


@functools.lru_cache(maxsize=1)
def _blocks() -> list[bytes]:
    """Pieces of _BLOCK bytes. The n-th word is about 1/n as frequent as the first, as in any language."""
    generator = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(generator.choices(letters, k=generator.randint(2, 11))) for _ in range(_WORDS)]
    weights = [1 / (n + 1) for n in range(_WORDS)]
    blocks = []
    for _ in range(_BLOCKS):
        line = generator.choices(words, weights, k=_BLOCK // 4)
        text = "\n".join(" ".join(line[at : at + 12]) for at in range(0, len(line), 12))
        blocks.append(text.encode()[:_BLOCK].ljust(_BLOCK))
    return blocks
