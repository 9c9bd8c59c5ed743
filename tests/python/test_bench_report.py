"""`sill bench report` and `compare`, on runs of a fake program."""

from __future__ import annotations

import base64
import copy
import re

import pytest
from bench_support import MEMORY_AND_STORAGE, fake_target, load, measure
from sill.bench import plots, report, results, tables

pytestmark = pytest.mark.quick
PNG = b"\x89PNG\r\n\x1a\n"
FIGURES = """
[comparisons.mean]
title = "storage : memory & more"
variant = "storage"
base = "memory"
result = "bandwidth"
paper = 0.44
paper_note = "SSD"
at_least = 0.95
[[figures]]
title = "bars"
kind = "bars"
result = "bandwidth"
x = "kernel"
share = "flush_share"
[[figures]]
title = "lines"
result = "time"
x = "ranks"
panels = ["kernel"]
limit = "1"
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory, stand_ins):
    folder = tmp_path_factory.mktemp("measured")
    return measure(load(folder, MEMORY_AND_STORAGE + FIGURES), fake_target(folder / "build", stand_ins), folder)


@pytest.fixture
def found(measured):
    return copy.deepcopy(measured)


def test_the_page_has_everything_in_itself(tmp_path, found):
    found["failures"].append("ompi5 storage: <broken>")
    results.write(found, tmp_path / "r")
    page, picture = report.write(tmp_path / "r", tmp_path / "out")
    text = page.read_text()
    assert picture.name == "fake-mpich5.png"
    assert picture.read_bytes().startswith(PNG)
    inlined = re.findall(r"src='data:image/png;base64,([^']+)'", text)
    assert [base64.b64decode(image) for image in inlined] == [picture.read_bytes()]
    assert not re.search(r"(src|href)='(?!data:|#)", text), "nothing comes from elsewhere"
    assert "storage : memory &amp; more" in text
    assert "0.44 (SSD)" in text
    assert "MISSED" in text
    assert "0 of 1 goals met" in text
    assert "Not measured: ompi5 storage: &lt;broken&gt;" in text
    assert "What it is about." in text


def test_the_newest_results_of_a_scenario_count(tmp_path, found):
    for created in ("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"):
        results.write({**found, "created": created}, tmp_path / "r")
    assert results.latest(tmp_path / "r")["fake"]["created"].startswith("2026-01-02")


def test_every_panel_is_drawn(found, monkeypatch):
    """A panel of bars, a panel for each kernel, the ratios."""
    drawn = []
    for name in ("_bars", "_lines", "_ratios"):
        whole = getattr(plots, name)
        monkeypatch.setattr(
            plots, name, lambda ax, what, *more, f=whole, n=name: (drawn.append((n, ax)), f(ax, what, *more))
        )
    plots.draw(found, "mpich5")
    assert [name for name, _ in drawn] == ["_bars", "_lines", "_lines", "_ratios"]
    bars, lines, _, ratios = (ax for _, ax in drawn)
    assert [text.get_text() for text in bars.get_legend().get_texts()] == ["memory", "storage", "flush share"]
    assert "memory limit" in [text.get_text() for text in lines.get_legend().get_texts()]
    assert ratios.texts[0].get_text() == "storage : memory & more: 0.900 (paper 0.44, >= 0.95)"


@pytest.mark.parametrize("option", ["quick", "null"])
def test_goals_count_only_where_they_were_set_for(option, tmp_path, found):
    found["options"][option] = True
    results.write(found, tmp_path / "r")
    page, _ = report.write(tmp_path / "r", tmp_path / "r")
    assert "0 of 0 goals met" in page.read_text()
    assert "run with --quick or --null don&#x27;t count: fake." in page.read_text()


def test_results_without_samples_make_a_page_too(tmp_path, found):
    results.write({**found, "samples": [], "comparisons": []}, tmp_path / "r")
    assert [path.name for path in report.write(tmp_path / "r", tmp_path / "r")] == ["report.html"]


def test_conditions_name_what_makes_figures_doubtful(found):
    found["machine"].update(load_before=9.0, cores=2)
    found["options"].update(null=True, quick=True)
    found["comparisons"][0]["noisy"] = True
    text = "\n".join(results.conditions(found))
    assert "busy" in text
    assert "1 of 1 ratios spread by more than 10%; don't conclude" in text
    assert "--null" in text
    assert "--quick" in text


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [([1, 2], [3, 4], "changed"), ([1, 3], [2, 4], ""), ([4, 5], [1, 2], "changed"), ([1], [5], "one sample")],
)
def test_changed_is_what_repetitions_do_not_explain(a, b, said):
    assert tables.verdict(a, b) == said


def test_compare_shows_ratios_and_on_request_figures(tmp_path, found, sill):
    results.write(found, tmp_path / "a")
    for sample in found["samples"]:
        for result in sample["results"]:
            result["value"] *= 10
    found["comparisons"][0]["ratios"] = [2.0, 2.1, 2.2]
    found["comparisons"][0]["value"] = 2.1
    results.write(found, tmp_path / "b")
    done = sill("bench", "compare", tmp_path / "a", tmp_path / "b", "--figures")
    assert done.returncode == 0, done.stderr
    ratio, *figures = [line for line in done.stdout.splitlines() if line.startswith("fake")]
    assert ratio.split()[-4:] == ["0.9", "2.1", "2.333", "changed"]
    assert any("bandwidth" in line and "10.000" in line and "changed" in line for line in figures)


def called(found, name: str, version: str):
    """The same results, of an MPI of that name."""
    renamed = copy.deepcopy(found)
    for row in [*renamed["samples"], *renamed["comparisons"]]:
        row["mpi"] = name
    renamed["mpis"] = [{**renamed["mpis"][0], "name": name, "version": version}]
    return renamed


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("ompi5", "5.0.11"), ("ompi5.0.11", "5.0.11"), "ompi5"),
        (("ompi5.0.11", "5.0.11"), ("ompi5", "5.0.11"), "ompi5.0.11"),
        (("ompi5", "5.0.7"), ("ompi5", "5.0.11"), "ompi5 (5.0.7, then 5.0.11)"),
        (("ompi5.0.7", "5.0.7"), ("ompi5.0.11", "5.0.11"), None),
        (("mpich4", "5.0.7"), ("ompi5", "5.0.7"), None),
    ],
)
def test_compare_knows_an_mpi_by_its_version(tmp_path, found, before, after, said):
    results.write(called(found, *before), tmp_path / "a")
    results.write(called(found, *after), tmp_path / "b")
    ratios, figures = tables.compared_rows(tmp_path / "a", tmp_path / "b")
    assert {row[1] for row in ratios} == {row[1] for row in figures} == ({said} if said else set())
