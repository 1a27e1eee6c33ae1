"""Whole numbers, cut into bins or each its own code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.columns.bins import EXACT, check_scale, ends, lattice_starts, listed_values
from kagemusha.columns.column import INTEGER_TYPES, MAX_CODES
from kagemusha.columns.measured import SPELT
from kagemusha.columns.number import Number
from kagemusha.words.catalogue import noted


@dataclass(frozen=True)
class Integer(Number):
    """Whole numbers from `lower` to `upper`, in `bins` bins, between `edges`, or each its own code.

    `dtype` is the type of the output, such as int16 (int64 if not said).

    >>> Integer("age", lower=0, upper=9, bins=3).starts.tolist()
    [0, 3, 6]
    """

    _: KW_ONLY
    lower: int | None = None
    upper: int | None = None
    edges: tuple[int, ...] | None = None
    values: tuple[int, ...] | None = None

    kind: ClassVar[str] = "integer"
    asked_as: ClassVar[type] = int
    noun: ClassVar[str] = noted("a whole number")
    fields: ClassVar[tuple[str, ...]] = ("lower", "upper", "bins", "edges", "scale", "values", *SPELT, "dtype")
    largest: ClassVar[tuple[int, int]] = (0, 10_000)

    def _validate(self) -> None:
        super()._validate()
        listed_values(self, True)
        for field, values in ends(self):
            for value in values:
                if isinstance(value, bool) or not isinstance(value, int) or abs(value) > EXACT:
                    self.fail(field, value, f"a whole number from {-EXACT} to {EXACT}")
        check_scale(self, least=0)
        self._check_ends()
        self._check_dtype(INTEGER_TYPES, (-EXACT, EXACT) if self.open_fields else (self.low, self.high))
        if self.open_fields:
            return
        if self.high < self.low:
            self.fail("upper", self.upper, f"at least lower, {self.low}")
        if self.edges is None and self.bins is None and self.high - self.low >= MAX_CODES:
            self.fail("bins", None, f"given, since lower to upper is more than {MAX_CODES} whole numbers")

    @property
    def low(self) -> int:
        return int(self.edges[0] if self.edges else self.lower or 0)

    @property
    def high(self) -> int:
        return int(self.edges[-1] if self.edges else self.upper or 0)

    @cached_property
    def starts(self) -> NDArray[Any]:
        if self.points is not None:
            return np.append(self.points[:1], (self.points[1:] + self.points[:-1] + 1) // 2)
        if self.scale == "log":
            steps = np.geomspace(self.low + 1, self.high + 2, (self.bins or 1) + 1)[:-1] - 1
            return np.unique(np.append(self.low, np.rint(steps[1:]))).astype(np.int64)
        return lattice_starts(self.low, self.high, self.bins, self.edges)

    @property
    def comes_back(self) -> bool:
        """Whole numbers are written as they are."""
        return not self.special_texts

    @property
    def public_edges(self) -> Sequence[int]:
        """Powers of two, up to what float64 holds exactly."""
        powers = [2**k for k in range(53)]
        return [-EXACT, *(-p for p in reversed(powers)), 0, *powers, EXACT]

    @property
    def few_whole(self) -> bool:
        """A code for each whole number, where few of them were found."""
        return True
