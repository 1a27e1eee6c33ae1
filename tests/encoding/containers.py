"""Values of every type, declared columns they may stand in, and the containers that may hold them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from kagemusha.columns.label import digits_of
from kagemusha.schema import Boolean, Category, Date, Datetime, Duration, Integer, Modelled, Moment, Real, TimeOfDay

BIG = 2**53
TOKYO = timezone(timedelta(hours=9))
MIDNIGHT = [datetime(2020, 1, 5), datetime(1990, 7, 3), datetime(1969, 12, 31)]

FAMILIES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int": [0, 1, 2, 5, -1, 7, 99, 2020, 18266, 7305],
    "compact": [20200105, 19900703, 20200230, 5012020, 3071990],
    "big": [BIG - 1, BIG, BIG + 1, BIG + 2, -BIG - 1, 123456789012345678, 2**62 + 1],
    "unsigned": [2**63 + 5, 2**64 - 1],
    "huge": [2**70, -(2**65)],
    "float": [0.0, 1.0, 5.0, 1.5, -0.5, 0.1, 1e16, 1e-5, 2.0**53, 18266.0, 20200105.0],
    "odd float": [float("inf"), -float("inf"), 1e300, 5e-324, -0.0, 2.5e-3],
    "decimal": [Decimal("1"), Decimal("1.50"), Decimal("0.1"), Decimal("5"), Decimal("20200105")],
    "text": ["a", "b", "", "x", "1", "01", "1.0", "1.50", "true", "True", "FALSE", "2020-01-05", "2020-01-05 00:00:00",
             "05/01/2020", "03/07/90", "20200105", "20200105.0", "05012020", str(BIG + 1), "9007199254740992.0",
             "1e+16",
             "é", "a,b", 'say "a"', "two\nlines", " a", " 1", "NaN", "inf", "other", "18266", "-1", "18266.5"],
    "date": [date(2020, 1, 5), date(1990, 7, 3), date(1920, 1, 5), date(1969, 12, 31), date(9999, 1, 1), date(1, 1, 1)],
    "midnight": MIDNIGHT,
    "datetime": [datetime(2020, 1, 5, 3, 4), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1920, 1, 5, 12)],
    "far": [datetime(9999, 1, 1), datetime(1, 1, 1)],
    "zoned": [datetime(2020, 1, 5, 3, tzinfo=TOKYO), datetime(2020, 1, 5, tzinfo=UTC)],
    "time": [time(8, 30), time(0), time(23, 59, 59, 999_999), time(12, 0, 0, 500_000)],
    "span": [timedelta(0), timedelta(hours=26, minutes=30), timedelta(seconds=-90), timedelta(days=3, microseconds=5)],
    "clock": ["08:30", "8:30:00", "26:30:00", "1 days 02:30:00", "-1 day, 23:58:30", "PT26H30M", "00:00:00", "99:60"],
    "bytes": [b"a", b"1", b"\xff"],
    "gap": [None],
    "nan": [float("nan")],
    "object": [pd.NA, pd.NaT, np.datetime64("NaT"), np.int8(1), np.float32(0.5), np.datetime64("2020-01-05"), {"k": 1},
               [1, 2], object, complex(1, 2), np.datetime64(2**62, "s"), pd.Timestamp("2020-01-05"),
               pd.Timestamp("2020-01-05 03:00", tz="Asia/Tokyo"), "\ud800"],
}  # fmt: skip

_GAPS = [
    {"missing": True},
    {"missing": False},
    {"missing": True, "out_of_domain": "missing"},
    {"out_of_domain": "clip"},
]
_PERIOD = {"lower": "1900-01-01", "upper": "2030-12-31", "bins": 30}


def _declared() -> list[Modelled]:
    labels: list[tuple[Any, ...]] = [
        ("a", "b"),
        ("a", "1", "2020-01-05", "1.50"),
        (0, 1, 5),
        ("01", "1", "x"),
        ("true", "false", "x"),
        (True, False),
        ("True", "1", "é"),
        (BIG, BIG + 2),
        (str(BIG + 1), "a"),
        (123456789012345678, -BIG, 2**63 + 5),
        ("2020-01-05", "1990-07-03", "2020-01-05 03:04:00"),
        (date(2020, 1, 5).isoformat() + " 00:00:00", "1969-12-31"),
        (18266, 2020),
        ("inf", "None", "1e+16", "0.00001"),
        ("", "a", "other"),
        tuple(range(-5, 400)),
        (*(f"{i / 8}" for i in range(300)), "a"),
    ]
    return [
        *(Category("x", categories=own, **gaps) for own in labels for gaps in _GAPS),
        *(Boolean("x", missing=missing) for missing in (True, False)),
        *(Integer("x", lower=0, upper=10, **gaps) for gaps in _GAPS),
        Integer("x", lower=-100, upper=30_000, bins=7, missing=True),
        Integer("x", edges=(-5, 0, 1, 5, 2021), missing=True),
        *(Real("x", lower=-1, upper=2, bins=9, **gaps) for gaps in _GAPS),
        Real("x", edges=(0.0, 0.1, 1.5, 1e16, 1e299), missing=True),
        *(Date("x", **_PERIOD, **gaps) for gaps in _GAPS),
        *(Date("x", **_PERIOD, format=form, missing=True) for form in ("%Y%m%d", "%d%m%Y", "%d/%m/%Y", "%Y", "%Y-%m")),
        Date("x", lower="1970-01-01", upper="2068-12-31", bins=60, format="%d/%m/%y", missing=True),
        Date("x", lower="1970-01-01", upper="2068-12-31", bins=60, format="%y%m%d", missing=True),
        Datetime("x", **_PERIOD, missing=True),
        Datetime("x", lower="2020-01-05", upper="2020-01-06", bins=24, missing=True),
        Datetime("x", **_PERIOD, format="%Y-%m-%d %H:%M:%S", missing=True),
        Datetime("x", **_PERIOD, format="%Y%m%d%H", missing=True),
        TimeOfDay("x", missing=True),
        TimeOfDay("x", lower="08:00", upper="17:59", format="%H:%M", missing=True, out_of_domain="missing"),
        Duration("x", lower="-24:00", upper="72:00", bins=96, missing=True),
        Duration("x", edges=("00:00", "00:01", "26:30", "100:00"), special=("N",)),
    ]


DECLARED = _declared()

NUMBERS = {"bool", "int", "compact", "big", "unsigned", "huge", "float", "odd float", "nan", "decimal"}
MOMENTS = {"midnight", "datetime", "far", "zoned"}


def destroyed(container: str, families: set[str], column: Modelled) -> bool:
    """Whether the container makes of these values together what nobody can tell from other values.

    Polars: among numbers it keeps the days of a date (read as that, unless the column's own dates are digits) and the
    microseconds of a datetime; among decimals it drops booleans and dates, among bytes all but texts.
    Arrow (and pandas, when it writes Parquet): it takes numbers among dates for days and among datetimes for
    microseconds, and cuts the time off a datetime that follows a date. Both take times and spans among numbers for
    counts.
    """
    other = "object" in families
    numbers, moments = other or bool(families & NUMBERS), other or bool(families & MOMENTS)
    dates = "date" in families
    spans = families & {"span", "time"}
    if spans and (numbers or moments or dates or len(spans) > 1) and not container.startswith("pandas "):
        return True
    if container.startswith("polars"):
        compact = isinstance(column, Moment) and column.format is not None and digits_of(column.format) is not None
        dropped = "decimal" in families and bool(families & {"bool", "date"})
        dropped = dropped or ("bytes" in families and len(families) > 2)
        return (numbers and (moments or (dates and compact))) or dropped or (other and len(families) > 1)
    if container.startswith("pyarrow") or container == "pandas.parquet":
        return (moments and (numbers or dates)) or (dates and numbers)
    return False


def _objects(values: Sequence[Any]) -> pd.DataFrame:
    cells = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        cells[row] = value
    return pd.DataFrame({"x": pd.Series(cells, dtype=object)})


FRAMES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(list(values))}),
    "pandas objects": _objects,
    "pandas inferred": lambda values: _objects(values).infer_objects(),
    "pandas nullable": lambda values: pd.DataFrame({"x": list(values)}).convert_dtypes(),
    "pandas arrow": lambda values: pd.DataFrame({"x": list(values)}).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical": lambda values: pd.DataFrame({"x": pd.Categorical(list(values))}),
    "polars": lambda values: pl.DataFrame({"x": pl.Series(list(values), strict=False)}),
    "polars lazy": lambda values: pl.LazyFrame({"x": pl.Series(list(values), strict=False)}),
    "pyarrow": lambda values: pa.table({"x": pa.array(list(values))}),
    "pyarrow dictionary": lambda values: pa.table({"x": pa.array(list(values)).dictionary_encode()}),
    "pyarrow chunks": lambda values: pa.table({
        "x": pa.chunked_array([pa.array(list(values))[i:i + 1] for i in range(len(values))])}),
}  # fmt: skip
"""A frame of one column `x`, made as users make them; what a library refuses it refuses here, too."""


def frame(container: str, values: Sequence[Any]) -> Any | None:
    """The frame, or None if its library cannot hold these values together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return FRAMES[container](values)
        except Exception:
            return None


def _pandas_csv(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False)


FILES: dict[str, tuple[str, Callable[[Any, Path], None]]] = {
    "pandas.csv": ("pandas", _pandas_csv),
    "polars.csv": ("polars", lambda table, path: table.write_csv(path)),
    "pyarrow.csv": ("pyarrow", lambda table, path: pyarrow.csv.write_csv(table, path)),
    "pandas.parquet": ("pandas", lambda table, path: table.to_parquet(path)),
    "polars.parquet": ("polars", lambda table, path: table.write_parquet(path)),
    "pyarrow.parquet": ("pyarrow", lambda table, path: pyarrow.parquet.write_table(table, path)),
}
"""How a file is written: the frame, and its library's own writer."""


def write(container: str, columns: Sequence[Sequence[Any]], path: Path) -> bool:
    """Write columns x0, x1, … and one that is never empty; False if the library cannot write them together."""
    library, writer = FILES[container]
    keep = list(range(len(columns[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if library == "pandas":
                table: Any = pd.DataFrame({f"x{i}": pd.Series(list(v)) for i, v in enumerate(columns)}).assign(k=keep)
            elif library == "polars":
                table = pl.DataFrame([pl.Series(f"x{i}", list(v), strict=False) for i, v in enumerate(columns)])
                table = table.with_columns(pl.Series("k", keep))
            else:
                table = pa.table({**{f"x{i}": pa.array(list(v)) for i, v in enumerate(columns)}, "k": keep})
            writer(table, path)
        except Exception:
            return False
    return True


def read_back(texts: Sequence[str]) -> pd.DataFrame:
    """What pandas makes of a CSV of these texts, types guessed from all of them."""
    lines = "".join(f'"{text}",0\n' for text in texts)
    return pd.read_csv(io.StringIO("x,k\n" + lines))[["x"]]
