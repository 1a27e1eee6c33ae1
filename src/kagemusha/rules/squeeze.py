"""Values squeezed into what orders between columns leave open, row by row, one column after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.columns.bins import Span
from kagemusha.schema import Measured
from kagemusha.schema.constraints import Inequality

SLACK = 1e-9
TOUCH = SLACK / 2
"""What a number may miss a place of its lattice by: less than what keeps `a < b` apart."""


def squeeze(
    laws: Sequence[Inequality],
    columns: Mapping[str, Measured],
    spans: Mapping[str, Span],
    there: Mapping[str, NDArray[np.bool_]],
    rng: np.random.Generator,
) -> dict[str, Span]:
    """A value for each column and row, as a span that holds nothing else.

    Bounds are tightened until they settle, then a column gets a value uniformly between its bounds, and so on. For
    orders of two columns (x ≤ y + c) tight bounds always leave a solution; for sums of more they may not.
    """
    scales = {n: c.steps for n, c in columns.items()}
    low = {n: spans[n][0].astype(np.float64) for n in columns}
    high = {
        n: (spans[n][1] - 1 if c.whole else np.nextafter(spans[n][1], -np.inf)).astype(np.float64)
        for n, c in columns.items()
    }
    steps = {n: c.shown_steps(low[n], high[n]) for n, c in columns.items()}
    for name in rng.permutation(list(columns)).tolist():
        for _ in range(len(laws) + 1):
            for law in laws:
                _tighten(law, steps, scales, low, high, there)
        step, first, last = steps[name], low[name], np.maximum(low[name], high[name])
        chance = rng.random(len(first))
        width = np.where(step > 0, step, 1.0)
        places = np.floor((last - first) / width + TOUCH)
        onto = np.minimum(first + np.floor(chance * (places + 1)) * width, last)
        value = np.where(step > 0, onto, first + chance * (last - first))
        low[name] = high[name] = np.where(step > 0, columns[name].rounded(value), value)
    return {n: _only(columns[n], low[n]) for n in columns}


def _only(column: Measured, value: FloatArray) -> Span:
    if column.whole:
        exact = value.astype(np.int64)
        return exact, exact + 1
    return value, np.nextafter(value, np.inf)


def _tighten(
    law: Inequality,
    steps: Mapping[str, FloatArray],
    scales: Mapping[str, float],
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
        step = np.where(steps[name] > 0, steps[name], 1.0)
        limit = (bound - (whole - least[name])) / factor * scales[name]
        if not law.strict:  # where values are free, what comparisons forgive is not used up
            limit = np.where(steps[name] > 0, limit, limit - SLACK / factor * scales[name])
        if factor > 0:
            upper = np.where(steps[name] > 0, np.floor(limit / step + TOUCH) * step, limit)
            high[name] = np.where(speaks, np.minimum(high[name], upper), high[name])
        else:
            lower = np.where(steps[name] > 0, np.ceil(limit / step - TOUCH) * step, limit)
            low[name] = np.where(speaks, np.maximum(low[name], lower), low[name])
