"""Values squeezed into what orders between columns leave open, row by row, one column after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.encoding.bins import Span
from kagemusha.encoding.cells import A_DAY
from kagemusha.schema import Measured, Moment
from kagemusha.schema.constraints import Inequality

SLACK = 1e-9


def squeeze(
    laws: Sequence[Inequality],
    columns: Mapping[str, Measured],
    spans: Mapping[str, Span],
    there: Mapping[str, NDArray[np.bool_]],
    rng: np.random.Generator,
) -> dict[str, Span]:
    """A value for each column and row, as a span that holds nothing else.

    Bounds are tightened until they settle, then a column gets a value uniformly between its bounds, and so on. For orders
    of two columns (x ≤ y + c) tight bounds always leave a solution; for sums of more they may not.
    """
    scales = {n: A_DAY.get(c.unit, 1) if isinstance(c, Moment) else 1 for n, c in columns.items()}
    low = {n: spans[n][0].astype(np.float64) for n in columns}
    high = {
        n: (spans[n][1] - 1 if c.whole else np.nextafter(spans[n][1], -np.inf)).astype(np.float64)
        for n, c in columns.items()
    }
    for name in rng.permutation(list(columns)).tolist():
        for _ in range(len(laws) + 1):
            for law in laws:
                _tighten(law, columns, scales, low, high, there)
        first, last = low[name], np.maximum(low[name], high[name])
        if columns[name].whole:
            value = np.minimum(first + np.floor(rng.random(len(first)) * (last - first + 1)), last)
        else:
            value = first + rng.random(len(first)) * (last - first)
        low[name] = high[name] = value
    return {n: _only(columns[n], low[n]) for n in columns}


def _only(column: Measured, value: FloatArray) -> Span:
    if column.whole:
        exact = value.astype(np.int64)
        return exact, exact + 1
    return value, np.nextafter(value, np.inf)


def _tighten(
    law: Inequality,
    columns: Mapping[str, Measured],
    scales: Mapping[str, int],
    low: dict[str, FloatArray],
    high: dict[str, FloatArray],
    there: Mapping[str, NDArray[np.bool_]],
) -> None:
    """What Σ f·x ≤ b leaves each column, given the bounds of the others."""
    speaks = np.logical_and.reduce([there[n] for n in law.factors])
    least = {n: np.minimum(f * low[n], f * high[n]) / scales[n] for n, f in law.factors.items()}
    whole = sum(least.values(), np.zeros(1))
    bound = law.bound + (-SLACK if law.strict else SLACK)
    for name, factor in law.factors.items():
        limit = (bound - (whole - least[name])) / factor * scales[name]
        if factor > 0:
            upper = np.floor(limit + SLACK) if columns[name].whole else limit
            high[name] = np.where(speaks, np.minimum(high[name], upper), high[name])
        else:
            lower = np.ceil(limit - SLACK) if columns[name].whole else limit
            low[name] = np.where(speaks, np.maximum(low[name], lower), low[name])
