"""Records (FILE.sill) read and written without Sill, as docs/file-formats.md describes them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path


def text_of(sections: dict) -> str:
    behind = "".join(f", {json.dumps(name)}: {json.dumps(section)}" for name, section in sections.items()) + "}\n"
    return f'{{"sill": 2, "crc32": "{zlib.crc32(behind.encode()):08x}"{behind}'


def sections_of(path: Path) -> dict:
    text = path.read_text()
    content = json.loads(text)
    sections = {name: section for name, section in content.items() if name not in ("sill", "crc32")}
    assert (content["sill"], f"{zlib.crc32(text[31:].encode()):08x}") == (2, content["crc32"])
    return sections


def change(path: Path, what: Callable[[dict], None]) -> None:
    """As if it had been written so."""
    sections = sections_of(path)
    what(sections)
    path.write_text(text_of(sections))
