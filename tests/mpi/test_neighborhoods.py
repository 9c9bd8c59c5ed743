"""Neighborhoods' files: sill-hacc-io --layout neighborhood, sill-stage, and the apps sill-exchange and sill-split.

Which store a rank has is made of links: each rank has its own, to one of several folders.
"""

from __future__ import annotations

import json
from pathlib import Path

import near_files
import pytest
from launching import QUICKEST
from test_hacc_io import PARTICLE_BYTES, PARTICLES, expected  # noqa: F401  (a fixture)

MPI = QUICKEST
SIZES = (4, 4, 4, 4, 4, 4, 4, 8, 2)
CHUNK = 100
NEAR, NEAR_OF = "near 100%%.%r", "near 100%.{}"  # what --near says, and what it means


def topology(scratch: Path, stores: str) -> Path:
    """Folders of those names, and what `--near` says: rank i sees the one that the i-th letter names."""
    for rank, store in enumerate(stores):
        (scratch / store).mkdir(exist_ok=True)
        link = scratch / NEAR_OF.format(rank)
        link.unlink(missing_ok=True)
        link.symlink_to(store)
    (scratch / "global").mkdir(exist_ok=True)
    return scratch / NEAR


def hacc(scratch: Path, *arguments: str, method: str = "posix", layout: str = "neighborhood") -> list[str | Path]:
    words = ["sill-hacc-io", "--window", "storage", "--store", scratch / "global", "--near", scratch / NEAR]
    words += ["--layout", layout, "--method", method, "--quiet", "--chunk", str(CHUNK)]
    return [*words, "--particles", str(PARTICLES), *arguments]


def stage(scratch: Path, direction: str, *arguments: str) -> list[str | Path]:
    words = ["sill-stage", "--near", scratch / NEAR / "hacc-io.near", "--file", scratch / "global" / "hacc-io.dat"]
    return [*words, "--json", scratch / "result.json", "--quiet", *arguments, direction]


def results(scratch: Path, *keys: str) -> dict[tuple, float]:
    """Values of the last --json by name and labels."""
    told = json.loads((scratch / "result.json").read_text())
    return {(row["name"], *(row["labels"].get(key) for key in keys)): row["value"] for row in told["results"]}


def right(outcome) -> None:
    assert outcome.code == 0, outcome.text()


def cut(data: bytes, ranges: tuple[tuple[int, int], ...]) -> tuple[bytes, ...]:
    """Of a canonical file, the values of those records, variable by variable."""
    found, at = [], 0
    for size in SIZES:
        found.append(b"".join(data[at + first * size : at + (first + count) * size] for first, count in ranges))
        at += PARTICLES * size
    return tuple(found)


def test_xxh64_of_the_tests():
    """Against published values, for the apps are tested against it."""
    assert near_files.xxh64(b"") == 0xEF46DB3751D8E999
    assert near_files.xxh64(b"abc") == 0x44BC2CF5AD770999
    assert near_files.xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


def test_from_near_to_canonical_and_back(mpi, launcher, scratch, expected):  # noqa: F811
    """Written by windows, staged out by fewer ranks, staged in, and read by another method on other ranks."""
    topology(scratch, "abab")
    canonical = scratch / "global" / "hacc-io.dat"
    right(launcher.run(mpi, hacc(scratch, "--write", "--repeat", "2", method="window"), 4))
    found = [near_files.read(scratch / store / "hacc-io.near") for store in "ab"]
    assert [file.ranges for file in found] == [((0, 310), (619, 309)), ((310, 309), (928, 309))]
    assert found[0].set == found[1].set
    for file in found:
        assert (file.total, file.chunk, file.complete, file.value_bytes) == (PARTICLES, CHUNK, True, SIZES)
        file.checked()
        assert file.values == cut(expected, file.ranges)
    right(launcher.run(mpi, stage(scratch, "out"), 3))
    assert canonical.read_bytes() == expected
    assert results(scratch)["copied",] == len(expected)
    for store in "ab":
        assert not (scratch / store / "hacc-io.near.staging").exists()
        (scratch / store / "hacc-io.near").unlink()
    right(launcher.run(mpi, stage(scratch, "in", "--chunk", "70"), 4))
    for store in "ab":
        file = near_files.read(scratch / store / "hacc-io.near")
        file.checked()
        assert (file.chunk, file.values) == (70, cut(expected, file.ranges))
    right(launcher.run(mpi, hacc(scratch, "--read", method="mpiio-collective"), 3))
    assert [path.name for path in (scratch / "global").iterdir()] == ["hacc-io.dat"]


@pytest.mark.parametrize("method", ["window", "mpiio", "posix"])
def test_restart_in_the_same_run_leaves_nothing(method, launcher, scratch):
    topology(scratch, "aab")
    right(launcher.run(MPI, hacc(scratch, method=method), 3))
    assert not [*(scratch / "a").iterdir(), *(scratch / "b").iterdir()]


def write(launcher, scratch: Path, stores: str = "aab") -> list[Path]:
    topology(scratch, stores)
    right(launcher.run(MPI, hacc(scratch, "--write"), len(stores)))
    return [scratch / store / "hacc-io.near" for store in sorted(set(stores))]


def test_an_interrupted_copy_goes_on(launcher, scratch, expected):  # noqa: F811
    """Each of 3 ranks stops after 2 of its units; what was noted isn't copied again."""
    write(launcher, scratch)
    canonical = scratch / "global" / "hacc-io.dat"
    record_bytes = sum(SIZES)
    for direction in ("out", "in"):
        more = ["--chunk", str(CHUNK)] if direction == "in" else []
        if direction == "in":
            for store in "ab":
                (scratch / store / "hacc-io.near").unlink()
        stopped = launcher.run(MPI, stage(scratch, direction, "--test-stop", "2", *more), 3)
        assert stopped.code not in (0, None), stopped.text()
        assert "stopped after 2 units" in stopped.err
        assert canonical.exists() == (direction == "in"), "half a file has its final name"
        right(launcher.run(MPI, stage(scratch, direction, *more), 3))
        told = results(scratch)
        assert told["done-before",] % record_bytes == 0
        # The ranks stop one by one: at least the first has noted its units.
        assert 2 * CHUNK * record_bytes <= told["done-before",] <= 6 * CHUNK * record_bytes
        assert told["copied",] == len(expected) - told["done-before",]
    assert canonical.read_bytes() == expected
    right(launcher.run(MPI, hacc(scratch, "--read"), 3))


def test_what_was_copied_before_is_worth_nothing_if_the_target_is_new(launcher, scratch, expected):  # noqa: F811
    write(launcher, scratch)
    assert launcher.run(MPI, stage(scratch, "out", "--test-stop", "2"), 3).code != 0
    [part] = (scratch / "global").iterdir()
    part.unlink()
    right(launcher.run(MPI, stage(scratch, "out"), 3))
    assert results(scratch)["done-before",] == 0
    assert (scratch / "global" / "hacc-io.dat").read_bytes() == expected


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def mark_incomplete(path: Path) -> None:
    """As a checkpoint that was interrupted: the header's own checksum is right."""
    data = bytearray(path.read_bytes())
    data[64:68] = bytes(4)
    length = int.from_bytes(data[16:24], "little")
    data[8:16] = near_files.xxh64(bytes(data[:8]) + bytes(8) + bytes(data[16:length])).to_bytes(8, "little")
    path.write_bytes(data)


DAMAGE = {
    "data": (lambda path: flip(path, -1), "is wrong", "variable 8 of records 1225 to 1236 doesn't fit its checksum"),
    "header": (lambda path: flip(path, 30), "header is damaged", "header is damaged"),
    "checksums": (lambda path: flip(path, 500), "header is damaged", "header is damaged"),
    "incomplete": (mark_incomplete, "wasn't completed", "wasn't completed"),
    "short": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "its header says", "its header says"),
    "other": (lambda path: path.write_bytes(b"x" * 5000), "not a neighborhood's file", "not a neighborhood's file"),
    "missing": (Path.unlink, "No such file", "No such file"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(damage, launcher, scratch):
    path = write(launcher, scratch)[1]
    change, at_restart, at_staging = DAMAGE[damage]
    change(path)
    for words, reason in ((hacc(scratch, "--read"), at_restart), (stage(scratch, "out"), at_staging)):
        outcome = launcher.run(MPI, words, 3)
        assert outcome.code not in (0, None), outcome.text()
        assert reason in outcome.err
    assert not (scratch / "global" / "hacc-io.dat").exists()


def test_files_of_two_checkpoints_do_not_mix(launcher, scratch):
    b = write(launcher, scratch)[1]
    kept = b.read_bytes()
    right(launcher.run(MPI, hacc(scratch, "--write"), 3))
    b.write_bytes(kept)
    for words in (hacc(scratch, "--read"), stage(scratch, "out")):
        outcome = launcher.run(MPI, words, 3)
        assert outcome.code not in (0, None), outcome.text()
        assert "of another checkpoint than rank 0's file" in outcome.err


def test_nodes_that_are_not_there_are_missed(launcher, scratch):
    write(launcher, scratch)
    for words in (hacc(scratch, "--read"), stage(scratch, "out")):
        outcome = launcher.run(MPI, words, 2)  # both in "a"
        assert outcome.code not in (0, None), outcome.text()
        assert f"of {PARTICLES}" in outcome.err


def test_a_wrong_byte_in_the_copy_is_found(launcher, scratch):
    write(launcher, scratch)
    outcome = launcher.run(MPI, stage(scratch, "out", "--test-corrupt"), 3)
    assert outcome.code == 1, outcome.text()
    assert "the data are wrong" in outcome.err
    assert not (scratch / "global" / "hacc-io.dat").exists()
    right(launcher.run(MPI, stage(scratch, "out"), 3))
    outcome = launcher.run(MPI, stage(scratch, "in", "--test-corrupt"), 3)
    assert outcome.code == 1, outcome.text()


def test_fewer_records_than_ranks(launcher, scratch):
    topology(scratch, "abc")
    right(launcher.run(MPI, hacc(scratch, "--write", "--particles", "2"), 3))
    right(launcher.run(MPI, stage(scratch, "out"), 3))
    right(launcher.run(MPI, stage(scratch, "in"), 3))
    right(launcher.run(MPI, hacc(scratch, "--read", "--particles", "2"), 3))
    assert (scratch / "global" / "hacc-io.dat").stat().st_size == 2 * PARTICLE_BYTES


# --- exchange ---


def exchange(scratch: Path, *arguments: str) -> list[str | Path]:
    words = ["sill-exchange", "--near", topology(scratch, "abab"), "--store", scratch / "global", "--sizes", "5,64k"]
    return [*words, "--rounds", "4", "--json", scratch / "result.json", *arguments]


def test_exchange(mpi, launcher, scratch):
    right(launcher.run(mpi, exchange(scratch), 4))
    told = results(scratch, "bytes", "placement", "partner", "statistic")
    for size in ("5", "65536"):
        assert told["exchanges", size, "aware", "any", None] == 16
        assert 0 < told["exchanges", size, "aware", "near", None] < 16
        for placement in ("aware", "global"):
            low, mean, high = (told["time", size, placement, "any", s] for s in ("min", "mean", "max"))
            assert 0 < low <= mean <= high
    assert not [path for store in ("a", "b", "global") for path in (scratch / store).iterdir()]


def test_exchange_leaves_blocks_where_its_consumers_look(launcher, scratch):
    right(launcher.run(MPI, exchange(scratch, "--keep"), 4))
    assert {path.name for path in (scratch / "a").iterdir()} == {"exchange.0", "exchange.2"}
    assert {path.name for path in (scratch / "global").iterdir()} == {f"exchange.{rank}" for rank in range(4)}


def test_exchange_finds_a_wrong_byte(launcher, scratch):
    outcome = launcher.run(MPI, exchange(scratch, "--test-corrupt"), 4)
    assert outcome.code == 1, outcome.text()
    assert "the block of rank 0 is wrong" in outcome.err


# --- split ---


def test_split(mpi, launcher, scratch):
    words = ["sill-split", "--near", topology(scratch, "aab"), "--repetitions", "3", "--json", scratch / "result.json"]
    right(launcher.run(mpi, words, 3))
    told = results(scratch, "count", "method", "statistic", "kind")
    for count in ("1", "2", "3"):
        for method in ("none", "heuristic", "exhaustive", "fingerprint", "auto"):
            low, middle, high = (told["time", count, method, s, None] for s in ("low", "median", "high"))
            assert 0 < low <= middle <= high
    creates = {
        method: told["operations", "3", method, None, "create"] for method in ("heuristic", "exhaustive", "auto")
    }
    assert creates["heuristic"] == 1
    assert creates["exhaustive"] >= 3
    assert creates["auto"] <= 2, "more than stores"
    assert not [path for store in "ab" for path in (scratch / store).iterdir()]


def test_split_finds_methods_that_do_not_agree(launcher, scratch):
    words = ["sill-split", "--near", topology(scratch, "aab"), "--repetitions", "1", "--test-corrupt"]
    outcome = launcher.run(MPI, words, 3)
    assert outcome.code == 1, outcome.text()
    assert "auto and exhaustive don't agree" in outcome.err


# --- options ---

HACC, STAGE = ["sill-hacc-io", "--layout", "neighborhood"], ["sill-stage", "--near", "n/f", "--file", "f"]
WRONG = [
    ([*HACC], "name the near store's folder with --near"),
    ([*HACC, "--near", "x", "--window", "memory"], "--layout neighborhood needs --window storage"),
    ([*HACC, "--near", "x", "--chunk", "0"], "--chunk 0: at least 1"),
    (["sill-hacc-io", "--layout", "here"], "--layout here: global or neighborhood"),
    ([*STAGE], "say out or in"),
    ([*STAGE, "up"], "say out or in"),
    (["sill-stage", "out"], "--near and --file: name both"),
    (["sill-exchange"], "--near: name the near store's folder"),
    (["sill-exchange", "--near", "x", "--sizes", "0"], "--sizes 0: not a list"),
    (["sill-exchange", "--near", "x", "--rounds", "0"], "--rounds: 1 to"),
    (["sill-split"], "--near: name the directory"),
    (["sill-split", "--near", "x", "--methods", "magic"], "--methods magic: one is unknown"),
    (["sill-split", "--near", "x", "--counts", "3"], "--counts 3: not a list of numbers of up to 2 ranks"),
    (["sill-split", "--near", "x", "--repetitions", "0"], "--repetitions: 1 to"),
]


@pytest.mark.parametrize(("words", "reason"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_says_what_is_wrong(words, reason, launcher):
    outcome = launcher.run(MPI, words, 2)
    assert outcome.code == 2, outcome.text()
    said = [line for line in outcome.err.splitlines() if line.startswith(f"{words[0]}: ")]
    assert len(said) == 1, outcome.text()
    assert reason in said[0]


@pytest.mark.parametrize(
    "words", [[*HACC, "--window", "storage"], ["sill-stage", "--file", "f", "in"], ["sill-exchange", "--sizes", "5"]]
)
def test_a_rank_without_the_folder(words, launcher, scratch):
    """Where not every rank has a near store: an error for those that need one, while an exchange goes on without."""
    topology(scratch, "aa")
    (scratch / NEAR_OF.format(1)).unlink()
    (scratch / "f").write_bytes(bytes(PARTICLE_BYTES))
    near = scratch / NEAR / "x" if words[0] == "sill-stage" else scratch / NEAR
    outcome = launcher.run(MPI, [*words, "--near", near, "--quiet"], 2, cwd=scratch)
    if words[0] == "sill-exchange":
        right(outcome)
        return
    assert outcome.code not in (0, None), outcome.text()
    assert "this rank has no " in outcome.err
