"""Limits of memory in a scenario: a control group of its own, or the variable."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bench_support import MEMORY_AND_STORAGE, load, measure, started
from sill.bench import limits, results, runner

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("how", "mark", "knob"),
    [
        (limits.V1, "memory/memory.limit_in_bytes", "memory.limit_in_bytes"),
        (limits.V2, "cgroup.controllers", "memory.max"),
    ],
)
def test_a_group_of_either_version_holds_the_limit(tmp_path, monkeypatch, how, mark, knob):
    """In a folder that behaves as the kernel's: a new one has its files at once, and goes with them."""
    (tmp_path / mark).parent.mkdir(exist_ok=True)
    (tmp_path / mark).touch()
    make = Path.mkdir
    monkeypatch.setattr(Path, "mkdir", lambda path: (make(path), [(path / n).touch() for n in (knob, "cgroup.procs")]))
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    with limits.limited(1 << 20, True, tmp_path) as limit:
        group = Path(limit.prefix[-1]).parent
        assert (limit.how, limit.environment) == (how, {})
        assert (group / knob).read_text() == str(1 << 20)
        subprocess.run([*limit.prefix, "true"], check=True)
        assert (group / "cgroup.procs").read_text().strip().isdigit()
    assert not group.exists()


def test_where_no_group_can_be_made_nothing_is_left_and_the_variable_holds_the_limit(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").touch()
    with limits.limited(1 << 20, True, tmp_path) as limit:
        assert (limit.how, limit.prefix) == (limits.VARIABLE, ())
    assert os.listdir(tmp_path / "memory") == ["memory.limit_in_bytes"]


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


def test_a_real_group_where_this_user_may_make_one(tmp_path, target, log):
    with limits.limited(1 << 28) as limit:
        if limit.how == limits.VARIABLE:
            pytest.skip("memory cgroups can't be made here")
        group = Path(limit.prefix[-1]).parent
        text = MEMORY_AND_STORAGE + 'limit = "256m"\n'
        found = measure(load(tmp_path, text, repetitions=1), target, tmp_path)
    assert not group.exists()
    assert [s["limit"]["how"] for s in found["samples"]] == ["none", limit.how]
    assert found["failures"] == []
