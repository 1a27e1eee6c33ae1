"""Numbers: whole ones and reals, cut into bins."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.schema.columns import INTEGER_TYPES, MAX_CODES
from kagemusha.schema.measured import (
    EXACT,
    SHARED,
    Measured,
    check_scale,
    ends,
    lattice_starts,
    listed_values,
    open_ends,
)


@dataclass(frozen=True)
class Integer(Measured):
    """Whole numbers from `lower` to `upper`, in `bins` bins, between `edges`, or each its own code.

    `dtype` is the type of the output, such as int16 (int64 if not said).

    >>> Integer("age", lower=0, upper=9, bins=3).starts.tolist()
    [0, 3, 6]
    """

    _: KW_ONLY
    lower: int | None = None
    upper: int | None = None
    bins: int | None = None
    edges: tuple[int, ...] | None = None
    scale: str | None = None
    values: tuple[int, ...] | None = None

    kind: ClassVar[str] = "integer"
    fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "bins", "edges", "scale", "values", *SHARED, "dtype")

    def _validate(self) -> None:
        super()._validate()
        listed_values(self, True)
        check_scale(self, least=0)
        for field, values in ends(self):
            for value in values:
                if isinstance(value, bool) or not isinstance(value, int) or abs(value) > EXACT:
                    self.fail(field, value, f"a whole number from {-EXACT} to {EXACT}")
        self._check_ends(self.lower, self.upper, self.edges)
        self._check_bins(self.bins, self.edges)
        self._check_dtype(INTEGER_TYPES, (-EXACT, EXACT) if self.open_fields else (self.low, self.high))
        if self.open_fields:
            return
        if self.high < self.low:
            self.fail("upper", self.upper, f"at least lower, {self.low}")
        if self.edges is None and self.bins is None and self.high - self.low >= MAX_CODES:
            self.fail("bins", None, f"given, since lower to upper is more than {MAX_CODES} whole numbers")

    @property
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""
        return open_ends(self.lower, self.upper, self.edges)

    @property
    def low(self) -> int:
        """The lowest number of the domain."""
        return int(self.edges[0] if self.edges else self.lower or 0)

    @property
    def high(self) -> int:
        """The highest number of the domain."""
        return int(self.edges[-1] if self.edges else self.upper or 0)

    @cached_property
    def starts(self) -> NDArray[Any]:
        """Left end of every bin."""
        if self.points is not None:
            return np.append(self.points[:1], (self.points[1:] + self.points[:-1] + 1) // 2)
        if self.scale == "log":
            steps = np.geomspace(self.low + 1, self.high + 2, (self.bins or 1) + 1)[:-1] - 1
            return np.unique(np.append(self.low, np.rint(steps[1:]))).astype(np.int64)
        return lattice_starts(self.low, self.high, self.bins, self.edges)

    @cached_property
    def points(self) -> NDArray[Any] | None:
        """The only numbers the column has, if `values` lists them."""
        return None if self.values is None else np.array(self.values, dtype=np.int64)


@dataclass(frozen=True)
class Real(Measured):
    """Numbers from `lower` to `upper` in `bins` equal bins (32 if not said) or between `edges`.

    Output has `decimals` decimals; if not said, as many as tell about a hundred values of a bin apart.
    """

    _: KW_ONLY
    lower: float | None = None
    upper: float | None = None
    bins: int | None = None
    edges: tuple[float, ...] | None = None
    scale: str | None = None
    values: tuple[float, ...] | None = None
    decimals: int | None = None

    beside_codes: ClassVar[frozenset[str]] = Measured.beside_codes | {"decimals"}
    whole: ClassVar[bool] = False

    kind: ClassVar[str] = "real"
    fields: ClassVar[tuple[str, ...]] = (
        "lower",
        "upper",
        "bins",
        "edges",
        "scale",
        "values",
        "decimals",
        *SHARED,
    )

    def _form(self) -> dict[str, Any]:
        return super()._form() if self.decimals is None else {**super()._form(), "decimals": self.decimals}

    def _validate(self) -> None:
        super()._validate()
        listed_values(self, False)
        for field, values in ends(self):
            for value in values:
                if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
                    self.fail(field, value, "a finite number")
            normal = tuple(float(value) + 0.0 for value in values)
            object.__setattr__(self, field, normal if field == "edges" else normal[0])
        if self.bins is None and self.edges is None and self.values is None:
            object.__setattr__(self, "bins", 32)
        check_scale(self, least=1e-300)
        self._check_ends(self.lower, self.upper, self.edges)
        self._check_bins(self.bins, self.edges)
        if self.decimals is not None:
            self._check_count("decimals", 0, 15)
        if self.open_fields:
            return
        if not self.high > self.low and self.points is None:
            self.fail("upper", self.upper, f"greater than lower, {self.low}")
        if self.points is None and np.any(np.diff(np.append(self.starts, self.high)) <= 0):
            self.fail("bins", self.bins, "few enough for the bins to have a width")

    @property
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""
        return open_ends(self.lower, self.upper, self.edges)

    @property
    def low(self) -> float:
        """The lowest number of the domain."""
        return float(self.edges[0] if self.edges else self.lower or 0.0)

    @property
    def high(self) -> float:
        """The highest number of the domain."""
        return float(self.edges[-1] if self.edges else self.upper or 0.0)

    @cached_property
    def starts(self) -> NDArray[Any]:
        """Left end of every bin."""
        if self.points is not None:
            return np.append(self.points[:1], (self.points[1:] + self.points[:-1]) / 2)
        if self.edges is not None:
            return np.array(self.edges[:-1], dtype=np.float64)
        if self.scale == "log":
            return np.append(self.low, np.geomspace(self.low, self.high, (self.bins or 1) + 1)[1:-1])
        return np.linspace(self.low, self.high, (self.bins or 1) + 1)[:-1]

    @cached_property
    def points(self) -> NDArray[Any] | None:
        """The only numbers the column has, if `values` lists them."""
        return None if self.values is None else np.array(self.values, dtype=np.float64)

    @property
    def shown_decimals(self) -> int:
        """Decimals of the output."""
        if self.decimals is not None:
            return self.decimals
        if self.points is not None:
            return max(len(repr(float(value)).partition(".")[2]) for value in self.points)
        narrowest = float(np.min(np.diff(np.append(self.starts, self.high))))
        return min(15, max(0, math.ceil(2 - math.log10(narrowest))))
