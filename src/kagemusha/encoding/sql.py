"""What is read of a table in DuckDB's SQL, for files too large to load: the twin of `reference.code_of`.

DuckDB reads what nearly all cells hold: labels, looked up by hashing as values of an ENUM type that is made before the
query runs; numbers; dates in the column's own format. Any other text comes out as it is and is read as that of a frame
is, and numbers become codes as those of a frame do. A query has three levels, so that nothing is worked out twice: p,
the plain form of a value; v, what it was read as; and t, the text itself if it was read as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.encoding.arrow import encode_arrow, not_flat, number_cells, read_arrow
from kagemusha.encoding.bins import code_type, to_codes
from kagemusha.encoding.cells import Cells
from kagemusha.encoding.parse import TextReader, days_sql, plain_moment_sql, quote
from kagemusha.encoding.values import FIRST_MOMENT, FIRST_NANOSECOND, GAPS, LAST_MOMENT, Instant, Plain, plain
from kagemusha.schema import Category, Labelled, Measured, Modelled, Moment
from kagemusha.schema.spelling import MICROSECONDS_A_DAY

Stored = Literal[
    "text", "binary", "integer", "float", "decimal", "boolean",
    "date", "timestamp", "milliseconds", "nanoseconds", "zoned", "other", "nested",
]  # fmt: skip
"""How a table stores a column; milliseconds are whole numbers since 1970."""

TEXTS = ("text", "binary", "other")
MOMENTS = ("date", "timestamp", "milliseconds", "nanoseconds", "zoned")

UNITS = {"D": MICROSECONDS_A_DAY, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "us": 1}


@dataclass(frozen=True)
class Query:
    """Statements to run first, a query over the raw table, and what makes codes of its batches."""

    columns: tuple[Modelled, ...]
    setup: tuple[str, ...]
    levels: tuple[str, ...]

    def over(self, scan: str) -> str:
        """The query over a FROM clause."""
        query = scan
        for level in self.levels:
            query = f"(SELECT {level} FROM {query})"
        return query[1:-1]

    def codes(self, batch: Any, reader: TextReader) -> list[Codes]:
        """Codes of every column from an arrow batch of what the query gives."""
        return list(self.codes_by_name(batch, reader, (c.name for c in self.columns)).values())

    def codes_by_name(self, batch: Any, reader: TextReader, names: Iterable[str]) -> dict[str, Codes]:
        """Codes of some columns."""
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        wanted = set(names)
        return {
            c.name: _codes(c, found[f"v{at}"], found.get(f"t{at}"), reader)
            for at, c in enumerate(self.columns)
            if c.name in wanted
        }

    def cells(self, batch: Any, reader: TextReader, names: Iterable[str]) -> dict[str, Cells]:
        """The values of some measured columns, as formulas see them."""
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        wanted = set(names)
        return {
            c.name: _cells(c, found[f"v{at}"], found.get(f"t{at}"), reader)
            for at, c in enumerate(self.columns)
            if isinstance(c, Measured) and c.name in wanted
        }


WHOSE = "w"
"""The column of a query's answer that says whose a row is."""


def codes_query(fields: Iterable[tuple[Modelled, Stored, str]], whose: tuple[Stored, str] | None = None) -> Query:
    """What gives the codes of columns; each is given with how it is stored and the SQL expression of its values.

    With `whose` the plain values of one more column come along, in the same scan: who each row belongs to.
    """
    columns: list[Modelled] = []
    types: dict[str, Iterable[str]] = {}
    levels: tuple[list[str], list[str], list[str]] = ([], [], [])
    for at, (column, stored, source) in enumerate(fields):
        columns.append(column)
        p, v, t = f"p{at}", f"v{at}", f"t{at}"
        plain = plain_sql(column, stored, source)
        as_text = stored in TEXTS or (isinstance(column, Moment) and stored not in MOMENTS)
        if not as_text:
            value, rest = _number(column, stored, p), ""
        else:
            plain = f"CAST({plain} AS VARCHAR)"
            value = _read(column, p, types)
            # Where no label says a number or stands for a group, nothing is left to be read.
            settled = isinstance(column, Labelled) and not (column.numbers or column.has_groups)
            rest = "" if settled else f", CASE WHEN {v} IS NULL AND {p} <> '' THEN {p} END AS {t}"
        last = f"{_lattice(column.unit, v)} AS {v}" if isinstance(column, Moment) else v
        for level, step in zip(levels, (f"{plain} AS {p}", f"{p}, {value} AS {v}", last + rest), strict=True):
            level.append(step)
    if whose is not None:
        levels[0].append(f"{plain_sql(Category('whose'), *whose)} AS {WHOSE}")
        levels[1].append(WHOSE)
        levels[2].append(WHOSE)
    setup = tuple(f"CREATE TYPE {name} AS ENUM ({', '.join(map(quote, words))})" for name, words in types.items())
    return Query(tuple(columns), setup, tuple(", ".join(level) for level in levels))


def as_plain(value: Any, stored: Stored) -> Plain:
    """A value that `plain_sql` gave as a plain value."""
    return Instant(value) if stored in MOMENTS and value is not None else plain(value)


def plain_sql(column: Modelled, stored: Stored, source: str) -> str:
    """DuckDB expression for the plain form of a stored value: text, number, or the microseconds of a moment."""
    if stored == "nested":
        raise not_flat(column)
    if stored in MOMENTS:
        stamp = _microseconds(source, stored)
        if not isinstance(column, Labelled):
            return stamp
        # A moment too far away is no label, but it is there.
        return f"CASE WHEN {source} IS NOT NULL THEN coalesce({stamp}, {LAST_MOMENT + 1}) END"
    if stored in TEXTS:
        readable = {"text": source, "binary": f"TRY(decode({source}))", "other": "NULL"}[stored]
        # What is there but no text is a text that nothing reads.
        plain = f"CAST({readable} AS VARCHAR)"
        return plain if stored == "text" else f"CASE WHEN {source} IS NOT NULL THEN coalesce({plain}, chr(0)) END"
    if stored == "decimal":
        # Through its digits: those say which float64 is nearest, and a division might not.
        return f"CAST(CAST({source} AS VARCHAR) AS DOUBLE)"
    return source if stored == "integer" else f"CAST({source} AS {'INTEGER' if stored == 'boolean' else 'DOUBLE'})"


def _number(column: Modelled, stored: Stored, plain: str) -> str:
    """What a number or moment says in a column; NULL if it is missing."""
    if stored in MOMENTS:
        value = plain if isinstance(column, Moment) else days_sql(plain)
        near = f"{plain} BETWEEN {FIRST_MOMENT} AND {LAST_MOMENT}"
        return value if isinstance(column, Labelled) else f"CASE WHEN {near} THEN {value} END"
    return f"CASE WHEN NOT isnan({plain}) THEN {plain} END" if stored == "float" else f"CAST({plain} AS DOUBLE)"


def _read(column: Modelled, text: str, types: dict[str, Iterable[str]]) -> str:
    """What DuckDB reads a text as; NULL if that is to be read otherwise. ENUM types it takes are added to `types`."""
    if isinstance(column, Moment):
        return plain_moment_sql(text, column.format)
    if not isinstance(column, Labelled):
        return f"TRY_CAST({text} AS DOUBLE)"
    words = list(column.texts)
    if list(column.texts.values()) == list(range(len(words))):
        types[f"labels_{text}"] = words
        exact = f"CAST(enum_code(TRY_CAST({text} AS labels_{text})) AS INTEGER)"
    else:
        cases = (f"WHEN {text} IN ({_words(column, code)}) THEN {code}" for code in (0, 1))
        exact = f"CASE {' '.join(cases)} END"
    gap = f"CASE WHEN {text} IS NULL OR {text} IN ({', '.join(map(quote, GAPS))}) THEN {column.empty_code} END"
    return f"coalesce({exact}, {gap}{'' if column.numbers or column.has_groups else f', {column.stray_code}'})"


def _words(column: Labelled, code: int) -> str:
    return ", ".join(quote(text) for text, own in column.texts.items() if own == code)


def _microseconds(name: str, stored: Stored) -> str:
    """Microseconds since 1970 of a stored moment, in UTC where it has a zone; NULL if it is missing or too far away."""
    if stored == "nanoseconds":
        return f"CASE WHEN epoch_ns({name}) >= {FIRST_NANOSECOND} THEN {_floored(f'epoch_ns({name})', 1_000)} END"
    if stored == "milliseconds":
        return f"CASE WHEN {name} BETWEEN {-(-FIRST_MOMENT // 1_000)} AND {LAST_MOMENT // 1_000} THEN {name} * 1000 END"
    # The cast of a zoned timestamp would depend on the zone of this machine.
    return f"epoch_us({name})" if stored == "zoned" else f"epoch_us(TRY_CAST({name} AS TIMESTAMP))"


def _lattice(unit: str, stamp: str) -> str:
    """Whole units from 1970 to a moment given in microseconds, rounded down."""
    if unit in UNITS:
        return _floored(stamp, UNITS[unit])
    moment = f"make_timestamp({stamp})"
    if unit == "Y":
        return f"(year({moment}) - 1970)"
    return f"((year({moment}) - 1970) * 12 + month({moment}) - 1)"


def _floored(count: str, size: int) -> str:
    # `//` rounds towards zero, so the remainder is made positive first.
    return count if size == 1 else f"(({count} - (({count} % {size}) + {size}) % {size}) // {size})"


def _codes(column: Modelled, values: Any, texts: Any, reader: TextReader) -> Codes:
    """Codes of what was read, and of the texts that are still to be read."""
    import pyarrow as pa

    missing = values.is_null().to_numpy(zero_copy_only=False)
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    if isinstance(column, Labelled):
        if pa.types.is_integer(values.type):
            codes: Codes = numbers.astype(code_type(column.size))
        else:
            codes = _numbered(column, numbers)
            codes[missing] = column.empty_code
    else:
        assert isinstance(column, Measured)
        codes = to_codes(column, numbers, missing | np.isnan(numbers))
    if texts is not None and texts.null_count < len(texts):
        codes[texts.is_valid().to_numpy(zero_copy_only=False)] = encode_arrow(column, texts.drop_null(), reader)
    return codes


def _cells(column: Measured, values: Any, texts: Any, reader: TextReader) -> Cells:
    """The values of what was read, and of the texts that are still to be read."""
    missing = values.is_null().to_numpy(zero_copy_only=False)
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False).copy()
    cells = number_cells(column, numbers, missing | np.isnan(numbers))
    if texts is not None and texts.null_count < len(texts):
        cells.put(texts.is_valid().to_numpy(zero_copy_only=False), read_arrow(column, texts.drop_null(), reader))
    return cells


def _numbered(column: Labelled, numbers: Codes) -> Codes:
    """Codes of the labels that say some numbers."""
    kind = code_type(column.size)
    codes = np.full(len(numbers), column.stray_code, dtype=kind)
    if column.has_groups:
        distinct, places = np.unique(numbers, return_inverse=True)
        found = (column.find(float(number)) for number in distinct)
        return np.array([column.stray_code if code is None else code for code in found], dtype=kind)[places]
    if column.numbers:
        keys = np.array(sorted(column.numbers))
        at = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
        same = keys[at] == numbers
        codes[same] = np.array([column.numbers[key] for key in keys.tolist()], dtype=kind)[at[same]]
    return codes
