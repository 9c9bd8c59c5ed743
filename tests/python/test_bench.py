"""The benchmark's judgement, on made-up measurements: a goal that is always met would be worse than none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_support import BUILD, MPIS, ROOT, run_job

sys.path.insert(0, str(ROOT / "bench"))

from sillbench import judge, report, scenarios, schema
from sillbench.jobs import PLAIN, PRELOADED, BenchError, Machine, Side
from sillbench.measure import interleaved


def point(side: str, metric: str, plain: list[float], other: list[float]) -> dict:
    record = {"mpi": "mpich5", "side": side, "window": "allocate", "op": "put", "metric": metric, "bytes": 8}
    return record | {"unit": "us", "plain_values": plain, "side_values": other}


def sync_record(advice: str, case: str, dirtied: int, seconds: float, written: int) -> dict:
    record = {"mpi": "mpich5", "advice": advice, "case": case, "dirtied": dirtied}
    return record | {"seconds": [seconds], "written": [written]}


def goals_of(rma: list = (), alloc: list = (), sync: list = ()) -> dict[str, dict]:
    plans = scenarios.load()
    judge.add_ratios(rma)
    judge.add_alloc_ratios(alloc, plans["alloc"]["counted_apart"])
    rows = judge.judge("mpich5", {"rma": rma, "alloc": alloc, "sync": sync}, plans)
    return {row["goal"]: row for row in rows}


def test_ratio_is_a_speed_for_latency_and_for_bandwidth():
    records = [point("storage", "latency", [1.0], [2.0]), point("storage", "bandwidth", [1.0], [2.0])]
    judge.add_ratios(records)
    assert [r["ratio"] for r in records] == [0.5, 2.0]


def test_ratio_is_the_median_of_pairs_and_not_of_sides():
    records = [point("storage", "latency", [1.0, 10.0, 100.0], [1.0, 20.0, 50.0])]
    judge.add_ratios(records)
    assert records[0]["ratios"] == [1.0, 0.5, 2.0]
    assert records[0]["ratio"] == 1.0
    assert records[0]["spread"] == 1.5


@pytest.mark.parametrize(
    ("storage_us", "mean_met", "slowest_met"), [(1.0, True, True), (1.1, False, True), (1.3, False, False)]
)
def test_rma_goals(storage_us, mean_met, slowest_met):
    found = goals_of(
        rma=[
            point("storage", "latency", [1.0] * 3, [storage_us] * 3),
            point("preloaded", "latency", [1.0] * 3, [1.0] * 3),
        ]
    )
    assert found["storage_geomean"]["met"] is mean_met
    assert found["storage_slowest"]["met"] is slowest_met
    assert found["preloaded_geomean"]["met"] is True


def test_noise_is_marked():
    found = goals_of(rma=[point("storage", "latency", [1.0] * 3, [0.9, 1.0, 1.2])])
    assert found["storage_geomean"]["noisy"]


def test_reserving_is_counted_apart():
    record = {"mpi": "mpich5", "case": "new file", "bytes": 8, "memory_allocate": [10.0], "memory_free": [10.0]}
    record |= {"storage_allocate": [115.0], "storage_free": [40.0], "file_create": [50.0]}
    record |= {"file_reserve": [100.0], "file_remove": [50.0]}
    found = goals_of(alloc=[record])
    assert found["alloc_ratio"]["value"] == 1.5
    assert found["alloc_ratio"]["met"]
    assert found["alloc_free_ratio"]["value"] == 2.75
    assert found["alloc_free_ratio"]["met"] is None, "a figure without a goal"


def test_sync_goals():
    records = [
        sync_record("default", "full", 1000, 1.0, 1000),
        sync_record("default", "dd", 1000, 0.9, 1000),
        sync_record("default", "piece", 10, 0.06, 10),
        sync_record("default", "scattered", 10, 0.9, 970),
        sync_record("random", "scattered", 10, 0.02, 11),
    ]
    found = goals_of(sync=records)
    assert found["sync_bandwidth"]["value"] == 0.9
    assert found["sync_bandwidth"]["met"]
    assert found["sync_piece"]["met"] is False
    assert found["sync_scattered_random"]["met"] is True
    assert found["sync_scattered_default"]["value"] == 97.0
    assert found["sync_scattered_default"]["met"] is None


def test_every_goal_has_a_title_and_is_judged():
    assert set(scenarios.load()["goals"]) <= set(judge.TITLES)


def test_bounds_of_a_named_mpi_win():
    plans = scenarios.load()
    records = [point("storage", "latency", [0.92], [1.0]) | {"mpi": name} for name in ("ompi4", "ompi5")]
    judge.add_ratios(records)
    results = {"rma": records, "alloc": [], "sync": []}
    assert judge.judge("ompi4", results, plans)[0]["met"] is True
    assert judge.judge("ompi5", results, plans)[0]["met"] is False


def test_sides_take_turns():
    assert [side.name for _, side in interleaved([PLAIN, PRELOADED], 2)] == ["plain", "preloaded", "preloaded", "plain"]


def test_an_exception_moves_an_operation_to_another_window():
    rma = scenarios.load()["rma"]
    assert dict(scenarios.groups(rma, "ompi4"))["shared"] == ["compare_and_swap"]
    assert scenarios.groups(rma, "ompi5") == [("allocate", rma["operations"])]


def test_quick_is_a_part_of_the_whole():
    whole, quick = scenarios.load(), scenarios.load(quick=True)
    assert set(quick["rma"]["sizes"]) < set(whole["rma"]["sizes"])
    assert quick["goals"] == whole["goals"]
    assert scenarios.load(quick=True, repetitions=7)["repetitions"] == 7


@pytest.mark.parametrize(
    ("side", "sill", "backing"),
    [
        (PLAIN, True, "/dev/shm/x"),
        (PRELOADED, False, "/dev/shm/x"),
        (PRELOADED, True, "/store/w0.r0"),
        (Side("storage", True, "alloc_type=storage"), True, "/dev/shm/x"),
        (Side("storage", True, "alloc_type=storage"), True, "/store-2/w0.r0"),
    ],
)
def test_a_side_that_is_not_what_it_is_called_is_refused(side, sill, backing):
    class FakeMpi:
        name = "mpich5"

    machine = Machine(Path("/build"), Path("/store"))
    with pytest.raises(BenchError, match=side.name):
        machine._check_side(FakeMpi, side, {"sill": sill, "backing": backing})


def results_of_a_run() -> dict:
    rma = [point(side, "latency", [1.0], [1.0]) for side in ("storage", "preloaded")]
    judge.add_ratios(rma)
    machine = {"kernel": "6", "processor": "p", "cores": 2, "memory_bytes": 1, "load_before": 0.1, "load_after": 1}
    machine |= {"store": "/s", "file_system": "ext4", "commit": ""}
    results = {
        "schema": 1,
        "created": "2026-01-01T00:00:00+00:00",
        "machine": machine,
        "rma": rma,
        "alloc": [],
        "sync": [],
    }
    results |= {"mpis": [{"name": "mpich5", "version": "5.0", "family": "mpich"}], "failures": ["ompi5 rma: broken"]}
    results["options"] = {"quick": True, "null": False, "only": ["rma"], "scenarios": {}}
    return results | {"goals": judge.judge("mpich5", results, scenarios.load())}


def test_results_fit_the_schema():
    assert schema.problems(results_of_a_run()) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda r: r.pop("goals"), "no goals"),
        (lambda r: r.update(extra=1), "extra isn't in the schema"),
        (lambda r: r["machine"].update(cores="2"), "results.machine.cores: not of type integer"),
        (lambda r: r["rma"][1].update(side="left"), "results.rma[1].side: 'left' is none of"),
        (lambda r: r["rma"][0]["ratios"].append(True), "results.rma[0].ratios[1]: not of type number"),
    ],
)
def test_the_schema_finds_what_is_wrong(change, problem):
    results = results_of_a_run()
    change(results)
    found = schema.problems(results)
    assert len(found) == 1
    assert problem in found[0]


def test_the_report_names_goals_and_failures():
    results = results_of_a_run()
    results["goals"][0]["met"] = False
    text = report.text(results)
    assert "MISSED" in text
    assert "ompi5 rma: broken" in text


def test_a_run_stores_results_and_a_picture(tmp_path, harness_environment):
    """The shortest run that starts a program of bench/, reads what it prints, judges, stores and draws."""
    mpi = MPIS[0]
    results, store = tmp_path / "results", tmp_path / "store"
    command = [sys.executable, ROOT / "bench" / "run", "--quick", "--repetitions", "1", "--only", "alloc"]
    command += ["--mpi", mpi.name, "--build", BUILD, "--results", results, "--store", store]
    done = run_job(command, harness_environment)
    assert done.returncode == 0, done.stdout + done.stderr
    picture, table = sorted(results.iterdir(), key=lambda path: path.suffix, reverse=True)
    stored = json.loads(table.read_text())
    assert schema.problems(stored) == []
    assert {record["mpi"] for record in stored["alloc"]} == {mpi.name}
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert list(store.iterdir()) == [], "the windows' files are gone"
