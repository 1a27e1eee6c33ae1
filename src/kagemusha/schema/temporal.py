"""Dates and datetimes: measured on the lattice of the unit their format can show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime, time
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.schema.columns import MAX_CODES
from kagemusha.schema.numeric import Measured, ends, lattice_starts, open_ends

# Coarsest first; the finest directive of a format decides the unit (numpy's names for the units).
UNITS = {"Y": "Yy", "M": "mbB", "D": "dj", "h": "HI", "m": "M", "s": "S", "us": "f"}


@dataclass(frozen=True)
class Moment(Measured):
    """Points in time from `lower` to `upper`; `format` is the strptime format of a text column.

    Without a format the column is a native date column, or ISO 8601 text in a text file. Values are rounded down
    to the unit the format can show, so that what is written is read back into the same bin.
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
        "missing",
        "out_of_domain",
    )
    default_unit: ClassVar[str]
    units: ClassVar[tuple[str, ...]]

    def _validate(self) -> None:
        super()._validate()
        self._check_format()
        for field, values in ends(self):
            normal = tuple(self._parse_end(field, value) for value in values)
            object.__setattr__(self, field, normal if field == "edges" else normal[0])
        self._check_ends(self.lower, self.upper, self.edges)
        self._check_bins(self.bins, self.edges)
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
            shown = datetime.strptime(moment.strftime(self.format), self.format)
            if self._number(shown) != self._number(moment):
                self.fail(field, str(value), f"a moment that the format {self.format!r} can show")
        return self._normal(moment)

    def _normal(self, moment: datetime) -> date:
        return moment

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

    def _number(self, moment: date | None) -> int:
        microseconds = np.array([moment or date(1970, 1, 1)], dtype="M8[us]")
        return int(microseconds.astype(f"M8[{self.unit}]").astype(np.int64)[0])


@dataclass(frozen=True)
class Date(Moment):
    """Days (or months or years, if the format shows no more)."""

    kind: ClassVar[str] = "date"
    default_unit: ClassVar[str] = "D"
    units: ClassVar[tuple[str, ...]] = ("Y", "M", "D")

    def _normal(self, moment: datetime) -> date:
        return moment.date()


@dataclass(frozen=True)
class Datetime(Moment):
    """Moments to the second (or what the format shows). Time zones are not kept: UTC counts."""

    kind: ClassVar[str] = "datetime"
    default_unit: ClassVar[str] = "s"
    units: ClassVar[tuple[str, ...]] = ("D", "h", "m", "s", "us")
