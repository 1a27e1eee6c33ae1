"""What scores of two worlds prove: error rates with their uncertainty, and the least μ, ρ and ε that fit them.

Two ways to bound μ, both exact for any number of runs. *Together*: right answers of both worlds are one sum of
independent trials whose mean rate is at most Φ(μ/2) under μ; such a sum is never further out than a binomial of that
rate (Hoeffding 1956). *Apart*: a bound on false alarms and one on misses. The first is sharper where both worlds err
alike, as under Gaussian noise; the second where only one does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray

ORDERS = (1.01, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0, 14.0, 20.0)
"""Orders of divergence that a bound on ρ tries; any of them bounds it."""

THRESHOLDS = 99
"""Thresholds that the first runs choose from."""


@dataclass(frozen=True)
class Proved:
    """Lower bounds that hold with probability 1 − `risk`, and how they were found."""

    mu: float
    epsilon: float
    """At the δ that was asked for."""
    rho: float
    """The ρ of zCDP: the Rényi divergence of right and wrong answers, over its order."""
    accuracy: float
    """Of the best threshold, on runs that did not choose it."""
    runs: int
    risk: float


def proved(
    without: FloatArray, inside: FloatArray, *, delta: float, risk: float = 1e-4, threshold: float | None = None
) -> Proved:
    """Lower bounds on μ and ε from scores of as many runs without a person as with them; high scores mean "with".

    A quarter of the runs chooses thresholds, the others judge them. Where a `threshold` is known beforehand (0 for
    privacy losses), all runs judge that one too. The risk is shared out: half to ε, half to μ or ρ (a promise is of one
    or the other), over the ways that are tried.
    """
    size = min(len(without), len(inside))
    first = max(1, size // 4)
    early, late = (without[:first], inside[:first]), (without[first:size], inside[first:size])
    grid = np.unique(np.quantile(np.concatenate(early), np.linspace(0.005, 0.995, THRESHOLDS)))
    mu, rho = [], []
    part = risk / 2
    if threshold is not None:
        part = risk / 4
        whole = _Counts(without[:size], inside[:size], np.array([threshold]))
        mu.append(float(_mu_together(whole, part)[0]))
        rho.append(float(_rho(whole, part)[0]))
    tried = _Counts(*early, grid)
    best = max((_mu_together, _mu_apart), key=lambda way: float(way(tried, part).max()))
    at = grid[[int(np.argmax(best(tried, part)))]]
    mu.append(float(best(_Counts(*late, at), part)[0]))
    at = grid[[int(np.argmax(_rho(tried, part)))]]
    rho.append(float(_rho(_Counts(*late, at), part)[0]))
    at = grid[[int(np.argmax(_epsilon(tried, risk / 2, delta)))]]
    epsilon = float(_epsilon(_Counts(*late, at), risk / 2, delta)[0])
    middle = grid[[int(np.argmax(tried.right))]]
    accuracy = float(_Counts(*late, middle).right[0])
    return Proved(max(0.0, *mu), max(0.0, epsilon), max(0.0, *rho), accuracy, 2 * size, risk)


class _Counts:
    """False alarms and misses at each threshold, of `size` runs in each world."""

    def __init__(self, without: FloatArray, inside: FloatArray, thresholds: FloatArray) -> None:
        self.size = len(without)
        self.alarms: IntArray = self.size - np.searchsorted(np.sort(without), thresholds)
        self.misses: IntArray = np.searchsorted(np.sort(inside), thresholds)

    @property
    def right(self) -> FloatArray:
        """Share of right answers."""
        return np.asarray(1 - (self.alarms + self.misses) / (2 * max(1, self.size)))

    def most(self, risk: float) -> tuple[FloatArray, FloatArray]:
        """Upper bounds on both error rates, each wrong with probability `risk` at most."""
        return _at_most(self.alarms, self.size, risk), _at_most(self.misses, self.size, risk)


def _at_most(wrong: IntArray, size: int, risk: float) -> FloatArray:
    """Clopper and Pearson's upper bound on a rate."""
    from scipy.stats import beta

    if not size:
        return np.ones(len(wrong))
    return np.where(wrong >= size, 1.0, beta.ppf(1 - risk, wrong + 1, np.maximum(size - wrong, 1)))


def _mu_together(counts: _Counts, risk: float) -> FloatArray:
    from scipy.special import ndtri

    wrong = _at_most(counts.alarms + counts.misses, 2 * counts.size, risk)
    return np.asarray(-2 * ndtri(np.minimum(wrong, 0.5)))


def _mu_apart(counts: _Counts, risk: float) -> FloatArray:
    from scipy.special import ndtri

    alarm, miss = counts.most(risk / 2)
    sure = (alarm < 1) & (miss < 1)
    return np.where(sure, -ndtri(np.where(sure, alarm, 0.5)) - ndtri(np.where(sure, miss, 0.5)), 0.0)


def _rho(counts: _Counts, risk: float) -> FloatArray:
    """What ρ-zCDP allows: no answer from a release diverges more between worlds than ρ times the divergence's order.

    Rates further apart than the bounds on them are further apart in every divergence, so the bounds may stand for them.
    """
    alarm, miss = counts.most(risk / 2)
    apart = alarm + miss < 1
    found = np.zeros(len(alarm))
    for p, q in ((1 - miss, alarm), (1 - alarm, miss)):
        p, q = np.where(apart, p, 0.5), np.where(apart, q, 0.5)
        for order in ORDERS:
            with np.errstate(divide="ignore"):
                yes = order * np.log(p) + (1 - order) * np.log(q)
                no = order * np.log(1 - p) + (1 - order) * np.log(1 - q)
            found = np.maximum(found, np.where(apart, np.logaddexp(yes, no) / (order - 1) / order, 0.0))
    return found


def _epsilon(counts: _Counts, risk: float, delta: float) -> FloatArray:
    """What (ε, δ) allows: 1 − miss ≤ e^ε·alarm + δ, and the same the other way round.

    Half of the risk is for both worlds together: the mean rate of right answers is at most (e^ε + δ)/(1 + e^ε).
    """
    alarm, miss = counts.most(risk / 4)
    wrong_of_all = _at_most(counts.alarms + counts.misses, 2 * counts.size, risk / 2)
    better = (wrong_of_all > 0) & (1 - delta - 2 * wrong_of_all > 0)
    odds = np.where(better, (1 - delta - wrong_of_all) / np.where(better, wrong_of_all, 1.0), 1.0)
    found = np.log(odds)
    for hit, wrong in ((1 - miss - delta, alarm), (1 - alarm - delta, miss)):
        sure = (hit > 0) & (wrong > 0)
        found = np.maximum(found, np.where(sure, np.log(np.where(sure, hit, 1.0) / np.where(sure, wrong, 1.0)), 0.0))
    return found
