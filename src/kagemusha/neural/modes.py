"""Mode-specific normalisation: a column of numbers as a few normal modes, and every number as a mode and a place in it.

The modes are found by variational Bayes for a mixture with a sparse prior on its weights (Xu et al. 2019, section 4.2):
modes that are not needed empty themselves. A column has far fewer different values than rows, so the mixture is fitted
to values and how often they occur, never to rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray

MOST_MODES = 10
LEAST_WEIGHT = 0.005
"""Modes that hold a smaller share of the rows are left out."""

SPREAD = 4.0
"""A place of ±1 lies this many deviations from the middle of its mode."""

MOST_VALUES = 4096
"""More different values than that are put together with their neighbours for finding the modes."""

SPARSE = 1e-3
"""Concentration of the prior on the weights: the less, the fewer modes."""


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a column: where they lie, how wide they are, which share of the rows they hold."""

    means: FloatArray
    deviations: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.means)

    def shares(self, values: FloatArray) -> FloatArray:
        """How likely each mode is to be the origin of each value; rows sum to one."""
        apart = (values[:, None] - self.means) / self.deviations
        logs = np.log(self.weights / self.deviations) - 0.5 * apart**2
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def places(self, values: FloatArray, mode: IntArray) -> FloatArray:
        """Where each value lies in its mode, within −1 and 1."""
        return np.clip((values - self.means[mode]) / (SPREAD * self.deviations[mode]), -0.99, 0.99)

    def values(self, places: FloatArray, mode: IntArray) -> FloatArray:
        """The value at a place in a mode."""
        return np.asarray(self.means[mode] + SPREAD * self.deviations[mode] * places)


def fit_modes(values: FloatArray, counts: FloatArray, *, most: int = MOST_MODES, rounds: int = 200) -> Modes:
    """The modes of values that occur `counts` times each. Deterministic: it starts from clusters of the values."""
    values, counts = _coarse(np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64))
    total = counts.sum()
    middle = float(counts @ values / total)
    variance = max(float(counts @ (values - middle) ** 2 / total), 1e-12)
    most = max(1, min(most, len(values)))
    # the prior: one vague mode over everything; in one dimension the Wishart is a gamma distribution
    floor = variance * 1e-6
    shares = _clusters(values, counts, most)
    before = None
    for _ in range(rounds):
        held = counts @ shares + 1e-12
        centre = (counts * values) @ shares / held
        scatter = (counts[:, None] * shares * (values[:, None] - centre) ** 2).sum(axis=0)
        firm, degrees = 1.0 + held, 1.0 + held
        means = (middle + held * centre) / firm
        rate = variance + scatter + held / firm * (centre - middle) ** 2  # ν over the expected precision
        shares = _expected_shares(values, means, firm, degrees, rate, SPARSE + held)
        if before is not None and np.abs(held - before).max() < 1e-4 * total:
            break
        before = held
    weights = held / held.sum()
    kept = weights >= min(LEAST_WEIGHT, weights.max())
    deviations = np.sqrt(rate / degrees)[kept]
    return Modes(means[kept], np.maximum(deviations, np.sqrt(floor)), weights[kept] / weights[kept].sum())


def _clusters(values: FloatArray, counts: FloatArray, most: int) -> FloatArray:
    """To which of at most `most` clusters each of the rising values belongs, as shares of 0 and 1 (k-means on a line).

    It starts where a good quantiser has its points, at quantiles of the cube root of the density: at plain quantiles a
    value that half of the rows hold would be the middle of half of the clusters, and modes that begin alike stay alike
    for ever.
    """
    thinned = np.cbrt(counts)
    at = (np.arange(most) + 0.5) / most
    middles = np.unique(np.interp(at, (np.cumsum(thinned) - thinned / 2) / thinned.sum(), values))
    for _ in range(100):
        nearest = np.searchsorted((middles[1:] + middles[:-1]) / 2, values)
        held = np.bincount(nearest, counts, len(middles))
        sums = np.bincount(nearest, counts * values, len(middles))
        moved = sums[held > 0] / held[held > 0]
        if len(moved) == len(middles) and np.array_equal(moved, middles):
            break
        middles = moved
    return np.asarray(
        np.searchsorted((middles[1:] + middles[:-1]) / 2, values)[:, None] == np.arange(len(middles)), float
    )


def _expected_shares(
    values: FloatArray, means: FloatArray, firm: FloatArray, degrees: FloatArray, rate: FloatArray, counts: FloatArray
) -> FloatArray:
    """Responsibilities under the expected log-densities of the modes."""
    from scipy.special import digamma

    log_weight = digamma(counts) - digamma(counts.sum())
    log_precision = digamma(degrees / 2) - np.log(rate / 2)
    square = degrees / rate * (values[:, None] - means) ** 2 + 1 / firm
    logs = log_weight + 0.5 * log_precision - 0.5 * square
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _coarse(values: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most `MOST_VALUES` different values, rising: neighbours become their mean."""
    seen = counts > 0
    values, counts = values[seen], counts[seen]
    if not len(values):
        return np.zeros(1), np.ones(1)
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    if len(values) <= MOST_VALUES:
        return values, counts
    width = (values[-1] - values[0]) / MOST_VALUES
    cell = np.minimum(((values - values[0]) / width).astype(np.int64), MOST_VALUES - 1)
    held: FloatArray = np.bincount(cell, counts, MOST_VALUES).astype(np.float64)
    sums: FloatArray = np.bincount(cell, counts * values, MOST_VALUES).astype(np.float64)
    return sums[held > 0] / held[held > 0], held[held > 0]
