"""How each engine writes the few things that codes are made of, and DuckDB as the first of them.

What is made of them is said once, by the kinds of columns. Everything here is total: whatever a cell holds, no
expression may raise an error, for an error would tell of one record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from kagemusha.columns.label import MICROSECONDS_PER_DAY
from kagemusha.columns.parse import plain_moment_sql, quote
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.columns.values import FIRST_MOMENT, FIRST_NANOSECOND, LAST_MOMENT, LONGEST

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

    def double(self, x: str) -> str:
        """A number, or the text of one, as float64; never an error."""
        return f"TRY_CAST({x} AS DOUBLE)"

    def whole(self, x: str) -> str:
        """A float64 without fraction as integer of 64 bits."""
        return f"TRY_CAST({x} AS BIGINT)"

    def is_nan(self, x: str) -> str:
        """Whether a float64 is no number."""
        return f"isnan({x})"

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

    def digest(self, x: str) -> str:
        """The MD5 digest of a text's UTF-8 bytes, in lower-case hexadecimal; sorted by its bytes."""
        return f"md5({x})"

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


class DuckDialect(Dialect):
    """DuckDB, which reads files; what it does not read of a text is NULL, so nothing need be matched before."""

    name: ClassVar[str] = "DuckDB"
    most_sets: ClassVar[int] = 1_000
    most_columns: ClassVar[int] = 500

    def real(self, number: float) -> str:
        """Through its shortest digits."""
        return f"CAST('{number!r}' AS DOUBLE)"

    def text(self, x: str) -> str:
        return f"CAST({x} AS VARCHAR)"

    def matches(self, x: str, pattern: str) -> str:
        return f"regexp_full_match({x}, {self.literal(pattern)})"

    def near(self, x: str, stored: Stored) -> str:
        """Neither infinite nor beyond what microseconds hold."""
        return f"coalesce({self.within(self.microseconds(x, stored), stored)}, FALSE)"

    def within(self, microseconds: str, stored: Stored) -> str:
        """Whether so many microseconds are not too many."""
        low, high = (-LONGEST, LONGEST) if stored == "interval" else (FIRST_MOMENT, LAST_MOMENT)
        return f"{microseconds} BETWEEN {low} AND {high}"

    def numbered(self, plain: str, stored: Stored) -> str:
        """The plain form of a stored number as float64, NULL if it is none."""
        return f"CASE WHEN NOT isnan({plain}) THEN {plain} END" if stored == "float" else f"CAST({plain} AS DOUBLE)"

    def microseconds(self, x: str, stored: Stored) -> str:
        """NULL for what is missing or too far away."""
        if stored == "nanoseconds":
            return f"CASE WHEN epoch_ns({x}) >= {FIRST_NANOSECOND} THEN {self.floored(f'epoch_ns({x})', 1_000)} END"
        if stored == "milliseconds":
            return f"CASE WHEN {x} BETWEEN {-(-FIRST_MOMENT // 1_000)} AND {LAST_MOMENT // 1_000} THEN {x} * 1000 END"
        # The cast of a zoned timestamp would depend on the zone of this machine.
        return f"epoch_us({x})" if stored in ("zoned", "interval") else f"epoch_us(TRY_CAST({x} AS TIMESTAMP))"

    def text_microseconds(self, x: str) -> str:
        """A cast, and nothing where a zone may be meant."""
        return plain_moment_sql(x, None)

    def moment_text(self, x: str, stored: Stored) -> str:
        """A stored moment as ISO text in UTC; a text that nothing reads if it is too far away."""
        shown = f"CAST(TRY(make_timestamp({self.microseconds(x, stored)})) AS VARCHAR)"
        return f"CASE WHEN {x} IS NOT NULL THEN coalesce({shown}, chr(0)) END"

    def months(self, micros: str) -> str:
        """By the calendar."""
        moment = f"make_timestamp({micros})"
        return f"((year({moment}) - 1970) * 12 + month({moment}) - 1)"

    def years(self, micros: str) -> str:
        """By the calendar, too: no month need be worked out."""
        return f"(year(make_timestamp({micros})) - 1970)"

    def quotient(self, x: str, size: int) -> str:
        """`/` would make a fraction."""
        return f"({x} // {size})"

    def days(self, micros: str) -> str:
        return f"(CAST({micros} AS DOUBLE) / {float(MICROSECONDS_PER_DAY)!r}e0)"

    def is_number(self, text: str) -> str:
        """What it reads at all."""
        return f"({self.double(text)} IS NOT NULL)"

    def moment_of_text(self, text: str, form: str | None) -> tuple[str, str]:
        """In any format."""
        found = plain_moment_sql(text, form)
        return f"({found} IS NOT NULL)", found

    def raw(self, x: str, stored: Stored) -> str:
        """The plain form of a value: text, number, or microseconds.

        What is too far away or no text is there all the same.
        """
        if stored in MOMENTS or stored == "interval":
            return f"CASE WHEN {x} IS NOT NULL THEN coalesce({self.microseconds(x, stored)}, {LAST_MOMENT + 1}) END"
        if stored == "text":
            return self.text(x)
        if stored in ("binary", "other"):
            readable = self.text(f"TRY(decode({x}))" if stored == "binary" else "NULL")
            return f"CASE WHEN {x} IS NOT NULL THEN coalesce({readable}, chr(0)) END"
        if stored == "decimal":
            # Through its digits: those say which float64 is nearest, and a division might not.
            return f"CAST(CAST({x} AS VARCHAR) AS DOUBLE)"
        return x if stored == "integer" else f"CAST({x} AS {'INTEGER' if stored == 'boolean' else 'DOUBLE'})"

    def label(self, texts: Mapping[str, int], text: str, types: dict[str, list[str]]) -> str:
        """The code of a text, NULL if it has none; looked up by hashing in an ENUM type that is added to `types`."""
        words = list(texts)
        if list(texts.values()) == list(range(len(words))):
            types[f"labels_{text}"] = words
            return f"CAST(enum_code(TRY_CAST({text} AS labels_{text})) AS INTEGER)"
        own = {code: ", ".join(quote(word) for word in words if texts[word] == code) for code in (0, 1)}
        return f"CASE {' '.join(f'WHEN {text} IN ({some}) THEN {code}' for code, some in own.items())} END"


DUCK = DuckDialect()
