"""`sill bench`: scenarios, runs with a fake program, results, errors."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from unittest import mock

import pytest
from bench_support import LAUNCHER, MEMORY_AND_STORAGE, PROGRAM, executable, load, measure, started
from command_support import BUILD, MPIS, ROOT
from launching import TIMEOUT_S, Job
from sill import SillError
from sill.bench import jobs, resources, results, runner, scenario
from sill.bench.model import Text
from sill.errors import unwound_by_signals

pytestmark = pytest.mark.quick
COMPARISON = """
[comparisons.mean]
title = "storage : memory"
variant = "storage"
base = "memory"
result = "bandwidth"
paper = 0.44
at_least = 0.82
"""


# --- the scenarios that come with Sill ---


@pytest.mark.parametrize("name", scenario.files())
def test_each_scenario_is_well_formed_also_when_quick(name):
    whole, quick = scenario.load(name), scenario.load(name, quick=True)
    assert whole.title
    assert whole.about
    assert whole.comparisons
    assert whole.figures
    assert [(c.name, c.at_least, c.at_most) for c in whole.comparisons] == [
        (c.name, c.at_least, c.at_most) for c in quick.comparisons
    ]
    assert quick != whole, "no [quick]"


def test_the_scenario_of_the_documentation_is_one(tmp_path):
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    [example] = re.findall(r"```toml\n(.*?)```", text, re.S)
    s = load(tmp_path, example)
    assert [variant.name for variant in s.variants] == ["memory", "storage"]
    assert s.comparisons[0].at_least == {"default": 0.82}


def test_the_documentation_names_every_scenario():
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    for name in scenario.files():
        assert re.search(rf"`(mapreduce)?{name.replace('mapreduce', '')}`", text), name


# --- running ---


def test_variants_take_turns_and_every_sample_is_kept(tmp_path, target, log):
    found = measure(load(tmp_path, MEMORY_AND_STORAGE + COMPARISON), target, tmp_path)
    order = ["memory", "storage", "storage", "memory", "memory", "storage"]
    assert [entry["options"]["window"] for entry in started(log)] == order
    assert [(s["variant"], s["repetition"]) for s in found["samples"]] == list(zip(order, (0, 0, 1, 1, 2, 2)))
    row = found["comparisons"][0]
    assert row["ratios"] == pytest.approx([0.9, 0.9, 0.9])
    assert (row["met"], row["noisy"]) == (True, False)
    assert found["failures"] == []
    assert list((tmp_path / "store").iterdir()) == [], "the windows' files are gone"


def test_only_the_variant_decides_what_is_loaded(tmp_path, target, log, monkeypatch):
    monkeypatch.setenv("SILL_WINDOWS", "alloc_type=storage")
    monkeypatch.setenv("SILL_LOG", "debug")
    monkeypatch.setenv("LD_PRELOAD", "")
    text = (
        MEMORY_AND_STORAGE + 'environment = { SILL_WINDOW_PATH = "create" }\nrule = "access_style=random,x={store}"\n'
    )
    measure(load(tmp_path, text, repetitions=1), target, tmp_path)
    memory, storage = (entry["environment"] for entry in started(log))
    assert not [key for key in memory if key in ("SILL_WINDOWS", "SILL_LOG", "LD_PRELOAD", "SILL_WINDOW_PATH")]
    assert storage["LD_PRELOAD"].endswith("libsill-mpich.so")
    assert storage["SILL_WINDOW_PATH"] == "create"
    assert storage["SILL_WINDOWS"] == f"access_style=random,x={started(log)[1]['options']['store']}"


def test_points_ranks_and_parameters(tmp_path, target, log):
    text = """
    title = "t"
    program = "fake"
    ranks = [1, 2]
    repetitions = 1
    parameters = { all = 1, flag = true, off = false }
    per_rank = { input = "2k" }
    [[points]]
    size = "1m"
    [[points]]
    size = "2m"
    without = ["mpich5"]
    [variants.a]
    [quick]
    parameters = { all = 2 }
    """
    measure(load(tmp_path, text, quick=True), target, tmp_path)
    options = [entry["options"] for entry in started(log)]
    assert [(o["size"], o["input"]) for o in options] == [("1m", "2048"), ("1m", "4096")]
    assert all(o["all"] == "2" and o["flag"] is True and o["no-off"] is True for o in options)
    measure(load(tmp_path, text, ranks=[8], parameters={"all": "7"}), target, tmp_path)
    assert started(log)[-1]["options"]["all"] == "7"
    assert started(log)[-1]["options"]["input"] == str(8 * 2048)


def test_text_is_made_once_for_its_size_and_is_the_same_for_everybody(tmp_path, target, log):
    text = """
    title = "t"
    program = "fake"
    ranks = [1, 2]
    repetitions = 2
    arguments = ["{text}", "more"]
    text = { bytes = "3m", per_rank = true, file_bytes = "2m" }
    [variants.a]
    """
    seen = []
    monkey = resources.text_folder
    with mock.patch.object(resources, "text_folder", lambda *more: seen.append(monkey(*more)) or seen[-1]):
        measure(load(tmp_path, text), target, tmp_path)
    assert len(seen) == 4
    assert [path.name for path in dict.fromkeys(seen)] == ["text-3145728", "text-6291456"]
    assert started(log)[0]["words"] == [str(seen[0]), "more"]
    one, other = (resources.text_folder(tmp_path / make, Text(3 << 20, file_bytes=2 << 20), 1) for make in ("1", "2"))
    files = sorted(one.iterdir())
    assert [path.stat().st_size for path in files] == [2 << 20, 1 << 20]
    assert all(path.read_bytes() == (other / path.name).read_bytes() for path in files)
    assert len(set(files[0].read_text().split())) > 1000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"backing": "memory"}, "storage: its window lay on memory"),
        ({"wrong": True}, "storage: the program found wrong data"),
        ({"fail": "this"}, "storage: exit code 1: .* this went wrong"),
        ({"values": "x"}, "storage: exit code 1"),
    ],
)
def test_a_variant_that_is_not_what_it_is_called_is_a_failure_and_the_others_go_on(tmp_path, target, change, said):
    s = load(tmp_path, MEMORY_AND_STORAGE + COMPARISON, repetitions=2)
    storage = next(v for v in s.variants if v.name == "storage")
    storage.parameters.update(change)
    found = measure(s, target, tmp_path)
    assert len(found["failures"]) == 1, "tried once"
    assert re.search(said, found["failures"][0])
    assert {sample["variant"] for sample in found["samples"]} == {"memory"}
    assert found["comparisons"][0]["met"] is None


def test_sill_where_it_should_not_be_is_a_failure(tmp_path, target):
    s = load(tmp_path, MEMORY_AND_STORAGE.replace('"10,20,40" }', '"10" }\nenvironment = { LD_PRELOAD = "" }'))
    found = measure(s, target, tmp_path)
    assert "memory: it ran with Sill" in found["failures"][0]


def test_without_difference_all_variants_run_as_the_first(tmp_path, target, log):
    s = runner.without_difference(load(tmp_path, MEMORY_AND_STORAGE + COMPARISON, repetitions=1))
    found = measure(s, target, tmp_path)
    assert [entry["options"]["window"] for entry in started(log)] == ["memory", "memory"]
    assert [sample["variant"] for sample in found["samples"]] == ["memory", "storage"]


def test_a_job_that_does_not_end_is_ended(tmp_path, target):
    executable(target.folder / "fake", "#!/bin/sh\ncat <&1 9<>/dev/null; exec tail -f /dev/null\n")
    s = load(tmp_path, MEMORY_AND_STORAGE.replace("repetitions = 3", "repetitions = 1\ntimeout_s = 1"))
    assert "no end after 1 s" in measure(s, target, tmp_path)["failures"][0]


def test_too_little_room_is_said_before_anything_runs(tmp_path, target, log):
    s = load(tmp_path, MEMORY_AND_STORAGE.replace("repetitions = 3", 'disk = "4000000t"'))
    with pytest.raises(SillError, match=r"needed; name another with --store"):
        measure(s, target, tmp_path)
    assert not log.exists()


# --- results ---


def test_results_fit_the_schema_and_come_back(tmp_path, target):
    found = measure(load(tmp_path, MEMORY_AND_STORAGE + COMPARISON, repetitions=1), target, tmp_path)
    path = results.write(found, tmp_path / "r")
    assert results.read(path) == found
    assert results.latest(tmp_path / "r") == {"fake": found}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda r: r.pop("samples"), "no samples"),
        (lambda r: r.update(extra=1), "extra isn't in the schema"),
        (lambda r: r["machine"].update(cores="2"), "results.machine.cores: not of type integer"),
        (lambda r: r["samples"][1]["limit"].update(how="mine"), "results.samples[1].limit.how: 'mine' is none of"),
        (lambda r: r["comparisons"][0]["ratios"].append(True), "results.comparisons[0].ratios[1]: not of type number"),
    ],
)
def test_the_schema_finds_what_is_wrong(tmp_path, target, change, problem):
    found = measure(load(tmp_path, MEMORY_AND_STORAGE + COMPARISON, repetitions=1), target, tmp_path)
    assert results.problems(found) == []
    change(found)
    wrong = results.problems(found)
    assert len(wrong) == 1
    assert problem in wrong[0]


# --- the command ---


@pytest.fixture
def bench(tmp_path, sill, stand_ins):
    """`sill bench` with a build folder that has the fake program; returns what the sill fixture returns."""
    build = tmp_path / "build"
    executable(build / "bin" / MPIS[0].name / "fake", PROGRAM)
    (build / "lib").symlink_to(stand_ins)
    launcher = executable(tmp_path / "launch", LAUNCHER)
    more = ["--build", build, "--mpiexec", launcher, "--results", tmp_path / "r", "--store", tmp_path / "s"]

    def run(*words):
        return sill("bench", *words, *(more if words[0] == "run" else []))

    return run


def test_run_prints_the_goals_and_where_the_results_are(tmp_path, bench):
    load(tmp_path, MEMORY_AND_STORAGE + COMPARISON)
    done = bench("run", tmp_path / "fake.toml")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "storage : memory" in line)
    assert line.split()[-6:] == ["0.900", "0%", "0.44", ">=", "0.82", "met"]
    assert f"results: {tmp_path}/r/" in done.stdout
    assert "[1/6] fake: " in done.stderr
    single = bench("run", tmp_path / "fake.toml", "--repetitions", "1").stdout
    assert "0%" not in single
    assert "one repetition" in single


def test_a_failure_is_exit_code_1_and_so_is_a_missed_goal_with_strict(tmp_path, bench):
    load(tmp_path, MEMORY_AND_STORAGE + COMPARISON.replace("0.82", "0.95"))
    assert bench("run", tmp_path / "fake.toml", "--repetitions", "1").returncode == 0
    done = bench("run", tmp_path / "fake.toml", "--repetitions", "1", "--strict")
    assert done.returncode == 1
    assert "MISSED" in done.stdout
    done = bench("run", tmp_path / "fake.toml", "--set", "fail=this", "--repetitions", "1")
    assert done.returncode == 1
    assert "NOT MEASURED: " in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_job_and_what_it_made(number, tmp_path, harness_environment, stand_ins):
    """A batch system sends SIGTERM, a closed terminal SIGHUP; nobody else ends what a run has started."""
    load(tmp_path, MEMORY_AND_STORAGE)
    os.mkfifo(tmp_path / "started")
    waits = f"#!/bin/sh\necho $$ >{tmp_path}/started\nexec tail -f /dev/null\n"
    executable(tmp_path / "build" / "bin" / MPIS[0].name / "fake", waits)
    (tmp_path / "build" / "lib").symlink_to(stand_ins)
    launcher = executable(tmp_path / "launch", LAUNCHER)
    words = ["bench", "run", tmp_path / "fake.toml", "--build", tmp_path / "build", "--mpiexec", launcher]
    words += ["--results", tmp_path / "r", "--store", tmp_path / "s"]
    # Whoever runs the tests may ignore a signal (nohup), and the command would, too.
    command = ["env", "--default-signal", sys.executable, "-m", "sill", *map(str, words)]
    with Job(command, harness_environment) as job:
        started = os.open(tmp_path / "started", os.O_RDONLY | os.O_NONBLOCK)
        assert select.select([started], [], [], TIMEOUT_S)[0], job.finish(timeout=0).text()
        pid = int(os.read(started, 99))
        os.close(started)
        job.process.send_signal(number)
        outcome = job.finish()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    assert outcome.code == 128 + number, outcome.text()
    assert list((tmp_path / "s").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_while_the_job_is_started_ends_it(number, monkeypatch):
    """It comes when the job's process runs, and nobody knows it yet."""
    begun, popen = [], subprocess.Popen

    def start(*arguments, **options):
        begun.append(popen(*arguments, **options))
        signal.raise_signal(number)
        return begun[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    # Whoever runs the tests may ignore it.
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        with pytest.raises((KeyboardInterrupt, SystemExit)), unwound_by_signals():
            jobs._wait(["tail", "-f", os.devnull], dict(os.environ), TIMEOUT_S)
        assert begun[0].poll() is not None
    finally:
        signal.signal(number, before)
        begun[0].kill()


def test_list_names_every_scenario(bench):
    text = bench("list").stdout
    assert all(f"\n{name} " in text for name in scenario.files())


WRONG = [
    (["run", "nothing"], "no scenario nothing; choose of "),
    (["run", "F", "--mpi", "mpich99"], "add --mpi NAME"),
    (["run", "F", "--ranks", "1,x"], "--ranks 1,x: write numbers above 0"),
    (["run", "F", "--set", "x"], "--set x: write it as NAME=VALUE"),
    (["run", "F", "--command", "x=y"], "no variant of that name; choose of memory, storage"),
    (["run", "F", "--place", "x=/y"], "no place of that name; choose of none: it has no places"),
    (["report", "N"], "/nothing: no such file or folder; run `sill bench run`"),
    (["compare", "T", "T"], "no results in it; run `sill bench run`"),
    (["compare", "F", "F"], "name a file that `sill bench run` wrote"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda value: "-".join(value) if isinstance(value, list) else "")
def test_an_error_is_one_line_that_says_what_to_do(tmp_path, bench, words, said):
    load(tmp_path, MEMORY_AND_STORAGE)
    names = {"F": tmp_path / "fake.toml", "T": tmp_path, "N": tmp_path / "nothing"}
    done = bench(*(names.get(word, word) for word in words))
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 1\n[variants.a]", "title = 1 is not of type str"),
        ("title = ", "Invalid value"),
        ("titel = 't'", "variants is missing"),
        ("nonsense = 1" + MEMORY_AND_STORAGE, "unknown key nonsense"),
        (MEMORY_AND_STORAGE + "wait = 1", "variant storage: unknown key wait"),
        (MEMORY_AND_STORAGE + "limit = 'lots'", "limit = 'lots' is no size"),
        (MEMORY_AND_STORAGE + "backing = 'tape'", "choose of memory, storage, any"),
        (MEMORY_AND_STORAGE + "[comparisons.x]\nvariant = 'y'\nresult = 'z'", "comparison x: no variant y"),
        (MEMORY_AND_STORAGE + "[[figures]]\nresult = 'z'", "figure 1: x is missing"),
        ("ranks = [0]" + MEMORY_AND_STORAGE, "ranks = [0]; write numbers above 0"),
    ],
)
def test_a_wrong_scenario_is_one_line_that_names_file_and_key(tmp_path, text, said):
    with pytest.raises(SillError) as caught:
        load(tmp_path, text)
    assert said in str(caught.value)
    assert str(tmp_path / "fake.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_real_scenario_from_end_to_end(tmp_path, sill):
    """The smallest real one: a program of apps/ in memory and on storage, under one MPI."""
    load(
        tmp_path,
        """
        title = "small"
        program = "sill-mstream"
        repetitions = 1
        parameters = { window-bytes = "4m", segment = "64k", iterations = 2, kernels = "SEQ" }
        [variants.memory]
        parameters = { window = "memory" }
        [variants.storage]
        parameters = { window = "storage" }
        [comparisons.bandwidth]
        variant = "storage"
        base = "memory"
        result = "bandwidth"
        labels = { flush = "" }
        """,
    )
    more = ["--build", BUILD, "--mpi", MPIS[0].name, "--results", tmp_path / "r", "--store", tmp_path / "s"]
    done = sill("bench", "run", tmp_path / "fake.toml", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = results.latest(tmp_path / "r").values()
    assert [(s["variant"], s["sill"]) for s in found["samples"]] == [("memory", False), ("storage", True)]
    assert found["comparisons"][0]["value"] > 0
    assert os.listdir(tmp_path / "s") == []
