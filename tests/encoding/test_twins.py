"""The SQL expression and the numpy path give the same code for the same value, whatever the value."""

from __future__ import annotations

from datetime import date, datetime

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_strategies import HOSTILE_TEXTS, columns
from kagemusha.columns.parse import TextReader
from kagemusha.encoding import Encoder
from kagemusha.schema import Boolean, Category, Date, Datetime, Integer, Modelled, Real, Schema
from kagemusha.sources.file import codes_query

DECLARED = [
    Category("x", categories=("a", "é", "a'b", "1", "")),
    Category("x", categories=("a", "b"), missing=True),
    Category("x", categories=(0, 1, 10, 99), missing=True, out_of_domain="missing"),
    Category("x", categories=(True, False, "other"), out_of_domain="clip"),
    Category("x", categories=("a", "b", "other"), missing=True),
    Category("x", categories=tuple(f"v{i}" for i in range(3000))),
    Category("x", categories=("a", "1", "2", "20", "t", "-"), levels=(1, 2), missing=True),
    Boolean("x"),
    Boolean("x", missing=True),
    Boolean("x", missing=True, out_of_domain="clip"),
    Integer("x", lower=0, upper=10),
    Integer("x", lower=0, upper=99, bins=7, missing=True),
    Integer("x", lower=1, upper=10, missing=True, out_of_domain="missing"),
    Integer("x", edges=(-5, 0, 1, 50)),
    Integer("x", lower=0, upper=20, bins=4, special=("N", 99, "NA"), missing=True),
    Real("x", lower=0, upper=20, bins=4, special=(99, -1, 10.5, "a"), missing=True, out_of_domain="missing"),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, special=("9999-12-31", "a"), missing=True),
    Real("x", lower=0, upper=1),
    Real("x", lower=-1, upper=10.5, bins=23, missing=True, out_of_domain="missing"),
    Real("x", edges=(0.0, 0.1, 0.30000000000000004, 10.5)),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9),
    Date("x", lower="2020-01-01", upper="2020-12-31", missing=True, out_of_domain="missing"),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, format="%d/%m/%Y"),
    Date("x", lower="1950-01-01", upper="2030-12-31", format="%Y", missing=True),
    Date("x", lower="1950-01-01", upper="2030-12-31", format="%m/%Y"),
    Datetime("x", lower="1960-01-01", upper="2030-12-31", bins=50),
    Datetime("x", lower="1960-01-01", upper="2030-12-31", bins=50, format="%Y-%m-%d %H:%M:%S.%f"),
    Datetime("x", lower="1960-01-01", upper="2030-12-31", bins=50, missing=True, out_of_domain="missing"),
]


READER = TextReader()


def both(column: Modelled, values: pa.Array, stored: str) -> tuple[list[int], list[int]]:
    query = codes_query([(column, stored, '"x"')])
    with duckdb.connect() as connection:
        connection.register("raw", pa.table({"x": values}))
        for statement in query.setup:
            connection.execute(statement)
        batch = connection.sql(query.over("raw")).to_arrow_table().combine_chunks().to_batches()[0]
    (codes,) = query.codes(batch, READER)
    return codes.tolist(), Encoder(Schema([column])).encode_column("x", values).tolist()


@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_text(column):
    in_sql, in_numpy = both(column, pa.array(HOSTILE_TEXTS, type=pa.string()), "text")
    assert in_sql == in_numpy
    assert all(0 <= code < column.size for code in in_sql)


NUMBERS = [None, 0.0, -0.0, 1.0, 0.1, 0.3, 0.30000000000000004, 10.5, 10.0, 99.0, 1e16, 1e-5, -1.0, 1e300, 5e-324]
NATIVE = [
    (pa.array([*NUMBERS, float("nan"), float("inf"), -float("inf")]), "float"),
    (pa.array(NUMBERS, type=pa.float32()), "float"),
    (pa.array([None, 0, 1, 5, 10, 99, -1, 2020, 2**62, -(2**62)], type=pa.int64()), "integer"),
    (pa.array([None, 0, 1, 200], type=pa.uint8()), "integer"),
    (pa.array([None, True, False]), "boolean"),
    (pa.array([None, date(1969, 12, 31), date(2020, 2, 29), date(9999, 12, 31), date(1, 1, 1)]), "date"),
    (
        pa.array([None, datetime(1969, 12, 31, 23, 59, 59, 5), datetime(2020, 6, 1, 12), datetime(2262, 1, 1)]),
        "timestamp",
    ),
    (
        pa.array(
            [None, datetime(1969, 12, 31, 23), datetime(2020, 6, 1, 12)], type=pa.timestamp("us", tz="Asia/Tokyo")
        ),
        "zoned",
    ),
]


@pytest.mark.parametrize(("values", "stored"), NATIVE, ids=lambda value: str(getattr(value, "type", value)))
@pytest.mark.parametrize("column", DECLARED, ids=repr)
def test_native(column, values, stored):
    in_sql, in_numpy = both(column, values, stored)
    assert in_sql == in_numpy


numbers_as_text = st.one_of(st.floats(), st.integers(), st.floats(-200, 200)).map(str)
moments_as_text = st.datetimes(datetime(1890, 1, 1), datetime(2060, 1, 1)).map(
    lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S")
)
texts = st.one_of(
    st.sampled_from(HOSTILE_TEXTS),
    st.text(max_size=6).filter(lambda text: "\x00" not in text),
    numbers_as_text,
    moments_as_text,
    moments_as_text.map(lambda text: text[:10]),
    st.none(),
)


@settings(max_examples=100, deadline=None)
@given(columns(), st.lists(texts, min_size=1, max_size=20))
def test_any_text_for_any_declaration(column, values):
    in_sql, in_numpy = both(column, pa.array(values, type=pa.string()), "text")
    assert in_sql == in_numpy


@settings(max_examples=60, deadline=None)
@given(columns().filter(lambda c: c.kind in ("real", "integer")), st.data())
def test_numbers_at_and_beside_the_edges(column, data):
    edges = np.array([*column.starts, column.high], dtype=np.float64)
    near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    values = data.draw(st.lists(st.sampled_from(near.tolist()), min_size=1, max_size=30))
    in_sql, in_numpy = both(column, pa.array(values), "float")
    assert in_sql == in_numpy
