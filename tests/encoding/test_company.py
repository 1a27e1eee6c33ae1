"""The code of a value does not depend on its company.

One record may change the type of a column, never its other codes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from containers import FRAMES, write
from fuzz import run

from kagemusha.columns.parse import TextReader
from kagemusha.encoding.reference import code_of
from kagemusha.schema import Boolean, Category, Date, Datetime, Drop, Integer, Modelled, Real, Schema
from kagemusha.sources import open_source, open_table

BIG = 2**53
LONG = Category("x", categories=(BIG + 3, BIG + 9), missing=True)
CODES = Category("x", categories=("01", "7"), missing=True)
DAYS = Category("x", categories=("2020-01-05", "1990-07-03"))
YESNO = Category("x", categories=("true", "false"))
SHORT_YEARS = Date("x", lower="1970-01-01", upper="2068-12-31", bins=33, format="%d/%m/%y")
COMPACT = Date("x", lower="1950-01-01", upper="2029-12-31", bins=40, format="%Y%m%d", missing=True)
ZERO_FIRST = Date("x", lower="1950-01-01", upper="2029-12-31", bins=40, format="%d%m%Y", missing=True)
NATIVE = Date("x", lower="1950-01-01", upper="2029-12-31", bins=40, missing=True)
DASHES = Date("x", lower="1950-01-01", upper="2029-12-31", bins=40, format="%Y-%m-%d", missing=True)
OLD = [datetime(1920, 1, 5), datetime(1969, 7, 3), datetime(2020, 1, 5)]
SOME_DAYS = [date(2020, 1, 5), date(1990, 7, 3)]

CASES = {
    "a gap among long numbers": (LONG, [BIG + 3, BIG + 9], None),
    "a fraction among long numbers": (LONG, [BIG + 3, BIG + 9], 0.5),
    "a word among long numbers": (LONG, [BIG + 3, BIG + 9], "x"),
    "a gap among texts of long numbers": (Category("x", categories=(str(BIG + 3), "a")), [BIG + 3, BIG + 3], None),
    "a gap among codes": (CODES, [7, 7, 1], None),
    "a far date among short years": (SHORT_YEARS, OLD, datetime(9999, 1, 1)),
    "a gap among compact dates": (COMPACT, [20200105, 19900703], None),
    "a word among compact dates": (COMPACT, [20200105, 19900703], "x"),
    "a gap among dates that begin with zero": (ZERO_FIRST, [5012020, 3071990], None),
    "a number among truths": (YESNO, [True, False, True], 5),
    "a number among booleans": (Boolean("x", missing=True), [True, False, True], 5),
    "a time among dates": (DAYS, SOME_DAYS, datetime(2020, 1, 1, 3)),
    "a time among midnights": (DAYS, [datetime(2020, 1, 5)] * 2, datetime(2020, 1, 1, 3)),
    "a time among midnights, as written": (DASHES, [datetime(2020, 1, 5)] * 2, datetime(2020, 1, 1, 3)),
    "a word among dates": (SHORT_YEARS, [date(1990, 7, 3)] * 2, "x"),
    "a number among dates": (NATIVE, SOME_DAYS, 5),
    "a number among dates in a column of numbers": (Integer("x", lower=0, upper=20_000, bins=9), SOME_DAYS, 5),
    "bytes among texts": (CODES, ["7", "01"], b"x"),
    "a word among truths in a column of numbers": (Integer("x", lower=0, upper=1, missing=True), [True, False], "x"),
    "a zone among "
    "times": (Datetime("x", lower="2020-01-01", upper="2020-12-31", bins=9), OLD[2:], OLD[0].replace(tzinfo=UTC)),
}  # fmt: skip


def counts(column: Modelled, table: object, *others: Drop) -> np.ndarray:
    return open_source(table, Schema([column, *others])).count([(column.name,)])[0].counts


@pytest.mark.parametrize("container", FRAMES)
@pytest.mark.parametrize("case", CASES)
def test_one_record_more_moves_the_counts_of_a_frame_by_one(case, container):
    column, many, more = CASES[case]
    try:
        before, after = (FRAMES[container](values) for values in (many * 20, [*many * 20, more]))
    except (TypeError, ValueError, pl.exceptions.PolarsError, pa.ArrowException):
        pytest.skip("this library does not hold such values together")
    assert np.abs(counts(column, after) - counts(column, before)).sum() == 1


@pytest.mark.parametrize("container", ["pandas.csv", "polars.csv", "pyarrow.csv", "pandas.parquet", "polars.parquet"])
@pytest.mark.parametrize("case", CASES)
def test_one_record_more_moves_the_counts_of_a_file_by_one(case, container, tmp_path):
    column, many, more = CASES[case]
    if container == "pandas.parquet" and more == 5 and isinstance(many[0], date):
        pytest.skip("arrow, which writes it, takes a number among dates for days")
    paths = tmp_path / f"few.{container}", tmp_path / f"more.{container}"
    if not all(write(container, [v], p) for v, p in zip((many * 20, [*many * 20, more]), paths, strict=True)):
        pytest.skip("this library does not write such values together")
    before, after = (counts(replace(column, name="x0"), path, Drop("k")) for path in paths)
    assert np.abs(after - before).sum() == 1


def test_every_container_agrees_with_the_reference():
    """The short form; `python tests/encoding/fuzz.py` is the long one."""
    seen = run(frames=1200, files=12, seed=20)
    assert seen["frame: held"] > 600
    assert seen["read_csv: held"] > 60
    assert seen["file: held"] > 6


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_what_is_discovered_does_not_hang_on_types(library):
    """A column of numbers with one gap names its labels as one without."""
    make = {"pandas": pd.DataFrame, "polars": lambda columns: pl.DataFrame(columns, strict=False)}[library]
    for many, more in (([7, 8], None), ([7, 8], 1.5), ([BIG + 3, 5], None), ([True, False], 5), (SOME_DAYS, OLD[0])):
        column = Schema([Category("x")])
        before, after = (open_table(make({"x": v}), column).count_values("x") for v in (many * 9, [*many * 9, more]))
        assert (
            dict(zip(after.labels, after.counts, strict=True)).items()
            >= dict(zip(before.labels, before.counts, strict=True)).items()
        )


def test_not_a_number_is_missing_in_parquet_whatever_bounds_the_file_states(tmp_path):
    pl.DataFrame({"x": [-1.0, 0.0, 7305.0, float("nan")]}).write_parquet(tmp_path / "t.parquet")
    for column in (Real("x", lower=-1, upper=2, bins=3, missing=True), Category("x", categories=(0,), missing=True)):
        assert open_source(tmp_path / "t.parquet", Schema([column])).count([("x",)])[0].counts[-1] == 1


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_one_moment_beyond_all_calendars_does_not_stop_a_file(unit, zone, tmp_path):
    stamps = [0, 86_400_000, 2**62, -(2**62), 2**63 - 1, 1 - 2**63, -(2**63), None]
    table = pa.table({"x": pa.array(stamps, pa.int64()).cast(pa.timestamp(unit, tz=zone))})
    pq.write_table(table, tmp_path / "t.parquet")
    for column in (NATIVE, DAYS, Integer("x", lower=0, upper=9, missing=True)):
        assert counts(column, tmp_path / "t.parquet").tolist() == counts(column, table).tolist()


def test_a_zone_counts_in_text_as_in_native_columns(tmp_path):
    column = Datetime("x", lower="2020-01-05", upper="2020-01-06", bins=24)
    moment = datetime(2020, 1, 5, 12, tzinfo=timezone(timedelta(hours=9)))
    reader = TextReader()
    texts = ["2020-01-05 12:00:00+09:00", "2020-01-05T12:00+0900", "2020-01-05 03:00:00 UTC", "2020-01-05T03:00:00Z"]
    assert {code_of(column, value, reader) for value in [moment, pd.Timestamp(moment), *texts]} == {3}
    reader.close()
