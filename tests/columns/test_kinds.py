"""What every kind of column keeps.

One code for one value however it comes, and values, words and stand-ins that fit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from column_strategies import HOSTILE_TEXTS, columns
from exact import RememberingReader
from kagemusha.columns import (
    Boolean,
    Category,
    Date,
    Datetime,
    Drop,
    Duration,
    Integer,
    Modelled,
    Real,
    Surrogate,
    TimeOfDay,
)
from kagemusha.columns.arrow import plain_values
from kagemusha.columns.dialect import Dialect, DuckDialect
from kagemusha.columns.dialects import PostgresDialect, SparkDialect
from kagemusha.columns.pushed import plain_of, pushed
from kagemusha.columns.registry import KINDS, column_from_fields, column_to_fields
from kagemusha.columns.stored import Stored
from kagemusha.encoding import Encoder
from kagemusha.proposal.draft import draft_column
from kagemusha.schema import Schema
from kagemusha.sources.file import codes_query

DECLARED: list[Modelled] = [
    Category("x", categories=("a", "b", "1", "2020-01-01", "True"), missing=True),
    Category("x", categories=(0, 1, 10, 99), out_of_domain="clip"),
    Category("x", categories=tuple(f"v{i}" for i in range(40)), other="rest"),
    Category("x", categories=("a", "1", "2", "20"), levels=(1, 2)),
    Boolean("x", missing=True),
    Boolean("x"),
    Integer("x", lower=0, upper=10),
    Integer("x", lower=-100, upper=3000, bins=7, special=("N", 99), missing=True),
    Integer("x", values=(0, 1, 99)),
    Real("x", lower=-1, upper=10.5, bins=9, missing=True, out_of_domain="missing"),
    Real("x", lower=0.5, upper=900, bins=9, scale="log"),
    Integer("x", lower=0, upper=50_000, bins=7, special=("N", -9), missing=True, spelling="1,234.56"),
    Real("x", lower=-1, upper=9_000.5, bins=9, missing=True, spelling="1.234,56", out_of_domain="missing"),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, missing=True, spelling="japanese"),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, missing=True, spelling="day-first"),
    Datetime("x", lower="1950-01-01", upper="2030-12-31", bins=30, missing=True, spelling="month-first"),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, missing=True),
    Date("x", lower="1950-01-01", upper="2030-12-31", format="%Y"),
    Date("x", lower="1950-01-01", upper="2030-12-31", format="%m/%Y", missing=True),
    Datetime("x", lower="1960-01-01", upper="2030-12-31", bins=50, missing=True, out_of_domain="missing"),
    TimeOfDay("x", missing=True),
    TimeOfDay("x", lower="08:00", upper="17:59", bins=None, format="%H:%M", missing=True, out_of_domain="missing"),
    TimeOfDay("x", edges=("00:00", "06:00", "22:00", "23:59"), special=("N",), missing=True),
    Duration("x", lower="-02:00", upper="48:00", bins=50, missing=True),
    Duration("x", lower="00:00", upper="120:00", bins=12, format="%H:%M:%S", out_of_domain="missing", missing=True),
    Duration("x", edges=("00:00:00", "26:00:00", "100:00:00")),
]

CLOCKS = [
    "08:30", "8:30", "08:30:15", "08:30:15.25", "26:30:00", "24:00:00", "-01:30:00", "1 days 02:00:00",
    "1 day, 2:00:00",
    "-1 days +23:00:00", "2 days", "0 days 00:00:00", "P1DT2H", "PT90S", "-PT1H", "P", "PT", "12:60", "12:30:60",
    "1:2", ":30",
    "999999 days", "9999999:00", "00:00", "23:59:59.999999", "23:59:59.999999999",
]  # fmt: skip
WRITTEN = [
    "1.234,56", "1,234.56", "12,5", "1,234", "-1.000,5", "\\22,379", "￥１２，３４５", "12 €", "€ 1.200,-",
    "(1,234.50)", "▲300", "1 234", "1'234.5", "12%", "1,23,456", ",5", ".5", "1.", "令和7年4月1日", "R7.4.1",
    "令和元年5月1日", "昭和64年1月7日 8時05分", "平成三年1月1日", "2024年4月1日", "2024/4/1 9:05", "31.12.2024",
    "1/2/2024 10:30",     "30/2/2024", "12/31/2024", "３１．１２．２０２４", "1-2-99", "明治45年13月1日",
]  # fmt: skip
TEXTS = pa.array([*(t for t in HOSTILE_TEXTS if t is None or "\0" not in t), *CLOCKS, *WRITTEN], type=pa.string())
SPANS = [None, *(timedelta(seconds=s) for s in (0, 1, -1, 5400.5, 93_600, 10**6)), timedelta(days=106_751)]
MOMENTS = [
    None,
    datetime(1969, 12, 31, 23, 59, 59, 5),
    datetime(2020, 6, 1, 12),
    datetime(2020, 1, 1),
    datetime(1, 1, 1),
]
STORED: list[tuple[Stored, Any]] = [
    ("text", TEXTS),
    ("integer", pa.array([None, 0, 1, 5, 10, 99, -1, 2020, 18262, 5400, 2**53, -(2**62)], type=pa.int64())),
    ("float", pa.array([None, 0.0, -0.0, 0.1, 1.0, 10.5, 1e16, 1e300, -1e-5, 5400.5, float("nan"), float("inf")])),
    ("decimal", pa.array([None, Decimal("1.50"), Decimal("10.00"), Decimal("-3.25")])),
    ("boolean", pa.array([None, True, False])),
    ("date", pa.array([None, date(1969, 12, 31), date(2020, 1, 1), date(9999, 12, 31), date(1, 1, 1)])),
    ("timestamp", pa.array(MOMENTS, type=pa.timestamp("us"))),
    ("interval", pa.array(SPANS, type=pa.duration("us"))),
    ("text", pa.array([None, time(8, 30), time(23, 59, 59, 999_999), time(0)])),
    ("binary", pa.array([None, b"a", b"1", b"08:30", b"\xff"])),
]

READER = RememberingReader()


class ServerLike(DuckDialect):
    """DuckDB as a server is spoken to: it reads what a pattern has let through, and labels by comparing them."""

    name = "DuckDB in the place of a server"
    is_number = Dialect.is_number
    lookup = Dialect.lookup
    bins = Dialect.bins

    def moment_of_text(self, text: str, form: str | None) -> tuple[str, str] | None:  # type: ignore[override]
        return Dialect.moment_of_text(self, text, form)


DIALECTS = [DuckDialect(), ServerLike()]


def alone(column: Modelled, values: pa.Array) -> list[int]:
    """The code that each value has alone."""
    return [column.code_of(value, READER) for value in plain_values(values)]


def rows(query: str, values: pa.Array, setup: tuple[str, ...] = ()) -> Any:
    with duckdb.connect() as connection:
        connection.register("raw", pa.table({"x": values}))
        for statement in setup:
            connection.execute(statement)
        return connection.sql(query).to_arrow_table()


def cases() -> Iterator[Any]:
    for column in DECLARED:
        for stored, values in STORED:
            yield pytest.param(column, stored, values, id=f"{column.kind}-{DECLARED.index(column)}-{values.type}")


def test_every_kind_is_here() -> None:
    assert {column.kind for column in DECLARED} | {Drop.kind, Surrogate.kind} == set(KINDS)


@pytest.mark.parametrize(("column", "stored", "values"), [*cases()])
def test_an_array_has_the_codes_of_its_values(column: Modelled, stored: Stored, values: pa.Array) -> None:
    expected = alone(column, values)
    assert column.encode(values, READER).tolist() == expected
    assert column.encode(plain_values(values), READER).tolist() == expected
    assert column.encode(values.dictionary_encode(), READER).tolist() == expected
    cells = column.read(values, READER)
    assert cells.codes[column.lacking(cells)].size == column.lacking(column.read(plain_values(values), READER)).sum()


@pytest.mark.parametrize(("column", "stored", "values"), [*cases()])
def test_files_have_the_codes_of_their_values(column: Modelled, stored: Stored, values: pa.Array) -> None:
    query = codes_query([(column, stored, '"x"')])
    batch = rows(query.over("raw"), values, query.setup).combine_chunks().to_batches()[0]
    assert query.codes(batch, READER)[0].tolist() == alone(column, values)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)
@pytest.mark.parametrize(("column", "stored", "values"), [*cases()])
def test_engines_have_the_codes_of_their_values(
    column: Modelled, stored: Stored, values: pa.Array, dialect: Dialect
) -> None:
    made = pushed(column, stored, '"x"', dialect)
    query = (
        f"SELECT {made.code} AS code, {made.settled} AS sure, {dialect.raw(chr(34) + 'x' + chr(34), stored)} AS r "
        f"FROM raw"
    )
    found = rows(query, values)
    for code, sure, raw, wanted in zip(
        *(found[n].to_pylist() for n in ("code", "sure", "r")), alone(column, values), strict=True
    ):
        assert None not in (code, sure), "an engine's answer is never NULL"
        assert (code if sure else column.code_of(plain_of(raw, stored), READER)) == wanted, raw


@settings(max_examples=60, deadline=None)
@given(columns())
def test_engines_agree_for_any_declaration(column: Modelled) -> None:
    expected = alone(column, TEXTS)
    for dialect in DIALECTS:
        made = pushed(column, "text", '"x"', dialect)
        found = rows(f"SELECT {made.code} AS code, {made.settled} AS sure FROM raw", TEXTS)
        for code, sure, wanted in zip(found["code"].to_pylist(), found["sure"].to_pylist(), expected, strict=True):
            assert not sure or code == wanted


@pytest.mark.parametrize("dialect", [PostgresDialect(), SparkDialect()], ids=lambda d: d.name)
@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_servers_are_never_asked_for_what_may_be_null(column: Modelled, dialect: Dialect) -> None:
    for stored, _ in STORED:
        made = pushed(column, stored, "c0", dialect)
        assert made.code.startswith("CASE WHEN")
        assert made.settled == "TRUE" or "c0" in made.settled


@pytest.mark.parametrize("like", ["pyarrow", "pandas", "polars"])
@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_a_value_of_a_code_has_that_code(column: Modelled, like: str) -> None:
    encoder = Encoder(Schema([column]))
    shown = [code for code in range(column.size) if code != column.unseen_code]
    codes = np.repeat(shown, 5)[:, None]
    frame = encoder.decode(codes, rng=np.random.default_rng(0), like=like)
    assert encoder.encode(frame).ravel().tolist() == codes.ravel().tolist()


@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_features_are_bounded(column: Modelled) -> None:
    table = column.feature_table(1024)
    assert len(table) == column.size
    assert np.abs(table).max() <= 1024


@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_fields_come_back(column: Modelled) -> None:
    schema = Schema([column])
    assert Schema.loads(schema.dumps()) == schema == Schema.from_json(schema.to_json())
    assert column_from_fields("x", column_to_fields(column)) == column


@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_a_draft_of_its_values_is_a_schema(column: Modelled) -> None:
    codes = np.random.default_rng(0).integers(0, column.size, (400, 1))
    values = Encoder(Schema([column])).decode(codes, rng=np.random.default_rng(0), like="pyarrow")["x"].combine_chunks()
    schema = Schema([draft_column("x", values)])
    assert Schema.loads(schema.dumps()) == schema
    if column.kind in ("time", "duration") and pa.types.is_temporal(values.type):
        assert schema["x"].kind == column.kind


@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_stand_ins_are_closed(column: Modelled) -> None:
    open_one = column.kind_only()
    assert isinstance(open_one, Modelled)
    for stand_in in (open_one.first_cut(), open_one.typical(50, 32)):
        assert not stand_in.open_fields
        assert 0 < stand_in.size <= 2_000
        assert type(stand_in) is type(column)


@pytest.mark.parametrize("column", [*DECLARED, Drop("x"), Surrogate("x")], ids=repr)
def test_it_is_said_in_words(column: Any) -> None:
    assert column.described().startswith("It is ")
    assert column.described().endswith(".")


@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_codes_have_names(column: Modelled) -> None:
    assert len(column.code_names) == column.size == len(set(column.code_names))
