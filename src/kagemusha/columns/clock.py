"""Times of the day and lengths of time: on a lattice of seconds, or of minutes where no seconds are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import time, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.columns.arrow import arrow_type, spans_of
from kagemusha.columns.axis import Said
from kagemusha.columns.bins import ends, lattice_starts
from kagemusha.columns.cells import Cells
from kagemusha.columns.column import MAX_CODES
from kagemusha.columns.label import days_of, number_of
from kagemusha.columns.measured import SHARED, Measured
from kagemusha.columns.spans import span_of, written
from kagemusha.columns.stored import Stored
from kagemusha.columns.values import LONGEST, Elapsed, Instant, Plain, plain
from kagemusha.errors import UsageError
from kagemusha.words.catalogue import noted

if TYPE_CHECKING:
    from kagemusha.columns.dialect import Dialect
    from kagemusha.columns.parse import TextReader

FORMATS = {"%H:%M": 60, "%H:%M:%S": 1}
"""How texts are written, and the seconds between two that can be distinguished."""

_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIMES = {"%H:%M": re.compile(_MINUTE), "%H:%M:%S": re.compile(f"{_MINUTE}:[0-5][0-9]")}

SURE = r"[0-9]{2}:[0-5][0-9](?::[0-5][0-9])?"
"""Texts that every engine reads alike."""


@dataclass(frozen=True)
class Clock(Measured):
    """Spans of time from `lower` to `upper`, written as 08:30, 08:30:15 or 26:30:15.

    Without a format output is native; with `format` "%H:%M" or "%H:%M:%S" it is text. What is finer than what is shown
    is cut off.
    """

    _: KW_ONLY
    lower: str | None = None
    upper: str | None = None
    edges: tuple[str, ...] | None = None
    format: str | None = None

    fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "bins", "edges", "format", *SHARED)
    native: ClassVar[frozenset[Stored]] = frozenset({"interval"})
    largest: ClassVar[tuple[str, str]] = ("00:00:00", "24:00:00")
    read_whole: ClassVar[bool] = True
    counted: ClassVar[bool] = False
    """Whether a number says so many seconds."""

    def _validate(self) -> None:
        super()._validate()
        if self.format is not None and self.format not in tuple(FORMATS):
            self.fail("format", self.format, f"left out or {' or '.join(map(repr, FORMATS))}")
        for field, values in ends(self):
            normal = tuple(self._end(field, value) for value in values)
            object.__setattr__(self, field, normal if field == "edges" else normal[0])
        self._check_ends()
        if self.open_fields:
            return
        if self.high < self.low:
            self.fail("upper", self.upper, f"at least lower, {self.lower}")
        if self.edges is None and self.bins is None and self.high - self.low >= MAX_CODES:
            self.fail("bins", None, f"given: lower to upper is more than {MAX_CODES} steps")

    def _before(self, one: str, other: str) -> bool:
        return self._step(one) < self._step(other)

    def _after(self, edge: str) -> str:
        return self.declared([self._step(edge) + 1])[0]

    def _end(self, field: str, value: object) -> str:
        said = self._microseconds(value)
        if said is None:
            self.fail(field, str(value), self._allowed)
        if said % (self._seconds * 1_000_000):
            self.fail(field, str(value), f"{self._allowed} that the column can show")
        return written(said // 1_000_000)

    _allowed: ClassVar[str] = "a length of time such as '26:30:00' or '3 days 02:00:00'"

    def _microseconds(self, value: object) -> int | None:
        if isinstance(value, time | timedelta):
            value = plain(value)
        found = value.microseconds if isinstance(value, Elapsed) else span_of(str(value))
        return found if found is not None and abs(found) <= LONGEST else None

    def _says(self, text: str) -> float | None:
        said = self._microseconds(text)
        return None if said is None else float(said // (self._seconds * 1_000_000))

    def _form(self) -> dict[str, Any]:
        return {**super()._form(), "format": self.format}

    def _ordinary_names(self) -> list[str]:
        return [written(int(start) * self._seconds) for start in self.starts]

    @property
    def _seconds(self) -> int:
        return FORMATS.get(self.format or "", 1)

    def _step(self, end: str) -> int:
        return int(span_of(end) or 0) // (self._seconds * 1_000_000)

    @property
    def low(self) -> int:
        """The lowest place of the domain."""
        return self._step(self.edges[0] if self.edges else self.lower or "00:00:00")

    @property
    def high(self) -> int:
        """The highest place of the domain."""
        return self._step(self.edges[-1] if self.edges else self.upper or "00:00:00")

    @cached_property
    def starts(self) -> NDArray[Any]:
        return lattice_starts(self.low, self.high, self.bins, [*map(self._step, self.edges)] if self.edges else None)

    @property
    def steps(self) -> float:
        """Formulas count seconds."""
        return 1 / self._seconds

    @property
    def said_steps(self) -> float:
        """Microseconds in a second."""
        return 1_000_000

    @property
    def named_numbers(self) -> dict[float, int]:
        """The special values among seconds."""
        return {number * self._seconds: special for number, special in self.special_numbers.items()}

    # how values come onto the lattice, and back

    def says(self, value: Plain) -> float | str | None:
        """Microseconds; where numbers count, they are seconds."""
        if isinstance(value, Elapsed):
            return value.microseconds
        if isinstance(value, str):
            said = span_of(value)
            if said is not None:
                return said if abs(said) <= LONGEST else None
            value = number_of(value)
        if value is None or not self.counted:
            return None
        seconds = days_of(value.microseconds) if isinstance(value, Instant) else value
        return round(seconds * 1_000_000) if abs(seconds) <= LONGEST / 1_000_000 else None

    def read_texts(self, texts: Any, reader: TextReader) -> Said:
        """Microseconds."""
        heard = [self.says(text) for text in (texts if isinstance(texts, list) else texts.to_pylist())]
        missing = np.array([said is None for said in heard], dtype=np.bool_)
        return np.array([said or 0 for said in heard], dtype=np.int64), missing

    def read_native(self, values: Any) -> Said | None:
        """Microseconds of native times and durations."""
        return spans_of(values)

    def places(self, said: NDArray[Any]) -> NDArray[Any]:
        """Whole seconds, or minutes."""
        return np.asarray(said // (self._seconds * 1_000_000), dtype=np.int64)

    def of_moment(self, microseconds: str, dialect: Dialect) -> str:
        """SQL: the microseconds themselves."""
        return microseconds

    def text_says(self, text: str, dialect: Dialect) -> tuple[str, str] | None:
        """SQL: microseconds of HH:MM or HH:MM:SS."""
        sure = dialect.matches(text, SURE)
        hours, minutes, seconds = (dialect.double(f"substr({text}, {at}, 2)") for at in (1, 4, 7))
        rest = f"CASE WHEN length({text}) = 8 THEN {seconds} ELSE {dialect.real(0.0)} END"
        said = dialect.whole(f"({hours} * 3600 + {minutes} * 60 + {rest})")
        return sure, f"CASE WHEN {sure} THEN {said} * 1000000 END"

    def place_of(self, said: str, dialect: Dialect) -> str:
        """SQL: whole seconds, or minutes."""
        return dialect.floored(said, self._seconds * 1_000_000)

    def arrow_of(self, cells: Cells) -> Any:
        """Native values, or texts; with special values all of them are texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        inside = cells.codes < 0
        seconds = np.where(inside, cells.numbers, 0).astype(np.int64) * self._seconds
        if self.format is None and not self.special:
            native = pa.array(seconds * 1_000_000, mask=~inside).cast(self._arrow_type())
            return native if self.dtype is None else native.cast(arrow_type(self.dtype))
        distinct, where = np.unique(seconds, return_inverse=True)
        shown = [written(int(one))[: None if self._seconds == 1 else -3] for one in distinct]
        plain_texts = pa.array(shown, type=pa.string()).take(pa.array(where.astype(np.int64), mask=~inside))
        if not self.special:
            return plain_texts
        named = pa.array([*map(str, self.special), None], type=pa.string())
        return pc.if_else(
            pa.array(inside), plain_texts, named.take(pa.array(np.where(inside, len(self.special), cells.codes)))
        )

    def _arrow_type(self) -> Any:
        import pyarrow as pa

        return pa.duration("us")

    @property
    def comes_back(self) -> bool:
        return not self.special

    # what rules and people see, and where discovery begins

    def compared(self, value: Any) -> float:
        """The place of a time or a length of time."""
        said = self._microseconds(value)
        if said is None:
            raise UsageError(f"where: {self.name} is compared with {value!r}; write it as '08:30' or '26:30:00'")
        return said / (self._seconds * 1_000_000)

    @property
    def public_edges(self) -> Sequence[str]:
        """Powers of two, in seconds."""
        powers = [self._seconds * 2**k for k in range(32)]
        return [written(n) for n in (*(-p for p in reversed(powers)), 0, *powers)]

    def declared(self, numbers: Sequence[Any]) -> tuple[str, ...]:
        return tuple(written(round(n) * self._seconds) for n in numbers)


@dataclass(frozen=True)
class Duration(Clock):
    """Lengths of time; a number says so many seconds.

    >>> Duration("stay", lower="00:00", upper="48:00", bins=2).code_names
    ['00:00:00', '24:00:00']
    """

    kind: ClassVar[str] = "duration"
    noun: ClassVar[str] = noted("a length of time")
    counted: ClassVar[bool] = True
    fields: ClassVar[tuple[str, ...]] = (*Clock.fields, "dtype")

    def _validate(self) -> None:
        super()._validate()
        if self.dtype is not None and self.format is not None:
            self.fail("dtype", self.dtype, "left out where a format is given: the output is text")
        self._check_dtype({f"duration[{unit}]": (0, 0) for unit in ("s", "ms", "us", "ns")}, ())


@dataclass(frozen=True)
class TimeOfDay(Clock):
    """Times of the day, from midnight to a second before the next one if nothing else is said.

    >>> TimeOfDay("called", bins=4).code_names
    ['00:00:00', '06:00:00', '12:00:00', '18:00:00']
    """

    kind: ClassVar[str] = "time"
    noun: ClassVar[str] = noted("a time of the day")
    _allowed: ClassVar[str] = "a time of the day such as '08:30' or '23:59:59'"

    def _validate(self) -> None:
        if self.edges is None:
            last = written(86_400 - FORMATS.get(str(self.format), 1))
            for field, end in (("lower", "00:00:00"), ("upper", last)):
                if self.given(field) is None:
                    object.__setattr__(self, field, end)
            if self.bins is None:
                object.__setattr__(self, "bins", 24)
        super()._validate()

    def _microseconds(self, value: object) -> int | None:
        said = super()._microseconds(value)
        return said if said is not None and 0 <= said < 86_400_000_000 else None

    def _arrow_type(self) -> Any:
        import pyarrow as pa

        return pa.time64("us")

    @classmethod
    def drafted(cls, name: str, words: Sequence[str], gaps: bool) -> TimeOfDay | None:
        """The column that some texts suggest; None if they are no times of one format."""
        for form, pattern in _TIMES.items():
            if all(map(pattern.fullmatch, words)):
                return cls(name, format=form, missing=gaps, derived=("kind", "missing", "format"))
        return None
