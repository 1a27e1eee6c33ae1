"""How each engine writes the few things that codes are made of.

What is made of them is said once, by the kinds of columns. Everything here is total: whatever a cell holds, no
expression may raise an error, for an error would tell of one record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from kagemusha.columns.label import MICROSECONDS_PER_DAY
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.columns.values import LAST_MOMENT

NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?"
"""Texts of numbers that every engine reads alike."""

_DAY = r"(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
MOMENT = rf"{_DAY}(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])?"
"""The same of dates: no month lacks these days."""

LINEAR = 16
"""Labels that are tried one after the other; more are searched by halves."""


class Dialect(ABC):
    """The SQL of one engine. `x` is always an expression, and cheap to repeat."""

    name: ClassVar[str]
    most_sets: ClassVar[int]
    """Grouping sets of one query."""
    most_columns: ClassVar[int]
    """Columns that the grouping sets of one query may speak of."""

    def identifier(self, name: str) -> str:
        """A name, quoted: whatever it holds, it is a name."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: str) -> str:
        """A text, quoted: whatever it holds, it is a text."""
        return "'" + text.replace("'", "''") + "'"

    @abstractmethod
    def real(self, number: float) -> str:
        """A number as float64, to the last bit."""

    @abstractmethod
    def text(self, x: str) -> str:
        """A stored text, compared byte by byte."""

    @abstractmethod
    def double(self, x: str) -> str:
        """A number, or the text of one, as float64."""

    @abstractmethod
    def whole(self, x: str) -> str:
        """A float64 without fraction as integer of 64 bits."""

    @abstractmethod
    def is_nan(self, x: str) -> str:
        """Whether a float64 is no number."""

    @abstractmethod
    def matches(self, x: str, pattern: str) -> str:
        """Whether the whole of a text matches a regular expression."""

    @abstractmethod
    def near(self, x: str, stored: Stored) -> str:
        """Whether a stored moment is finite and near enough to be computed with."""

    @abstractmethod
    def microseconds(self, x: str, stored: Stored) -> str:
        """Microseconds since 1970 of a stored moment that is near, in UTC where it has a zone."""

    @abstractmethod
    def text_microseconds(self, x: str) -> str:
        """Microseconds since 1970 of a text that is an ISO date, or date and time to the second, of a day there is."""

    @abstractmethod
    def months(self, micros: str) -> str:
        """Whole months from 1970 to a moment after the year 0, rounded down."""

    def years(self, micros: str) -> str:
        """Whole years, in the same way."""
        return self.floored(self.months(micros), 12)

    @abstractmethod
    def quotient(self, x: str, size: int) -> str:
        """An integer that `size` divides, divided by it."""

    @abstractmethod
    def digest(self, x: str) -> str:
        """The MD5 digest of a text's UTF-8 bytes, in lower-case hexadecimal; sorted by its bytes."""

    def bits(self, columns: Sequence[str]) -> list[str]:
        """Numbers that tell which columns a row of the answer is grouped by, of at most 31 columns each."""
        return [f"GROUPING({', '.join(columns[i : i + 31])})" for i in range(0, len(columns), 31)]

    def grouped(self, bits: Sequence[int], columns: int) -> list[bool]:
        """A bit is set where the column is not grouped by; the last column has the lowest."""
        found: list[bool] = []
        for number in bits:
            width = min(31, columns - len(found))
            found += [not (int(number) >> (width - 1 - i)) & 1 for i in range(width)]
        return found

    def grouping(self, columns: Sequence[str], sets: Sequence[str]) -> str:
        """The GROUP BY clause of some sets of columns."""
        return f"GROUP BY GROUPING SETS ({', '.join(sets)})"

    def bins(self, x: str, starts: Sequence[float | int]) -> str:
        """How many of the rising `starts` a number is not below: a search by halves, spelt out."""
        if not len(starts):
            return "0"

        def part(low: int, high: int) -> str:
            if low == high:
                return str(low)
            middle = (low + high) // 2
            return (
                f"CASE WHEN {x} < {self.constant(starts[middle])} THEN {part(low, middle)} ELSE "
                f"{part(middle + 1, high)} END"
            )

        return part(0, len(starts))

    def constant(self, number: float | int) -> str:
        """A number of an axis: of whole steps if it is a whole number, of float64 if not."""
        return str(number) if isinstance(number, int) else self.real(number)

    def floored(self, x: str, size: int) -> str:
        """An integer divided by `size` and rounded down."""
        return x if size == 1 else self.quotient(f"({x} - (({x} % {size}) + {size}) % {size})", size)

    def days(self, micros: str) -> str:
        """The number a moment says: its days since 1970."""
        return f"({self.double(micros)} / {self.real(float(MICROSECONDS_PER_DAY))})"

    def is_number(self, text: str) -> str:
        """Whether the engine is sure which number a text says."""
        return self.matches(text, NUMBER)

    def moment_of_text(self, text: str, form: str | None) -> tuple[str, str] | None:
        """Whether the engine is sure which moment a text in a format (none: ISO 8601) says, and its microseconds."""
        return (self.matches(text, MOMENT), self.text_microseconds(text)) if form is None else None

    def lookup(self, texts: Mapping[str, int], text: str) -> tuple[str, str]:
        """WHEN clauses that give the code of a text, and whether it has one."""
        if len(texts) <= LINEAR:
            clauses = " ".join(f"WHEN {text} = {self.literal(word)} THEN {code}" for word, code in texts.items())
            return clauses, f"{text} IN ({', '.join(map(self.literal, texts))})"
        words = sorted(texts, key=str.encode)

        def part(low: int, high: int) -> str:
            if high - low == 1:
                return f"CASE WHEN {text} = {self.literal(words[low])} THEN {texts[words[low]]} ELSE -1 END"
            middle = (low + high) // 2
            return (
                f"CASE WHEN {text} < {self.literal(words[middle])} THEN {part(low, middle)} ELSE "
                f"{part(middle, high)} END"
            )

        found = part(0, len(words))
        return f"WHEN {found} >= 0 THEN {found}", f"{found} >= 0"

    def raw(self, x: str, stored: Stored) -> str:
        """A stored value in a form that every driver hands over unharmed.

        `pushed.plain_of` makes a plain value of it.
        """
        if stored in MOMENTS or stored == "interval":
            near = f"WHEN {self.near(x, stored)} THEN {self.microseconds(x, stored)}"
            return f"CASE WHEN {x} IS NULL THEN NULL {near} ELSE {LAST_MOMENT + 1} END"
        if stored in ("text", "decimal"):
            return self.text(x)
        if stored in ("binary", "integer"):
            return x
        if stored == "other":
            return f"CASE WHEN {x} IS NOT NULL THEN 1 END"
        return f"CASE WHEN {x} THEN 1 WHEN NOT {x} THEN 0 END" if stored == "boolean" else self.double(x)
