"""Dates and datetimes: measured on the lattice of the resolution their format can show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime, time
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.columns import formats
from kagemusha.columns.arrow import arrow_type, is_temporal, microseconds_of
from kagemusha.columns.axis import Said
from kagemusha.columns.bins import ends, lattice_starts
from kagemusha.columns.cells import Cells
from kagemusha.columns.column import MAX_CODES
from kagemusha.columns.label import MICROSECONDS_PER_DAY, number_text
from kagemusha.columns.label import microseconds_of as stamp_of
from kagemusha.columns.measured import SPELT, Measured
from kagemusha.columns.spelling import DATES
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.columns.values import Elapsed, Instant, Plain
from kagemusha.errors import UsageError

if TYPE_CHECKING:
    from kagemusha.columns.dialect import Dialect
    from kagemusha.columns.parse import TextReader

STAMPS = {
    "timestamp[s]": (0, 9999),
    "timestamp[ms]": (0, 9999),
    "timestamp[us]": (0, 9999),
    "timestamp[ns]": (1678, 2261),
}

_YEARS = (1800, 2200)


@dataclass(frozen=True)
class Moment(Measured):
    """Points in time from `lower` to `upper`; `format` is the strptime format of a text column.

    Without a format the column is a native date column, or ISO 8601 text in a text file. Native dates and ISO 8601
    text are read in any case, and so are numbers: as the digits of a format that writes digits alone (%Y%m%d), else as
    days since 1970.
    Values are rounded down to the resolution the format can show, so that what is written is read back into the same
    bin. `dtype` is the type of native output, such as timestamp[ms] or timestamp[us, tz=Asia/Tokyo] (if not said,
    date32 for dates and timestamp[us]); a zone is for the output, bounds and codes are in UTC.
    """

    _: KW_ONLY
    lower: date | None = None
    upper: date | None = None
    edges: tuple[date, ...] | None = None
    format: str | None = None

    fields: ClassVar[tuple[str, ...]] = (
        "lower",
        "upper",
        "bins",
        "edges",
        "format",
        *SPELT,
        "dtype",
    )
    largest: ClassVar[tuple[str, str]] = ("2000-01-01", "2029-12-31")
    native: ClassVar[frozenset[Stored]] = MOMENTS
    read_whole: ClassVar[bool] = True
    spellings: ClassVar[tuple[str, ...]] = DATES
    default_unit: ClassVar[str]
    shown_as: ClassVar[str]
    """The type of native output, if no other is declared."""
    resolutions: ClassVar[tuple[str, ...]]
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
        return [str(moment) for moment in self.starts.astype(f"M8[{self.resolution}]")]

    def _validate(self) -> None:
        super()._validate()
        if self.format is not None:
            self._check_text("format")
            if (allowed := formats.allowed(self.format, self.resolution, self.resolutions, self.kind)) is not None:
                self.fail("format", self.format, allowed)
        if self.spelling is not None and self.format is not None:
            self.fail("spelling", self.spelling, "left out where a format is given")
        for field, values in ends(self):
            normal = tuple(self._parse_end(field, value) for value in values)
            object.__setattr__(self, field, normal if field == "edges" else normal[0])
        self._check_ends()
        if self.dtype is not None and self.format is not None:
            self.fail("dtype", self.dtype, "left out where a format is given: the output is text")
        zone = re.search(r", tz=[A-Za-z0-9_+/:-]+(?=\]$)", str(self.dtype or ""))
        types = self.types if zone is None else {f"{name[:-1]}{zone[0]}]": years for name, years in STAMPS.items()}
        self._check_dtype(types, (0, 9999) if self.open_fields else (self._year(self.low), self._year(self.high)))
        if self.open_fields:
            return
        if self.high < self.low:
            self.fail("upper", str(self.upper), f"at least lower, {self.lower}")
        if self.edges and np.any(np.diff(np.append(self.starts, self.high)) <= 0):
            self.fail("edges", [str(edge) for edge in self.edges], f"apart by one step ({self.resolution}) or more")
        if self.edges is None and self.bins is None and self.high - self.low >= MAX_CODES:
            self.fail("bins", None, f"given: lower to upper is more than {MAX_CODES} steps of {self.resolution}")

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
            shown = formats.shown(self.format, moment)
            if shown is None or self._number(shown) != self._number(moment):
                self.fail(field, str(value), f"a moment that the format {self.format!r} can show")
        return self._normal(moment)

    def _normal(self, moment: datetime) -> date:
        return moment

    def _year(self, number: int) -> int:
        return 1970 + int(np.array([number]).astype(f"M8[{self.resolution}]").astype("M8[Y]").astype(np.int64)[0])

    @property
    def resolution(self) -> str:
        return self.default_unit if self.format is None else formats.unit_of(self.format) or self.default_unit

    @property
    def low(self) -> int:
        return self._number(self.edges[0] if self.edges else self.lower)

    @property
    def high(self) -> int:
        return self._number(self.edges[-1] if self.edges else self.upper)

    @cached_property
    def starts(self) -> NDArray[Any]:
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
        return int(stamp.astype(f"M8[{self.resolution}]").astype(np.int64)[0])

    def _number(self, moment: date | None) -> int:
        return self.place(0 if moment is None else stamp_of(moment))

    # how values come onto the lattice, and back

    @property
    def steps(self) -> float:
        return formats.STEPS_PER_DAY.get(self.resolution, 1)

    @property
    def said_steps(self) -> float:
        return MICROSECONDS_PER_DAY

    @property
    def named_numbers(self) -> Mapping[float, int]:
        """None: a special date is a date to whoever looks at it."""
        return {}

    def says(self, value: Plain) -> float | str | None:
        """Microseconds since 1970; a number is read as the text that it would be."""
        if isinstance(value, Instant):
            return value.microseconds
        if value is None or isinstance(value, Elapsed):
            return None
        return value if isinstance(value, str) else number_text(value)

    def read_texts(self, texts: Any, reader: TextReader) -> Said:
        """Microseconds since 1970."""
        return reader.moments(texts, self.format)

    def read_native(self, values: Any) -> Said | None:
        """Microseconds since 1970 of native dates."""
        return microseconds_of(values) if is_temporal(values.type) else None

    def places(self, said: NDArray[Any]) -> NDArray[Any]:
        """Whole steps of the lattice."""
        return said.astype("M8[us]").astype(f"M8[{self.resolution}]").astype(np.int64)

    def of_moment(self, microseconds: str, dialect: Dialect) -> str:
        """SQL: the microseconds themselves."""
        return microseconds

    def text_says(self, text: str, dialect: Dialect) -> tuple[str, str] | None:
        """SQL: microseconds of a text that is just as the format (none: ISO 8601) says."""
        return dialect.moment_of_text(text, self.format)

    def place_of(self, said: str, dialect: Dialect) -> str:
        """SQL: whole steps of the lattice."""
        if self.resolution in formats.STEPS_PER_DAY:
            return dialect.floored(said, MICROSECONDS_PER_DAY // formats.STEPS_PER_DAY[self.resolution])
        return dialect.months(said) if self.resolution == "M" else dialect.years(said)

    @property
    def read_here(self) -> tuple[str, ...]:
        """Engines read no format."""
        return (*super().read_here, *(["format, where the column is stored as text"] if self.format else []))

    def arrow_of(self, cells: Cells) -> Any:
        """Native dates, or texts in the column's format; with special values all of them are texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        inside = cells.codes < 0
        moments = np.where(inside, cells.numbers, 0).astype(np.int64).astype(f"M8[{self.resolution}]")
        if self.format is None:
            plain = pa.array(moments.astype("M8[us]"), mask=~inside).cast(arrow_type(self.dtype or self.shown_as))
        else:
            distinct, where = np.unique(moments, return_inverse=True)
            texts = [moment.strftime(self.format) for moment in distinct.astype("M8[us]").astype(object)]
            plain = pa.array(texts, type=pa.string()).take(pa.array(where.astype(np.int64), mask=~inside))
        if not self.special:
            return plain
        named = pa.array([*map(str, self.special), None], type=pa.string())
        chosen = named.take(pa.array(np.where(inside, len(self.special), cells.codes)))
        return pc.if_else(pa.array(inside), plain.cast(pa.string()), chosen)

    @property
    def comes_back(self) -> bool:
        """A format may show less than is read."""
        return False

    # what rules and people see, and where discovery begins

    def compared(self, value: Any) -> float:
        """The place of a date."""
        try:
            return self.number(str(value))
        except ValueError:
            raise UsageError(f"where: {self.name} is compared with {value!r}; write a date as '2024-12-31'") from None

    @property
    def sort(self) -> str:
        """Moments."""
        return "moment"

    @property
    def beginnings(self) -> Sequence[str]:
        """The format, and special values."""
        return [self.format or "", *map(str, self.special)]

    @property
    def public_edges(self) -> Sequence[date]:
        """Years."""
        return [self._normal(datetime(year, 1, 1)) for year in range(_YEARS[0], _YEARS[1] + 1)]

    def declared(self, numbers: Sequence[Any]) -> tuple[date, ...]:
        whole = np.array([round(x) for x in numbers], dtype=np.int64)
        return tuple(map(self._normal, whole.astype(f"M8[{self.resolution}]").astype("M8[us]").tolist()))

    def _after(self, edge: date) -> date:
        return self.declared([self._number(edge) + 1])[0]
