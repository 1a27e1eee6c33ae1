"""How each engine writes the few things that codes are made of. What is made of them is said once, in `pushdown`.

Everything here is total: whatever a cell holds, no expression may raise an error, for an error would tell of one record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from kagemusha.encoding.sql import Stored


class Dialect(ABC):
    """The SQL of one engine. `x` is always an expression, and cheap to repeat."""

    name: ClassVar[str]
    most_sets: ClassVar[int]
    """Grouping sets of one query."""
    most_columns: ClassVar[int]
    """Columns that the grouping sets of one query may speak of."""

    @abstractmethod
    def identifier(self, name: str) -> str:
        """A name, quoted: whatever it holds, it is a name."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """A text, quoted: whatever it holds, it is a text."""

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

    @abstractmethod
    def quotient(self, x: str, size: int) -> str:
        """An integer that `size` divides, divided by it."""

    @abstractmethod
    def digest(self, x: str) -> str:
        """The MD5 digest of a text's UTF-8 bytes, in lower-case hexadecimal; sorted by its bytes."""

    @abstractmethod
    def bits(self, columns: Sequence[str]) -> list[str]:
        """Numbers that tell which columns a row of the answer is grouped by."""

    @abstractmethod
    def grouped(self, bits: Sequence[int], columns: int) -> list[bool]:
        """Which columns such numbers say a row is grouped by."""

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
            return f"CASE WHEN {x} < {self.constant(starts[middle])} THEN {part(low, middle)} ELSE {part(middle + 1, high)} END"

        return part(0, len(starts))

    def constant(self, number: float | int) -> str:
        """A number of an axis: of whole steps if it is a whole number, of float64 if not."""
        return str(number) if isinstance(number, int) else self.real(number)

    def floored(self, x: str, size: int) -> str:
        """An integer divided by `size` and rounded down."""
        return x if size == 1 else self.quotient(f"({x} - (({x} % {size}) + {size}) % {size})", size)
