"""Rows that break rules, judged by values: a loop over the rows is the twin, and no record moves more than it may."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_source_contract import into_postgres, store

from kagemusha.encoding.rules import violations
from kagemusha.errors import SchemaError, UsageError
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.queries.broken_rules import BrokenRules
from kagemusha.schema import Boolean, Category, Date, Drop, Integer, Schema, Unit
from kagemusha.schema.constraints import Constraint
from kagemusha.sources.judged import JudgedSource
from servers import Postgres

CITIES = Category("city", categories=("Paris", "Lyon", "Rome"), out_of_domain="clip")
COUNTRIES = Category("country", categories=("FR", "IT"), out_of_domain="clip")
RULES = ("came <= left", "ward = 'maternity' implies pregnant = true", "stay <= 30", "city determines country")
SCHEMA = Schema(
    [
        Drop("id"),
        Date("came", lower="2020-01-01", upper="2021-12-31", bins=4, missing=True),
        Date("left", lower="2020-01-01", upper="2022-12-31", bins=5, missing=True),
        Integer("stay", lower=0, upper=100, formula="left - came", replaces="left", missing=True),
        Category("ward", categories=("maternity", "surgery"), out_of_domain="clip"),
        Boolean("pregnant", missing=True),
        CITIES,
        COUNTRIES,
    ],
    constraints=RULES,
)
TRUTH = {"FR": "Paris Lyon", "IT": "Rome"}


def visits(rows: int = 120, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    came = rng.integers(18262, 18900, rows)
    left = came + rng.integers(-3, 40, rows)
    city = rng.choice(["Paris", "Lyon", "Rome"], rows)
    country = np.where(rng.random(rows) < 0.15, "IT", [next(c for c in TRUTH if t in TRUTH[c].split()) for t in city])
    return pa.table(
        {
            "id": pa.array([f"p{i % 50}" for i in range(rows)]),
            "came": pa.array(came.tolist(), pa.int32(), mask=rng.random(rows) < 0.1).cast(pa.date32()),
            "left": pa.array(left.tolist(), pa.int32(), mask=rng.random(rows) < 0.1).cast(pa.date32()),
            "ward": pa.array(rng.choice(["maternity", "surgery"], rows)),
            "pregnant": pa.array(rng.random(rows) < 0.5, mask=rng.random(rows) < 0.1),
            "city": pa.array(city),
            "country": pa.array(country),
        }
    )


def by_loop(records: list[dict[str, Any]]) -> list[int]:
    """Rows first, then how many break each rule, read off the values as a person would."""
    backwards = sum(bool(r["came"] and r["left"] and r["came"] > r["left"]) for r in records)
    not_pregnant = sum(r["ward"] == "maternity" and r["pregnant"] is not True for r in records)
    # a comparison with a missing value does not hold
    long = sum(not (r["came"] and r["left"] and (r["left"] - r["came"]).days <= 30) for r in records)
    odd = 0
    for city in {r["city"] for r in records}:
        partners = [r["country"] for r in records if r["city"] == city]
        odd += len(partners) - max(map(partners.count, partners))
    return [len(records), backwards, not_pregnant, long, odd]


def counted(where: Any, schema: Schema = SCHEMA, **place: Any) -> list[int]:
    query = BrokenRules(schema)
    return query.values(JudgedSource(where, schema, **place).count(query.cliques())).tolist()


@pytest.mark.parametrize("kind", ["frame", "parquet", "pattern", "duckdb"])
def test_a_loop_over_the_rows_counts_the_same(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table = visits()
    where, place = store(kind, table, request, tmp_path)
    wanted = by_loop(table.to_pylist())
    assert min(wanted) > 0
    assert counted(where, **place) == wanted


def test_a_csv_counts_the_same_and_so_does_the_free_form(tmp_path: Path) -> None:
    table = visits()
    pc.write_csv(table, tmp_path / "t.csv")
    assert counted(tmp_path / "t.csv") == by_loop(table.to_pylist())
    assert list(violations(table, SCHEMA).values()) == by_loop(table.to_pylist())[1:]


def test_an_empty_table_breaks_nothing() -> None:
    assert counted(visits().slice(0, 0)) == [0, 0, 0, 0, 0]


def test_at_most_so_many_rows_of_a_person_are_judged() -> None:
    unit = SCHEMA.with_unit(Unit("id", 2))
    table = visits(200)
    rows, *broken = counted(table, unit)
    assert rows == 100
    assert all(b <= w for b, w in zip(broken, by_loop(table.to_pylist())[1:], strict=True))
    heavy = pa.concat_tables([table, *[table.slice(0, 1)] * 40])
    moves = PrivacyUnit(Adjacency.ADD_REMOVE, 2).sensitivity(BrokenRules(unit).sensitivity)
    by = np.abs(np.array(counted(heavy, unit)) - np.array(counted(table, unit)))
    assert by.max() <= moves.each, "forty more rows of one person count for two"


def test_a_view_in_another_order_at_every_scan_judges_the_same_rows_of_each_person(tmp_path: Path) -> None:
    unit = SCHEMA.with_unit(Unit("id", 2))
    table = visits(200)
    wanted = counted(table, unit)
    base = tmp_path / "t.db"
    with duckdb.connect(str(base)) as link:
        link.register("given", table)
        link.execute("CREATE TABLE t AS SELECT * FROM given")
        link.execute("CREATE VIEW shuffled AS SELECT * FROM t ORDER BY random()")
    for _ in range(5):
        source = JudgedSource(f"duckdb:///{base}", unit, table="shuffled")
        query = BrokenRules(unit)
        assert query.values(source.count(query.cliques())).tolist() == wanted


RECORD = st.fixed_dictionaries(
    {
        "id": st.just("x"),
        "came": st.sampled_from([None, date(2020, 3, 1), date(2020, 3, 9)]),
        "left": st.sampled_from([None, date(2020, 3, 1), date(2020, 3, 9), date(2021, 5, 5)]),
        "ward": st.sampled_from(["maternity", "surgery", "?"]),
        "pregnant": st.sampled_from([None, True, False]),
        "city": st.sampled_from(["Paris", "Lyon", "Rome"]),
        "country": st.sampled_from(["FR", "IT"]),
    }
)


def judged(records: list[dict[str, Any]]) -> np.ndarray:
    return np.array(counted(pa.Table.from_pylist(records, schema=visits(1).schema)))


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORD, max_size=6), RECORD, RECORD)
def test_no_record_moves_more_than_its_reach(others: list[Any], one: Any, two: Any) -> None:
    """The majority partner of a city may change with one record.

    The number that is counted moves by one all the same.
    """
    without, with_one, with_two = (judged([*others, *more]) for more in ([], [one], [two]))
    for before, after, relation in (
        (without, with_one, Adjacency.ADD_REMOVE),
        (with_one, with_two, Adjacency.REPLACE),
    ):
        moves = PrivacyUnit(relation).sensitivity(BrokenRules(SCHEMA).sensitivity)
        by = np.abs(before - after)
        assert by.sum() <= moves.l1
        assert (by**2).sum() <= moves.l2_squared
        assert by.max() <= moves.each


def test_the_reach_is_reached() -> None:
    rules = ("a > 1", "a > 2", "a > 3")
    schema = Schema([Integer("a", lower=0, upper=9)], constraints=rules)
    good, bad = ([9], [9, 0])
    by = np.subtract(*(counted(pa.table({"a": t}), schema) for t in (bad, good)))
    moves = PrivacyUnit().sensitivity(BrokenRules(schema).sensitivity)
    assert by.tolist() == [1, 1, 1, 1]
    assert (moves.l1, moves.l2_squared) == (4, 4)
    swapped = np.subtract(*(counted(pa.table({"a": t}), schema) for t in ([0], [9])))
    moves = PrivacyUnit(Adjacency.REPLACE).sensitivity(BrokenRules(schema).sensitivity)
    assert swapped.tolist() == [0, 1, 1, 1]
    assert (moves.l1, moves.l2_squared) == (3, 3)


def test_guesses_are_not_asked_about() -> None:
    guess = SCHEMA.with_constraints(Constraint("came <= left", guess=True))
    with pytest.raises(UsageError, match="no rule in force"):
        JudgedSource(visits(), guess)


def test_an_engine_is_refused_before_anything_is_read(postgres: Postgres) -> None:
    name = f"r{os.urandom(4).hex()}"
    into_postgres(postgres.url, name, pa.table({"a": pa.array([1, 2], pa.int64()), "b": pa.array([3, 4], pa.int64())}))
    schema = Schema([Integer("a", lower=0, upper=9), Integer("b", lower=0, upper=9)], constraints=["a < b"])
    with pytest.raises(SchemaError, match="write the table to a Parquet file"):
        JudgedSource(postgres.url, schema, table=name)


def test_a_table_that_does_not_fit_is_told() -> None:
    with pytest.raises(SchemaError, match="'ward'"):
        JudgedSource(visits().drop_columns(["ward"]), SCHEMA)
