"""How raw values become codes inside an engine: the one definition for all of them, a twin of `Modelled.code_of`.

An engine settles what nearly all cells hold: labels, plain numbers, dates. For each column there is an expression for
the code, and one for whether the engine is sure of it. A row with a cell that it is not sure of (1e0 in a text, a date
of the year 300,000, bytes) comes out as it is and is read here, as that of a frame is. So every engine gives every
value the code of the reference, and no value can raise an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns.arrow import not_flat
from kagemusha.columns.axis import Axis, Said
from kagemusha.columns.bins import own_codes, to_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.stored import MOMENTS, TIMES, Stored
from kagemusha.columns.values import GAPS, UNREADABLE, Plain, elapsed, instant, plain

if TYPE_CHECKING:
    from kagemusha.columns.dialect import Dialect, DuckDialect
    from kagemusha.columns.modelled import Modelled
    from kagemusha.columns.parse import TextReader


SPEAKS = "0123456789+-. \titfTF"
"""The characters that a text may begin with that says a number (see `columns.label`)."""


@dataclass(frozen=True)
class Pushed:
    """A column in an engine: its code, and whether that is settled. Neither is ever NULL."""

    code: str
    settled: str = "TRUE"


def pushed(column: Modelled, stored: Stored, x: str, dialect: Dialect) -> Pushed:
    """The expressions of a column stored so, whose values are `x`."""
    if stored == "nested":
        raise not_flat(column.name, column.kind)
    missing = f"{x} IS NULL"
    if column.not_in_sql or stored not in {"text", *column.native}:
        return Pushed(f"CASE WHEN {missing} THEN {column.missing_or_outside_code} ELSE 0 END", f"({missing})")
    if stored == "text":
        return column.pushed_text(dialect.text(x), missing, dialect)
    if stored in MOMENTS or stored == "interval":
        near = dialect.near(x, stored)
        said = column.of_moment(dialect.microseconds(x, stored), dialect)
        return Pushed(case(missing, column, said, near, dialect), f"({missing} OR {near})")
    if stored == "boolean":
        number = f"CASE WHEN {x} THEN {dialect.real(1.0)} ELSE {dialect.real(0.0)} END"
        return Pushed(case(missing, column, f"({number})", "", dialect))
    number = dialect.double(x)
    if stored == "decimal":
        # what float64 holds without being cut to nothing or to infinity
        fits = f"(abs({x}) < 1e300 AND (abs({x}) > 1e-300 OR {x} = 0))"
        return Pushed(case(missing, column, number, fits, dialect), f"({missing} OR {fits})")
    gone = f"({missing} OR {dialect.is_nan(number)})" if stored == "float" else missing
    return Pushed(case(gone, column, number, "", dialect))


def case(missing: str, column: Modelled, said: str, sure: str, dialect: Dialect) -> str:
    """The code of what is said if that is `sure`; 0 where it is not."""
    found = column.of_number(said, dialect)
    rest = f"WHEN {sure} THEN {found} ELSE 0" if sure else f"ELSE {found}"
    return f"CASE WHEN {missing} THEN {column.missing_or_outside_code} {rest} END"


def empty_text(text: str, dialect: Dialect) -> str:
    """Whether a text stands for a missing value."""
    return f"{text} IN ({', '.join(map(dialect.literal, GAPS))})"


def may_speak(text: str, dialect: Dialect) -> str:
    """Whether a text may say a number."""
    return f"substr({text}, 1, 1) IN ({', '.join(map(dialect.literal, SPEAKS))})"


# persons

FLOATED = r"(?:0|-?[1-9][0-9]*)\.0"
"""How a column of floats writes a whole number."""


def person(stored: Stored, x: str, dialect: Dialect) -> Pushed:
    """The name of the person a value stands for (see `sources.bounding`); NULL for nobody."""
    if stored == "text":
        text = dialect.text(x)
        nobody = f"{x} IS NULL OR {empty_text(text, dialect)}"
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


def plain_of(value: Any, stored: Stored) -> Plain:
    """The plain form of what a dialect's `raw` gave."""
    if value is None:
        return None
    if stored in MOMENTS:
        return instant(int(value))
    if stored == "interval":
        return elapsed(int(value))
    if stored == "other":
        return UNREADABLE
    if stored == "decimal":
        from decimal import Decimal

        return plain(Decimal(str(value)))
    return plain(bytes(value) if stored == "binary" and not isinstance(value, str) else value)


def plain_columns(rows: Sequence[Sequence[Any]], stored: Sequence[Stored]) -> list[list[Plain]]:
    """Columns of plain values from rows of what a dialect's `raw` gave."""
    return [[plain_of(row[at], kind) for row in rows] for at, kind in enumerate(stored)]


@dataclass(frozen=True)
class PushedAxis(Axis):
    """What a kind decides is what values say and where that lies; codes follow from that."""

    def of_moment(self, microseconds: str, dialect: Dialect) -> str:
        return dialect.days(microseconds)

    def text_says(self, text: str, dialect: Dialect) -> tuple[str, str] | None:
        """SQL: whether the engine is sure what a text says, and what it says.

        None if engines read no texts of this column.
        """
        return dialect.is_number(text), dialect.double(text)

    def _form(self) -> dict[str, Any]:
        return super()._form() if self.spelling is None else {**super()._form(), "spelling": self.spelling}

    # codes in SQL

    def of_number(self, number: str, dialect: Dialect) -> str:
        """The bin that holds it."""
        number = self.place_of(number, dialect)
        whole = self.read_whole
        low, high = (int(e) if whole else float(e) for e in (self.low, self.high))
        if own_codes(self):
            edges = (dialect.constant(low), dialect.constant(high))
            inside = number if whole else dialect.whole(f"floor({number})")
            code = (
                f"CASE WHEN {number} <= {edges[0]} THEN 0 WHEN {number} >= {edges[1]} THEN {self.n_values - 1} "
                f"ELSE {inside} - ({int(self.low)}) END"
            )
        else:
            code = dialect.bins(number, [int(s) if whole else float(s) for s in self.starts[1:].tolist()])
        if self.out_of_domain != "missing":
            return code
        outside = f"{number} < {dialect.constant(low)} OR {number} > {dialect.constant(high)}"
        return f"CASE WHEN {outside} THEN {self.size - 1} ELSE {code} END"

    def pushed_text(self, text: str, missing: str, dialect: Dialect) -> Pushed:
        """What the engine reads of a text."""
        empty = f"({missing} OR {empty_text(text, dialect)})"
        read = self.text_says(text, dialect)
        if read is None:
            return Pushed(f"CASE WHEN {empty} THEN {self.missing_or_outside_code} ELSE 0 END", empty)
        sure, said = read
        return Pushed(case(empty, self, said, sure, dialect), f"({empty} OR {sure})")

    def native_in_duck(self, stored: Stored, plain: str, duck: DuckDialect) -> str:
        """What it says, if it is not too far away."""
        if stored not in TIMES:
            return duck.numbered(plain, stored)
        return f"CASE WHEN {duck.within(plain, stored)} THEN {self.of_moment(plain, duck)} END"

    def text_in_duck(self, text: str, duck: DuckDialect, types: dict[str, list[str]]) -> tuple[str, bool]:
        """What DuckDB reads of it: NULL where it is not sure."""
        read = None if self.spelling else self.text_says(text, duck)
        nothing = f"CAST(NULL AS {'BIGINT' if self.read_whole else 'DOUBLE'})"
        return nothing if read is None else read[1], False

    def _from_duck(self, values: Any) -> Said:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        places = values.fill_null(0).to_numpy(zero_copy_only=False)
        return places, missing | np.isnan(places)

    def codes_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Codes:
        """Codes of the places that DuckDB gave."""
        codes = to_codes(self, *self._from_duck(values))
        if texts is not None:
            codes[texts.is_valid().to_numpy(zero_copy_only=False)] = self.encode_arrow(texts.drop_null(), reader)
        return codes

    def cells_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Cells:
        """The places that DuckDB gave."""
        places, missing = self._from_duck(values)
        cells = self._cells(places.copy(), missing)
        if texts is not None:
            cells.put(texts.is_valid().to_numpy(zero_copy_only=False), self.read(texts.drop_null(), reader))
        return cells
