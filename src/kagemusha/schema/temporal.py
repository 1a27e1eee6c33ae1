"""Dates and datetimes: measured on the lattice of the unit their format can show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime, time
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.schema.columns import MAX_CODES
from kagemusha.schema.measured import SHARED, Measured, ends, lattice_starts, open_ends
from kagemusha.schema.spelling import microseconds_of, moment_of

MOST_DIGITS = 15
"""Digits of whole numbers that are exact in float64."""

_DIGITS = {"Y": 4, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "I": 2, "M": 2, "S": 2, "f": 6}
_EXAMPLE = datetime(2003, 2, 1, 4, 5, 6, 7)
_STAMPS = {
    "timestamp[s]": (0, 9999),
    "timestamp[ms]": (0, 9999),
    "timestamp[us]": (0, 9999),
    "timestamp[ns]": (1678, 2261),
}

# Coarsest first; the finest directive of a format decides the unit (numpy's names for the units).
UNITS = {"Y": "Yy", "M": "mbB", "D": "dj", "h": "HI", "m": "M", "s": "S", "us": "f"}


@dataclass(frozen=True)
class Moment(Measured):
    """Points in time from `lower` to `upper`; `format` is the strptime format of a text column.

    Without a format the column is a native date column, or ISO 8601 text in a text file. Native dates and ISO 8601
    text are read in any case, and so are numbers: as the digits of a format that writes digits alone (%Y%m%d), else as
    days since 1970.
    Values are rounded down to the unit the format can show, so that what is written is read back into the same bin.
    `dtype` is the type of native output, such as timestamp[ms] (if not said, date32 for dates and timestamp[us]).
    """

    _: KW_ONLY
    lower: date | None = None
    upper: date | None = None
    bins: int | None = None
    edges: tuple[date, ...] | None = None
    format: str | None = None

    fields: ClassVar[tuple[str, ...]] = (
        "lower",
        "upper",
        "bins",
        "edges",
        "format",
        *SHARED,
        "dtype",
    )
    default_unit: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
    types: ClassVar[Mapping[str, tuple[int, int]]]
    """The types that native output may have, and the years each of them holds."""

    def _says(self, text: str) -> float | None:
        try:
            return float(self.number(text))
        except (ValueError, re.error):
            return None

    def _form(self) -> dict[str, Any]:
        return {**super()._form(), "format": self.format}

    def _ordinary_names(self) -> list[str]:
        return [str(moment) for moment in self.starts.astype(f"M8[{self.unit}]")]

    def _validate(self) -> None:
        super()._validate()
        self._check_format()
        for field, values in ends(self):
            normal = tuple(self._parse_end(field, value) for value in values)
            object.__setattr__(self, field, normal if field == "edges" else normal[0])
        self._check_ends(self.lower, self.upper, self.edges)
        self._check_bins(self.bins, self.edges)
        if self.dtype is not None and self.format is not None:
            self.fail("dtype", self.dtype, "left out where a format is given: the output is text")
        self._check_dtype(self.types, (0, 9999) if self.open_fields else (self._year(self.low), self._year(self.high)))
        if self.open_fields:
            return
        if self.high < self.low:
            self.fail("upper", str(self.upper), f"at least lower, {self.lower}")
        if self.edges and np.any(np.diff(np.append(self.starts, self.high)) <= 0):
            self.fail("edges", [str(edge) for edge in self.edges], f"apart by one unit ({self.unit}) or more")
        if self.edges is None and self.bins is None and self.high - self.low >= MAX_CODES:
            self.fail("bins", None, f"given: lower to upper is more than {MAX_CODES} steps of {self.unit}")

    def _check_format(self) -> None:
        if self.format is None:
            return
        self._check_text("format")
        known = "".join(UNITS.values()) + "p%"
        letters = re.findall(r"%(.?)", self.format, re.DOTALL)
        if not letters or any(letter not in known or not letter for letter in letters):
            self.fail("format", self.format, "a strptime format of " + " ".join("%" + k for k in known))
        if self.unit not in self.units:
            self.fail("format", self.format, f"a format that fits a {self.kind}")
        digits = digits_of(self.format)
        if digits is not None and digits > MOST_DIGITS:
            self.fail("format", self.format, f"a format with separators, or of at most {MOST_DIGITS} digits: one gap turns "
                      "a column of such numbers into float64, which keeps no more")  # fmt: skip
        example = self._shown(_EXAMPLE)
        if example is None:
            self.fail("format", self.format, "a format that reads back what it writes")
        if moment_of(_EXAMPLE.strftime(self.format)) not in (None, microseconds_of(example)):
            self.fail(
                "format", self.format, "one whose texts do not look like ISO 8601 (2003-02-01) and mean another date"
            )

    def _parse_end(self, field: str, value: object) -> date:
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value)
            if isinstance(value, datetime) and value.tzinfo is None:
                moment = value
            elif isinstance(value, date) and not isinstance(value, datetime):
                moment = datetime.combine(value, time())
            else:
                raise ValueError
        except ValueError:
            self.fail(field, str(value), "a date such as 2020-01-31 or a datetime without time zone")
        if self.format is not None:
            shown = self._shown(moment)
            if shown is None or self._number(shown) != self._number(moment):
                self.fail(field, str(value), f"a moment that the format {self.format!r} can show")
        return self._normal(moment)

    def _shown(self, moment: datetime) -> datetime | None:
        """What is left of a moment when the format has shown it; None if its own text cannot be read."""
        form = self.format or ""
        try:
            return datetime.strptime(moment.strftime(form), form)
        except (ValueError, re.error):
            return None

    def _normal(self, moment: datetime) -> date:
        return moment

    def _year(self, number: int) -> int:
        return 1970 + int(np.array([number]).astype(f"M8[{self.unit}]").astype("M8[Y]").astype(np.int64)[0])

    @property
    def unit(self) -> str:
        """Unit of the lattice, as numpy names it."""
        if self.format is None:
            return self.default_unit
        letters = set(re.findall(r"%(.)", self.format))
        shown = [unit for unit, directives in UNITS.items() if letters & set(directives)]
        return shown[-1] if shown else self.default_unit

    @property
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""
        return open_ends(self.lower, self.upper, self.edges)

    @property
    def low(self) -> int:
        """The lowest number of the domain."""
        return self._number(self.edges[0] if self.edges else self.lower)

    @property
    def high(self) -> int:
        """The highest number of the domain."""
        return self._number(self.edges[-1] if self.edges else self.upper)

    @cached_property
    def starts(self) -> NDArray[Any]:
        """Left end of every bin."""
        edges: Sequence[int] | None = [self._number(edge) for edge in self.edges] if self.edges else None
        return lattice_starts(self.low, self.high, self.bins, edges)

    def number(self, text: str) -> int:
        """The place of an ISO date or of a text in the column's own format on the lattice; ValueError if neither."""
        if self.format is not None:
            try:
                return self._number(datetime.strptime(text, self.format))
            except ValueError:
                pass
        return self._number(datetime.fromisoformat(text))

    def place(self, microseconds: int) -> int:
        """The place on the lattice of a moment so many microseconds after 1970, rounded down."""
        stamp = np.array([microseconds], dtype=np.int64).astype("M8[us]")
        return int(stamp.astype(f"M8[{self.unit}]").astype(np.int64)[0])

    def _number(self, moment: date | None) -> int:
        return self.place(0 if moment is None else microseconds_of(moment))


def digits_of(form: str) -> int | None:
    """How many digits a format writes, if it writes nothing else; tables take such dates for numbers."""
    letters = re.findall(r"%(.)", form)
    if re.sub(r"%.", "", form) or not all(letter in _DIGITS for letter in letters):
        return None
    return sum(_DIGITS[letter] for letter in letters)


@dataclass(frozen=True)
class Date(Moment):
    """Days (or months or years, if the format shows no more)."""

    kind: ClassVar[str] = "date"
    default_unit: ClassVar[str] = "D"
    units: ClassVar[tuple[str, ...]] = ("Y", "M", "D")
    types: ClassVar[Mapping[str, tuple[int, int]]] = {"date32": (0, 9999), **_STAMPS}

    def _normal(self, moment: datetime) -> date:
        return moment.date()


@dataclass(frozen=True)
class Datetime(Moment):
    """Moments to the second (or what the format shows). Time zones are not kept: UTC counts."""

    kind: ClassVar[str] = "datetime"
    default_unit: ClassVar[str] = "s"
    units: ClassVar[tuple[str, ...]] = ("D", "h", "m", "s", "us")
    types: ClassVar[Mapping[str, tuple[int, int]]] = _STAMPS
