"""The SQL of DuckDB, which reads files.

What it does not read of a text is NULL, so nothing need be matched before it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kagemusha.columns.dialect import Dialect
from kagemusha.columns.label import MICROSECONDS_PER_DAY
from kagemusha.columns.parse import plain_moment_sql, quote
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.columns.values import FIRST_MOMENT, FIRST_NANOSECOND, LAST_MOMENT, LONGEST


class DuckDialect(Dialect):
    """DuckDB 1.2 and newer."""

    name: ClassVar[str] = "DuckDB"
    most_sets: ClassVar[int] = 1_000
    most_columns: ClassVar[int] = 500

    def real(self, number: float) -> str:
        """Through its shortest digits."""
        return f"CAST('{number!r}' AS DOUBLE)"

    def text(self, x: str) -> str:
        """Texts are compared byte by byte here."""
        return f"CAST({x} AS VARCHAR)"

    def double(self, x: str) -> str:
        """Never an error."""
        return f"TRY_CAST({x} AS DOUBLE)"

    def whole(self, x: str) -> str:
        """As bigint."""
        return f"TRY_CAST({x} AS BIGINT)"

    def is_nan(self, x: str) -> str:
        """By its function."""
        return f"isnan({x})"

    def matches(self, x: str, pattern: str) -> str:
        """The whole text."""
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

    def digest(self, x: str) -> str:
        """Over UTF-8."""
        return f"md5({x})"

    def days(self, micros: str) -> str:
        """The number a moment says: its days since 1970."""
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
