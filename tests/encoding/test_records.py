"""Every record is read by itself: no value can change the code of another record."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_strategies import HOSTILE_TEXTS, columns
from exact import RememberingReader
from kagemusha.columns.parse import TextReader
from kagemusha.columns.values import plain
from kagemusha.encoding import Encoder
from kagemusha.errors import SchemaError
from kagemusha.schema import Boolean, Category, Date, Datetime, Integer, Modelled, Real, Schema

TOKYO = timezone(timedelta(hours=9))
RAW = [
    *HOSTILE_TEXTS, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.float32("nan"), Decimal("NaN"), True, False,
    np.True_, np.False_, 0, 1, 5, -3, 2**60, 2**70, np.int8(1), np.uint64(2**64 - 1), 0.0, 1.0, 0.5, -0.0, 1e300,
    float("inf"), np.float32(0.5), Decimal("1"), Decimal("1.50"), Decimal("1e999"), b"a", b"\xff", "\ud800",
    date(2020, 1, 5), date(1, 1, 1), datetime(2020, 6, 15, 12, 30), datetime(2020, 6, 15, 12, 30, tzinfo=TOKYO),
    datetime(1, 1, 1, tzinfo=TOKYO), pd.Timestamp("2020-01-05"), pd.Timestamp("2020-01-05 03:00", tz="Asia/Tokyo"),
    np.datetime64("2020-01-05"), np.datetime64(2**62, "s"), time(3, 4), timedelta(days=1), {"k": 1}, [1, 2], (1,),
    object(), complex(1, 2),
]  # fmt: skip
DECLARED = [
    Category("x", categories=("a", "1", "2020-01-05"), missing=True),
    Category("x", categories=("a", "true", "False", "1.50"), missing=True),
    Category("x", categories=(0, 1, 5), missing=True, out_of_domain="missing"),
    Boolean("x", missing=True),
    Integer("x", lower=0, upper=10, missing=True),
    Real("x", lower=0, upper=2, bins=4, missing=True),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, missing=True),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, format="%d/%m/%Y", missing=True),
    Datetime("x", lower="2020-01-01", upper="2020-12-31", bins=50, missing=True),
]


@pytest.fixture(scope="module", autouse=True)
def one_connection() -> Iterator[None]:
    """Every table is read by the same DuckDB, which remembers what a text alone says: opening one takes longest."""
    reader = RememberingReader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "close", lambda: None)
        patch.setattr("kagemusha.encoding.encoder.TextReader", lambda: reader)
        yield
    TextReader.close(reader)


def objects(values: list[object]) -> pd.DataFrame:
    cells = np.empty(len(values), dtype=object)
    cells[:] = [None] * len(values)
    for i, value in enumerate(values):
        cells[i] = value
    return pd.DataFrame({"x": pd.Series(cells, dtype=object)})


def codes(column: Modelled, frame: object) -> list[int]:
    return [int(code) for code in Encoder(Schema([column])).encode(frame)[:, 0]]


@settings(max_examples=200, deadline=None)
@given(st.one_of(columns(), st.sampled_from(DECLARED)), st.lists(st.sampled_from(RAW), min_size=1, max_size=6))
def test_a_column_of_objects_is_read_record_by_record(column, values):
    alone = [codes(column, objects([value]))[0] for value in values]
    assert codes(column, objects(values)) == alone


@pytest.mark.parametrize("column", DECLARED, ids=repr)
@pytest.mark.parametrize(
    ("many", "more"),
    [
        (["a", "1", pd.NA], 5),
        (["a", "1", pd.NaT], "\ud800"),
        ([True, False], "unknown"),
        ([True, False], 1),
        ([date(2020, 1, 5), date(2020, 9, 9)], "05/01/2020"),
        ([datetime(2020, 1, 5, tzinfo=TOKYO), datetime(2020, 9, 9, tzinfo=UTC)], "hello"),
        ([1, 2], "x"),
        ([1.0, float("nan")], None),
    ],
)
def test_one_record_more_moves_the_counts_by_one(column, many, more):
    before = np.bincount(codes(column, objects(many * 50)), minlength=column.size)
    after = np.bincount(codes(column, objects([*many * 50, more])), minlength=column.size)
    assert np.abs(after - before).sum() == 1


@pytest.mark.parametrize("column", DECLARED[:7], ids=repr)
@pytest.mark.parametrize("many", [["a", "1"], [0, 1, 5], [True, False], [0.5, 1.0], [date(2020, 1, 5)]], ids=str)
def test_a_typed_column_is_read_as_its_objects(column, many):
    """One odd category makes a typed categorical a mixed one."""
    if isinstance(column, Date) != isinstance(many[0], date):
        return
    typed, mixed = (pd.DataFrame({"x": pd.Categorical(cells)}) for cells in (many, [*many, object]))
    assert codes(column, typed) == codes(column, mixed)[: len(many)] == codes(column, objects(many))


def test_gaps_of_every_kind_are_missing():
    gaps = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.float32("nan"), Decimal("NaN")]
    assert [plain(gap) for gap in gaps] == [None] * len(gaps)
    for column in DECLARED:
        assert codes(column, objects(gaps)) == [column.missing_code] * len(gaps)


@pytest.mark.parametrize("column", DECLARED[:1] + DECLARED[6:7], ids=repr)
def test_a_date_beyond_the_calendar_fails_nothing_and_is_not_named(column):
    days = pa.array([18266, 2**30], type=pa.int32()).cast(pa.date32())
    found = codes(column, pa.table({"x": days}))
    assert found[0] == codes(column, objects([date(2020, 1, 5)]))[0]


def test_names_inside_a_nested_type_are_not_shown():
    table = pa.table({"x": pa.array([{"Alice": 1}])})
    with pytest.raises(SchemaError, match="stores it as nested") as caught:
        codes(DECLARED[0], table)
    assert "Alice" not in str(caught.value)
