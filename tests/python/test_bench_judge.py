"""The judgement of `sill bench` on made-up figures: a goal that is always met would be worse than none."""

from __future__ import annotations

import pytest
from bench_support import judged, load, sample

pytestmark = pytest.mark.quick
VARIANTS = """
title = "t"
program = "p"
[variants.a]
[variants.b]
[variants.c]
[variants.other]
optional = true
"""


def one(tmp_path, comparison: str, *samples) -> dict:
    return judged(load(tmp_path, f"{VARIANTS}[comparisons.it]\nvariant = 'a'\nresult = 'x'\n{comparison}"), *samples)[
        "it"
    ]


@pytest.mark.parametrize(
    ("unit", "form", "expected"),
    [("s", "speed", 2.0), ("us", "time", 0.5), ("B/s", "speed", 0.5), ("1/s", "time", 2.0), ("s", "value", 0.5)],
)
def test_speed_and_time_turn_by_the_unit(tmp_path, unit, form, expected):
    row = one(tmp_path, f"base = 'b'\nas = '{form}'", sample("a", 1, unit=unit), sample("b", 2, unit=unit))
    assert row["value"] == expected


def test_the_ratio_is_the_median_of_pairs_and_not_of_sides(tmp_path):
    of = [sample("a", value, n) for n, value in enumerate((1, 20, 50))]
    over = [sample("b", value, n) for n, value in enumerate((1, 10, 100))]
    row = one(tmp_path, "base = 'b'", *of, *over)
    assert row["ratios"] == [1.0, 2.0, 0.5]
    assert row["value"] == 1.0
    assert row["spread"] == 1.5
    assert row["noisy"]


def test_a_repetition_that_one_side_lacks_makes_no_pair(tmp_path):
    row = one(tmp_path, "base = 'b'", sample("a", 3, 0), sample("a", 4, 1), sample("b", 2, 1))
    assert row["ratios"] == [2.0]


@pytest.mark.parametrize(
    ("mean", "expected", "note"), [("mean", 2.125, ""), ("geometric", 1.0, ""), ("worst", 0.25, "kernel=RND")]
)
def test_points_become_one_value(tmp_path, mean, expected, note):
    samples = [sample("a", 4, kernel="SEQ"), sample("b", 1, kernel="SEQ")]
    samples += [sample("a", 1, kernel="RND"), sample("b", 4, kernel="RND")]
    row = one(tmp_path, f"base = 'b'\nmean = '{mean}'", *samples)
    assert row["value"] == pytest.approx(expected)
    assert row["note"] == note
    assert len(row["points"]) == 2


def test_the_worst_of_times_is_the_longest(tmp_path):
    samples = [sample("a", 4, kernel="SEQ"), sample("a", 9, kernel="RND")]
    row = one(tmp_path, "mean = 'worst'\nat_most = 8", *samples)
    assert row["value"] == 9
    assert row["met"] is False


def test_several_bases_mean_the_best_at_each_point(tmp_path):
    samples = [sample("a", 6, kernel=k) for k in ("SEQ", "RND")]
    samples += [sample("b", 3, kernel="SEQ"), sample("c", 6, kernel="SEQ")]
    samples += [sample("b", 12, kernel="RND"), sample("c", 1, kernel="RND")]
    row = one(tmp_path, "base = ['b', 'c', 'other']", *samples)
    assert {p["labels"]["kernel"]: (p["base"], p["ratio"]) for p in row["points"]} == {
        "SEQ": ("c", 1.0),
        "RND": ("b", 0.5),
    }
    assert row["note"] == "best: b, c"


def test_the_best_of_times_is_the_shortest(tmp_path):
    row = one(
        tmp_path, "base = ['b', 'c']", sample("a", 1, unit="s"), sample("b", 2, unit="s"), sample("c", 5, unit="s")
    )
    assert row["points"][0]["base"] == "b"


def test_both_sides_may_be_of_one_variant(tmp_path):
    text = "base = 'a'\nlabels = {case = 'full'}\nbase_labels = {case = 'dd'}"
    row = one(tmp_path, text, sample("a", 3, case="full"), sample("a", 4, case="dd"), sample("a", 9, case="piece"))
    assert row["value"] == 0.75
    assert len(row["points"]) == 1


def test_what_is_counted_apart_is_taken_off_before_the_ratio(tmp_path):
    text = "base = 'b'\nas = 'time'\nlabels = {step = 'allocate'}\nminus = {labels = {step = 'reserve'}}"
    samples = [
        sample("a", 115, unit="us", step="allocate", bytes=8),
        sample("a", 100, unit="us", step="reserve", bytes=8),
    ]
    row = one(tmp_path, text, *samples, sample("b", 10, unit="us", step="allocate", bytes=8))
    assert row["value"] == 1.5


def test_an_empty_label_is_one_that_is_not_there(tmp_path):
    row = one(tmp_path, "labels = {flush = ''}", sample("a", 1), sample("a", 2, flush="without"))
    assert row["value"] == 1


def test_bounds_of_a_named_mpi_win(tmp_path):
    s = load(tmp_path, f"{VARIANTS}[comparisons.it]\nvariant='a'\nresult='x'\nat_least={{default=0.97, ompi4=0.9}}")
    samples = [sample("a", 0.92), sample("a", 0.92) | {"mpi": "ompi4"}]
    assert judged(s, *samples)["it"]["met"] is False
    assert judged(s, *samples, mpi="ompi4")["it"]["met"] is True


@pytest.mark.parametrize(
    ("bound", "met"), [("at_least = 1.0", True), ("at_most = 1.0", True), ("at_least = 1.01", False)]
)
def test_a_goal_that_is_just_reached_is_met(tmp_path, bound, met):
    assert one(tmp_path, bound, sample("a", 1))["met"] is met


def test_what_was_not_measured_is_neither_met_nor_missed(tmp_path):
    row = one(tmp_path, "base = 'b'\nat_least = 1", sample("a", 1))
    assert (row["value"], row["met"], row["note"]) == (None, None, "not measured")


def test_an_optional_variant_without_its_command_has_no_row(tmp_path):
    text = f"{VARIANTS}[comparisons.it]\nvariant = 'other'\nresult = 'x'"
    assert judged(load(tmp_path, text), sample("a", 1)) == {}
    assert list(judged(load(tmp_path, text, commands={"other": ["./it"]}), sample("other", 1))) == ["it"]


def test_several_results_have_points_of_their_own(tmp_path):
    """A latency of half the time and a bandwidth of twice the rate are the same speed."""
    text = VARIANTS + "[comparisons.it]\nvariant = 'a'\nbase = 'b'\nresult = ['x', 'y']\nmean = 'geometric'"
    rates = [sample(v, n) for v, n in (("a", 2), ("b", 1))]
    for row in rates:
        row["results"][0]["name"] = "y"
    row = judged(load(tmp_path, text), sample("a", 1, unit="us"), sample("b", 2, unit="us"), *rates)["it"]
    assert row["value"] == pytest.approx(2.0)
    assert [point["labels"]["result"] for point in row["points"]] == ["x", "y"]


def test_figures_are_added_up_over_the_labels_of_total(tmp_path):
    samples = [sample("a", n, unit="s", phase=phase) for phase, n in (("insert", 3), ("lookup", 1), ("sync", 50))]
    samples += [sample("b", n, unit="s", phase=phase) for phase, n in (("insert", 1), ("lookup", 1), ("sync", 0))]
    text = "base = 'b'\nas = 'time'\nlabels = {phase = ['insert', 'lookup']}\ntotal = ['phase']"
    assert one(tmp_path, text, *samples)["value"] == 2.0
