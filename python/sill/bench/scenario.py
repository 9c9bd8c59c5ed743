"""Read a scenario from its TOML file, with what the user wants otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import SillError
from ..mpi.mpis import CHECKOUT
from ..text import bytes_of, read_toml
from .model import AS, BACKINGS, KINDS, MEANS, Comparison, Figure, Place, Point, Scenario, Side, Table, Text, Variant


class Reader:
    """One table of a scenario: take() its keys, then done(). `where` names file and table in errors."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise SillError(f'{where}: wants to be a table; see docs/benchmarks.md, "Scenarios"')
        self._left, self.where = dict(table), where

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """The value of a key, which must be of that kind; without a default it must be there."""
        if key not in self._left:
            if default is ...:
                raise SillError(f"{self.where}: {key} is missing; add it")
            return default
        value = self._left.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join(k.__name__ for k in kinds)
            raise SillError(f"{self.where}: {key} = {value!r} is not of type {names}; correct it")
        return value

    def bytes(self, key: str) -> int:
        """A size, 0 where the key isn't there."""
        value = self.take(key, (int, str), 0)
        try:
            return bytes_of(value)
        except ValueError as error:
            raise SillError(f"{self.where}: {key} = {value!r} is no size; write it like 512m or 1.5g") from error

    def rest(self) -> Table:
        """What wasn't taken yet."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        for key in self._left:
            raise SillError(f'{self.where}: unknown key {key}; see docs/benchmarks.md, "Scenarios"')


def load(
    name: str,
    quick: bool = False,
    repetitions: int | None = None,
    ranks: list[int] | None = None,
    commands: dict[str, list[str]] | None = None,
    parameters: dict[str, str] | None = None,
) -> Scenario:
    """A scenario by its name or its file, with what the user wants otherwise."""
    path = find(name)
    tables = read_toml(path)
    replacements = tables.pop("quick", {})
    tables = _merge(tables, replacements if quick else {})
    wanted = {"repetitions": repetitions, "ranks": ranks, "parameters": parameters}
    tables = _merge(tables, {key: value for key, value in wanted.items() if value})
    for variant, command in (commands or {}).items():
        if variant in tables.get("variants", {}):
            tables["variants"][variant] = {**tables["variants"][variant], "command": command}
    return _scenario(path, tables)


def data(name: str) -> Path:
    """The folder of scenarios and result schema, or a file in it: the wheel's, else the checkout's."""
    packaged = Path(__file__).resolve().parent / "data"
    return (packaged if packaged.is_dir() else CHECKOUT / "bench") / name


def files() -> dict[str, Path]:
    """The scenarios that come with Sill, by name."""
    return {path.stem: path for path in sorted(data("").glob("*.toml"))}


def find(name: str) -> Path:
    """The file of a scenario."""
    known = files()
    path = known.get(name, Path(name))
    if path.suffix != ".toml" or not path.is_file():
        raise SillError(f"no scenario {name}; choose of {', '.join(known)}, or give the path of a .toml file", 2)
    return path


def _merge(table: Table, over: Table) -> Table:
    """`table` with what `over` says instead: tables key by key, all else as a whole."""
    merged = dict(table)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _scenario(path: Path, tables: Table) -> Scenario:
    r = Reader(tables, str(path))
    variants = tuple(_variant(f"{path}, variant {n}", n, t) for n, t in r.take("variants", dict).items())
    ranks, points = r.take("ranks", (int, list), 1), r.take("points", list, [{}])
    comparisons = [_comparison(f"{path}, comparison {n}", n, t) for n, t in r.take("comparisons", dict, {}).items()]
    found = Scenario(
        name=path.stem,
        path=path,
        title=r.take("title", str),
        about=" ".join(r.take("about", str, "").split()),
        program=r.take("program", str, ""),
        repetitions=r.take("repetitions", int, 5),
        noisy=r.take("noisy", (int, float), 0.1),
        timeout_s=r.take("timeout_s", int, 600),
        disk=r.bytes("disk"),
        every_mpi=_one_of(r, "mpis", ("all", "one"), "one") == "all",
        parameters=r.take("parameters", dict, {}),
        per_rank=r.take("per_rank", dict, {}),
        arguments=tuple(map(str, r.take("arguments", list, []))),
        text=_text(f"{path}, text", r.take("text", dict, {})),
        environment=_texts(r, "environment"),
        places=tuple(_place(f"{path}, place {n}", n, t) for n, t in r.take("places", dict, {}).items()),
        points=tuple(
            _point(f"{path}, point {i + 1}", t, n) for i, t in enumerate(points) for n in _numbers(ranks, path)
        ),
        variants=variants,
        comparisons=tuple(comparisons),
        figures=figures_of({"figures": r.take("figures", list, [])}, str(path)),
        source=tables,
    )
    r.done()
    _check(found)
    return found


def _check(s: Scenario) -> None:
    names = {variant.name for variant in s.variants}
    if not names or s.repetitions < 1:
        raise SillError(f"{s.path}: wants at least one variant and one repetition; add them")
    for variant in s.variants:
        if not (s.program or variant.command or variant.optional):
            raise SillError(f"{s.path}: neither program nor a command for variant {variant.name}; add one")
    for comparison in s.comparisons:
        for side in (comparison.of, comparison.over, comparison.minus):
            for name in side.variants if side else ():
                if name not in names:
                    raise SillError(f"{s.path}, comparison {comparison.name}: no variant {name}; correct it")


def _numbers(ranks: int | list, path: Path) -> list[int]:
    numbers = ranks if isinstance(ranks, list) else [ranks]
    if not numbers or not all(isinstance(n, int) and n > 0 for n in numbers):
        raise SillError(f"{path}: ranks = {ranks!r}; write numbers above 0")
    return numbers


def _text(where: str, table: Table) -> Text:
    r = Reader(table, where)
    found = Text(r.bytes("bytes"), r.take("per_rank", bool, False), r.bytes("file_bytes") or Text.file_bytes)
    r.done()
    return found


def _place(where: str, name: str, table: Table) -> Place:
    r = Reader(table, where)
    found = Place(name, r.bytes("rate"), r.bytes("size"), r.take("count", int, 1))
    r.done()
    if min(found.rate, found.size, found.count) < 1:
        raise SillError(f"{where}: wants a rate, a size and a count above 0; add them")
    return found


def _point(where: str, table: Table, ranks: int) -> Point:
    r = Reader(table, where)
    ranks = r.take("ranks", int, ranks)
    only, without = (tuple(r.take(key, list, [])) for key in ("only", "without"))
    labels = r.take("labels", dict, {})
    parameters = r.rest()
    return Point(ranks, parameters, {"ranks": ranks, **(labels or parameters)}, only, without)


def _variant(where: str, name: str, table: Table) -> Variant:
    r = Reader(table, where)
    parameters = r.take("parameters", dict, {})
    kind = parameters.get("window", "")
    rule = r.take("rule", str, "")
    expected = (
        "memory" if kind == "memory" else "storage" if kind == "storage" or "alloc_type=storage" in rule else "any"
    )
    found = Variant(
        name=name,
        title=r.take("title", str, name),
        parameters=parameters,
        environment=_texts(r, "environment"),
        sill=r.take("sill", bool, kind in ("storage", "combined") or bool(rule)),
        rule=rule,
        backing=_one_of(r, "backing", BACKINGS, expected),
        limit=r.bytes("limit"),
        command=[str(word) for word in r.take("command", list, [])],
        optional=r.take("optional", bool, False),
    )
    r.done()
    return found


def _comparison(where: str, name: str, table: Table) -> Comparison:
    r = Reader(table, where)
    names, labels, bases = _names(r, "result"), r.take("labels", dict, {}), _names(r, "base", ())
    of = Side((r.take("variant", str),), names, labels)
    over = Side(bases, _names(r, "base_result", names), r.take("base_labels", dict, labels))
    if len(over.results) != len(names):
        raise SillError(f"{where}: base_result wants a name for each of result; correct it")
    minus = None
    if apart := r.take("minus", dict, None):
        m = Reader(apart, f"{where}, minus")
        minus = Side(of.variants, _names(m, "result", names), m.take("labels", dict, labels))
        m.done()
    found = Comparison(
        name=name,
        title=r.take("title", str, name),
        of=of,
        over=over if over.variants else None,
        minus=minus,
        total=tuple(r.take("total", list, [])),
        form=_one_of(r, "as", AS, "speed" if over.variants else "value"),
        mean=_one_of(r, "mean", MEANS, "mean"),
        paper=r.take("paper", (int, float), None),
        paper_note=r.take("paper_note", str, ""),
        at_least=_bound(r, "at_least"),
        at_most=_bound(r, "at_most"),
    )
    r.done()
    return found


def figures_of(tables: Table, where: str = "results") -> tuple[Figure, ...]:
    """The [[figures]] of a scenario's tables."""
    return tuple(_figure(f"{where}, figure {i + 1}", t) for i, t in enumerate(tables.get("figures", [])))


def _figure(where: str, table: Table) -> Figure:
    r = Reader(table, where)
    found = Figure(
        title=r.take("title", str, ""),
        kind=_one_of(r, "kind", KINDS, "lines"),
        result=r.take("result", str),
        x=r.take("x", str),
        labels=r.take("labels", dict, {}),
        panels=tuple(r.take("panels", list, [])),
        ignore=tuple(r.take("ignore", list, [])),
        log=r.take("log", bool, False),
        limit=str(r.take("limit", (str, int), "")),
        share=r.take("share", str, ""),
    )
    r.done()
    return found


def _names(r: Reader, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """A name or a list of them."""
    value = r.take(key, (str, list), ... if default is None else list(default))
    return (value,) if isinstance(value, str) else tuple(value)


def _bound(r: Reader, key: str) -> dict[str, float]:
    """A number for every MPI, or a table of numbers by MPI and "default"."""
    value = r.take(key, (int, float, dict), {})
    return value if isinstance(value, dict) else {"default": value}


def _texts(r: Reader, key: str) -> dict[str, str]:
    return {name: str(value) for name, value in r.take(key, dict, {}).items()}


def _one_of(r: Reader, key: str, values: tuple[str, ...], default: str) -> str:
    value = r.take(key, str, default)
    if value not in values:
        raise SillError(f"{r.where}: {key} = {value!r}; choose of {', '.join(values)}")
    return value
