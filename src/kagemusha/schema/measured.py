"""The kinds whose values are measured: integers, reals, dates and datetimes, cut into bins.

Every measured column puts its values on one axis of numbers. Bin i holds [starts[i], starts[i+1]); the last
bin is closed at `high`. Integers, dates and datetimes live on a lattice of whole numbers (days,
seconds, … since 1970), where bin edges are computed exactly.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.schema.columns import Modelled, OutOfDomain
from kagemusha.schema.spelling import NOT_A_NUMBER, number_of

MAX_BINS = 100_000
"""More bins than any marginal could use."""

EXACT = 2**53 - 1
"""Whole numbers up to here are exact in the float64 that raw numbers are compared in."""


MOST_SPECIAL = 64
_LIKE_A_NUMBER = re.compile(r"\s|[-+.]*[0-9]|[-+]?(inf|nan)|epoch|now|today|\0")
"""How texts begin that some reader of tables may take for a number or a date."""

SHARED = ("special", "formula", "replaces", "in_table", "missing", "out_of_domain")
"""Fields of every measured column."""


@dataclass(frozen=True)
class Measured(Modelled):
    """A column whose values lie on an axis of numbers between two bounds.

    `special` are values that stand for something else than their number ("N", 9999): each has a code of its own, and
    doubles show them as they are written here. With a `formula` the values are not read but worked out of other columns
    of the row; such a column is not in the table (unless `in_table`) and is modelled in place of the column it
    `replaces`, or, if it replaces none, is a column of the table that follows from the others and is not modelled at all.
    """

    _: KW_ONLY
    special: tuple[str | int | float, ...] = ()
    formula: str | None = None
    replaces: str | None = None
    in_table: bool = False

    rules: ClassVar[tuple[OutOfDomain, ...]] = ("clip", "missing")
    whole: ClassVar[bool] = True
    """Whether only whole numbers of the axis occur."""

    def _form(self) -> dict[str, Any]:
        return {"special": self.special} if self.special else {}

    def _ordinary_names(self) -> list[str]:
        if self.points is not None:
            return [f"{value:g}" for value in self.points]
        ends = [*(self.starts[1:] - self.whole), self.high]
        return [f"{a:g}" if a == b else f"{a:g} – {b:g}" for a, b in zip(self.starts, ends, strict=True)]

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

    def _validate(self) -> None:
        super()._validate()
        if isinstance(self.special, str | bytes) or not isinstance(self.special, Sequence):
            self.fail("special", self.special, "a list of texts or numbers")
        object.__setattr__(self, "special", tuple(self.special))
        if len(self.special) > MOST_SPECIAL:
            self.fail("special", f"{len(self.special)} values", f"at most {MOST_SPECIAL} values")
        for value in self.special:
            if isinstance(value, bool) or not isinstance(value, str | int | float) or value in ("", *NOT_A_NUMBER):
                self.fail("special", value, "texts or numbers; for gaps there is missing = true")
            if isinstance(value, int | float) and not abs(value) <= EXACT:
                self.fail("special", value, f"a number from {-EXACT} to {EXACT}")
            if isinstance(value, str) and (self._says(value) is None) == bool(_LIKE_A_NUMBER.match(value.casefold())):
                self.fail(
                    "special", value, "a number, a date of the column's format, or a text that no reader takes for one"
                )
        if len(self.special_numbers) + len(self.special_texts) < len(self.special):
            self.fail("special", list(self.special), "a list without repeats")
        for field in ("formula", "replaces"):
            if getattr(self, field) is not None:
                self._check_text(field)
        self._check_flag("in_table")
        if self.formula is None and (self.replaces is not None or self.in_table):
            self.fail(
                "replaces" if self.replaces else "in_table", self.replaces or True, "left out where no formula is"
            )
        if self.formula is not None and self.special:
            self.fail("special", list(self.special), "left out where a formula is")

    def _says(self, text: str) -> float | None:
        """The place on the axis that a text stands for, if it does."""
        return number_of(text)

    @property
    def points(self) -> NDArray[Any] | None:
        """The numbers a column of few distinct ones can have, one for each bin; None where a bin holds many."""
        return None

    @cached_property
    def special_numbers(self) -> dict[float, int]:
        """For special values that are numbers (or dates): which one it is."""
        said = ((i, self._says(str(value))) for i, value in enumerate(self.special))
        return {number: i for i, number in said if number is not None}

    @cached_property
    def special_texts(self) -> dict[str, int]:
        """For the other special values: which one it is."""
        return {str(value): i for i, value in enumerate(self.special) if self._says(str(value)) is None}

    def _special_names(self) -> list[str]:
        return [str(value) for value in self.special]

    @property
    def ordinary(self) -> int:
        """Number of codes without *special* and *missing*."""
        return len(self.starts)

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.ordinary + len(self.special) + self.missing

    @property
    def is_modelled(self) -> bool:
        """Whether the column's own kind puts it into the model: not where it follows from others."""
        return self.formula is None or self.replaces is not None

    @property
    def empty_code(self) -> int:
        """Where a missing value is counted."""
        return 0 if self.missing_code is None else self.missing_code

    def _check_ends(self, lower: Any, upper: Any, edges: Sequence[Any] | None) -> None:
        if edges is not None:
            if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
                self.fail("edges", list(edges), "a list of at least two rising values")
            if len(edges) > MAX_BINS:
                self.fail("edges", f"{len(edges)} values", f"at most {MAX_BINS} values")
            for field, given, end in (("lower", lower, edges[0]), ("upper", upper, edges[-1])):
                if given is not None and given != end:
                    self.fail(field, given, f"left out, or equal to the end of edges, {end}")

    def _check_bins(self, bins: object, edges: object) -> None:
        if bins is None:
            return
        if edges is not None:
            self.fail("bins", bins, "left out where edges are given")
        self._check_count("bins", 1, MAX_BINS)


def ends(column: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """The declared bounds and edges of a column, each field as a tuple of its values."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for field in ("lower", "upper", "edges"):
        given = getattr(column, field)
        if given is None:
            continue
        if field == "edges":
            if isinstance(given, str) or not isinstance(given, Sequence):
                column.fail(field, given, "a list of rising values")
            given = tuple(given)
            object.__setattr__(column, field, given)
        found.append((field, given if field == "edges" else (given,)))
    return found


def open_ends(lower: object, upper: object, edges: object) -> tuple[str, ...]:
    """Which bounds are left open."""
    if edges is not None:
        return ()
    return tuple(field for field, value in (("lower", lower), ("upper", upper)) if value is None)


def listed_values(column: Any, whole: bool) -> None:
    """Check `values`, the only numbers a column has; they stand in place of bounds, bins and edges."""
    given = column.values
    if given is None:
        return
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 1:
        column.fail("values", given, "a list of rising numbers")
    kind = int if whole else int | float
    if any(isinstance(v, bool) or not isinstance(v, kind) or not abs(v) <= EXACT for v in given):
        column.fail("values", list(given), "a list of whole numbers" if whole else "a list of finite numbers")
    if any(a >= b for a, b in pairwise(given)) or len(given) > MAX_BINS:
        column.fail("values", list(given), f"a list of at most {MAX_BINS} rising numbers")
    for field in ("bins", "edges", "scale"):
        if getattr(column, field) is not None:
            column.fail(field, getattr(column, field), "left out where values are given")
    for field, end in (("lower", given[0]), ("upper", given[-1])):
        if getattr(column, field) not in (None, end):
            column.fail(field, getattr(column, field), f"left out where values are given, or {end}")
        object.__setattr__(column, field, end)
    object.__setattr__(column, "values", tuple(given))


def check_scale(column: Any, *, least: float) -> None:
    """Check `scale`: bins of equal width, or on a logarithmic scale for numbers with a long tail."""
    if column.scale not in (None, "log"):
        column.fail("scale", column.scale, "left out or 'log'")
    if column.scale == "log":
        if column.edges is not None or column.bins is None:
            column.fail("scale", "log", "beside bins")
        if column.lower is not None and not column.lower >= least:
            allowed = "greater than 0" if least > 0 else "at least 0"
            column.fail("lower", column.lower, f"{allowed} for a logarithmic scale; what lies below can be special")


def lattice_starts(low: int, high: int, bins: int | None, edges: Sequence[int] | None) -> NDArray[np.int64]:
    """Left ends of bins on a lattice of whole numbers; more bins than numbers give one bin a number."""
    if edges is not None:
        return np.array(edges[:-1], dtype=np.int64)
    width = high - low + 1
    if bins is None or bins >= width:
        return np.arange(low, high + 1, dtype=np.int64)
    return np.array([low + width * i // bins for i in range(bins)], dtype=np.int64)
