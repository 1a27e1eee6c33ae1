"""Real numbers, cut into bins or between edges."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.columns.bins import check_scale, ends, listed_values
from kagemusha.columns.measured import SPELT
from kagemusha.columns.number import Number
from kagemusha.errors import UsageError
from kagemusha.words.catalogue import noted

_OCTAVES = 128


@dataclass(frozen=True)
class Real(Number):
    """Numbers from `lower` to `upper` in `bins` equal bins (32 if not said) or between `edges`.

    Output has `decimals` decimals; if not said, as many as tell about a hundred values of a bin apart.
    """

    _: KW_ONLY
    lower: float | None = None
    upper: float | None = None
    edges: tuple[float, ...] | None = None
    values: tuple[float, ...] | None = None
    decimals: int | None = None

    beside_codes: ClassVar[frozenset[str]] = Number.beside_codes | {"decimals"}
    whole: ClassVar[bool] = False

    kind: ClassVar[str] = "real"
    asked_as: ClassVar[type] = float
    noun: ClassVar[str] = noted("a number")
    largest: ClassVar[tuple[float, float]] = (0.0, 1e4)
    fields: ClassVar[tuple[str, ...]] = (
        "lower",
        "upper",
        "bins",
        "edges",
        "scale",
        "values",
        "decimals",
        *SPELT,
        "dtype",
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
        self._check_ends()
        if (exact := self._exact) is None:
            self._check_dtype(dict.fromkeys(("float32", "float64", "decimal", "decimal(10, 2)"), (0, 0)), ())
        if self.decimals is not None:
            self._check_count("decimals", 0, 15)
        if self.open_fields:
            return
        if not self.high > self.low and self.points is None:
            self.fail("upper", self.upper, f"greater than lower, {self.low}")
        if self.points is None and np.any(np.diff(np.append(self.starts, self.high)) <= 0):
            self.fail("bins", self.bins, "few enough for the bins to have a width")
        if exact is not None:
            digits, after = exact
            if not self.shown_decimals <= after <= digits <= 38 or max(-self.low, self.high) >= 10 ** (digits - after):
                self.fail("dtype", self.dtype, "decimal(digits, decimals) with enough of both, at most 38 digits")

    @property
    def _exact(self) -> tuple[int, int] | None:
        """Digits in all and after the point, if the output's type says them."""
        said = re.fullmatch(r"decimal\((\d{1,2}), ?(\d{1,2})\)", str(self.dtype or ""))
        return None if said is None else (int(said[1]), int(said[2]))

    @property
    def low(self) -> float:
        return float(self.edges[0] if self.edges else self.lower or 0.0)

    @property
    def high(self) -> float:
        return float(self.edges[-1] if self.edges else self.upper or 0.0)

    @cached_property
    def starts(self) -> NDArray[Any]:
        if self.points is not None:
            return np.append(self.points[:1], (self.points[1:] + self.points[:-1]) / 2)
        if self.edges is not None:
            return np.array(self.edges[:-1], dtype=np.float64)
        if self.scale == "log":
            return np.append(self.low, np.geomspace(self.low, self.high, (self.bins or 1) + 1)[1:-1])
        return np.linspace(self.low, self.high, (self.bins or 1) + 1)[:-1]

    @property
    def shown_decimals(self) -> int:
        """Decimals of the output."""
        if self.decimals is not None:
            return self.decimals
        if self.points is not None:
            return max(len(repr(float(value)).partition(".")[2]) for value in self.points)
        narrowest = float(np.min(np.diff(np.append(self.starts, self.high))))
        return min(15, max(0, math.ceil(2 - math.log10(narrowest))))

    @property
    def comes_back(self) -> bool:
        """What is rounded may come back in another bin."""
        return False

    @property
    def advice(self) -> list[str]:
        width = (self.high - self.low) / self.n_values
        if self.decimals is None or width >= 10.0**-self.decimals:
            return super().advice
        return [*super().advice, "bins are narrower than the decimals can show; use fewer bins or more decimals"]

    def to_lattice(self, numbers: FloatArray) -> NDArray[Any]:
        """Rounded to the decimals that are shown."""
        decimals = self.decimals if self.decimals is not None else 6 if self.open_fields else self.shown_decimals
        return np.round(numbers, decimals) + 0.0

    def inside(self, start: NDArray[Any], end: NDArray[Any], places: FloatArray | None, rng: Any) -> NDArray[Any]:
        """Rounded to the decimals that are shown, as far as the numbers stay in their bins."""
        places = rng.random(len(start)) if places is None else places
        last_inside = np.nextafter(end, -np.inf)
        raw = np.clip(start + places * (end - start), start, last_inside)
        rounded = _rounded(raw, start, last_inside, self.shown_decimals)
        # A bin narrower than the rounding holds no rounded number: there the unrounded draw stands.
        inside = (rounded >= start) & (rounded <= last_inside)
        return np.where(inside, rounded, raw) + 0.0

    def rounded(self, numbers: FloatArray) -> FloatArray:
        """To the decimals that are shown."""
        return np.asarray(np.round(numbers, self.shown_decimals))

    def shown_steps(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """By decimals; a bin narrower than the rounding holds no rounded number."""
        decimals = self.shown_decimals
        step = 10.0**-decimals
        first, last = np.round(low, decimals), np.round(high, decimals)
        first = np.where(first < low, np.round(first + step, decimals), first)
        last = np.where(last > high, np.round(last - step, decimals), last)
        fits = (first <= last) & (first >= low) & (last <= high)
        low[fits], high[fits] = first[fits], last[fits]
        return np.where(fits, step, 0.0)

    def _around(self, operator: str, place: float) -> tuple[float, float]:
        if self.points is not None:
            return super()._around(operator, place)
        if operator in ("=", "!="):
            raise UsageError(f"where: {self.name} is a real number; ask for a range instead of {operator}")
        return place, math.nextafter(place, math.inf)

    def _shown_type(self) -> Any:
        import pyarrow as pa

        exact = (38, self.shown_decimals) if self.dtype == "decimal" else self._exact
        return super()._shown_type() if exact is None else pa.decimal128(*exact)

    def _as_texts(self, numbers: Any) -> Any:
        import pyarrow as pa

        return pa.array([_text(n, self.shown_decimals) for n in numbers.to_pylist()], type=pa.string())

    @property
    def public_edges(self) -> Sequence[float]:
        """Powers of two, and all that lies beyond."""
        powers = [2.0**k for k in range(-_OCTAVES, _OCTAVES + 1)]
        return [-1e299, *(-p for p in reversed(powers)), 0.0, *powers, 1e299]

    def declared(self, numbers: Sequence[Any]) -> tuple[float, ...]:
        return tuple(float(x) for x in numbers)


def _rounded(raw: NDArray[Any], start: NDArray[Any], end: NDArray[Any], decimals: int) -> NDArray[Any]:
    rounded = np.round(raw, decimals)
    step = 10.0**-decimals
    rounded = np.where(rounded < start, np.round(rounded + step, decimals), rounded)
    return np.where(rounded > end, np.round(rounded - step, decimals), rounded)


def _text(number: float | None, decimals: int) -> str | None:
    if number is None:
        return None
    shown = f"{number:.{decimals}f}"
    return shown if float(shown) == number else repr(number)
