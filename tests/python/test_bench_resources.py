"""What a run gets: memory in a control group or by the variable, and stores, given or of throttled loop devices."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from bench_support import MEMORY_AND_STORAGE, fake_target, load, measure, started
from sill.bench import resources, results, runner
from sill.bench.model import Place
from sill.errors import SillError, unwound_by_signals

MIB = 1 << 20
PLACES = """
[places.near]
rate = "8m"
size = "16m"
count = 2
"""


@pytest.mark.quick
@pytest.mark.parametrize(
    ("how", "mark", "knob"),
    [
        (resources.V1, "memory/memory.limit_in_bytes", "memory.limit_in_bytes"),
        (resources.V2, "cgroup.controllers", "memory.max"),
    ],
)
def test_a_group_of_either_version_holds_the_limit(tmp_path, monkeypatch, how, mark, knob):
    """In a folder that behaves as the kernel's: a new one has its files at once, and goes with them."""
    (tmp_path / mark).parent.mkdir(exist_ok=True)
    (tmp_path / mark).touch()
    make = Path.mkdir
    monkeypatch.setattr(Path, "mkdir", lambda path: (make(path), [(path / n).touch() for n in (knob, "cgroup.procs")]))
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    with resources.limited(1 << 20, True, tmp_path) as limit:
        group = Path(limit.prefix[-1]).parent
        assert (limit.how, limit.environment) == (how, {})
        assert (group / knob).read_text() == str(1 << 20)
        subprocess.run([*limit.prefix, "true"], check=True)
        assert (group / "cgroup.procs").read_text().strip().isdigit()
    assert not group.exists()


@pytest.mark.quick
def test_where_no_group_can_be_made_nothing_is_left_and_the_variable_holds_the_limit(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").touch()
    with resources.limited(1 << 20, True, tmp_path) as limit:
        assert (limit.how, limit.prefix) == (resources.VARIABLE, ())
    assert os.listdir(tmp_path / "memory") == ["memory.limit_in_bytes"]


@pytest.mark.quick
def test_without_groups_the_variable_holds_the_limit(tmp_path, target, log):
    text = MEMORY_AND_STORAGE + 'limit = "1g"\n'
    s = load(tmp_path, text, repetitions=1)
    machine = results.describe(tmp_path / "store")
    samples, failures = runner.run(s, [target], tmp_path / "store", False, lambda line: None)
    memory, storage = (entry["environment"] for entry in started(log))
    assert storage["SILL_MEMORY_LIMIT"] == str(1 << 30)
    assert "SILL_MEMORY_LIMIT" not in memory
    found = results.build(s, [target], machine, {"quick": False, "null": False, "mpiexec": "x"}, samples, failures)
    assert any("1024 MiB by SILL_MEMORY_LIMIT" in line for line in results.conditions(found))


@pytest.mark.quick
def test_a_real_group_where_this_user_may_make_one(tmp_path, target, log):
    with resources.limited(1 << 28) as limit:
        if limit.how == resources.VARIABLE:
            pytest.skip("memory cgroups can't be made here")
        group = Path(limit.prefix[-1]).parent
        text = MEMORY_AND_STORAGE + 'limit = "256m"\n'
        found = measure(load(tmp_path, text, repetitions=1), target, tmp_path)
    assert not group.exists()
    assert [s["limit"]["how"] for s in found["samples"]] == ["none", limit.how]
    assert found["failures"] == []


# --- places ---


def test_a_scenario_says_what_its_places_are(tmp_path):
    assert load(tmp_path, MEMORY_AND_STORAGE + PLACES).places == (Place("near", 8 * MIB, 16 * MIB, 2),)
    with pytest.raises(SillError, match="wants a rate, a size and a count above 0"):
        load(tmp_path, MEMORY_AND_STORAGE + PLACES.replace("8m", "0"))


def test_a_folder_that_is_given_is_used_and_left_alone(tmp_path, stand_ins, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    text = MEMORY_AND_STORAGE.replace("[variants.memory]", '[parameters]\nnear = "{near}/%r"\n[variants.memory]')
    s = load(tmp_path, text + PLACES, repetitions=1)
    target = fake_target(tmp_path / "build", stand_ins)
    with resources.places(s.places, {"near": f"{tmp_path}/mine"}, tmp_path / "base") as made:
        assert [(place.path, place.how) for place in made] == [(f"{tmp_path}/mine", "given")]
        machine = results.describe(tmp_path / "store", made)
        samples, failures = runner.run(s, [target], tmp_path / "store", True, lambda line: None, made)
    assert failures == []
    command = samples[0]["command"]
    assert command[command.index("--near") + 1] == f"{tmp_path}/mine/%r"
    assert (tmp_path / "mine" / "file").exists()
    options = {"quick": False, "null": False, "mpiexec": None}
    found = results.build(s, [target], machine, options, samples, failures)
    assert results.problems(found) == []
    assert f"near: given ({tmp_path}/mine)" in results.conditions(found)


def test_where_no_device_can_be_made_it_says_how_to_name_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with (
        pytest.raises(SillError, match="name folders instead, with --place near=DIR"),
        resources.places([Place("near", MIB, MIB, 1)], {}, tmp_path),
    ):
        pass


def devices_in_use() -> str:
    return subprocess.run(["losetup", "-l", "-O", "BACK-FILE"], capture_output=True, text=True, check=True).stdout


def seconds_to_write(path: Path, size: int) -> float:
    data = os.urandom(size)
    begun = time.monotonic()
    with open(path, "wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    return time.monotonic() - begun


def test_a_signal_that_ends_a_run_takes_the_devices_away(tmp_path):
    with contextlib.suppress(SillError):
        with (
            pytest.raises(SystemExit),
            unwound_by_signals(),
            resources.places([Place("near", 64 * MIB, 8 * MIB, 1)], {}, tmp_path),
        ):
            signal.raise_signal(signal.SIGTERM)
        assert str(tmp_path) not in devices_in_use()
        assert list(tmp_path.iterdir()) == []
        return
    pytest.skip("no throttled devices here")


def test_stores_are_as_fast_as_they_are_to_be_and_leave_nothing(tmp_path):
    wanted = [Place("store", 4 * MIB, 32 * MIB, 1), Place("near", 256 * MIB, 32 * MIB, 2)]
    try:
        with resources.places(wanted, {}, tmp_path) as [store, near]:
            assert str(tmp_path) in devices_in_use()
            folders = [Path(near.path.replace("%r", str(rank))).resolve() for rank in range(3)]
            assert folders[0] == folders[2] != folders[1]
            assert {os.stat(folder).st_dev for folder in folders[:2]}.isdisjoint({os.stat(store.path).st_dev})
            slow = seconds_to_write(Path(store.path) / "file", 4 * MIB)
            assert slow > 0.7, "4 MiB at 4 MiB/s"
            for folder in folders[:2]:
                (folder / "folder").mkdir()
                (folder / "folder" / "file").touch()
            near.empty()
            assert not [*folders[0].iterdir(), *folders[1].iterdir()]
            throttled = resources.BLKIO / "blkio.throttle.write_bps_device"
            device = os.stat(store.path).st_dev
            assert f"{os.major(device)}:{os.minor(device)} {4 * MIB}" in throttled.read_text()
    except SillError as error:
        pytest.skip(f"no throttled devices here: {error}")
    assert str(tmp_path) not in devices_in_use()
    assert list(tmp_path.iterdir()) == []
    assert f"{os.major(device)}:{os.minor(device)} " not in throttled.read_text()
