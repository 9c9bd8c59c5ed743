"""Neighborhoods' files read without Sill, as docs/file-formats.md describes them, and XXH64 in Python."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

WORD = 2**64 - 1
HEAD = struct.Struct("<8s7QII32I")
BLOCK = 4096
_PRIMES = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def _rotate(value: int, left: int) -> int:
    return ((value << left) | (value >> (64 - left))) & WORD


def xxh64(data: bytes) -> int:
    """By the specification, with seed 0."""
    p1, p2, p3, p4, p5 = _PRIMES

    def taken_in(lane: int, word: int) -> int:
        return _rotate((lane + word * p2) & WORD, 31) * p1 & WORD

    at, end, value = 0, len(data), p5
    if end >= 32:
        lanes = [(p1 + p2) & WORD, p2, 0, -p1 & WORD]
        while end - at >= 32:
            for i, word in enumerate(struct.unpack_from("<4Q", data, at)):
                lanes[i] = taken_in(lanes[i], word)
            at += 32
        value = sum(_rotate(lane, left) for lane, left in zip(lanes, (1, 7, 12, 18))) & WORD
        for lane in lanes:
            value = ((value ^ taken_in(0, lane)) * p1 + p4) & WORD
    value = (value + end) & WORD
    while end - at >= 8:
        value = (_rotate(value ^ taken_in(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & WORD
        at += 8
    if end - at >= 4:
        value = (_rotate(value ^ struct.unpack_from("<I", data, at)[0] * p1 & WORD, 23) * p2 + p3) & WORD
        at += 4
    for byte in data[at:]:
        value = _rotate(value ^ byte * p5 & WORD, 11) * p1 & WORD
    value = (value ^ value >> 33) * p2 & WORD
    value = (value ^ value >> 29) * p3 & WORD
    return value ^ value >> 32


@dataclass(frozen=True)
class NearFile:
    """What the header says, and the bytes of each variable."""

    set: int
    total: int
    records: int
    chunk: int
    complete: bool
    value_bytes: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...]
    checksums: tuple[int, ...]
    values: tuple[bytes, ...]

    def checked(self) -> None:
        """Every checksum fits: by range, chunk, variable."""
        sums = iter(self.checksums)
        place = 0
        for _, count in self.ranges:
            for first in range(0, count, self.chunk):
                records = min(self.chunk, count - first)
                for size, values in zip(self.value_bytes, self.values):
                    at = (place + first) * size
                    assert xxh64(values[at : at + records * size]) == next(sums)
            place += count
        assert next(sums, None) is None


def read(path: Path) -> NearFile:
    """A file whose header is right."""
    data = path.read_bytes()
    magic, summed, length, number, total, records, chunk, count, complete, variables, *sizes = HEAD.unpack_from(data)
    assert magic == b"SILLNEA1"
    assert length % BLOCK == 0
    assert xxh64(data[:8] + bytes(8) + data[16:length]) == summed
    numbers = struct.unpack_from(f"<{2 * count}Q", data, HEAD.size)
    ranges = tuple(zip(numbers[::2], numbers[1::2]))
    units = sum(-(-records // chunk) for _, records in ranges)
    checksums = struct.unpack_from(f"<{units * variables}Q", data, HEAD.size + 16 * count)
    used = HEAD.size + 16 * count + 8 * units * variables
    assert not any(data[used:length])
    values, at = [], length
    for size in sizes[:variables]:
        values.append(data[at : at + records * size])
        at += records * size
    assert at == len(data)
    return NearFile(
        number, total, records, chunk, complete == 1, tuple(sizes[:variables]), ranges, checksums, tuple(values)
    )
