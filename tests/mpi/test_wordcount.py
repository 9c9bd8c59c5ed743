"""sill-wordcount counts exactly: in memory, on storage, and after a kill at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import stat
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from launching import MPIS, ROOT

BY_NAME = {mpi.name: mpi for mpi in MPIS}
LONG_WORD = "Abcdefghij" * 12_000  # longer than any task, and than the letters a slot holds


def make_text(folder: Path, size: int) -> Path:
    """Text with everything that may go wrong: words across the borders of tasks, files without a line end at their
    end, empty files, bytes that are no text, names with blanks, links."""
    rng = random.Random(7)
    syllables = ["ka", "lo", "mi", "tess", "u", "Wer", "GRO", "y"]
    vocabulary = ["".join(rng.choices(syllables, k=rng.randint(1, 5))) for _ in range(20_000)]
    folder.mkdir()
    (folder / "a folder").mkdir()
    (folder / "empty").touch()
    (folder / "nowords").write_bytes(bytes(range(65)) * 100)
    (folder / "joined 1").write_bytes(b"half")
    (folder / "joined 2").write_bytes(b"word")
    (folder / "long").write_text(f"x {LONG_WORD} y {LONG_WORD.lower()} {LONG_WORD}z")
    (folder / "latin").write_bytes("na\u00efve caf\u00e9 na\u00efve \u00dcber".encode("latin-1"))
    (folder / "link").symlink_to("long")
    for number in range(8):
        words = (rng.choice(vocabulary) + rng.choice(" \n\t.,-0\0") for _ in range(size // 72))
        (folder / "a folder" / f"part {number}.txt").write_text("".join(words))
    return folder


def count(folder: Path) -> Counter[str]:
    """An independent count."""
    words: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            words.update(re.findall(r"[a-z]+", path.read_bytes().decode("latin-1").translate(LOWER)))
    return words


LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}  # A-Z alone, as tr does


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> tuple[Path, Counter[str]]:
    folder = make_text(tmp_path_factory.mktemp("wordcount") / "small text", 300_000)
    return folder, count(folder)


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> tuple[Path, Counter[str]]:
    folder = make_text(tmp_path_factory.mktemp("wordcount") / "large text", 1_000_000)
    return folder, count(folder)


def words_of(path: Path) -> dict[str, int]:
    lines = [line.split() for line in path.read_text().splitlines()]
    assert [word for _, word in lines] == sorted(word for _, word in lines)
    return {word: int(number) for number, word in lines}


def events_of(text: str) -> list[dict]:
    events = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            events.append(json.loads(line))
    return [event for event in events if isinstance(event, dict)]


def last(events: list[dict], kind: str) -> dict | None:
    return next((event for event in reversed(events) if event["event"] == kind), None)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_counts_in_memory_without_sill(mpi, ranks, launcher, small, scratch):
    folder, expected = small
    counts = scratch / "counts"
    arguments = ["--task-size", "16k", "--counts", counts, "--verify", "--window", "memory", folder]
    outcome = launcher.run(mpi, ["sill-wordcount", *arguments], ranks, sill=False)
    assert outcome.code == 0, outcome.text()
    assert words_of(counts) == expected, outcome.text()
    assert "equal to a serial count: yes" in outcome.out


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_counts_on_storage_and_keeps_them(mpi, ranks, launcher, small, scratch):
    folder, expected = small
    counts, result = scratch / "counts", scratch / "result.json"
    store = scratch / "a store, 100%"
    store.mkdir()
    words = ["sill-wordcount", "--task-size", "16k", "--sync-tasks", "9", "--store", store, "--counts", counts, folder]
    first = launcher.run(mpi, words, ranks)
    assert first.code == 0, first.text()
    assert words_of(counts) == expected, first.text()
    files = sorted(store.glob("wordcount.[0-9]"))
    assert len(files) == ranks
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}

    counts.unlink()
    again = launcher.run(mpi, [*words, "--json", result], ranks)
    assert again.code == 0, again.text()
    assert words_of(counts) == expected, again.text()
    told = json.loads(result.read_text())
    assert told["restored_bytes"] == told["bytes"] > 0
    assert told["words"] == sum(expected.values())
    assert told["different_words"] == len(expected)


@pytest.mark.parametrize("path", ["native", "create"])
def test_rules_put_the_table_on_storage(mpi, path, launcher, small, scratch):
    folder, expected = small
    counts = scratch / "counts"
    env = {"SILL_WINDOWS": f"alloc_type=storage,storage_alloc_filename={scratch}/w%w.%r", "SILL_WINDOW_PATH": path}
    words = ["sill-wordcount", "--task-size", "32k", "--counts", counts, folder]
    outcome = launcher.run(mpi, words, 2, env=env)
    assert outcome.code == 0, outcome.text()
    assert words_of(counts) == expected, outcome.text()
    assert "the table is on storage" in outcome.out


@pytest.mark.parametrize("stage", ["task", "sync", "commit", "copy"])
def test_killed_in_a_stage(mpi, stage, launcher, small, scratch):
    folder, expected = small
    counts = scratch / "counts"
    words = ["sill-wordcount", "--task-size", "16k", "--sync-tasks", "6", "--store", scratch, "--progress", "json"]
    rank = {"task": 1, "sync": 2, "commit": 0, "copy": 1}[stage]
    first = launcher.run(mpi, [*words, "--kill-rank", str(rank), "--kill-at", "0.5", "--kill-in", stage, folder], 3)
    assert first.code not in (0, None), first.text()
    before = events_of(first.out)
    assert last(before, "kill"), first.text()

    second = launcher.run(mpi, [*words, "--counts", counts, folder], 3)
    assert second.code == 0, second.text()
    restored = last(events_of(second.out), "restored")
    assert restored, second.text()
    assert restored["syncs"] >= last(before, "progress")["syncs"]
    assert 0 < restored["bytes"] < restored["bytes_total"]
    assert words_of(counts) == expected, second.text()


def live_and_be_killed(launcher, mpi, words: list, rng: random.Random, signs: int) -> tuple[list[dict], str]:
    """Kill a random rank after so many signs of progress, 0 for never. Returns what it told, and all it wrote."""
    events: list[dict] = []
    pids: list[int] = []
    text = ""
    with launcher.start(mpi, words, 3) as job, job.limited():
        for line in job.process.stdout:
            text += line
            events += events_of(line)
            pids = pids or job.pids("sill-wordcount")
            if '"progress"' not in line:
                continue
            signs -= 1
            if signs == 0:
                with contextlib.suppress(ProcessLookupError):  # done meanwhile
                    os.kill(rng.choice(pids), signal.SIGKILL)
        outcome = job.finish()
    return events, text + outcome.err


def test_killed_at_random_again_and_again(mpi, launcher, large, scratch):
    """4 kills for each MPI; each life begins at or after the last sync that the one before it told of."""
    folder, expected = large
    rng = random.Random(f"{mpi.name} 1")
    counts = scratch / "counts"
    words = ["sill-wordcount", "--task-size", "8k", "--sync-tasks", "2", "--store", scratch, "--progress", "json"]
    words += ["--counts", counts, folder]
    synced, bytes_synced, kills = 0, 0, 0
    for _ in range(50):  # lives: a program may be done before the test that reads what it tells gets to kill it
        events, text = live_and_be_killed(launcher, mpi, words, rng, rng.randint(2, 8) if kills < 4 else 0)
        restored = last(events, "restored") or {"syncs": 0, "bytes": 0}
        assert restored["syncs"] >= synced, text
        assert restored["bytes"] >= bytes_synced, text
        if last(events, "done"):
            assert words_of(counts) == expected, text
            if kills == 4:
                return
            for file in scratch.iterdir():
                file.unlink()
            synced, bytes_synced = 0, 0
            continue
        kills += 1
        assert kills <= 4, text
        progress = last(events, "progress") or restored
        synced, bytes_synced = progress["syncs"], restored["bytes"]
    pytest.fail(f"{kills} kills in 50 lives")


REFUSED = {
    "other ranks": (["--task-size", "16k"], 2, r"that of 3 ranks, not 2"),
    "other tasks": (["--task-size", "32k"], 3, r"begun with --task-size 16384"),
    "other table": (["--task-size", "16k", "--capacity", "500k"], 3, r"begun with --capacity"),
}


@pytest.mark.parametrize("name", ["mpich5", "ompi4"])
def test_refuses_what_does_not_belong_together(name, launcher, small, scratch):
    if name not in BY_NAME:
        pytest.skip(f"no {name} here")
    mpi, (folder, expected) = BY_NAME[name], small
    counts = scratch / "counts"
    words = ["sill-wordcount", "--progress", "none", "--store", scratch, "--counts", counts, folder]
    assert launcher.run(mpi, [*words, "--task-size", "16k"], 3).code == 0
    for arguments, ranks, reason in REFUSED.values():
        outcome = launcher.run(mpi, [*words, *arguments], ranks)
        assert outcome.code == 1, outcome.text()
        assert re.search(reason, outcome.err), outcome.text()

    with (scratch / "wordcount.1").open("r+b") as file:  # a count somewhere in both generations
        content = bytearray(file.read())
        for at in range(len(content) // 4, len(content), len(content) // 2):
            content[at] ^= 1
        file.seek(0)
        file.write(content)
    damaged = launcher.run(mpi, [*words, "--task-size", "16k"], 3)
    assert damaged.code == 1, damaged.text()
    assert "rank 1: its part of the table is damaged" in damaged.err

    counts.unlink()
    fresh = launcher.run(mpi, [*words, "--task-size", "16k", "--fresh"], 3)
    assert fresh.code == 0, fresh.text()
    assert words_of(counts) == expected

    (scratch / "wordcount.2").write_bytes(b"somebody's thesis" * 1000)
    foreign = launcher.run(mpi, [*words, "--task-size", "16k", "--fresh"], 3)
    assert foreign.code == 1, foreign.text()
    assert "holds something else" in foreign.err
    assert (scratch / "wordcount.2").read_bytes().startswith(b"somebody's thesis")


def test_notices_that_the_input_has_changed(launcher, scratch):
    mpi = MPIS[0]
    folder = make_text(scratch / "text", 100_000)
    store = scratch / "store"
    store.mkdir()
    words = ["sill-wordcount", "--store", store, folder]
    assert launcher.run(mpi, words, 2).code == 0
    (folder / "one more").write_text("word")
    outcome = launcher.run(mpi, words, 2)
    assert outcome.code == 1, outcome.text()
    assert "another input" in outcome.err


WRONG = [
    (["--capacity", "100"], 1, "the table is full"),
    (["--heap", "1k"], 1, "no room for a word of 120000 letters"),
    (["--store", "/nonexistent/folder"], 1, "/nonexistent/folder"),
    (["/nonexistent/text"], 1, "/nonexistent/text"),
    (["--task-size", "1x"], 2, "--task-size 1x: text after the number"),
    (["--kill-at", "nan"], 2, "--kill-at nan"),
    (["--window", "storage"], 2, "needs --store"),
    (["--nonsense"], 2, "--nonsense: unknown option"),
]


@pytest.mark.parametrize("name", ["mpich5", "ompi4"])
@pytest.mark.parametrize(("arguments", "code", "reason"), WRONG)
def test_says_what_is_wrong(name, arguments, code, reason, launcher, small):
    """One line from one rank, all ranks end, nobody waits for another."""
    if name not in BY_NAME:
        pytest.skip(f"no {name} here")
    words = ["sill-wordcount", "--task-size", "16k", "--progress", "none", *arguments, small[0]]
    outcome = launcher.run(BY_NAME[name], words, 3, timeout=60)
    assert outcome.code == code, outcome.text()
    said = [line for line in outcome.err.splitlines() if line.startswith("sill-wordcount: ")]
    assert len(said) == 1, outcome.text()
    assert reason in said[0]


def test_storage_without_sill_is_an_error(mpi, launcher, small, scratch):
    outcome = launcher.run(mpi, ["sill-wordcount", "--store", scratch, small[0]], 2, sill=False)
    assert outcome.code == 1, outcome.text()
    assert "Sill isn't loaded" in outcome.err


def test_the_demonstration(scratch):
    """On a small folder; `make demo` itself takes real text."""
    text = make_text(scratch / "text of the demo", 3_000_000)
    command = [ROOT / "apps" / "demo", "--input", text, "--work", scratch / "the work", "--top", "3"]
    if build := os.environ.get("SILL_BUILD"):
        command += ["--build", build]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "was killed by SIGKILL" in done.stdout
    assert re.search(r"restored from sync [1-9]", done.stdout)
    assert "equal to tr | sort | uniq -c: yes" in done.stdout
    dirty = r"  dirty [\d.]+ MB  synced [\d.]+ MB"  # Linux tells from 6.5 on
    told = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 5)
    progress = rf"^ +\d+%  [\d.]+ MB read  [\d.]+ M words/s{dirty if told else ''}  \d+ syncs"
    assert re.search(progress, done.stdout, re.MULTILINE), done.stdout
    table = re.findall(r"^ +([\d,]+)  ([a-z]+)$", done.stdout, re.MULTILINE)
    top = [(word, int(number.replace(",", ""))) for number, word in table]
    expected = count(text)
    assert [number for _, number in top] == [number for _, number in expected.most_common(3)]
    assert all(expected[word] == number for word, number in top)
    assert not re.search(r"warning|error|BAD TERMINATION|mpiexec|prterun", done.stdout, re.IGNORECASE)
