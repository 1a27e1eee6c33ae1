"""What scores of two worlds prove: error rates with their uncertainty, and the least μ and ε that fit them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray

THRESHOLDS = 99
"""Thresholds that the first runs choose from."""


@dataclass(frozen=True)
class Proved:
    """Lower bounds that hold with probability 1 − `risk`, and how they were found."""

    mu: float
    epsilon: float
    """At the δ that was asked for."""
    accuracy: float
    """Of the best threshold, on runs that did not choose it."""
    runs: int
    risk: float


def proved(without: FloatArray, inside: FloatArray, *, delta: float, risk: float = 1e-4) -> Proved:
    """Lower bounds on μ and ε from scores of runs without a person and with them; high scores mean "with".

    A quarter of the runs chooses a threshold for each bound, the others judge it, by Clopper and Pearson's bounds on both error
    rates; the risk of being wrong is shared out over the four.
    """
    first = max(1, len(without) // 4)
    grid = np.unique(
        np.quantile(np.concatenate([without[:first], inside[:first]]), np.linspace(0.005, 0.995, THRESHOLDS))
    )
    bounds = (_mu, lambda alarm, miss: _epsilon(alarm, miss, delta))
    found = []
    for bound in bounds:
        tried = [bound(*_rates(without[:first], inside[:first], t, risk / 4)) for t in grid]
        best = grid[int(np.argmax(tried))]
        found.append(max(0.0, bound(*_rates(without[first:], inside[first:], best, risk / 4))))
    middle = grid[int(np.argmin([_mistakes(without[:first], inside[:first], t) for t in grid]))]
    accuracy = 1 - _mistakes(without[first:], inside[first:], middle)
    return Proved(found[0], found[1], accuracy, len(without) + len(inside), risk)


def _mistakes(without: FloatArray, inside: FloatArray, threshold: float) -> float:
    return float((without >= threshold).mean() + (inside < threshold).mean()) / 2


def _rates(without: FloatArray, inside: FloatArray, threshold: float, risk: float) -> tuple[float, float]:
    """Upper bounds on the rates of false alarms and of misses."""
    from scipy.stats import beta

    wrong = int((without >= threshold).sum()), int((inside < threshold).sum())
    sizes = len(without), len(inside)
    ends = [1.0 if k == n else float(beta.ppf(1 - risk, k + 1, n - k)) for k, n in zip(wrong, sizes, strict=True)]
    return ends[0], ends[1]


def _mu(alarm: float, miss: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(alarm) - ndtri(miss)) if alarm < 1 and miss < 1 else 0.0


def _epsilon(alarm: float, miss: float, delta: float) -> float:
    """What (ε, δ) allows: 1 − miss ≤ e^ε·alarm + δ, and the same the other way round."""
    sides = ((1 - miss - delta, alarm), (1 - alarm - delta, miss))
    return max((math.log(hit / wrong) for hit, wrong in sides if hit > 0 and wrong > 0), default=0.0)
