"""What goes in comes out: the types of frames, by way of a draft."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kagemusha as kg
from kagemusha.errors import DataError, SchemaError
from kagemusha.schema import Schema

ROWS = 240
WHOLE = np.arange(ROWS) * 7 % 50
STAMPS = pd.Timestamp("2020-01-01") + pd.to_timedelta(WHOLE * 900_001, "s")
WORDS = np.array(["lo", "hi"])[WHOLE % 2]
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(20 * int(day)) for day in WHOLE]

PANDAS: dict[str, Any] = {
    "zone": STAMPS.tz_localize("Asia/Tokyo"),
    "midnights of a zone": pd.DatetimeIndex(DAYS).tz_localize("Asia/Tokyo"),
    "nanoseconds": STAMPS.astype("datetime64[ns]"),
    "seconds": STAMPS.astype("datetime64[s]"),
    "ordered": pd.Categorical(WORDS, categories=["lo", "mid", "hi"], ordered=True),
    "category with an unused level": pd.Categorical(WORDS, categories=["hi", "lo", "none"]),
    "decimal": [Decimal(int(x)) / 100 for x in WHOLE],
    "string": pd.array(WORDS, dtype="string"),
    "object": WORDS.astype(object),
    "float32": (WHOLE / 7).astype("float32"),
    "uint8": WHOLE.astype("uint8"),
    "int16": WHOLE.astype("int16"),
    "date": DAYS,
    "timedelta": pd.to_timedelta(WHOLE * 1_000, "s"),
    "Int64 with gaps": pd.array([None if x % 5 == 2 else x for x in WHOLE.tolist()], dtype="Int64"),
    "boolean with gaps": pd.array([None if x % 5 == 2 else x % 2 == 0 for x in WHOLE.tolist()], dtype="boolean"),
    "bool": WHOLE % 2 == 0,
}

POLARS: dict[str, Any] = {
    "enum": pl.Series(WORDS).cast(pl.Enum(["lo", "mid", "hi"])),
    "categorical": pl.Series(WORDS).cast(pl.Categorical),
    "zone": pl.Series(STAMPS.to_pydatetime().tolist()).cast(pl.Datetime("us")).dt.replace_time_zone("Asia/Tokyo"),
    "milliseconds": pl.Series(STAMPS.to_pydatetime().tolist()).cast(pl.Datetime("ms")),
    "int8": pl.Series(WHOLE).cast(pl.Int8),
    "float32": pl.Series(WHOLE / 7).cast(pl.Float32),
    "duration": pl.Series([dt.timedelta(seconds=int(x) * 100) for x in WHOLE]),
    "time": pl.Series([dt.time(int(x) % 24) for x in WHOLE]),
    "date": pl.Series(DAYS),
    "decimal": pl.Series([Decimal(int(x)) / 100 for x in WHOLE]).cast(pl.Decimal(10, 2)),
    "nanoseconds": pl.Series(STAMPS.to_pydatetime().tolist()).cast(pl.Datetime("ns")),
    "string": pl.Series(WORDS),
}


def doubles(frame: Any) -> Any:
    return kg.synthesize(frame, schema=kg.propose(frame).confirm(), simulation=1, method="independent")


@pytest.mark.parametrize("name", PANDAS)
def test_pandas(name: str) -> None:
    given = pd.DataFrame({"x": PANDAS[name], "other": WHOLE % 3})
    back = doubles(given)
    assert back["x"].dtype == given["x"].dtype
    assert type(back["x"].dropna().iloc[0]) is type(given["x"].dropna().iloc[0])
    values = back["x"].dropna().tolist()
    if isinstance(values[0], int | float | Decimal | dt.date | dt.timedelta):
        assert given["x"].min() <= sorted(values)[len(values) // 2] <= given["x"].max()
    again = doubles(back)
    assert again["x"].dtype == back["x"].dtype


@pytest.mark.parametrize("name", POLARS)
def test_polars(name: str) -> None:
    given = pl.DataFrame({"x": POLARS[name], "other": WHOLE % 3})
    assert doubles(given)["x"].dtype == given["x"].dtype


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_they_are_written_and_read_again(suffix: str, tmp_path: Path) -> None:
    given = pd.DataFrame({**PANDAS, "other": WHOLE % 3})
    schema = kg.propose(given).confirm()
    model = kg.fit("independent", given, 1, schema=schema, simulation=1)
    kg.publish(model, tmp_path / "release", file_kind=suffix)
    path = tmp_path / "release" / f"synthetic.{suffix}"
    codes = kg.open_source(path, schema).records()[0]
    assert len(codes[0]) == model.rows
    assert kg.verify(tmp_path / "release").passed
    at = schema.domain.names.index("zone")
    assert len(np.unique(codes[at])) > 5  # moments of a zone are read back as moments


HELD: dict[str, Any] = {
    "whole": WHOLE,
    "small": WHOLE.astype("uint8"),
    "real": WHOLE / 7,
    "single": (WHOLE / 7).astype("float32"),
    "text": WORDS,
    "truth": WHOLE % 2 == 0,
    "moment": STAMPS,
    "gaps": pd.array([None if x % 5 == 2 else x for x in WHOLE.tolist()], dtype="Int64"),
}


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_frames_held_by_arrow_or_by_types_that_know_gaps(backend: Any, tmp_path: Path) -> None:
    given = pd.DataFrame(HELD).convert_dtypes(dtype_backend=backend)
    if backend == "pyarrow":
        given["exact"] = pd.Series([Decimal(int(x)) / 100 for x in WHOLE], dtype=pd.ArrowDtype(pa.decimal128(10, 2)))
        given["day"] = pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32()))
    schema = kg.propose(given)
    schema.save(tmp_path / "s.toml")
    again = Schema.load(tmp_path / "s.toml")
    assert again.frame == {"pyarrow": "pyarrow", "numpy_nullable": "nullable"}[backend]
    assert again.digest() == schema.digest() != replace(schema, frame=None).digest()
    back = kg.synthesize(given, schema=again.confirm(), simulation=1, method="independent")
    assert back.dtypes.to_dict() == given.dtypes.to_dict()
    mixed = given.assign(plain=np.arange(ROWS) % 3)
    assert kg.propose(mixed).frame is None
    with pytest.raises(SchemaError, match="frame = 'polars' is not known"):
        replace(schema, frame="polars")


def test_intervals_and_periods_are_texts() -> None:
    given = pd.DataFrame({"cut": pd.cut(WHOLE, [-1, 10, 20, 50]), "month": STAMPS.to_period("M"), "other": WHOLE % 3})
    schema = kg.propose(given)
    assert [column.kind for column in schema] == ["category", "category", "integer"]
    back = kg.synthesize(given, schema=schema.confirm(), simulation=1, method="independent")
    assert set(back["cut"].astype(str)) == {"(-1, 10]", "(10, 20]", "(20, 50]"}
    assert set(back["month"]) <= set(map(str, STAMPS.to_period("M")))


def test_names_that_are_no_texts_are_named() -> None:
    with pytest.raises(DataError, match="names of columns must be texts"):
        kg.propose(pd.DataFrame({0: WHOLE, 1: WHOLE}))


@pytest.mark.parametrize("dtype", ["decimal(3, 2)", "decimal(10, 1)", "decimal(9, 10)", "decimal(40, 2)"])
def test_a_decimal_that_does_not_hold_the_numbers(dtype: str) -> None:
    with pytest.raises(SchemaError, match="enough of both"):
        kg.Real("x", lower=0, upper=99, decimals=2, dtype=dtype)


def test_a_type_that_does_not_fit_is_named() -> None:
    for column, wrong in ((kg.Real, "int7"), (kg.Date, "timestamp[us, tz=…]"), (kg.Integer, "category")):
        bounds: dict[str, Any] = {"lower": "2000-01-01", "upper": "2001-01-01"} if column is kg.Date else {"lower": 0}
        with pytest.raises(SchemaError, match="dtype = "):
            column("x", **{"upper": 9, **bounds}, dtype=wrong)


def test_arrow_types_survive_in_arrow() -> None:
    given = pa.table({"x": pa.array(WHOLE / 100).cast(pa.float32()), "y": pa.array(WHOLE, pa.uint16())})
    assert doubles(given).schema.types == [pa.float32(), pa.uint16()]
