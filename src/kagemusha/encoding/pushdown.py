"""How raw values become codes inside an engine: the one definition for all of them, a twin of `reference.code_of`.

An engine settles what nearly all cells hold: labels, plain numbers, dates. For each column there is an expression for
the code, and one for whether the engine is sure of it. A row with a cell that it is not sure of (1e0 in a text, a date
of the year 300,000, bytes) comes out as it is and is read here, as that of a frame is. So every engine gives every value the code
of the reference, and no value can raise an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kagemusha.encoding.arrow import not_flat
from kagemusha.encoding.bins import own_codes
from kagemusha.encoding.dialect import Dialect
from kagemusha.encoding.sql import MOMENTS, UNITS, Stored
from kagemusha.encoding.values import GAPS, LAST_MOMENT, UNREADABLE, Instant, Plain, instant, plain
from kagemusha.schema import Labelled, Measured, Modelled, Moment
from kagemusha.schema.spelling import MICROSECONDS_A_DAY

NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?"
"""Texts of numbers that every engine reads alike."""

_DAY = r"(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
MOMENT = rf"{_DAY}(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])?"
"""The same of dates: no month lacks these days."""

SPEAKS = "0123456789+-. \titfTF"
"""The characters that a text may begin with that says a number (see `schema.spelling`)."""

LINEAR = 16
"""Labels that are tried one after the other; more are searched by halves."""

WRITTEN = {
    "categories", "other", "lower", "upper", "bins", "edges", "scale", "values", "format", "missing", "out_of_domain",
}  # fmt: skip
"""The fields whose meaning for codes is written in SQL below. A column with others of them is read here."""


@dataclass(frozen=True)
class Pushed:
    """A column in an engine: its code, and whether that is settled. Neither is ever NULL."""

    code: str
    settled: str = "TRUE"


def pushed(column: Modelled, stored: Stored, x: str, dialect: Dialect) -> Pushed:
    """The expressions of a column stored so, whose values are `x`."""
    if stored == "nested":
        raise not_flat(column)
    missing = f"{x} IS NULL"
    if (
        not_in_sql(column)
        or stored in ("binary", "other")
        or (isinstance(column, Moment) and stored not in (*MOMENTS, "text"))
    ):
        return Pushed(f"CASE WHEN {missing} THEN {_empty(column)} ELSE 0 END", f"({missing})")
    if stored == "text":
        text = dialect.text(x)
        if isinstance(column, Labelled):
            return _labelled_text(column, text, missing, dialect)
        return _measured_text(column, text, missing, dialect)
    if stored in MOMENTS:
        near = dialect.near(x, stored)
        micros = dialect.microseconds(x, stored)
        settled = f"({missing} OR {near})"
        if isinstance(column, Moment):
            return Pushed(_case(missing, column, _place(column, micros, dialect), near, dialect), settled)
        number = f"({dialect.double(micros)} / {dialect.real(float(MICROSECONDS_A_DAY))})"
        return Pushed(_case(missing, column, number, near, dialect), settled)
    return _number(column, stored, x, missing, dialect)


def not_in_sql(column: Modelled) -> tuple[str, ...]:
    """The fields of a column for which engines cannot make its codes, so that its rows come over as they are."""
    return tuple(field for field in column.code_fields if field not in WRITTEN)


def _empty(column: Modelled) -> int:
    assert isinstance(column, Labelled | Measured)
    return column.empty_code


def _number(column: Modelled, stored: Stored, x: str, missing: str, dialect: Dialect) -> Pushed:
    """A column of stored numbers."""
    if stored == "boolean":
        number = f"CASE WHEN {x} THEN {dialect.real(1.0)} ELSE {dialect.real(0.0)} END"
        return Pushed(_case(missing, column, f"({number})", "", dialect))
    number = dialect.double(x)
    if stored == "decimal":
        # what float64 holds without being cut to nothing or to infinity
        fits = f"(abs({x}) < 1e300 AND (abs({x}) > 1e-300 OR {x} = 0))"
        return Pushed(_case(missing, column, number, fits, dialect), f"({missing} OR {fits})")
    gone = f"({missing} OR {dialect.is_nan(number)})" if stored == "float" else missing
    return Pushed(_case(gone, column, number, "", dialect))


def _case(missing: str, column: Modelled, number: str, sure: str, dialect: Dialect) -> str:
    """The code of a number that is there if `sure`; 0 where it is not."""
    found = _of_number(column, number, dialect)
    rest = f"WHEN {sure} THEN {found} ELSE 0" if sure else f"ELSE {found}"
    return f"CASE WHEN {missing} THEN {_empty(column)} {rest} END"


def _of_number(column: Modelled, number: str, dialect: Dialect) -> str:
    """The code of a number on the axis of a column."""
    if isinstance(column, Labelled):
        found = {code: dialect.real(said) for said, code in column.numbers.items()}
        cases = " ".join(f"WHEN {number} = {said} THEN {code}" for code, said in found.items())
        return f"CASE {cases} ELSE {column.stray_code} END" if cases else str(column.stray_code)
    assert isinstance(column, Measured)
    whole = isinstance(column, Moment)
    low, high = (int(e) if whole else float(e) for e in (column.low, column.high))
    if own_codes(column):
        edges = (dialect.constant(low), dialect.constant(high))
        inside = number if whole else dialect.whole(f"floor({number})")
        code = (
            f"CASE WHEN {number} <= {edges[0]} THEN 0 WHEN {number} >= {edges[1]} THEN {column.ordinary - 1} "
            f"ELSE {inside} - ({int(column.low)}) END"
        )
    else:
        code = dialect.bins(number, [int(s) if whole else float(s) for s in column.starts[1:].tolist()])
    if column.out_of_domain != "missing":
        return code
    outside = f"{number} < {dialect.constant(low)} OR {number} > {dialect.constant(high)}"
    return f"CASE WHEN {outside} THEN {column.size - 1} ELSE {code} END"


def _place(column: Moment, micros: str, dialect: Dialect) -> str:
    """The place of a moment on the lattice of the column's unit."""
    if column.unit in UNITS:
        return dialect.floored(micros, UNITS[column.unit])
    months = dialect.months(micros)
    return months if column.unit == "M" else dialect.floored(months, 12)


def _gap(text: str, dialect: Dialect) -> str:
    return f"{text} IN ({', '.join(map(dialect.literal, GAPS))})"


def _may_speak(text: str, dialect: Dialect) -> str:
    return f"substr({text}, 1, 1) IN ({', '.join(map(dialect.literal, SPEAKS))})"


def _measured_text(column: Modelled, text: str, missing: str, dialect: Dialect) -> Pushed:
    gap = f"({missing} OR {_gap(text, dialect)})"
    if isinstance(column, Moment):
        if column.format is not None:
            return Pushed(f"CASE WHEN {gap} THEN {_empty(column)} ELSE 0 END", gap)
        sure = dialect.matches(text, MOMENT)
        number = _place(column, dialect.text_microseconds(text), dialect)
    else:
        sure = dialect.matches(text, NUMBER)
        number = dialect.double(text)
    return Pushed(_case(gap, column, number, sure, dialect), f"({gap} OR {sure})")


def _labelled_text(column: Labelled, text: str, missing: str, dialect: Dialect) -> Pushed:
    found = _lookup(column.texts, text, dialect)
    gap = f"WHEN {missing} THEN {column.empty_code}"
    later = f"WHEN {_gap(text, dialect)} THEN {column.empty_code} ELSE {column.stray_code}"
    if len(column.texts) <= LINEAR:
        code = f"CASE {gap} {found} {later} END"
        known = f"{text} IN ({', '.join(map(dialect.literal, column.texts))})"
    else:
        code = f"CASE {gap} WHEN {found} >= 0 THEN {found} {later} END"
        known = f"{found} >= 0"
    if not column.numbers:
        return Pushed(code)
    # a text that is spelt like no label may still say the number that one of them says
    return Pushed(code, f"({missing} OR {known} OR {_gap(text, dialect)} OR NOT {_may_speak(text, dialect)})")


def _lookup(texts: Mapping[str, int], text: str, dialect: Dialect) -> str:
    """Few labels as WHEN clauses; many as an expression that is −1 for what is none of them."""
    if len(texts) <= LINEAR:
        return " ".join(f"WHEN {text} = {dialect.literal(word)} THEN {code}" for word, code in texts.items())
    words = sorted(texts, key=str.encode)

    def part(low: int, high: int) -> str:
        if high - low == 1:
            return f"CASE WHEN {text} = {dialect.literal(words[low])} THEN {texts[words[low]]} ELSE -1 END"
        middle = (low + high) // 2
        return f"CASE WHEN {text} < {dialect.literal(words[middle])} THEN {part(low, middle)} ELSE {part(middle, high)} END"

    return part(0, len(words))


# persons

FLOATED = r"(?:0|-?[1-9][0-9]*)\.0"
"""How a column of floats writes a whole number."""


def person(stored: Stored, x: str, dialect: Dialect) -> Pushed:
    """The name of the person a value stands for (see `sources.bounding`); NULL for nobody."""
    if stored == "text":
        text = dialect.text(x)
        nobody = f"{x} IS NULL OR {_gap(text, dialect)}"
        whole = f"substr({text}, 1, length({text}) - 2)"
        return Pushed(
            f"CASE WHEN {nobody} THEN NULL WHEN {dialect.matches(text, FLOATED)} THEN {whole} ELSE {text} END"
        )
    if stored == "integer":
        small = f"{x} BETWEEN {-(2**53) + 1} AND {2**53 - 1}"
        return Pushed(f"CASE WHEN {small} THEN {dialect.text(x)} END")
    if stored == "boolean":
        return Pushed(f"CASE WHEN {x} THEN '1' WHEN NOT {x} THEN '0' END")
    return Pushed("NULL", f"({x} IS NULL)")


# what comes out as it is


def raw(stored: Stored, x: str, dialect: Dialect) -> str:
    """A stored value in a form that every driver hands over unharmed; `plain_of` makes a plain value of it."""
    if stored in MOMENTS:
        near = f"WHEN {dialect.near(x, stored)} THEN {dialect.microseconds(x, stored)}"
        return f"CASE WHEN {x} IS NULL THEN NULL {near} ELSE {LAST_MOMENT + 1} END"
    if stored in ("text", "decimal"):
        return dialect.text(x)
    if stored in ("binary", "integer"):
        return x
    if stored == "other":
        return f"CASE WHEN {x} IS NOT NULL THEN 1 END"
    return f"CASE WHEN {x} THEN 1 WHEN NOT {x} THEN 0 END" if stored == "boolean" else dialect.double(x)


def plain_of(value: Any, stored: Stored) -> Plain:
    """The plain form of what `raw` gave."""
    if value is None:
        return None
    if stored in MOMENTS:
        found: Instant | str = instant(int(value))
        return found
    if stored == "other":
        return UNREADABLE
    if stored == "decimal":
        from decimal import Decimal

        return plain(Decimal(str(value)))
    return plain(bytes(value) if stored == "binary" else value)


def plain_columns(rows: Sequence[Sequence[Any]], stored: Sequence[Stored]) -> list[list[Plain]]:
    """Columns of plain values from rows of what `raw` gave."""
    return [[plain_of(row[at], kind) for row in rows] for at, kind in enumerate(stored)]
