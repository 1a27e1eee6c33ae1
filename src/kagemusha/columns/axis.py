"""An axis of numbers cut into bins: how raw values come onto it, in Python, in arrays and in SQL, and back into tables.

Bin i holds [starts[i], starts[i+1]); the last bin is closed at `high`. What a value *says* in a kind is a number (of
moments: microseconds) or a text to be read; where that lies on the axis, in steps of its lattice, is its *place*.
"""

from __future__ import annotations

import bisect
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.arrow import (
    by_distinct,
    check_flat,
    chunks_of,
    floats_of,
    is_temporal,
    is_text,
    microseconds_of,
    plain_values,
)
from kagemusha.columns.bins import Span, draw, to_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.label import MICROSECONDS_PER_DAY, days_of
from kagemusha.columns.modelled import Modelled
from kagemusha.columns.spelling import spelt
from kagemusha.columns.values import Elapsed, Instant, Plain

if TYPE_CHECKING:
    from kagemusha.columns.parse import TextReader

Said = tuple[NDArray[Any], NDArray[np.bool_]]
"""Numbers, and which of them are missing."""

ROUND = 9
"""Formulas are worked out to so many decimals, so that 0.3 − 0.1 is 0.2."""


@dataclass(frozen=True)
class Axis(Modelled):
    """A column whose values lie between two bounds, and what stands for something else among them.

    `special` are values that stand for something else than their number ("N", 9999): each has a code of its own, and
    doubles show them as they are written here. With a `formula` the values are not read but worked out of other columns
    of the row; such a column is not in the table (unless `in_table`) and is modelled in place of the column it
    `replaces`, or, if it replaces none, is a column of the table that follows from the others and is not modelled at
    all. `spelling` is how people write the values in texts (see `columns.spelling`).
    """

    _: KW_ONLY
    special: tuple[str | int | float, ...] = ()
    formula: str | None = None
    replaces: str | None = None
    spelling: str | None = None
    in_table: bool = False
    lower: Any = None
    upper: Any = None
    bins: int | None = None
    edges: tuple[Any, ...] | None = None

    has_domain: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    """Whether only whole numbers of the axis occur."""
    read_whole: ClassVar[bool] = False
    """Whether what values say is a whole number already (of moments: microseconds)."""
    in_engines: ClassVar[frozenset[str]] = frozenset(
        {"lower", "upper", "bins", "edges", "scale", "values", "format", "missing", "out_of_domain"}
    )

    @property
    @abstractmethod
    def starts(self) -> NDArray[Any]:
        """Left end of every bin."""

    @property
    @abstractmethod
    def low(self) -> float | int:
        """The lowest number of the domain."""

    @property
    @abstractmethod
    def high(self) -> float | int:
        """The highest number of the domain; the last bin holds it."""

    @property
    @abstractmethod
    def special_numbers(self) -> Mapping[float, int]:
        """For special values that are numbers (or dates): which one it is."""

    @property
    @abstractmethod
    def special_texts(self) -> Mapping[str, int]:
        """For the other special values: which one it is."""

    @property
    def points(self) -> NDArray[Any] | None:
        """The numbers a column of few distinct ones can have, one for each bin; None where a bin holds many."""
        return None

    @property
    def n_values(self) -> int:
        """Number of codes without *special* and *missing*."""
        return len(self.starts)

    @property
    def size(self) -> int:
        return self.n_values + len(self.special) + self.missing

    @property
    def missing_or_outside_code(self) -> int:
        return 0 if self.missing_code is None else self.missing_code

    @property
    def resolution(self) -> str:
        """Resolution of the lattice, as numpy names it; empty for numbers."""
        return ""

    @property
    def shows_days(self) -> bool:
        """Whether differences of two values are exact: not where a format shows months or years only."""
        return self.resolution not in ("Y", "M")

    @property
    def steps(self) -> float:
        """Steps of the lattice in what formulas count by: in a day of moments, in one of numbers."""
        return 1

    # what values say, and where that lies: what a kind decides

    def says(self, value: Plain) -> float | str | None:
        """What a plain value says: a number, a text to be read, or nothing."""
        if isinstance(value, Instant):
            return days_of(value.microseconds)
        return None if isinstance(value, Elapsed) else value

    def read_texts(self, texts: Any, reader: TextReader) -> Said:
        """What the texts of a list or an arrow array say."""
        numbers = reader.numbers(texts)
        return numbers, np.isnan(numbers)

    def read_spelt(self, texts: Any, reader: TextReader) -> Said:
        """The same of texts as people write them."""
        return self.read_texts(texts if self.spelling is None else spelt(texts, self.spelling), reader)

    def read_native(self, values: Any) -> Said | None:
        """What an arrow array says whose values need not become text first; None for any other."""
        if is_temporal(values.type):
            microseconds, missing = microseconds_of(values)
            return microseconds.astype(np.float64) / float(MICROSECONDS_PER_DAY), missing
        return None if (numbers := floats_of(values)) is None else (numbers, np.isnan(numbers))

    def places(self, said: NDArray[Any]) -> NDArray[Any]:
        """Where lies what is said."""
        return said

    # codes: what follows from that

    def code_of(self, value: Plain, reader: TextReader) -> int:
        if isinstance(value, str) and value in self.special_texts:
            return self.n_values + self.special_texts[value]
        said = self.says(value)
        if isinstance(said, str):
            (said,), (nothing,) = self.read_spelt([said], reader)
            said = None if nothing else said
        if said is None or math.isnan(said):
            return self.missing_or_outside_code
        place = self.places(np.array([said])).tolist()[0]
        if place in self.special_numbers:
            return self.n_values + self.special_numbers[place]
        if self.out_of_domain == "missing" and not self.low <= place <= self.high:
            return self.size - 1
        return bisect.bisect_right(self.starts, min(max(place, self.low), self.high)) - 1

    def hear(self, values: Sequence[Plain], reader: TextReader) -> Said:
        """What plain values say."""
        heard = [self.says(value) for value in values]
        texts = {row: one for row, one in enumerate(heard) if isinstance(one, str)}
        kind = np.int64 if self.read_whole else np.float64
        said = np.array([0 if one is None or isinstance(one, str) else one for one in heard], dtype=kind)
        missing = np.array([one is None for one in heard], dtype=np.bool_)
        if texts:
            said[list(texts)], missing[list(texts)] = self.read_spelt(list(texts.values()), reader)
        return said, missing | np.isnan(said)

    def measures(self, values: Sequence[Plain], reader: TextReader) -> FloatArray:
        """What plain values say as formulas count it (moments in days), NaN where they say nothing or infinity."""
        said, missing = self.hear(values, reader)
        return np.where(missing | np.isinf(said), np.nan, said / self.said_steps)

    @property
    def said_steps(self) -> float:
        """What values say, in what formulas count by: microseconds in a day for moments."""
        return 1

    @property
    def named_numbers(self) -> Mapping[float, int]:
        """The special values among what `measures` gives."""
        return self.special_numbers

    def encode_plain(self, values: Sequence[Plain], reader: TextReader) -> Codes:
        said, missing = self.hear(values, reader)
        codes = to_codes(self, self.places(said), missing)
        for row, special in self._named(values):
            codes[row] = self.n_values + special
        return codes

    def _named(self, values: Sequence[Plain]) -> list[tuple[int, int]]:
        """The rows with a special value that is a text, and which one."""
        texts = self.special_texts
        return [(row, texts[v]) for row, v in enumerate(values) if isinstance(v, str) and v in texts] if texts else []

    def encode_chunk(self, values: Any, reader: TextReader) -> Codes:
        said = self.read_native(values)
        if said is not None:
            return to_codes(self, self.places(said[0]), said[1])

        def distinct(some: Any) -> Codes:
            if not is_text(some.type) or self.special_texts:
                return self.encode_plain(plain_values(some), reader)
            numbers, missing = self.read_spelt(some, reader)
            return to_codes(self, self.places(numbers), missing)

        codes: Codes = by_distinct(values, distinct)
        return codes

    def read(self, values: Any, reader: TextReader) -> Cells:
        """Numbers on the axis, special and missing values apart."""
        if isinstance(values, list):
            return self._cells_of_plain(values, reader)
        check_flat(self.name, self.kind, values.type)
        return Cells.joined([self._cells_of_chunk(chunk, reader) for chunk in chunks_of(values)])

    def _cells_of_chunk(self, values: Any, reader: TextReader) -> Cells:
        if (said := self.read_native(values)) is not None:
            return self.cells_of_said(*said)
        found: Cells = by_distinct(values, lambda some: self._cells_of_plain(plain_values(some), reader))
        return found

    def _cells_of_plain(self, values: Sequence[Plain], reader: TextReader) -> Cells:
        cells = self.cells_of_said(*self.hear(values, reader))
        for row, special in self._named(values):
            cells.codes[row] = special
        return cells

    def cells_of_said(self, said: NDArray[Any], missing: NDArray[np.bool_]) -> Cells:
        """The values that say so."""
        return self._cells(self.places(said), missing)

    def _cells(self, places: NDArray[Any], missing: NDArray[np.bool_]) -> Cells:
        codes = np.where(missing, len(self.special), -1)
        for number, special in self.special_numbers.items():
            codes[(places == number) & ~missing] = special
        return Cells(codes, places)

    # values of codes

    def cells_of(self, codes: IntArray, numbers: NDArray[Any] | None = None) -> Cells:
        """Codes, and the numbers that stand for those of bins."""
        extra = np.maximum(codes - self.n_values, -1)
        return Cells(extra, np.zeros(len(codes)) if numbers is None else numbers)

    def draw(
        self, codes: IntArray, *, rng: np.random.Generator, within: Span | None = None, shape: FloatArray | None = None
    ) -> Cells:
        """A number in each code's bin."""
        inside = np.where(codes >= self.n_values, 0, codes)
        return self.cells_of(codes, draw(self, inside, rng=rng, within=within, shape=shape))

    def inside(self, start: NDArray[Any], end: NDArray[Any], places: FloatArray | None, rng: Any) -> NDArray[Any]:
        """Numbers from `start` to below `end`: at these places from 0 to 1, or anywhere."""
        if places is None:
            return np.asarray(rng.integers(start, end, dtype=np.int64))
        return np.asarray(np.minimum(start + np.floor(places * (end - start)), end - 1), dtype=np.int64)

    def floats(self, cells: Cells) -> FloatArray:
        """The numbers as formulas count them (moments in days since 1970), NaN where there is none."""
        return np.where(cells.codes < 0, cells.numbers / self.steps, np.nan)

    def on_lattice(self, values: FloatArray) -> Cells:
        """Worked-out numbers (moments in days) as values that the column can show; NaN becomes missing."""
        missing = ~np.isfinite(values)
        places = self.to_lattice(np.where(missing, 0.0, np.round(values, ROUND)))
        return Cells(np.where(missing, len(self.special), -1), places)

    def to_lattice(self, numbers: FloatArray) -> NDArray[Any]:
        """The nearest places that the column can show."""
        return np.asarray(np.rint(numbers * self.steps), dtype=np.int64)
