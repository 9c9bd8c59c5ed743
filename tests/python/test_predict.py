"""`sill model`: the formulas by hand, shapes over the nodes, constants from outside, figures."""

from __future__ import annotations

import json
import math

import pytest
from sill import SillError, predict
from sill.predict import model
from sill.text import read_toml

pytestmark = pytest.mark.quick
NODES = [10, 100, 1000, 10_000, 100_000]


@pytest.fixture
def table() -> dict:
    return read_toml(predict.CONSTANTS)


@pytest.fixture
def machine(table) -> model.Machine:
    return model.machine(table)


def store(*levels: tuple[int, float], plain: bool = False) -> model.Store:
    return model.Store("x", tuple(model.Level(n, b) for n, b in levels), 1e-3, 1e4, 1e6, plain)


def test_stores_are_as_many_as_their_nodes_need():
    assert store((1, 1e9)).count(7) == 7
    assert store((1, 1e9), (16, 1e9)).count(33) == 3
    assert store((1, 1e9), (16, 1e9)).count(5) == 1
    assert store((1, 1e9), (0, 1e9)).count(5) == 1


@pytest.mark.parametrize(
    ("method", "levels", "plain", "expected"),
    [
        ("none", [(0, 1e9)], False, (0, 0, 0)),
        ("fingerprint", [(0, 1e9)], False, (0, 0, 0)),
        ("heuristic", [(0, 1e9)], False, (1, 1, 1)),
        ("exhaustive", [(0, 1e9)], False, (33, 32, 33)),
        ("exhaustive", [(1, 1e9)], False, (40, 32, 40)),
        ("auto", [(0, 1e9)], False, (1, 7, 1)),
        ("auto", [(4, 1e9)], False, (2, 6, 2)),
        ("auto", [(1, 1e9)], False, (8, 0, 8)),
        ("auto", [(1, 1e9)], True, (0, 0, 0)),
    ],
)
def test_operations_of_8_nodes_with_4_ranks_each(method, levels, plain, expected):
    counts = model.operations(method, store(*levels, plain=plain), 8, 4)
    assert (counts.creates, counts.looks, counts.removes) == expected


def test_a_split_by_hand():
    """8 nodes, 4 ranks each, one store for all; messages of 1 us, 1 GB/s."""
    s = store((0, 1e9))
    machine = model.Machine(4, 1e9, 1e-6, 1e9, {"s": s})
    split = 5e-6 + 32 * 8 / 1e9
    assert model.split_seconds(machine, s, 8, "none") == pytest.approx(split)
    agreements = 2 * 5e-6
    assert model.split_seconds(machine, s, 8, "heuristic") == pytest.approx(split + agreements + 3e-3)
    gather = 2 * (3e-6 + 8 * 64 / 1e9)
    assert model.split_seconds(machine, s, 8, "auto") == pytest.approx(split + agreements + gather + 3e-3)
    listing = 32 * 32 / 1e6
    phases = 33e-4 + 32e-4 + 33e-4  # 10,000 operations a second
    assert model.split_seconds(machine, s, 8, "exhaustive") == pytest.approx(split + agreements + phases + listing)


def test_a_checkpoint_takes_as_long_as_its_slowest_level():
    s = store((1, 1e9), (4, 2e9), (0, 10e9))
    machine = model.Machine(4, 1e9, 1e-6, 1e9, {"s": s})
    seconds = {nodes: model.checkpoint_seconds(machine, s, nodes) - 1e-3 for nodes in (1, 2, 4, 8, 20, 40)}
    assert seconds == pytest.approx({1: 1.0, 2: 1.0, 4: 2.0, 8: 2.0, 20: 2.0, 40: 4.0})


def test_shapes_over_the_nodes(machine):
    """What the figures are to show: flat, flat once full, growing; and the methods' order at 100,000 nodes."""

    def times(name):
        return [model.checkpoint_seconds(machine, machine.stores[name], nodes) for nodes in NODES]

    assert max(times("local")) == pytest.approx(min(times("local")))
    assert times("drawer")[1:] == pytest.approx([times("drawer")[-1]] * 4)
    routed = times("routed")
    assert routed == sorted(routed)
    assert routed[-1] / routed[-2] == pytest.approx(10, rel=0.01)
    for s in machine.stores.values():
        last = {method: model.split_seconds(machine, s, NODES[-1], method) for method in model.METHODS}
        assert last["none"] < last["fingerprint"] <= last["auto"] < last["exhaustive"]
    drawer = machine.stores["drawer"]
    heuristic, auto = (model.split_seconds(machine, drawer, NODES[-1], method) for method in ("heuristic", "auto"))
    assert auto <= 1.5 * heuristic


def test_exhaustive_grows_with_the_square_of_the_ranks_of_a_store(machine):
    routed = machine.stores["routed"]
    times = [model.split_seconds(machine, routed, nodes, "exhaustive") for nodes in NODES[-2:]]
    assert math.log10(times[1] / times[0]) == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("message_s", 0, "message_s = 0: not a float that makes sense"),
        ("ranks_per_node", 0, "ranks_per_node: at least 1"),
        ("ranks_per_node", 1.5, "not a int"),
        ("stores.local.operation_s", -1, "stores.local.operation_s = -1"),
        ("stores.local.plain", 1, "stores.local.plain = 1"),
        ("stores.local.levels", [], "stores.local.levels: wants a list"),
        ("stores.routed.levels.2.bandwidth", "x", "stores.routed.levels.2.bandwidth = 'x'"),
        ("stores", {}, "stores: none"),
    ],
)
def test_a_constant_that_makes_no_sense_is_an_error(table, path, value, said):
    with pytest.raises(SillError, match=r".*") as error:
        model.machine(model.changed(table, path, value))
    assert said in str(error.value)


@pytest.mark.parametrize("path", ["x", "stores.x.levels", "stores.local.levels.7.bandwidth", "message_s.x.y"])
def test_a_constant_that_is_not_there_is_an_error(table, path):
    with pytest.raises(SillError):
        model.machine(model.changed(table, path, 1))


def test_missing_and_unknown_constants_are_errors(table):
    with pytest.raises(SillError, match="nonsense: unknown"):
        model.machine({**table, "nonsense": 1})
    with pytest.raises(SillError, match="message_s: missing"):
        model.machine({key: value for key, value in table.items() if key != "message_s"})


# --- the command ---


def test_table_and_json(sill):
    done = sill("model", "--nodes", "10,1000", "--set", "bytes_per_node=1e9")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 3 * 2
    told = json.loads(sill("model", "--nodes", "10", "--set", "bytes_per_node=4e9", "--json").stdout)
    [local] = [r for r in told["predictions"] if r["what"] == "checkpoint" and r["store"] == "local"]
    assert local["seconds"] == pytest.approx(2, rel=1e-3)
    assert told["constants"]["bytes_per_node"] == 4e9


def test_constants_are_printed_edited_and_used(sill, tmp_path):
    text = sill("model", "--print-constants").stdout
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("bytes_per_node = 64e9", "bytes_per_node = 2e9"))
    told = json.loads(sill("model", "--constants", file, "--nodes", "1", "--json").stdout)
    assert told["constants"]["bytes_per_node"] == 2e9


def test_a_store_is_measured(sill, tmp_path, monkeypatch):
    monkeypatch.setattr(predict, "_PROBE_BYTES", 8 << 20)
    told = json.loads(sill("model", "--measure", f"local={tmp_path}", "--nodes", "1", "--json").stdout)
    found = told["constants"]["stores"]["local"]
    assert found["operation_s"] == pytest.approx(1 / found["operations_per_s"])
    assert 1e4 < found["levels"][0]["bandwidth"] != 2e9
    assert list(tmp_path.iterdir()) == []


def test_figures(sill, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    done = sill("model", "--draw", tmp_path / "model.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


WRONG = [
    (["--nodes", "10,x"], "--nodes 10,x: write numbers above 0"),
    (["--set", "x"], "--set x: write it as NAME=VALUE"),
    (["--set", "message_s=slow"], "--set message_s=slow: not a number"),
    (["--set", "nothing=1"], "nothing: no such constant"),
    (["--measure", "tape=/"], "no such store; choose of local, drawer, routed"),
    (["--measure", "local=/nothing"], "/nothing"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_an_error_is_one_line(sill, words, said):
    done = sill("model", *words)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
