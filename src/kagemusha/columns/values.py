"""Raw Python values in one of five plain forms, each by itself alone.

What one record holds must not change how any other record is read: a count that moves by more than one would break
every guarantee built on it. So columns of Python objects are never given a common type first, which one odd value
could change for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from kagemusha.columns.label import (
    MICROSECONDS_PER_DAY,
    NOT_A_NUMBER,
    canonical,
    microseconds_of,
    moment_text,
    number_text,
)

UNREADABLE = "\0"
"""The text of a value that has none. No label, number or date reads so."""

FIRST_MOMENT, LAST_MOMENT = -106_751_991 * MICROSECONDS_PER_DAY, 2**63 - 2
"""The moments that DuckDB's microseconds hold; those beyond are unreadable everywhere."""

FIRST_NANOSECOND, LAST_NANOSECOND = -(2**63) + 1_000, 2**63 - 2
"""The same for nanoseconds; what lies beyond stands for no moment, or would leave 64 bits when rounded down."""

LONGEST = LAST_NANOSECOND // 1_000 // MICROSECONDS_PER_DAY * MICROSECONDS_PER_DAY
"""Microseconds of the longest span that every container holds, some 292 years; a longer one is unreadable
everywhere."""

GAPS = ("", *NOT_A_NUMBER)
"""Texts that stand for a missing value; the empty one may be a declared category instead."""


class Instant(NamedTuple):
    """A point in time (of a date, its midnight), without zone or in UTC."""

    microseconds: int


@dataclass(frozen=True)
class Elapsed:
    """A length of time."""

    microseconds: int


Plain = str | float | Instant | Elapsed | None
"""A text, a number, a moment, a length of time, or nothing: all that a cell of a table can say."""

_UNITS = {"W": 7 * MICROSECONDS_PER_DAY, "D": MICROSECONDS_PER_DAY, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000,
          "ms": 1_000, "us": 1}  # fmt: skip
_FINE = {"ns": 1_000, "ps": 10**6, "fs": 10**9, "as": 10**12}


def plain(value: Any) -> Plain:
    """The plain form of any Python, numpy or pandas scalar; whatever the value, it raises nothing."""
    if isinstance(value, str):
        # Half a surrogate pair is no text that a file could hold.
        return str(value) if value.isascii() else value.encode("utf-8", "replace").decode()
    if is_missing(value):
        return None
    with suppress(Exception):
        if isinstance(value, bool | np.bool_ | int | float | np.integer | np.floating | Decimal):
            return _number(value)
        if isinstance(value, complex | np.complexfloating):  # one makes complex numbers of a whole column
            return None if math.isnan(value.real) else _number(value.real) if value.imag == 0 else UNREADABLE
        if isinstance(value, date):
            return instant(microseconds_of(value))
        if isinstance(value, np.datetime64):
            return instant(_numpy_microseconds(value))
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, time):
            return str(value).rstrip("0") if value.microsecond else str(value)
        if isinstance(value, timedelta):
            return elapsed(value // timedelta(microseconds=1))
        if type(value).__name__ == "MonthDayNano":  # arrow's interval, which is what DuckDB makes of a duration
            return (
                UNREADABLE if value.months else elapsed(value.days * MICROSECONDS_PER_DAY + value.nanoseconds // 1_000)
            )
        if isinstance(value, np.timedelta64):
            return elapsed(_numpy_microseconds(value))
        return str(value)
    return UNREADABLE


def plains(values: Sequence[Any]) -> list[Plain]:
    """The plain form of each value."""
    return [plain(value) for value in values]


def label_text(value: Plain) -> str | None:
    """One text for a plain value, whatever form a table gave it; None if it is missing."""
    if isinstance(value, Instant | Elapsed):
        with suppress(OverflowError):
            return UNREADABLE if isinstance(value, Elapsed) else moment_text(value.microseconds)
        return UNREADABLE
    if isinstance(value, str):
        return None if value in GAPS else canonical(value)
    return None if value is None or math.isnan(value) else number_text(value)


def is_missing(value: Any) -> bool:
    """Whether a raw value stands for no value: None, NaN, NaT, NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def instant(microseconds: int) -> Instant | str:
    """The moment so many microseconds after 1970, if it is not too far away."""
    return Instant(microseconds) if FIRST_MOMENT <= microseconds <= LAST_MOMENT else UNREADABLE


def elapsed(microseconds: int) -> Elapsed | str:
    """A length of time, if it is not too long."""
    return Elapsed(microseconds) if abs(microseconds) <= LONGEST else UNREADABLE


def _number(value: Any) -> float:
    try:
        return float(value) + 0.0  # never -0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _numpy_microseconds(value: Any) -> int:
    unit, step = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):  # of a span nobody knows how long: the cast is refused
        value, unit, step = value.astype("M8[D]"), "D", 1
    count = int(value.astype(np.int64)) * step
    return count * _UNITS[unit] if unit in _UNITS else count // _FINE[unit]
