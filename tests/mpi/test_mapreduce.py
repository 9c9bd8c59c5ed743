"""sill-mapreduce counts exactly: with every window, by both engines, and after a kill at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import threading
from collections import Counter
from pathlib import Path

import disks
import pytest
from launching import MPIS, ONE_OF_EACH, ROOT

LONG_WORD = "Abcdefghij" * 12_000  # longer than any task


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
    folder = make_text(tmp_path_factory.mktemp("mapreduce") / "small text", 300_000)
    return folder, count(folder)


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> tuple[Path, Counter[str]]:
    folder = make_text(tmp_path_factory.mktemp("mapreduce") / "large text", 1_000_000)
    return folder, count(folder)


def times_of(folder: Path) -> dict[Path, int]:
    """When something was made or removed in each folder, or a file was written."""
    return {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


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


WINDOWS = {
    "memory": ["--window", "memory"],
    "storage": ["--window", "storage", "--checkpoint"],
    "combined": ["--window", "combined", "--factor", "0.5"],
    "2s": ["--engine", "2s", "--checkpoint"],
}


def command(store: Path, kind: str, *more: str | Path) -> list[str | Path]:
    return ["sill-mapreduce", *WINDOWS[kind], "--store", store, "--task-size", "16k", *more]


@pytest.mark.parametrize(
    ("kind", "ranks"),
    [("memory", 1), ("memory", 3), ("storage", 1), ("storage", 4), ("combined", 2), ("2s", 1), ("2s", 3)],
)
def test_counts_and_leaves_nothing(mpi, kind, ranks, launcher, small, scratch):
    folder, expected = small
    before = times_of(folder)
    counts, result, store = scratch / "counts", scratch / "result.json", scratch / "a store, 100%"
    store.mkdir()
    words = command(store, kind, "--counts", counts, "--json", result, "--top", "3", folder)
    outcome = launcher.run(mpi, words, ranks)
    assert outcome.code == 0, outcome.text()
    assert words_of(counts) == expected, outcome.text()
    assert list(store.iterdir()) == []
    assert times_of(folder) == before  # what an MPI library makes there, a kill would leave behind as input
    told = json.loads(result.read_text())
    assert told["verified"] is True
    numbers = {entry["name"]: entry["value"] for entry in told["results"] if not entry["labels"]}
    assert numbers["words"] == sum(expected.values())
    assert numbers["different words"] == len(expected)
    assert numbers["checkpoints"] >= (numbers["tasks"] if "--checkpoint" in words else 0)
    first = told["notes"]["top 1"].replace(",", "").split()
    assert (int(first[0]), first[1]) == (max(expected.values()), max(sorted(expected), key=expected.get))


@pytest.mark.parametrize("more", [[], ["--fixed"], ["--engine", "2s"]], ids=" ".join)
def test_counts_skewed_input_without_sill(mpi, more, launcher, small, scratch):
    folder, expected = small
    counts, result = scratch / "counts", scratch / "result.json"
    words = command(scratch, "memory", *more, "--distribution", "skewed", "--skew", "0.8", "--counts", counts)
    outcome = launcher.run(mpi, [*words, "--json", result, folder], 4, sill=False)
    assert outcome.code == 0, outcome.text()
    assert words_of(counts) == expected, outcome.text()
    results = json.loads(result.read_text())["results"]
    taken = next(entry["value"] for entry in results if entry["name"] == "tasks of other ranks")
    assert more == [] or taken == 0


@pytest.mark.parametrize("path", ["native", "create"])
def test_rules_put_the_windows_on_storage(mpi, path, launcher, small, scratch):
    folder, expected = small
    counts = scratch / "counts"
    env = {"SILL_WINDOWS": f"alloc_type=storage,storage_alloc_filename={scratch}/w%w.%r", "SILL_WINDOW_PATH": path}
    words = command(scratch, "memory", "--checkpoint", "--keep", "--counts", counts)
    first = launcher.run(mpi, [*words, folder], 2, env=env)
    assert first.code == 0, first.text()
    assert len(list(scratch.glob("w[0-2].[01]"))) == 4
    again = launcher.run(mpi, [*words, "--resume", "--events", folder], 2, env=env)
    assert again.code == 0, again.text()
    assert words_of(counts) == expected, again.text()
    restored = last(events_of(again.out), "restored")
    assert restored["bytes"] == restored["bytes_total"]


KILLS = [("task", 1), ("checkpoint", 2), ("reduce", 0)]


@pytest.mark.parametrize(("stage", "rank"), KILLS)
def test_killed_in_a_stage(mpi, stage, rank, launcher, small, scratch):
    folder, expected = small
    counts = scratch / "counts"
    words = command(scratch, "storage", "--events", "--resume", "--counts", counts)
    kill = ["--kill-rank", str(rank), "--kill-at", "0.5", "--kill-in", stage]
    first = launcher.run(mpi, [*words, *kill, folder], 3)
    assert first.code not in (0, None), first.text()
    before = events_of(first.out)
    assert last(before, "kill"), first.text()
    assert not counts.exists()

    second = launcher.run(mpi, [*words, folder], 3)
    assert second.code == 0, second.text()
    restored = last(events_of(second.out), "restored")
    assert restored, second.text()
    assert restored["checkpoints"] >= (last(before, "progress") or {"checkpoints": 0})["checkpoints"]
    assert restored["bytes"] >= restored["bytes_total"] / 3
    assert words_of(counts) == expected, second.text()
    assert second.out.count('"done"') == 1


def live_and_be_killed(launcher, mpi, words: list, rng: random.Random, moment: float | None) -> tuple[list[dict], str]:
    """Kill a random rank so many seconds after the first sign of life, None for never. Returns what it told, and all
    it wrote."""
    events: list[dict] = []
    text = ""
    with launcher.start(mpi, words, 3) as job, job.limited():
        timer = None
        for line in job.process.stdout:
            text += line
            events += events_of(line)
            if moment is not None and timer is None and '"start"' in line:
                timer = threading.Timer(moment, kill_one, (job, rng))
                timer.start()
        if timer:
            timer.cancel()
            timer.join()
        outcome = job.finish()
    return events, text + outcome.err


def kill_one(job, rng: random.Random) -> None:
    if pids := job.pids("sill-mapreduce"):  # none: done meanwhile
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice(pids), signal.SIGKILL)


def test_killed_at_random_again_and_again(mpi, launcher, large, scratch):
    """4 kills for each MPI; each life begins at or after the last checkpoint that the one before it told of."""
    folder, expected = large
    rng = random.Random(f"{mpi.name} 1")
    counts = scratch / "counts"
    words = ["sill-mapreduce", *WINDOWS["storage"], "--store", scratch, "--task-size", "8k", "--resume", "--events"]
    words += ["--no-verify", "--counts", counts, folder]
    checkpoints, kills, longest = 0, 0, 0.05
    for _ in range(50):  # lives: a program may be done before it is killed
        events, text = live_and_be_killed(launcher, mpi, words, rng, rng.uniform(0, longest) if kills < 4 else None)
        restored = last(events, "restored") or {"checkpoints": 0}
        assert restored["checkpoints"] >= checkpoints, text
        if last(events, "done"):
            assert words_of(counts) == expected, text
            if kills == 4:
                return
            checkpoints = 0  # its files are gone
            continue
        kills += 1
        assert kills <= 4, text
        checkpoints = (last(events, "progress") or restored)["checkpoints"]
    pytest.fail(f"{kills} kills in 50 lives")


REFUSED = {
    "other ranks": (["--task-size", "16k"], 2, r"that of 3 ranks, not 2"),
    "other tasks": (["--task-size", "32k"], 3, r"with --task-size 16384"),
}


@pytest.mark.parametrize("mpi", ONE_OF_EACH, ids=lambda mpi: mpi.name)
def test_refuses_what_does_not_belong_together(mpi, launcher, small, scratch):
    folder, expected = small
    counts = scratch / "counts"
    words = command(scratch, "storage", "--keep", "--quiet", "--counts", counts, folder)
    assert launcher.run(mpi, words, 3).code == 0
    files = sorted(scratch.glob("mapreduce-*.[0-9]"))
    assert len(files) == 6
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    for arguments, ranks, reason in REFUSED.values():
        outcome = launcher.run(mpi, [*words, *arguments, "--resume"], ranks)
        assert outcome.code == 1, outcome.text()
        assert re.search(reason, outcome.err), outcome.text()

    flip_byte(scratch / "mapreduce-log.1", 500)
    damaged = launcher.run(mpi, [*words, "--resume"], 3)
    assert damaged.code == 1, damaged.text()
    assert "the log of rank 1 is damaged" in damaged.err

    counts.unlink()
    fresh = launcher.run(mpi, words, 3)
    assert fresh.code == 0, fresh.text()
    assert words_of(counts) == expected

    (scratch / "mapreduce-log.2").write_bytes(b"somebody's thesis" * 1000)
    foreign = launcher.run(mpi, words, 3)
    assert foreign.code == 1, foreign.text()
    assert "holds something else" in foreign.err
    assert (scratch / "mapreduce-log.2").read_bytes().startswith(b"somebody's thesis")


@pytest.mark.parametrize("content", [b"notes", b"somebody's thesis" * 1000], ids=["short", "long"])
def test_2s_leaves_a_file_of_somebody_else_alone(mpi, content, launcher, small, scratch):
    store = scratch / "mapreduce-2s"
    store.write_bytes(content)
    foreign = launcher.run(mpi, command(scratch, "2s", small[0]), 2)
    assert foreign.code == 1, foreign.text()
    assert "mapreduce-2s holds something else" in foreign.err
    assert store.read_bytes() == content


def flip_byte(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_the_self_check_sees_a_wrong_count(launcher, small, scratch):
    """The counts that are restored are those of a text in which a letter has changed since, unnoticed."""
    mpi = MPIS[0]
    text = scratch / "text"
    shutil.copytree(small[0], text, symlinks=True)
    words = command(scratch, "storage", "--keep", "--resume", text)
    assert launcher.run(mpi, words, 2).code == 0
    part = text / "joined 2"
    times = part.stat()
    part.write_text("wort")
    os.utime(part, ns=(times.st_atime_ns, times.st_mtime_ns))
    wrong = launcher.run(mpi, words, 2)
    assert wrong.code == 1, wrong.text()
    assert "the data are wrong" in wrong.err

    (text / "one more").write_text("word")
    other = launcher.run(mpi, words, 2)
    assert other.code == 1, other.text()
    assert "another input" in other.err


FULL = ["--hint", "storage_alloc_reserve=full"]
WRONG = [
    (["--log", "1k"], 1, "choose a larger --log"),
    (["--result", "1k"], 1, "choose a larger --result"),
    (["--window", "storage", "--store", "/nonexistent/folder"], 1, "/nonexistent/folder"),
    (["--checkpoint"], 1, "--checkpoint needs windows wholly on storage"),
    (["/nonexistent/text"], 1, "/nonexistent/text"),
    (["--task-size", "1x"], 2, "--task-size 1x"),
    (["--engine", "3s"], 2, "--engine 3s"),
    (["--engine", "1s|2s"], 2, "--engine 1s|2s"),
    (["--engine", "2s", "--resume"], 2, "without --resume"),
    (["--nonsense"], 2, "--nonsense: unknown option"),
]


@pytest.mark.parametrize("mpi", ONE_OF_EACH, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize(("arguments", "code", "reason"), WRONG)
def test_says_what_is_wrong(mpi, arguments, code, reason, launcher, small):
    """All ranks end, nobody waits for another."""
    words = ["sill-mapreduce", "--task-size", "16k", *arguments, small[0]]
    outcome = launcher.run(mpi, words, 3, timeout=60)
    assert outcome.code == code, outcome.text()
    said = [line for line in outcome.err.splitlines() if line.startswith("sill-mapreduce: ")]
    assert said, outcome.text()
    assert reason in said[0]


@pytest.mark.parametrize("mpi", ONE_OF_EACH, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize(("more", "reason"), [([], "no space left on the device"), (FULL, "No space left on device")])
def test_a_full_store_is_an_error(mpi, more, reason, launcher, small, scratch):
    """Files with holes, as the default is, fill it; of whole ones there is no room from the beginning."""
    disks.need_root("mount")
    with disks.tmpfs(scratch / "store", disks.MIB // 4):
        outcome = launcher.run(mpi, command(scratch / "store", "storage", *more, small[0]), 3, timeout=60)
    assert outcome.code not in (0, None), outcome.text()
    assert re.search(f"{scratch}/store/mapreduce-.*{reason}", outcome.err), outcome.text()


def test_storage_without_sill_is_an_error(mpi, launcher, small, scratch):
    outcome = launcher.run(mpi, command(scratch, "storage", small[0]), 2, sill=False)
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
    assert re.search(r"restored from checkpoint [1-9]", done.stdout)
    assert "equal to tr | sort | uniq -c: yes" in done.stdout
    dirty = r"  dirty [\d.]+ MB  synced [\d.]+ MB"  # Linux tells from 6.5 on
    told = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 5)
    progress = rf"^ +\d+%  [\d.]+ MB read  [\d.]+ M words/s{dirty if told else ''}  \d+ checkpoints"
    assert re.search(progress, done.stdout, re.MULTILINE), done.stdout
    table = re.findall(r"^ +([\d,]+)  ([a-z]+)$", done.stdout, re.MULTILINE)
    top = [(word, int(number.replace(",", ""))) for number, word in table]
    expected = count(text)
    assert [number for _, number in top] == [number for _, number in expected.most_common(3)]
    assert all(expected[word] == number for word, number in top)
    assert not re.search(r"warning|error|BAD TERMINATION|mpiexec|prterun", done.stdout, re.IGNORECASE)
