"""The contract of every source, kept by a table inside an engine, in the SQL of each engine and without any server."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import test_source_contract as contract
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_in import DIALECTS, StandIn

from kagemusha import fit
from kagemusha.columns.parse import TextReader
from kagemusha.encoding import Encoder
from kagemusha.encoding.reference import code_of
from kagemusha.errors import DataError, SchemaError
from kagemusha.schema import Category, Drop, Duration, Integer, Real, Schema, TimeOfDay, Unit
from kagemusha.sources import Source, open_source, open_table
from kagemusha.sources.sql import SqlSource

DIALECT = pytest.mark.parametrize("dialect", DIALECTS)
STORED = contract.STORED
SPANS = pa.array([None, 0, 1, -1, 5_400_500_000, 93_600_000_000, 10**15], type=pa.duration("us"))


def same(ours: Source, theirs: Source, cliques: list[tuple[str, ...]]) -> None:
    for found, wanted in zip(ours.count(cliques), theirs.count(cliques), strict=True):
        assert found.clique == wanted.clique
        assert found.counts.dtype == np.int64
        assert np.array_equal(found.counts, wanted.counts), found.clique


def rows_of(columns: list[Any]) -> list[tuple[int, ...]]:
    return sorted(zip(*(c.tolist() for c in columns), strict=True))


@DIALECT
@pytest.mark.parametrize("said", contract.DECLARED)
def test_every_value_has_its_own_code(said: str, dialect: str) -> None:
    schema = contract.schemas()[said]
    source = SqlSource(StandIn(contract.arrow(), dialect), schema)
    codes = contract.expected(schema)
    names = schema.domain.names
    cliques = [(), *((name,) for name in names), *list(combinations(names, 2))[:9], names[:3]]
    for marginal in source.count(cliques):
        counts = np.zeros(schema.domain.shape(marginal.clique), dtype=np.int64)
        np.add.at(counts, tuple(np.array(codes)[[names.index(n) for n in marginal.clique]]), 1)
        wanted = counts if marginal.clique else np.array(contract.ROWS)
        assert np.array_equal(marginal.counts, wanted), marginal.clique
    columns, persons = source.records()
    assert rows_of(columns) == sorted(zip(*codes, strict=True))
    assert sorted(persons.tolist()) == list(range(contract.ROWS))


@DIALECT
def test_intervals_and_times_are_those_of_a_frame(dialect: str) -> None:
    texts = [None, "08:30", "26:30:00", "23:59:59.5", "x", "", "1 day 02:00:00"]
    schema = Schema(
        [Duration("span", lower="-02:00", upper="48:00", bins=50, missing=True), TimeOfDay("at", missing=True)]
    )
    table = pa.table({"span": SPANS, "at": pa.array(texts)})
    codes = Encoder(schema).encode(table)
    with SqlSource(StandIn(table, dialect), schema) as source:
        assert rows_of(source.records()[0]) == sorted(map(tuple, codes.tolist()))
        for axis, marginal in enumerate(source.count([("span",), ("at",)])):
            assert marginal.counts.tolist() == np.bincount(codes[:, axis], minlength=len(marginal.counts)).tolist()


@DIALECT
def test_what_the_engine_is_not_sure_of_is_read_here_and_nothing_twice(dialect: str) -> None:
    """Texts that one engine reads otherwise than another come over as they are; all others are counted where they
    live."""
    texts = ["1", "1e0", "2", " 2", "1_0", "x", None, "3.0", "9" * 30, "0x1"] * 3
    schema = Schema([Integer("n", lower=0, upper=9, missing=True, out_of_domain="missing")])
    table = StandIn(pa.table({"n": pa.array(texts)}), dialect)
    source = SqlSource(table, schema)
    wanted = np.bincount([code_of(schema.modelled[0], t, TextReader()) for t in texts], minlength=schema["n"].size)
    for _ in range(2):
        assert source.count([("n",)])[0].counts.tolist() == wanted.tolist()
    brought = [query for query in table.asked if " AS r0" in query]
    assert len(brought) == 1, "what was read once is kept"
    over = len(table.rows(brought[0]))
    assert 0 < over < len(texts), "some, not all"


@DIALECT
def test_an_empty_table_is_a_table(dialect: str) -> None:
    kinds = {"n": pa.int64(), "d": pa.date32(), "c": pa.string()}
    table = StandIn(pa.table({name: pa.array([], type=t) for name, t in kinds.items()}), dialect)
    source = SqlSource(table, contract.SMALL)
    assert source.rows() == 0
    assert [int(m.counts.sum()) for m in source.count([(), ("n",), ("n", "d", "c")])] == [0, 0, 0]
    assert [len(c) for c in source.records()[0]] == [0, 0, 0]
    assert list(source.batches()) == []
    loose = Schema([contract.SMALL["n"], contract.SMALL["d"], Category("c")])
    assert open_table(table, loose).count_values("c").labels == ()
    bounded = SqlSource(StandIn(contract.visits(1).slice(0, 0), dialect), contract.BOUNDED)
    assert bounded.records()[1].tolist() == []


@DIALECT
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("persons", contract.PERSONS)
def test_the_same_rows_of_each_person_stay(persons: str, shuffled: bool, dialect: str) -> None:
    table = contract.visits(3, contract.PERSONS[persons])
    source = open_source(StandIn(table, dialect, shuffled=shuffled), contract.BOUNDED)
    reference = open_source(table, contract.BOUNDED)
    assert isinstance(source, SqlSource)
    same(source, reference, [("ward", "stay"), (), ("ward",)])
    assert contract._by_person(source) == contract._by_person(reference)
    assert sum(len(batch[0]) for batch in source.batches()) == source.rows() == reference.rows()
    loose = Schema([Drop("id"), Category("ward"), contract.BOUNDED["stay"]], Unit("id", 3))
    ours = open_table(StandIn(table, dialect, shuffled=shuffled), loose).count_values("ward")
    theirs = open_table(table, loose).count_values("ward")
    assert (ours.labels, ours.counts.tolist()) == (theirs.labels, theirs.counts.tolist())


@DIALECT
def test_persons_are_bounded_here_if_one_row_is_in_doubt(dialect: str) -> None:
    """Some rows of a person bounded there and others here would be more rows than the promise allows."""
    table = contract.visits(4)
    stays = [f"{v}e0" if i % 9 == 0 else f"{v}" for i, v in enumerate(table["stay"].to_pylist())]
    table = table.set_column(2, "stay", pa.array(stays))
    source, reference = SqlSource(StandIn(table, dialect), contract.BOUNDED), open_source(table, contract.BOUNDED)
    same(source, reference, [("ward", "stay"), ()])
    assert contract._by_person(source) == contract._by_person(reference)
    assert np.bincount(source.records()[1]).max() <= 3


@DIALECT
def test_whoever_comes_moves_nobody_elses_rows(dialect: str) -> None:
    table = contract.visits(5)
    own = pc.equal(table["id"], 7)
    inside = SqlSource(StandIn(table, dialect, shuffled=True), contract.BOUNDED)
    outside = SqlSource(StandIn(table.filter(pc.invert(own)), dialect, shuffled=True), contract.BOUNDED)
    for _ in range(3):
        step = inside.count([("ward", "stay")])[0].counts - outside.count([("ward", "stay")])[0].counts
        assert step.min() >= 0, "somebody else lost a row"
        assert step.sum() == min(3, int(pc.sum(own).as_py()))


@DIALECT
def test_two_texts_are_two_persons(dialect: str) -> None:
    texts = [*contract.LETTERS, "5.0", "1000.0"]
    table = pa.table(
        {
            "id": pa.array([text for text in texts for _ in range(4)]),
            "ward": pa.array(["a"] * 4 * len(texts)),
            "stay": pa.array([i % 21 for i in range(4 * len(texts))], type=pa.int64()),
        }
    )
    persons = np.bincount(SqlSource(StandIn(table, dialect), contract.BOUNDED).records()[1])
    assert len(persons) == len(contract.LETTERS)
    assert (persons == 3).all()


@DIALECT
@pytest.mark.parametrize(
    "ids",
    [
        pa.array([True, True, True, True, False, None]),
        pa.array([2**60, 2**60, 2**60 + 1, 5, 5, None]),
        pa.array([1.0, 1.0, 1.0, 1.0, 2.0, None]),
        pa.array(["1.0", "1", "1.0", "1", "NaN", ""]),
        pa.array([b"x", b"x", b"x", b"x", b"y", None]),
    ],
    ids=str,
)
def test_persons_of_every_stored_kind(ids: pa.Array, dialect: str) -> None:
    """Whole numbers beyond 2⁵³ are nobody; numbers with a fraction and bytes are read here."""
    table = pa.table({"id": ids, "ward": pa.array(list("abcabc")), "stay": pa.array(range(6), type=pa.int64())})
    ours, theirs = SqlSource(StandIn(table, dialect), contract.BOUNDED), open_source(table, contract.BOUNDED)
    same(ours, theirs, [("ward", "stay"), ()])
    assert contract._by_person(ours) == contract._by_person(theirs)


@DIALECT
def test_no_name_or_category_is_ever_taken_for_sql(dialect: str) -> None:
    nasty = contract.NASTY
    values = [*nasty, *nasty[:3], "none of them"]
    table = StandIn(pa.table({name: pa.array(values) for name in nasty}), dialect)
    schema = Schema([Category(name, categories=tuple(nasty)) for name in nasty])
    for marginal in SqlSource(table, schema).count([(name,) for name in nasty]):
        assert marginal.counts.tolist() == [2, 2, 2, *[1] * (len(nasty) - 3), 1]
    found = open_table(table, Schema([Category(name) for name in nasty])).count_values(nasty[0])
    assert dict(zip(found.labels, found.counts.tolist(), strict=True)) == {n: values.count(n) for n in values}


@cache
def one_table() -> StandIn:
    return StandIn(pa.table({"x": pa.array([0])}))


@settings(max_examples=40, deadline=None)
@given(st.lists(contract.ANY_TEXT, min_size=1, max_size=20, unique=True))
def test_any_text_is_a_text(texts: list[str]) -> None:
    for dialect, translated in DIALECTS.values():
        found = one_table().rows(translated(f"SELECT {', '.join(map(dialect.literal, texts))}"))
        assert list(found[0]) == texts


@pytest.mark.parametrize("seed", range(4))
@DIALECT
def test_few_scans_count_what_many_do(dialect: str, seed: int) -> None:
    """Random sets of columns, more than one scan may hold, some inside others and some named twice."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(7)]
    schema = Schema([Integer(name, lower=0, upper=3, missing=i % 2 == 0) for i, name in enumerate(names)])
    table = pa.table({n: pa.array([int(v) if v < 4 else None for v in rng.integers(0, 5, 60)]) for n in names})
    sets = [tuple(n for n in names if rng.random() < 0.4) for _ in range(15)]
    sets += sets[:2]
    stand_in = StandIn(table, dialect)
    same(SqlSource(stand_in, schema), open_source(table, schema), sets)
    if dialect == "duck":
        scans = [query for query in stand_in.asked if "GROUPING SETS" in query]
        assert 2 <= len(scans) <= len(sets)


def test_rows_come_over_once_and_a_reader_that_stops_spoils_nothing() -> None:
    schema = Schema([Integer("n", lower=0, upper=99)])
    table = StandIn(pa.table({"n": pa.array(range(30), type=pa.int64())}))
    source = SqlSource(table, schema)
    next(iter(source.batches()))
    wanted = [(i,) for i in range(30)]
    assert rows_of([np.concatenate([b[0] for b in source.batches()])]) == wanted
    asked = len(table.asked)
    assert rows_of([np.concatenate([b[0] for b in source.batches()])]) == wanted
    assert len(table.asked) == asked


def test_names_and_identities() -> None:
    table, schema = contract.visits(1), contract.BOUNDED
    source = SqlSource(StandIn(table), schema)
    assert source.name == "stand-in"
    assert "stand-in" in repr(source)
    assert "private" in repr(SqlSource(StandIn(table, name=None), schema))
    mixed = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    assert source.identity() == SqlSource(StandIn(mixed), schema).identity()
    assert source.identity() != SqlSource(StandIn(table.slice(1)), schema).identity()
    more = table.append_column("beside", pa.array(range(table.num_rows)))
    extended = Schema([*schema.columns, Drop("beside")], schema.unit)
    assert source.identity() == SqlSource(StandIn(more), extended).identity(), "columns that are not used do not count"
    opened = open_table(StandIn(table), schema)
    assert opened.identity() is not None
    assert opened.name == "stand-in"
    closed = opened.with_schema(schema)
    closed.close()
    with pytest.raises(DataError, match="closed"):
        closed.count([()])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1]}, "'b'"),
        ({"a": [1], "b": [1], "more": [1]}, "'more'"),
        ({"a": [[1]], "b": [1]}, "'a'"),
    ],
    ids=["missing", "undeclared", "nested"],
)
def test_tables_that_do_not_fit_are_refused(columns: dict[str, list[Any]], words: str) -> None:
    schema = Schema([Integer("a", lower=0, upper=9), Real("b", lower=0, upper=1, bins=2)])
    table = StandIn(pa.table(columns))
    with pytest.raises((SchemaError, DataError), match=words):
        SqlSource(table, schema)
    assert table.asked == []


def test_what_an_engine_cannot_work_out_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    numbers = {"a": pa.array([1, 2]), "b": pa.array([3, 4])}
    columns = [Integer("a", lower=0, upper=9), Integer("b", lower=0, upper=19)]
    schema = Schema([*columns, Integer("c", lower=0, upper=9, formula="b - a", replaces="b")])
    with pytest.raises(SchemaError, match=r"'c'.*make a view"):
        fit("independent", open_source(StandIn(pa.table(numbers)), schema), 1.0, ledger=tmp_path / "l.db")
    assert not (tmp_path / "l.db").exists()
