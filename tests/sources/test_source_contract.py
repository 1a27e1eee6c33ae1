"""One contract for every source: the same codes, the same counts, the same edge cases, wherever the table lives."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from exact import RememberingReader
from kagemusha import fit
from kagemusha.columns.dialects import PostgresDialect, SparkDialect
from kagemusha.encoding.reference import code_of
from kagemusha.errors import DataError, SchemaError
from kagemusha.schema import Boolean, Category, Date, Datetime, Drop, Integer, Modelled, Real, Schema, Unit
from kagemusha.sources import Source, open_source, open_table
from servers import Postgres

READER = RememberingReader()
inf, nan = float("inf"), float("nan")
TOKYO = timezone(timedelta(hours=9))

TEXTS = [None, "", "a", "é", "a'b", 'a"b', "a\\b", "${x}", "日本", "1", "1.0", " 1", "1e0", "true", "True", "nan",
         "NaN", "inf", "2020-01-05", "2020-01-05 10:00:00", "2020-02-30", "2020-02-29", "05/01/2020", "7", "-7", "007",
         "0.1", "1_000", "a\n", "A", "yes", "9" * 30, "\U0001f600", "%s", "?", "a;--",
         "2020-01-05T10:00:00Z"]  # fmt: skip

STORED: dict[str, tuple[Any, str, str, list[Any]]] = {
    "text": (pa.string(), "text", "string", TEXTS),
    "integer": (pa.int64(), "bigint", "bigint", [None, 0, 1, -1, 5, 99, 100, 2**53, 2**62, -(2**63), 20200105, 18266]),
    "small": (pa.int16(), "smallint", "smallint", [None, 0, 1, -1, 5, 99]),
    "float": (pa.float64(), "float8", "double", [None, nan, 0.0, -0.0, inf, -inf, 0.1, 0.3, 0.30000000000000004, 1.0,
        9.999, 10.0, 10.5, 1e300, 5e-324]),
    "single": (pa.float32(), "float4", "float", [None, nan, 0.0, -0.0, inf, 0.5, 1.0, 10.0]),
    "decimal": (pa.decimal128(20, 3), "numeric(20,3)", "decimal(20,3)", [None, Decimal("0.000"), Decimal("1.000"),
        Decimal("0.300"), Decimal("-5.500"), Decimal("99999999999999.999")]),
    "boolean": (pa.bool_(), "boolean", "boolean", [None, True, False]),
    "date": (pa.date32(), "date", "date", [None, date(1969, 12, 31), date(2020, 1, 5), date(2020, 2, 29), date(1, 1,
        1), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us"), "timestamp", "timestamp_ntz", [None, datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime(2020, 1, 5), datetime(2020, 1, 5, 10, 0, 0, 1), datetime(2020, 3, 29, 2, 30), datetime(1, 1, 1)]),
    "zoned": (pa.timestamp("us", tz="UTC"), "timestamptz", "timestamp", [None, datetime(2020, 1, 5, 0, 30,
        tzinfo=TOKYO), datetime(2020, 1, 5, tzinfo=UTC), datetime(1960, 6, 1, 12, tzinfo=UTC)]),
}  # fmt: skip

DECLARED: dict[str, Callable[[str], Modelled]] = {
    "labels": lambda n: Category(n, categories=("a", "é", "a'b", 'a"b', "a\\b", "${x}", "日本", "%s", "\U0001f600"),
        missing=True),
    "numbers": lambda n: Category(n, categories=(0, 1, 5, "2020-01-05", ""), missing=True, out_of_domain="missing"),
    "many": lambda n: Category(n, categories=(*(f"v{i}" for i in range(40)), "a", "é", "日本", "1")),
    "truth": lambda n: Boolean(n, missing=True),
    "whole": lambda n: Integer(n, lower=0, upper=10, missing=True),
    "binned": lambda n: Integer(n, lower=-5, upper=99, bins=7, missing=True, out_of_domain="missing"),
    "real": lambda n: Real(n, edges=(0.0, 0.1, 0.30000000000000004, 1.0, 5.0, 7.0, 10.5)),
    "reals": lambda n: Real(n, lower=-1, upper=10.5, bins=23, missing=True, out_of_domain="missing"),
    "day": lambda n: Date(n, lower="1950-01-01", upper="2030-12-31", bins=9, missing=True),
    "month": lambda n: Date(n, lower="1950-01-01", upper="2030-12-31", bins=9, format="%m/%Y", missing=True),
    "year": lambda n: Date(n, lower="1950-01-01", upper="2030-12-31", bins=9, format="%Y"),
    "written": lambda n: Date(n, lower="1950-01-01", upper="2030-12-31", bins=9, format="%d/%m/%Y"),
    "moment": lambda n: Datetime(n, lower="1960-01-01", upper="2030-12-31", bins=50, missing=True,
        out_of_domain="missing"),
}  # fmt: skip

ROWS = max(len(values) for *_, values in STORED.values())
COLUMNS = {name: [*values, *[None] * (ROWS - len(values))] for name, (*_, values) in STORED.items()}
NEAR = ["frame", "parquet", "pattern", "duckdb", "postgres", "view", "postgres-view"]
"""A view comes in another order at every scan."""
KINDS = [*NEAR, pytest.param("spark", marks=pytest.mark.slow)]


def arrow() -> pa.Table:
    return pa.table({name: pa.array(COLUMNS[name], type=STORED[name][0]) for name in STORED})


def store(kind: str, table: pa.Table, request: pytest.FixtureRequest, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The table in one kind of place: what `open_source` takes."""
    if kind == "frame":
        return table, {}
    if kind == "parquet":
        pq.write_table(table, folder / "t.parquet")
        return folder / "t.parquet", {}
    if kind == "pattern":
        half = table.num_rows // 2
        pq.write_table(table.slice(0, half), folder / "part-1.parquet")
        pq.write_table(table.slice(half).select(list(reversed(table.column_names))), folder / "part-2.parquet")
        return str(folder / "part-*.parquet"), {}
    if kind in ("duckdb", "view"):
        path = folder / "t.db"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", table)
            connection.execute('CREATE TABLE "the ""table" AS SELECT * FROM given')
            connection.execute('CREATE VIEW shuffled AS SELECT * FROM "the ""table" ORDER BY random()')
        return f"duckdb:///{path}", {"table": "shuffled" if kind == "view" else 'the "table'}
    if kind in ("postgres", "postgres-view"):
        url = request.getfixturevalue("postgres").url
        name = f't"; drop {os.urandom(4).hex()}'
        into_postgres(url, name, table)
        if kind == "postgres":
            return url, {"table": name}
        view = f"v{os.urandom(4).hex()}"
        with psycopg.connect(url) as link:
            link.execute(
                sql.SQL("CREATE VIEW {} AS SELECT * FROM {} ORDER BY random()").format(
                    sql.Identifier(view), sql.Identifier(name)
                )
            )
        return url, {"table": view}
    spark = request.getfixturevalue("spark")
    fields = ", ".join(
        f"`{n.replace('`', '``')}` {spark_type(f.type)}" for n, f in zip(table.column_names, table.schema, strict=True)
    )
    return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema=fields), {}


def pg_type(kind: Any) -> str:
    return next((t for a, t, *_ in STORED.values() if a == kind), "text")


def spark_type(kind: Any) -> str:
    return next((t for a, _, t, _ in STORED.values() if a == kind), "string")


def into_postgres(url: str, name: str, table: pa.Table) -> None:
    with psycopg.connect(url) as link:
        fields = [sql.SQL("{} {}").format(sql.Identifier(f.name), sql.SQL(pg_type(f.type))) for f in table.schema]
        link.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), sql.SQL(", ").join(fields)))
        marks = sql.SQL(", ").join([sql.Placeholder()] * table.num_columns)
        rows = [tuple(row.values()) for row in table.to_pylist()]
        if rows:
            link.cursor().executemany(sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(name), marks), rows)


@pytest.fixture(scope="module", params=NEAR)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    return store(request.param, arrow(), request, tmp_path_factory.mktemp("t"))


def schemas() -> dict[str, Schema]:
    """Every declaration for every stored type: a few schemas, each with all the columns."""
    return {said: Schema([declare(name) for name in STORED]) for said, declare in DECLARED.items()}


def expected(schema: Schema) -> list[list[int]]:
    reader = READER
    values = {name: arrow()[name].to_pylist() for name in STORED}
    return [[code_of(column, value, reader) for value in values[column.name]] for column in schema.modelled]


@pytest.mark.parametrize("said", DECLARED)
def test_every_value_has_its_own_code_everywhere(said: str, stored: tuple[Any, dict[str, Any]]) -> None:
    schema = schemas()[said]
    where, place = stored
    source = open_source(where, schema, **place)
    codes = expected(schema)
    names = schema.domain.names
    cliques = [(), *((name,) for name in names), *list(combinations(names, 2))[:9], names[:3]]
    for marginal in source.count(cliques):
        axes = [names.index(name) for name in marginal.clique]
        counts = np.zeros(schema.domain.shape(marginal.clique), dtype=np.int64)
        for row in zip(*codes, strict=True):
            counts[tuple(row[axis] for axis in axes)] += 1
        assert np.array_equal(marginal.counts, counts), marginal.clique
    if said in ("labels", "moment"):
        columns, persons = source.records()
        assert sorted(zip(*(c.tolist() for c in columns), strict=True)) == sorted(zip(*codes, strict=True))
        assert len(set(persons.tolist())) == ROWS
        batches = [
            list(zip(*(c.tolist() for c in b), strict=True)) for b in getattr(source, "batches", lambda: [columns])()
        ]
        assert sorted(row for batch in batches for row in batch) == sorted(zip(*codes, strict=True))


@pytest.mark.parametrize("kind", ["postgres", pytest.param("spark", marks=pytest.mark.slow)])
def test_all_declarations_in_one_table(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Every stored type under every declaration, in few scans: wider than one query may be."""
    saids, names = list(DECLARED), list(STORED)
    if kind == "spark":  # its planner takes a second for each column of many bins
        saids = ["labels", "numbers", "truth", "binned", "real", "day", "month"]
        names = ["text", "float", "decimal", "date", "timestamp", "zoned"]
    pairs = [(name, said) for said in saids for name in names]
    table = pa.table({f"{name} {said}": arrow()[name] for name, said in pairs})
    schema = Schema([DECLARED[said](f"{name} {said}") for name, said in pairs])
    where, place = store(kind, table, request, tmp_path)
    source = open_source(where, schema, **place)
    reader = READER
    singles = [(name,) for name in schema.domain.names]
    for marginal, column, (name, _) in zip(source.count(singles), schema.modelled, pairs, strict=True):
        codes = [code_of(column, value, reader) for value in arrow()[name].to_pylist()]
        assert marginal.counts.tolist() == np.bincount(codes, minlength=column.size).tolist(), column


SMALL = Schema([Integer("n", lower=0, upper=9), Date("d", lower="2020-01-01", upper="2020-12-31", missing=True),
    Category("c", categories=("a", "b"))])  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_is_a_table(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kinds = {"n": pa.int64(), "d": pa.date32(), "c": pa.string()}
    table = pa.table({name: pa.array([], type=t) for name, t in kinds.items()})
    where, place = store(kind, table, request, tmp_path)
    source = open_source(where, SMALL, **place)
    assert source.rows() == 0
    assert [int(m.counts.sum()) for m in source.count([(), ("n",), ("n", "d", "c")])] == [0, 0, 0]
    assert [len(c) for c in source.records()[0]] == [0, 0, 0]
    loose = Schema([SMALL["n"], SMALL["d"], Category("c")])
    assert open_table(where, loose, **place).count_values("c").labels == ()


def visits(seed: int, ids: Any = None) -> pa.Table:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(40), rng.integers(1, 20, 40))
    rng.shuffle(who)
    return pa.table(
        {
            "id": pa.array(
                who.tolist() if ids is None else [ids(i) for i in who], type=pa.int64() if ids is None else pa.string()
            ),
            "ward": pa.array(rng.choice(list("abcd"), len(who)).tolist(), type=pa.string()),
            "stay": pa.array(rng.integers(0, 25, len(who)).tolist(), type=pa.int64()),
        }
    )


BOUNDED = Schema(
    [Drop("id"), Category("ward", categories=("a", "b", "c")), Integer("stay", lower=0, upper=20)], Unit("id", 3)
)
PERSONS = {
    "numbers": None,
    "texts": lambda i: f"p{i}é",
    "some of nobody": lambda i: None if i == 3 else "" if i == 4 else f"p{i}",
    "one in several spellings": lambda i: f"{i // 2}.0" if i % 2 else str(i // 2),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("persons", PERSONS)
def test_the_same_rows_of_each_person_stay(
    kind: str, persons: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table = visits(3, PERSONS[persons])
    where, place = store(kind, table, request, tmp_path)
    source, reference = open_source(where, BOUNDED, **place), open_source(table, BOUNDED)
    for ours, theirs in zip(source.count([("ward", "stay"), ()]), reference.count([("ward", "stay"), ()]), strict=True):
        assert np.array_equal(ours.counts, theirs.counts)
    assert _by_person(source) == _by_person(reference)
    open_schema = Schema([Drop("id"), Category("ward"), BOUNDED["stay"]], Unit("id", 3))
    ours, theirs = (open_table(t, open_schema, **p).count_values("ward") for t, p in ((where, place), (table, {})))
    assert (ours.labels, ours.counts.tolist()) == (theirs.labels, theirs.counts.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_comes_moves_nobody_elses_rows_and_no_more_than_their_own(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """With a person of many rows and without, whatever order the rows come in, and at every pass over them."""
    table = visits(5)
    theirs = pc.equal(table["id"], 7)
    (tmp_path / "without").mkdir()
    where, place = store(kind, table, request, tmp_path)
    before, spot = store(kind, table.filter(pc.invert(theirs)), request, tmp_path / "without")
    inside, outside = open_source(where, BOUNDED, **place), open_source(before, BOUNDED, **spot)
    for _ in range(3):
        step = inside.count([("ward", "stay")])[0].counts - outside.count([("ward", "stay")])[0].counts
        assert step.min() >= 0, "somebody else lost a row"
        assert step.sum() == min(3, int(pc.sum(theirs).as_py()))
    assert sum(len(batch[0]) for batch in inside.batches()) == inside.rows()
    open_schema = Schema([Drop("id"), Category("ward"), BOUNDED["stay"]], Unit("id", 3))
    found = [open_table(t, open_schema, **p).count_values("ward") for t, p in ((where, place), (before, spot))]
    counts = [dict(zip(values.labels, values.counts.tolist(), strict=True)) for values in found]
    steps = [counts[0].get(label, 0) - counts[1].get(label, 0) for label in counts[0] | counts[1]]
    assert min(steps) >= 0
    assert sum(steps) == min(3, int(pc.sum(theirs).as_py()))


LETTERS = ["1000", "1e3", "0", "false", "-0", "1", "true", "5", "5.00", "007", "7", " 7", "A1", "a1", "1_0", "10", "é",
    "2020-01-05", "2020-01-05 00:00:00"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_two_texts_are_two_persons(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """But for what a column of floats writes behind whole numbers."""
    texts = [*LETTERS, "5.0", "1000.0"]
    table = pa.table(
        {
            "id": pa.array([text for text in texts for _ in range(4)]),
            "ward": pa.array(["a"] * 4 * len(texts)),
            "stay": pa.array([i % 21 for i in range(4 * len(texts))], type=pa.int64()),
        }
    )
    where, place = store(kind, table, request, tmp_path)
    source = open_source(where, BOUNDED, **place)
    persons = np.bincount(source.records()[1])
    assert len(persons) == len(LETTERS)
    assert (persons == 3).all()


def test_a_collation_of_the_database_is_not_ours(postgres: Postgres, tmp_path: Path) -> None:
    """Compared without case, one record would decide which spelling of a label is found, and whose rows are whose."""
    people = "INSERT INTO t SELECT i::text, 'a', 1 FROM generate_series(1, 20) AS s(i)"
    one = ["INSERT INTO t VALUES ('A', 'A', 1)", *["INSERT INTO t VALUES ('x', 'x', 2), ('X', 'x', 3)"] * 4]
    with duckdb.connect(str(tmp_path / "t.db")) as base:
        base.execute("CREATE TABLE t (id text COLLATE nocase, ward text COLLATE nocase, stay integer)")
        for statement in (*one, people):  # the record that is spelled otherwise comes first
            base.execute(statement)
    with psycopg.connect(postgres.url) as link:
        link.execute("CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        link.execute("DROP TABLE IF EXISTS t")
        link.execute("CREATE TABLE t (id text COLLATE any_case, ward text COLLATE any_case, stay integer)")
        for statement in (*one, people):
            link.execute(statement)
    loose = Schema([Drop("id"), Category("ward"), BOUNDED["stay"]])
    for where in (f"duckdb:///{tmp_path / 't.db'}", postgres.url):
        found = open_table(where, loose, table="t").count_values("ward")
        assert dict(zip(found.labels, found.counts.tolist(), strict=True)) == {"a": 20, "x": 8, "A": 1}
        per_person = np.bincount(open_source(where, BOUNDED, table="t").records()[1])
        assert sorted(per_person.tolist()) == [1] * 21 + [3, 3]


def _by_person(source: Source) -> list[list[tuple[int, ...]]]:
    columns, persons = source.records()
    found: dict[int, list[tuple[int, ...]]] = {}
    for person, *row in zip(persons.tolist(), *(c.tolist() for c in columns), strict=True):
        found.setdefault(person, []).append(tuple(row))
    assert sorted(found) == list(range(len(found)))
    return sorted(sorted(rows) for rows in found.values())


ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(ANY_TEXT, st.text("'\"\\`${};-%n\n", max_size=8)), min_size=1, max_size=20))
def test_any_text_is_a_text_and_any_name_a_name(postgres: Postgres, texts: list[str]) -> None:
    """The server gives back every text as it was, and every name (up to its 63 bytes) as the name of a column."""
    dialect = PostgresDialect()
    names = {text.encode()[:60].decode(errors="ignore"): None for text in texts if text}
    with psycopg.connect(postgres.url) as link:
        found = link.execute(f"SELECT {', '.join(map(dialect.literal, texts))}").fetchone()
        assert list(found or ()) == texts
        if names:
            described = link.execute(f"SELECT {', '.join(f'1 AS {dialect.identifier(n)}' for n in names)}").description
            assert [column.name for column in described or ()] == list(names)


@pytest.mark.slow
def test_any_text_is_a_text_for_spark(spark: Any) -> None:
    rng = np.random.default_rng(0)
    letters = [*"'\"\\`${};-%n\n\tuU0", "é", "日", "\U0001f600", "u0027", "${x}", "--", "/*"]
    texts = ["".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(300)]
    assert list(spark.sql(f"SELECT {', '.join(map(SparkDialect().literal, texts))}").collect()[0]) == texts


NASTY = ['a"b', "a'b", "a`b", "a\\", "a;--", "${a}", "%(a)s", "a b", "é", "'; DROP TABLE x; --", '" AS raw', "$1", "?",
":x", "{}", "SELECT"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_or_category_is_ever_taken_for_sql(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    values = [*NASTY, *NASTY[:3], "none of them"]
    table = pa.table({name: pa.array(values, type=pa.string()) for name in NASTY})
    where, place = store(kind, table, request, tmp_path)
    schema = Schema([Category(name, categories=tuple(NASTY)) for name in NASTY])
    for marginal in open_source(where, schema, **place).count([(name,) for name in NASTY]):
        assert marginal.counts.tolist() == [2, 2, 2, *[1] * (len(NASTY) - 3), 1]
    found = open_table(where, Schema([Category(name) for name in NASTY]), **place).count_values(NASTY[0])
    assert dict(zip(found.labels, found.counts.tolist(), strict=True)) == {n: values.count(n) for n in values}


@pytest.mark.parametrize("kind", KINDS)
def test_special_values_have_codes_of_their_own_everywhere(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    values = [None, 0, 3, 9, 99, 777, 888, -5]
    table = pa.table(
        {"n": pa.array(values, type=pa.int64()), "t": pa.array([None if v is None else f"{v}" for v in values])}
    )
    schema = Schema([Integer(n, lower=0, upper=99, bins=4, missing=True, special=(777, 888)) for n in ("n", "t")])
    where, place = store(kind, table, request, tmp_path)
    reader = READER
    for marginal, column in zip(
        open_source(where, schema, **place).count([("n",), ("t",)]), schema.modelled, strict=True
    ):
        codes = [code_of(column, value, reader) for value in table[column.name].to_pylist()]
        assert marginal.counts.tolist() == np.bincount(codes, minlength=column.size).tolist()


def test_what_an_engine_cannot_work_out_is_refused_before_anything_is_spent(postgres: Postgres, tmp_path: Path) -> None:
    name = f"f{os.urandom(4).hex()}"
    into_postgres(
        postgres.url, name, pa.table({"a": pa.array([1, 2], type=pa.int64()), "b": pa.array([3, 4], type=pa.int64())})
    )
    schema = Schema(
        [
            Integer("a", lower=0, upper=9),
            Integer("b", lower=0, upper=19),
            Integer("c", lower=0, upper=9, formula="b - a", replaces="b"),
        ]
    )
    with pytest.raises(SchemaError, match="make a view"):
        fit("independent", open_source(postgres.url, schema, table=name), 1.0, ledger=tmp_path / "l.db")
    assert not (tmp_path / "l.db").exists()


@pytest.mark.slow
def test_spark_tables_by_name(spark: Any) -> None:
    rows = [(i % 10, "a" if i % 3 else "b") for i in range(90)]
    spark.createDataFrame(rows, "n int, c string").createOrReplaceTempView("people_by_name")
    schema = Schema([Integer("n", lower=0, upper=9), Category("c", categories=("a", "b"))])
    source = open_source("spark://", schema, table="people_by_name")
    assert source.name == "spark://#people_by_name"
    model = fit("independent", source, 5.0)
    assert model.sample(20).num_rows == 20
    assert source.identity() == open_source("spark://", schema, table="people_by_name").identity()
    with pytest.raises(DataError, match="no table 'nothing'"):
        open_source("spark://", schema, table="nothing")
