"""Codes to table and back, for every kind and frame; and where each raw value lands."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_strategies import columns
from kagemusha.encoding import Encoder
from kagemusha.errors import DataError, SchemaError, UndeclaredDomain, UsageError
from kagemusha.schema import (
    Boolean,
    Category,
    Date,
    Datetime,
    Drop,
    Integer,
    Measured,
    Real,
    Schema,
    Surrogate,
)

LIBRARIES = ["pandas", "polars", "pyarrow"]


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from(LIBRARIES))
def test_every_code_comes_back(data, like):
    schema = Schema([data.draw(columns(name)) for name in ("a", "b", "c")])
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows = data.draw(st.integers(1, 40))
    codes = np.stack([rng.integers(0, size, rows) for size in schema.domain.sizes], axis=1)
    encoder = Encoder(schema)
    table = encoder.decode(codes, rng=rng, like=like)
    assert np.array_equal(encoder.encode(table), codes)
    again = encoder.decode(codes, rng=rng, like=table)
    assert np.array_equal(encoder.encode(again), codes)
    assert Schema.loads(schema.dumps()) == schema


@settings(max_examples=60, deadline=None)
@given(columns().filter(lambda c: isinstance(c, Real) and not c.special_texts), st.integers(0, 2**32))
def test_reals_stay_in_their_bin_and_domain(column, seed):
    encoder = Encoder(Schema([column]))
    codes = np.repeat(np.arange(column.n_values), 20)[:, None]
    drawn = encoder.decode(codes, rng=np.random.default_rng(seed), like="pyarrow")["x"].to_numpy()
    if drawn.dtype == object:  # with decimal commas
        drawn = np.array([float(text.replace(",", ".")) for text in drawn])
    assert drawn.min() >= column.low
    assert drawn.max() <= column.high
    assert not np.any(np.signbit(drawn) & (drawn == 0))
    assert np.array_equal(encoder.encode_column("x", pa.array(drawn)), codes[:, 0])


def test_draws_fill_the_bin():
    column = Real("x", lower=0, upper=4, bins=2, decimals=1)
    codes = np.ones((4000, 1), dtype=np.int64)
    drawn = Encoder(Schema([column])).decode(codes, rng=np.random.default_rng(0), like="pyarrow")["x"].to_numpy()
    if drawn.dtype == object:  # with decimal commas
        drawn = np.array([float(text.replace(",", ".")) for text in drawn])
    assert set(np.round(drawn, 1)) == {round(2 + i / 10, 1) for i in range(21)}
    assert abs(drawn.mean() - 3) < 0.05


MIXED = Schema(
    [
        Surrogate("id"),
        Category("sex", categories=("F", "M"), missing=True),
        Category("ward", categories=(1, 2, 3), out_of_domain="clip"),
        Drop("note"),
        Boolean("smoker", missing=True),
        Integer("age", lower=0, upper=120, bins=12, missing=True),
        Integer("children", lower=0, upper=9),
        Real("bmi", lower=10, upper=60, decimals=1),
        Date("born", lower="1900-01-01", upper="2024-12-31", bins=25, format="%d/%m/%Y", missing=True),
        Date("died", lower="1990-01-01", upper="2024-12-31", bins=25, missing=True),
        Datetime("seen", lower="2020-01-01", upper="2024-01-01", bins=9),
    ]
)


@pytest.mark.parametrize("like", LIBRARIES)
def test_columns_types_and_order(like):
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, 500) for size in MIXED.domain.sizes], axis=1)
    table = Encoder(MIXED).decode(codes, rng=rng, like=like)
    arrow = table if like == "pyarrow" else pa.Table.from_pandas(table) if like == "pandas" else table.to_arrow()
    assert arrow.column_names == [name for name in MIXED.names if name != "note"]
    assert arrow["id"].to_pylist()[:2] == ["P000001", "P000002"]
    assert pa.types.is_integer(arrow["age"].type)
    assert pa.types.is_integer(arrow["ward"].type)
    assert pa.types.is_boolean(arrow["smoker"].type)
    assert arrow["children"].null_count == 0
    assert arrow["died"].null_count > 0
    assert set(arrow["sex"].to_pylist()) == {"F", "M", "other", None}
    assert all(len(text) == 10 and text[2] == "/" for text in arrow["born"].drop_null().to_pylist())
    assert all(round(value, 1) == value for value in arrow["bmi"].to_pylist())
    if like == "pandas":
        assert (str(table["age"].dtype), str(table["children"].dtype)) == ("Int64", "int64")


def test_types_do_not_depend_on_the_rows_drawn():
    encoder = Encoder(Schema([Integer("a", lower=0, upper=3, missing=True), Boolean("b", missing=True)]))
    none = encoder.decode(np.array([[0, 0], [1, 1]]), rng=np.random.default_rng(0))
    some = encoder.decode(np.array([[4, 2], [1, 1]]), rng=np.random.default_rng(0))
    assert list(none.dtypes) == list(some.dtypes)


@pytest.mark.parametrize("name", LIBRARIES)
def test_types_follow_from_the_schema_and_the_library_from_the_frame(name):
    """One far date makes datetime64[ms] of a column, and one gap Int64: a frame's own types tell of single records."""
    frames = {
        "pandas": [
            pd.DataFrame({"i": pd.Series([1], dtype="int8"), "d": pd.to_datetime(["2020-01-01"])}),
            pd.DataFrame({"i": pd.Series([1], dtype="Int64"), "d": np.array(["9999-01-01"], dtype="M8[ms]")}),
        ],
        "polars": [pl.DataFrame(schema={"i": pl.Int8, "d": pl.Datetime("ms")}), pl.DataFrame(schema={"i": pl.Float64})],
        "pyarrow": [pa.table({"i": pa.array([1], pa.int8())}), pa.table({"i": pa.array([1.0])})],
    }[name]
    schema = Schema([Integer("i", lower=0, upper=100), Date("d", lower="2020-01-01", upper="2020-12-31")])
    tables = [Encoder(schema).decode(np.array([[5, 7]]), rng=np.random.default_rng(0), like=f) for f in [*frames, name]]
    assert len({type(table) for table in tables}) == 1
    assert len({str(table.dtypes) if name != "pyarrow" else str(table.schema) for table in tables}) == 1


DECLARED_TYPES = Schema(
    [
        Integer("i", lower=0, upper=100, dtype="int8"),
        Integer("n", lower=0, upper=100, missing=True, dtype="uint16"),
        Category("c", categories=(1, 2), out_of_domain="clip", missing=True, dtype="int32"),
        Date("d", lower="2020-01-01", upper="2020-12-31", dtype="timestamp[ns]"),
        Datetime("t", lower="2020-01-01", upper="2020-12-31", bins=5, dtype="timestamp[ms]"),
    ]
)


@pytest.mark.parametrize("rows", [0, 40])
def test_declared_types_are_those_of_the_output(rows):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, size, rows) for size in DECLARED_TYPES.domain.sizes], axis=1)
    encoder = Encoder(DECLARED_TYPES)
    tables = {like: encoder.decode(codes, rng=rng, like=like) for like in LIBRARIES}
    assert [str(f.type) for f in tables["pyarrow"].schema] == [
        "int8",
        "uint16",
        "int32",
        "timestamp[ns]",
        "timestamp[ms]",
    ]
    types = ["int8", "UInt16", "Int32", "datetime64[ns]", "datetime64[ms]"]
    assert [str(kind) for kind in tables["pandas"].dtypes] == types
    assert tables["polars"].dtypes == [pl.Int8, pl.UInt16, pl.Int32, pl.Datetime("ns"), pl.Datetime("ms")]
    for table in tables.values():
        assert np.array_equal(encoder.encode(table), codes)


def test_labels_beyond_int64_are_written():
    for labels in ((2**63 + 5, 1), (2**70, 1), (-(2**63), 2**63)):
        encoder = Encoder(Schema([Category("c", categories=labels, out_of_domain="clip")]))
        codes = np.array([[0], [1], [0]])
        for like in LIBRARIES:
            assert np.array_equal(encoder.encode(encoder.decode(codes, rng=np.random.default_rng(0), like=like)), codes)


def codes_of(column: Measured | Category | Boolean, values: object) -> list[int]:
    return Encoder(Schema([column])).encode_column(column.name, values).tolist()


def test_categories_match_exactly():
    column = Category("c", categories=("a", "b"), missing=True)
    assert codes_of(column, ["a", " a", "A", "b", None, "", "other"]) == [0, 2, 2, 1, 3, 3, 2]


def test_whole_numbers_may_come_as_floats_or_text():
    column = Category("c", categories=(1, 2), out_of_domain="clip")
    assert codes_of(column, [1.0, 2.0, 3.5]) == [0, 1, 1]
    assert codes_of(column, ["1", "1.0", "2", "x"]) == [0, 0, 1, 1]
    assert codes_of(column, [1, 2, 3]) == [0, 1, 1]


def test_the_last_bin_is_closed_and_infinities_are_outside():
    column = Real("r", lower=0, upper=1, bins=2)
    values = [0.0, -0.0, 0.5, np.nextafter(0.5, 0), 1.0, 1.1, -3.0, float("inf"), -float("inf")]
    assert codes_of(column, values) == [0, 0, 1, 0, 1, 1, 0, 1, 0]
    strict = Real("r", lower=0, upper=1, bins=2, missing=True, out_of_domain="missing")
    assert codes_of(strict, [*values, float("nan"), None]) == [0, 0, 1, 0, 1, 2, 2, 2, 2, 2, 2]


def test_missing_where_it_is_not_allowed_has_a_place():
    assert codes_of(Category("c", categories=("a", "b")), [None, "a"]) == [2, 0]
    assert codes_of(Category("c", categories=("a", "b"), out_of_domain="clip"), [None, "a"]) == [1, 0]
    assert codes_of(Integer("i", lower=5, upper=9), [None, 7]) == [0, 2]
    assert codes_of(Boolean("b"), [None, True]) == [0, 1]
    assert codes_of(Date("d", lower="2020-01-01", upper="2020-01-09"), [None, date(2020, 1, 3)]) == [0, 2]


def test_dates_from_native_text_and_zones():
    column = Datetime("d", lower="2020-01-01", upper="2020-01-01 23:59:59", bins=24)
    assert codes_of(column, [datetime(2020, 1, 1, 5), date(2020, 1, 1)][:1]) == [5]
    zoned = pa.array([datetime(2020, 1, 1, 5)], type=pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us", tz="+02:00"))
    assert codes_of(column, zoned) == [5]
    compact = Date("d", lower="2020-01-01", upper="2020-12-31", format="%Y%m%d")
    assert codes_of(compact, [20200101, 20200103]) == [0, 2]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1, "2", 3.0, None, Decimal(4), True, b"5"]}, dtype=object),
        pd.DataFrame({"x": pd.Series(["1", "2", None], dtype="category")}),
        pd.DataFrame({"x": pd.Series([1, 2, None], dtype="Int64")}),
        pl.DataFrame({"x": ["1", "2", None]}, schema={"x": pl.Categorical}),
        pl.DataFrame({"x": [Decimal("1.5"), None]}),
        pd.DataFrame({"x": ["1", "\ud800", "影"]}, dtype=object),
        pl.DataFrame({"x": ["1", "zzz"]}).lazy(),
        pa.table({"x": pa.nulls(4)}),
        pa.table({"x": pa.array(["1", "2"]).dictionary_encode()}),
        pa.table({"x": pa.chunked_array([pa.array([1, 2]), pa.array([3])])}),
    ],
)
def test_odd_columns_are_read(frame):
    for column in (Integer("x", lower=0, upper=9, missing=True), Category("x", categories=("1", "2"))):
        codes = Encoder(Schema([column])).encode(frame)
        assert codes.min() >= 0
        assert codes.max() < column.size


def test_what_does_not_fit_is_refused_without_values():
    encoder = Encoder(Schema([Integer("x", lower=0, upper=9)]))
    with pytest.raises(SchemaError, match="lacks column 'x'"):
        encoder.encode(pd.DataFrame({"y": [1]}))
    with pytest.raises(SchemaError, match="column 'y' that the schema does not declare"):
        encoder.encode(pd.DataFrame({"x": [1], "y": [1]}))
    with pytest.raises(SchemaError, match="stores it as nested"):
        encoder.encode(pa.table({"x": [[1], [2]]}))
    with pytest.raises(DataError, match="list is no table"):
        encoder.encode([1, 2])
    with pytest.raises(DataError):
        encoder.encode(pd.DataFrame([[1, 2]], columns=["x", "x"]))
    with pytest.raises(UndeclaredDomain):
        Encoder(Schema([Category("c")]))


def test_wrong_codes_and_names_are_refused():
    encoder = Encoder(Schema([Integer("x", lower=0, upper=9), Drop("y")]))
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match="two axes and 1 columns"):
        encoder.decode(np.zeros((3, 2), dtype=np.int64), rng=rng)
    with pytest.raises(UsageError, match="0 to 9"):
        encoder.decode(np.full((3, 1), 10), rng=rng)
    with pytest.raises(UsageError, match="spark"):
        encoder.decode(np.zeros((3, 1), dtype=np.int64), rng=rng, like="spark")
    with pytest.raises(UsageError, match="has no codes"):
        encoder.encode_column("y", [1])
    assert len(encoder.decode(np.zeros((0, 1), dtype=np.int64), rng=rng)) == 0
