"""What goes in comes out: the types of frames, by way of a draft."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kagemusha as kg
from kagemusha.errors import SchemaError

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


def test_a_type_that_does_not_fit_is_named() -> None:
    for column, wrong in ((kg.Real, "int7"), (kg.Date, "timestamp[us, tz=…]"), (kg.Integer, "category")):
        bounds: dict[str, Any] = {"lower": "2000-01-01", "upper": "2001-01-01"} if column is kg.Date else {"lower": 0}
        with pytest.raises(SchemaError, match="dtype = "):
            column("x", **{"upper": 9, **bounds}, dtype=wrong)


def test_arrow_types_survive_in_arrow() -> None:
    given = pa.table({"x": pa.array(WHOLE / 100).cast(pa.float32()), "y": pa.array(WHOLE, pa.uint16())})
    assert doubles(given).schema.types == [pa.float32(), pa.uint16()]
