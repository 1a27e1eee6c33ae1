"""Raw Python values as text, each by itself alone.

What one record holds must not change how any other record is read: a count that moves by more than one would break
every guarantee built on it. So columns of Python objects are never given a common type first, which one odd value
could change for all.
"""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from kagemusha.schema import Measured, Modelled, Moment

UNREADABLE = "\0"
"""The text of a value that has none. No label, number or date reads so."""


def object_texts(column: Modelled, values: Any) -> Any:
    """An arrow array of the text of each Python object of a column (a numpy array or a list)."""
    import pyarrow as pa

    with suppress(Exception):  # texts and gaps alone, the usual case: `raw_text` would give the same, slowly
        return pa.array(values, type=pa.string(), from_pandas=True)
    return pa.array([raw_text(column, value) for value in values], type=pa.string())


def raw_text(column: Modelled, value: Any) -> str | None:
    """The text under which a column reads a raw value; None if it is missing."""
    measured = isinstance(column, Measured) and not isinstance(column, Moment)
    if measured and isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    if isinstance(column, Moment) and isinstance(value, date | np.datetime64) and not is_missing(value):
        with suppress(Exception):
            return _moment_text(column, value)
        return UNREADABLE
    return label_text(value)


def label_text(value: Any) -> str | None:
    """The text under which a raw value is looked up among declared labels; None if it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        # Half a surrogate pair is no text that a file could hold.
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating | Decimal):
        number = float(value)
        whole = abs(number) < 2**53 and number == int(number)
        return str(int(number)) if whole else repr(number)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    with suppress(Exception):
        return str(value.astype("M8[us]").item() if isinstance(value, np.datetime64) else value)
    return UNREADABLE


def is_missing(value: Any) -> bool:
    """Whether a raw value stands for no value: None, NaN, NaT, NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _moment_text(column: Moment, value: Any) -> str:
    """A native date or time as the column's own texts are written; with a zone, as in UTC."""
    moment = value.astype("M8[us]").item() if isinstance(value, np.datetime64) else value
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    if column.format is not None:
        return str(moment.strftime(column.format))
    return datetime.isoformat(moment, sep=" ", timespec="microseconds")
