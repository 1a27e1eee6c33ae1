"""The SQL of the engines in which a table stays where it is: PostgreSQL and Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kagemusha.columns.dialect import Dialect
from kagemusha.columns.label import MICROSECONDS_PER_DAY
from kagemusha.columns.stored import Stored
from kagemusha.columns.values import LONGEST

_DAYS = LONGEST // MICROSECONDS_PER_DAY

FARTHEST = 9_089_000_000_000_000_000
"""Microseconds after 1970 (year 289,989) up to which every engine computes moments."""


class PostgresDialect(Dialect):
    """PostgreSQL 12 and newer, in a session that `sources.postgres` has prepared."""

    name: ClassVar[str] = "PostgreSQL"
    most_sets: ClassVar[int] = 1_000
    most_columns: ClassVar[int] = 500

    def real(self, number: float) -> str:
        """Through its shortest digits."""
        return f"'{number!r}'::float8"

    def text(self, x: str) -> str:
        return f'({x})::text COLLATE "C"'

    def double(self, x: str) -> str:
        """Digits of a text or a numeric say which float64 is nearest."""
        return f"({x})::float8"

    def whole(self, x: str) -> str:
        """As bigint."""
        return f"({x})::bigint"

    def is_nan(self, x: str) -> str:
        """NaN equals itself here."""
        return f"{x} = 'NaN'::float8"

    def matches(self, x: str, pattern: str) -> str:
        """`$` is the very end here."""
        return f"{x} ~ {self.literal(f'^(?:{pattern})$')}"

    def near(self, x: str, stored: Stored) -> str:
        """Between the first year and one beyond which bigint would overflow."""
        if stored == "interval":
            return f"({x} BETWEEN interval '-{_DAYS} days' AND interval '{_DAYS} days')"
        return f"({x} >= '0001-01-01' AND {x} < '289000-01-01')"

    def microseconds(self, x: str, stored: Stored) -> str:
        """Days and the time of day apart: extract() of a whole moment is inexact in older versions."""
        if stored == "interval":
            return f"round(extract(epoch from {x})::numeric * 1000000)::bigint"
        if stored == "date":
            return f"({x} - date '1970-01-01')::bigint * {MICROSECONDS_PER_DAY}"
        local = f"({x} AT TIME ZONE 'UTC')" if stored == "zoned" else x
        time = f"round(extract(epoch from {local}::time)::numeric * 1000000)::bigint"
        return f"(({local}::date - date '1970-01-01')::bigint * {MICROSECONDS_PER_DAY} + {time})"

    def text_microseconds(self, x: str) -> str:
        """A cast, which such a text survives."""
        return self.microseconds(f"({x})::timestamp", "timestamp")

    def months(self, micros: str) -> str:
        """By the calendar."""
        days = self.floored(micros, MICROSECONDS_PER_DAY)
        day = f"(date '1970-01-01' + ({days})::int)"
        return f"((extract(year from {day})::int - 1970) * 12 + extract(month from {day})::int - 1)"

    def quotient(self, x: str, size: int) -> str:
        """`/` of integers is one here."""
        return f"({x} / {size})"

    def digest(self, x: str) -> str:
        """Over UTF-8, whatever the database's own encoding."""
        return f"md5(convert_to({x}, 'UTF8')) COLLATE \"C\""

    def bins(self, x: str, starts: Sequence[float | int]) -> str:
        """By the server's own search."""
        if len(starts) <= 4:
            return super().bins(x, starts)
        whole = all(isinstance(s, int) for s in starts)
        inside = ", ".join(str(s) if whole else repr(float(s)) for s in starts)
        kind = "bigint" if whole else "float8"
        return f"width_bucket({x}, '{{{inside}}}'::{kind}[])"


class SparkDialect(Dialect):
    """Spark SQL 3.4 and newer, with or without ANSI mode."""

    name: ClassVar[str] = "Spark"
    most_sets: ClassVar[int] = 500
    most_columns: ClassVar[int] = 60

    def identifier(self, name: str) -> str:
        """In backticks."""
        return "`" + name.replace("`", "``") + "`"

    def literal(self, text: str) -> str:
        """Every character but letters and digits as its number: backslashes and ${…} mean something here."""
        return "'" + "".join(c if c.isascii() and (c.isalnum() or c in " _") else _escape(c) for c in text) + "'"

    def real(self, number: float) -> str:
        """Through its shortest digits."""
        return f"({number!r}D)"

    def text(self, x: str) -> str:
        return f"CAST({x} AS STRING)"

    def matches(self, x: str, pattern: str) -> str:
        """`$` would let a last line end pass."""
        whole = rf"\A(?:{pattern})\z"
        return f"{x} RLIKE {self.literal(whole)}"

    def near(self, x: str, stored: Stored) -> str:
        """Between the first year and one beyond which bigint would overflow."""
        if stored == "date":
            return f"(unix_date({x}) BETWEEN -719162 AND {FARTHEST // MICROSECONDS_PER_DAY})"
        if stored == "timestamp":
            return f"(unix_date(CAST({x} AS DATE)) BETWEEN -719162 AND {FARTHEST // MICROSECONDS_PER_DAY})"
        if stored == "interval":
            return f"({self.microseconds(x, stored)} BETWEEN {-LONGEST} AND {LONGEST})"
        return f"(unix_micros({x}) BETWEEN {-719162 * MICROSECONDS_PER_DAY} AND {FARTHEST})"

    def microseconds(self, x: str, stored: Stored) -> str:
        """A timestamp is a moment in UTC here; one without a zone is put together from its parts."""
        if stored == "zoned":
            return f"unix_micros({x})"
        if stored == "interval":
            hours = f"(CAST(extract(DAY FROM {x}) AS BIGINT) * 24 + extract(HOUR FROM {x}))"
            seconds = f"CAST(extract(SECOND FROM {x}) * 1000000 AS BIGINT)"
            return f"(({hours} * 60 + extract(MINUTE FROM {x})) * 60000000L + {seconds})"
        days = f"CAST(unix_date({x if stored == 'date' else f'CAST({x} AS DATE)'}) AS BIGINT) * {MICROSECONDS_PER_DAY}"
        if stored == "date":
            return days
        seconds = f"CAST(extract(SECOND FROM {x}) * 1000000 AS BIGINT)"
        return f"({days} + (hour({x}) * 60 + minute({x})) * 60000000L + {seconds})"

    def text_microseconds(self, x: str) -> str:
        """As a timestamp without zone."""
        return self.microseconds(f"TRY_CAST({x} AS TIMESTAMP_NTZ)", "timestamp")

    def months(self, micros: str) -> str:
        """By the calendar."""
        day = f"date_add(DATE'1970-01-01', CAST({self.floored(micros, MICROSECONDS_PER_DAY)} AS INT))"
        return f"((year({day}) - 1970) * 12 + month({day}) - 1)"

    def quotient(self, x: str, size: int) -> str:
        """`/` would make a fraction."""
        return f"({x} div {size}L)"

    def bits(self, columns: Sequence[str]) -> list[str]:
        """One number for up to 64 columns."""
        return ["grouping_id()"] if columns else []

    def grouping(self, columns: Sequence[str], sets: Sequence[str]) -> str:
        """With the columns named first: their order is that of the bits."""
        return f"GROUP BY {', '.join(columns)} GROUPING SETS ({', '.join(sets)})"

    def grouped(self, bits: Sequence[int], columns: int) -> list[bool]:
        return [not (int(bits[0]) >> (columns - 1 - i)) & 1 for i in range(columns)] if columns else []


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04X}" if number < 2**16 else f"\\U{number:08X}"


ENGINES: tuple[Dialect, ...] = (PostgresDialect(), SparkDialect())
"""Engines in which a table stays where it is."""
