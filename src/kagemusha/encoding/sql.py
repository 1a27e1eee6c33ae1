"""The code of a column in DuckDB's SQL: the twin of `reference.code_of` for files too large to load.

A query has four levels, so that nothing is worked out twice: the first brings each value into a plain form; the
second puts moments on the lattice of their unit and looks texts up among labels; the third reads the number that a text
says which is no label; the fourth gives codes. Labels are looked up by hashing, as values of an ENUM type that is made
before the query runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kagemusha.encoding.arrow import not_flat
from kagemusha.encoding.bins import code_type, own_codes
from kagemusha.encoding.parse import days_sql, label_number_sql, moment_sql, number_sql, quote
from kagemusha.encoding.values import FIRST_MOMENT, GAPS, LAST_MOMENT
from kagemusha.schema import Integer, Labelled, Measured, Modelled, Moment
from kagemusha.schema.spelling import EXACT_BELOW, MICROSECONDS_A_DAY, number_text

Stored = Literal[
    "text", "binary", "integer", "float", "decimal", "boolean",
    "date", "timestamp", "milliseconds", "nanoseconds", "zoned", "other", "nested",
]  # fmt: skip
"""How a table stores a column; milliseconds are whole numbers since 1970."""

MOMENTS = ("date", "timestamp", "milliseconds", "nanoseconds", "zoned")
TEXTS = ("text", "binary", "other")

UNITS = {"D": MICROSECONDS_A_DAY, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "us": 1}
SQL_TYPES = {"uint8": "UTINYINT", "uint16": "USMALLINT", "int32": "INTEGER"}


FEW_NUMBERS = 256
"""Up to so many labels that say numbers, halving finds the right one faster than hashing its text."""


@dataclass(frozen=True)
class Query:
    """Statements to run first, and then a query that gives a column of codes for each column asked for."""

    setup: tuple[str, ...]
    levels: tuple[str, ...]

    def over(self, scan: str) -> str:
        """The query over a FROM clause; no code is NULL."""
        query = scan
        for level in self.levels:
            query = f"(SELECT {level} FROM {query})"
        return query[1:-1]


def codes_query(fields: Iterable[tuple[Modelled, Stored, str]]) -> Query:
    """What gives the codes of columns; each is given with how it is stored and the SQL expression of its values."""
    types: dict[str, Iterable[str]] = {}
    levels: list[list[str]] = [[], [], [], []]
    for at, (column, stored, source) in enumerate(fields):
        if isinstance(column, Labelled):
            steps = _label_steps(column, stored, source, at, types)
        else:
            assert isinstance(column, Measured)
            place = _lattice(column.unit, f"p{at}") if isinstance(column, Moment) else f"p{at}"
            steps = [
                f"{_axis_value(column, stored, source)} AS p{at}",
                f"{place} AS p{at}",
                f"p{at}",
                _binned(column, f"p{at}"),
            ]
        steps[-1] = f"CAST({steps[-1]} AS {SQL_TYPES[code_type(column.size).name]}) AS k{at}"
        for level, step in zip(levels, steps, strict=True):
            level.append(step)
    setup = tuple(f"CREATE TYPE {name} AS ENUM ({', '.join(map(quote, texts))})" for name, texts in types.items())
    return Query(setup, tuple(", ".join(level) for level in levels))


def plain_sql(column: Modelled, stored: Stored, source: str) -> str:
    """DuckDB expression for the plain form of a stored value: text, number, or the microseconds of a moment."""
    if stored == "nested":
        raise not_flat(column)
    if stored in MOMENTS:
        return _microseconds(source, stored)
    if stored in TEXTS:
        readable = {"text": source, "binary": f"TRY(decode({source}))", "other": "NULL"}[stored]
        # What is there but no text is a text that nothing reads.
        plain = f"CAST({readable} AS VARCHAR)"
        return plain if stored == "text" else f"CASE WHEN {source} IS NOT NULL THEN coalesce({plain}, chr(0)) END"
    if stored == "decimal":
        # Through its digits: those say which float64 is nearest, and a division might not.
        return f"CAST(CAST({source} AS VARCHAR) AS DOUBLE)"
    return f"CAST({source} AS {'INTEGER' if stored == 'boolean' else 'DOUBLE'})" if stored != "integer" else source


def _axis_value(column: Measured, stored: Stored, source: str) -> str:
    """The number (of a moment, the microseconds) that a stored value says in a measured column, or NULL."""
    value = plain_sql(column, stored, source)
    if isinstance(column, Moment):
        return value if stored in MOMENTS else moment_sql(f"CAST({value} AS VARCHAR)", column.format)
    if stored in MOMENTS:
        return days_sql(value)
    return number_sql(value) if stored in TEXTS else f"CAST({value} AS DOUBLE)"


def _label_steps(column: Labelled, stored: Stored, source: str, at: int, types: dict[str, Iterable[str]]) -> list[str]:
    """What each level of the query does for labels; the ENUM types that takes are added to `types`.

    p is the text or number under which a value is looked up (NULL: missing), e the code of a text that is spelt like a
    label, n the number said by any other.
    """
    value = plain_sql(column, stored, source)
    p, e, n = f"p{at}", f"e{at}", f"n{at}"
    if stored not in TEXTS:
        if stored in MOMENTS:
            # NaN stands for a moment that is there, but too far away.
            value = f"CASE WHEN {source} IS NOT NULL THEN coalesce({days_sql(value)}, CAST('nan' AS DOUBLE)) END"
        elif stored in ("float", "decimal"):
            value = f"CASE WHEN NOT isnan({value}) THEN {value} END"
        found = f"coalesce({_number_code(column, stored, p, types)}, {column.stray_code})"
        return [f"{value} AS {p}", p, p, f"CASE WHEN {p} IS NULL THEN {column.empty_code} ELSE {found} END"]
    texts = list(column.texts)
    if list(column.texts.values()) == list(range(len(texts))):
        types[f"texts_{p}"] = texts
        exact = f"CAST(enum_code(TRY_CAST({p} AS texts_{p})) AS INTEGER)"
    else:
        words = {code: [quote(text) for text in texts if column.texts[text] == code] for code in (0, 1)}
        exact = f"CASE WHEN {p} IN ({', '.join(words[0])}) THEN 0 WHEN {p} IN ({', '.join(words[1])}) THEN 1 END"
    gap = f"CASE WHEN {p} IS NULL OR {p} IN ({', '.join(map(quote, GAPS))}) THEN {column.empty_code} END"
    said = f"CASE WHEN {e} IS NULL THEN {label_number_sql(p)} END" if column.numbers else "NULL"
    code = f"coalesce({e}, {gap}, {_number_code(column, stored, n, types)}, {column.stray_code})"
    return [f"{value} AS {p}", f"{p}, {exact} AS {e}", f"{p}, {e}, {said} AS {n}", code]


def _number_code(column: Labelled, stored: Stored, number: str, types: dict[str, Iterable[str]]) -> str:
    """The code of the label that says a number, NULL if none does."""
    if not column.numbers:
        return "NULL"
    if len(column.numbers) <= FEW_NUMBERS:
        return _find(f"CAST({number} AS DOUBLE)", sorted(column.numbers.items()))
    spelt = {code: number_text(key) for key, code in column.numbers.items()}
    types[f"numbers_{number}"] = [spelt.get(code, f"no number {code}") for code in range(len(column.labels))]
    whole = f"{number} BETWEEN {1 - EXACT_BELOW} AND {EXACT_BELOW - 1}"
    if stored not in ("integer", "boolean"):
        whole += f" AND {number} = floor({number})"
    text = f"CASE WHEN {whole} THEN CAST({number} AS BIGINT)::VARCHAR ELSE CAST({number} AS DOUBLE)::VARCHAR END"
    return f"CAST(enum_code(TRY_CAST({text} AS numbers_{number})) AS INTEGER)"


def _find(number: str, items: Sequence[tuple[float, int]]) -> str:
    """The code of a number among rising ones, by halving; NULL if it is none of them."""
    if len(items) == 1:
        return f"CASE WHEN {number} = {_number(items[0][0])} THEN {items[0][1]} END"
    half = len(items) // 2
    left, right = _find(number, items[:half]), _find(number, items[half:])
    return f"CASE WHEN {number} < {_number(items[half][0])} THEN {left} ELSE {right} END"


def _microseconds(name: str, stored: Stored) -> str:
    """Microseconds since 1970 of a stored moment, in UTC where it has a zone; NULL if it is missing or too far away."""
    if stored == "nanoseconds":
        return _floored(f"epoch_ns({name})", 1_000)
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


def _binned(column: Measured, number: str) -> str:
    low, high = _number(column.low), _number(column.high)
    empty = f"{number} IS NULL" if isinstance(column, Moment) else f"{number} IS NULL OR isnan({number})"
    cases = f"WHEN {empty} THEN {column.empty_code}"
    if column.out_of_domain == "missing":
        cases += f" WHEN {number} < {low} OR {number} > {high} THEN {column.missing_code}"
    if own_codes(column):
        code = f"CAST(floor(greatest({low}, least({high}, {number}))) - {low} AS INTEGER)"
    elif isinstance(column, Integer) and column.bins and (width := column.high - column.low + 1) < 2**26:
        # The bin i with width * i // bins <= x - low, solved for i: exact in float64 for such widths, and
        # faster than halving.
        clipped = f"floor(greatest({low}.0e0, least({high}.0e0, {number})))"
        code = f"CAST(floor((({clipped} - {column.low - 1}) * {column.bins} - 1) / {width}) AS INTEGER)"
    else:
        code = _tree(number, column.starts.tolist(), 0)
    return f"CASE {cases} ELSE {code} END"


def _tree(number: str, starts: Sequence[Any], first: int) -> str:
    """Position among rising starts, by halving; numbers below the first start count as the first."""
    if len(starts) == 1:
        return str(first)
    half = len(starts) // 2
    left, right = _tree(number, starts[:half], first), _tree(number, starts[half:], first + half)
    return f"CASE WHEN {number} < {_number(starts[half])} THEN {left} ELSE {right} END"


def _number(value: Any) -> str:
    if value in (float("inf"), float("-inf")):
        return f"CAST('{value}' AS DOUBLE)"
    # An exponent makes the literal a DOUBLE; without one DuckDB would read a DECIMAL.
    return f"{value!r}e0" if isinstance(value, float) and "e" not in repr(value) else repr(value)
