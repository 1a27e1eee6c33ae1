"""The code of one value: the definition that every faster path is held to.

It sees one value and one declared column, and nothing else, so the code of a value cannot hang on the other rows. The
paths for whole columns (arrow and numpy, and SQL for files) are its twins: tests and a fuzzer hold them to it for
every container, storage type and company that a value can be found in.
"""

from __future__ import annotations

import bisect
import math
from typing import Any

from kagemusha.encoding.parse import TextReader
from kagemusha.encoding.values import GAPS, Instant, Plain, plain
from kagemusha.schema import Labelled, Measured, Modelled, Moment
from kagemusha.schema.spelling import days_of, number_text


def code_of(column: Modelled, value: Any, reader: TextReader) -> int:
    """The code of a raw value of a column; `reader` reads its text, if it is one."""
    found = plain(value)
    if isinstance(column, Labelled):
        return label_code(column, found)
    assert isinstance(column, Measured)
    if isinstance(found, str) and found in column.special_texts:
        return column.ordinary + column.special_texts[found]
    place = _moment(column, found, reader) if isinstance(column, Moment) else _number(found, reader)
    if place is None or math.isnan(place):
        return column.empty_code
    if place in column.special_numbers:
        return column.ordinary + column.special_numbers[place]
    if column.out_of_domain == "missing" and not column.low <= place <= column.high:
        return column.size - 1
    inside = min(max(place, column.low), column.high)
    return bisect.bisect_right(column.starts, inside) - 1


def label_code(column: Labelled, value: Plain) -> int:
    """The code of a plain value in a column of labels."""
    if value is None:
        return column.empty_code
    code = column.find(days_of(value.microseconds) if isinstance(value, Instant) else value)
    if code is not None:
        return code
    return column.empty_code if value in GAPS else column.stray_code


def _number(value: Plain, reader: TextReader) -> float | None:
    if isinstance(value, Instant):
        return days_of(value.microseconds)
    return float(reader.numbers([value])[0]) if isinstance(value, str) else value


def _moment(column: Moment, value: Plain, reader: TextReader) -> int | None:
    """The place of a value on the lattice of the column's unit."""
    if value is None:
        return None
    if isinstance(value, Instant):
        return column.place(value.microseconds)
    microseconds, missing = reader.moments([value if isinstance(value, str) else number_text(value)], column.format)
    return None if missing[0] else column.place(int(microseconds[0]))
