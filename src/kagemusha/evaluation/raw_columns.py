"""One raw column against another: how far apart their values lie, which are lost, and which nobody has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.raw import RawColumn, RawTable

FEW = 0.05
"""Numbers are looked at one by one if there are fewer different ones than this share of the rows (or than 50)."""


@dataclass(frozen=True)
class RawDistance:
    """One column as people see it, real against synthetic."""

    column: str
    kind: str
    kolmogorov_smirnov: float | None
    """Largest difference of the distribution functions of numbers and dates; None for labels."""
    wasserstein: float | None
    """How far values must move on average, in the column's own unit (dates: days); None for labels."""
    total_variation: float | None
    """Share of values that would have to change, each text (or one of few numbers) for itself; None for many
    different numbers."""
    real_values: int | None
    """Different values of the real column; None where there are too many to be compared one by one."""
    lost: int
    """Values that people have and no double has."""
    lost_share: float
    """Share of people who have one of them."""
    invented: int
    """Values that a double has and nobody else."""
    invented_share: float
    examples: tuple[str, ...]
    """The most frequent invented ones."""
    quantiles_real: tuple[float, float, float] | None
    """5 %, half and 95 % of numbers and dates."""
    quantiles_synthetic: tuple[float, float, float] | None
    decimals_real: int | None = None
    """Most decimals that 99 of 100 numbers have."""
    decimals_synthetic: int | None = None

    @property
    def complement(self) -> float:
        """1 minus the distance that SDMetrics takes for a column of this kind: its "column shape"."""
        distance = self.total_variation if self.kolmogorov_smirnov is None else self.kolmogorov_smirnov
        return 1 - (distance or 0.0)


def kolmogorov_smirnov(first: FloatArray, second: FloatArray) -> float:
    """The largest difference of two samples' distribution functions; 1 if only one of them is empty, 0 if both are."""
    if not len(first) or not len(second):
        return float(len(first) != len(second))
    a, b = np.sort(first), np.sort(second)
    at = np.concatenate([a, b])
    return float(np.abs(np.searchsorted(a, at, "right") / len(a) - np.searchsorted(b, at, "right") / len(b)).max())


def wasserstein(first: FloatArray, second: FloatArray) -> float | None:
    """The least mean distance that values must be moved; None if a side has none."""
    if not len(first) or not len(second):
        return None
    a, b = np.sort(first), np.sort(second)
    at = np.sort(np.concatenate([a, b]))
    gap = np.abs(np.searchsorted(a, at[:-1], "right") / len(a) - np.searchsorted(b, at[:-1], "right") / len(b))
    return float((gap * np.diff(at)).sum())


def raw_distances(real: RawTable, synthetic: RawTable) -> list[RawDistance]:
    """Every column's distances."""
    return [_distance(column, synthetic[name]) for name, column in real.columns.items()]


def _distance(real: RawColumn, synthetic: RawColumn) -> RawDistance:
    numbers = [side.numbers[~np.isnan(side.numbers)] for side in (real, synthetic)]
    shares = [value_shares(real), value_shares(synthetic)]
    measured = real.kind != "label"
    distinct = sum(1 for value in shares[0] if value is not None)
    alone = not measured or distinct <= max(50, FEW * real.rows)
    lost, invented = (
        [] if not alone else [v for v in a if v is not None and v not in b] for a, b in (shares, shares[::-1])
    )
    invented.sort(key=lambda value: -shares[1][value])
    variation = sum(abs(shares[0].get(v, 0.0) - shares[1].get(v, 0.0)) for v in {**shares[0], **shares[1]}) / 2
    return RawDistance(
        real.name,
        real.kind,
        kolmogorov_smirnov(*numbers) if measured else None,
        wasserstein(*numbers) if measured else None,
        variation if alone else None,
        distinct if alone else None,
        len(lost),
        sum(shares[0][v] for v in lost),
        len(invented),
        sum(shares[1][v] for v in invented),
        tuple(shown(value, real.kind) for value in invented[:5]),
        quantiles(numbers[0]) if measured else None,
        quantiles(numbers[1]) if measured else None,
        decimals(numbers[0]) if real.kind == "number" else None,
        decimals(numbers[1]) if real.kind == "number" else None,
    )


def value_shares(column: RawColumn) -> Mapping[str | float | None, float]:
    """Each value that occurs (None: missing) and the share of rows that hold it."""
    found: dict[str | float | None, float] = {}
    counts = np.bincount(column.texts[column.texts >= 0], minlength=len(column.words))
    found.update({word: n / column.rows for word, n in zip(column.words, counts.tolist(), strict=True) if n})
    values, times = np.unique(column.numbers[~np.isnan(column.numbers)], return_counts=True)
    found.update(zip(values.tolist(), (times / column.rows).tolist(), strict=True))
    gaps = float(column.missing.sum())
    if gaps:
        found[None] = gaps / column.rows
    return found


def quantiles(numbers: FloatArray) -> tuple[float, float, float] | None:
    """5 %, half, 95 %; None if there is nothing."""
    if not len(numbers):
        return None
    low, middle, high = np.quantile(numbers, [0.05, 0.5, 0.95])
    return float(low), float(middle), float(high)


def decimals(numbers: FloatArray) -> int | None:
    """The least number of decimals (up to 6) that shows 99 of 100 numbers as they are."""
    if not len(numbers):
        return None
    some = numbers[:20_000]
    for places in range(6):
        if np.mean(np.abs(np.round(some, places) - some) <= 1e-9 * np.maximum(1.0, np.abs(some))) >= 0.99:
            return places
    return 6


def shown(value: str | float | None, kind: str) -> str:
    """A value as people write it."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return value
    return day(value) if kind == "moment" else f"{value:.10g}"


def number(value: float) -> str:
    """A number as people write it: four figures, and never a power of ten for what has a name."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def day(days: float) -> str:
    """A number of days since 1970 as a date."""
    return str(np.datetime64(0, "D") + int(np.floor(days)))
