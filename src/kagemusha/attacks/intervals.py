"""How sure a result is.

Trainings are independent; tables drawn from one training are not, and must not be counted as if they were. Arrays of
scores are (trainings, side, generations), side 0 without the target, side 1 with it; above zero says "with".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT

RATES = (0.1, 0.01, 0.001)
RESAMPLES = 400


@dataclass(frozen=True)
class Estimate:
    """A number and an interval that holds the truth with probability `level`."""

    value: float
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} – {self.high:.3f})"


def clustered_mean(clusters: FloatArray, *, level: float = 0.95) -> Estimate:
    """The mean of numbers between 0 and 1, one for each independent training: Student's interval.

    Where all agree the spread says nothing, and the interval is Clopper and Pearson's for so many trainings.
    """
    from scipy.stats import beta, t

    count = len(clusters)
    mean = float(clusters.mean())
    if count < 2:
        return Estimate(mean, 0.0, 1.0, level)
    spread = float(clusters.std(ddof=1))
    if spread < 1e-12:
        hits = mean * count
        low = 0.0 if hits <= 0 else float(beta.ppf((1 - level) / 2, hits, count - hits + 1))
        high = 1.0 if hits >= count else float(beta.ppf(1 - (1 - level) / 2, hits + 1, count - hits))
        return Estimate(mean, low, high, level)
    reach = float(t.ppf(1 - (1 - level) / 2, count - 1)) * spread / math.sqrt(count)
    return Estimate(mean, max(0.0, mean - reach), min(1.0, mean + reach), level)


def right(scores: FloatArray) -> FloatArray:
    """For every training the share of right answers, both sides counting the same."""
    return np.asarray(((scores[:, INSIDE] > 0).mean(axis=1) + (scores[:, WITHOUT] <= 0).mean(axis=1)) / 2)


def accuracy(scores: FloatArray, *, level: float = 0.95, exact_fit: bool = False) -> Estimate:
    """Share of right answers.

    With `exact_fit` (a fit that draws nothing at random) every generation is a trial of its own. Where every trial is
    one answer, the interval is never narrower than Clopper and Pearson's for so many answers.
    """
    from scipy.stats import beta

    pairs = ((scores[:, INSIDE] > 0).astype(float) + (scores[:, WITHOUT] <= 0)) / 2
    if not exact_fit and scores.shape[2] > 1:
        return clustered_mean(right(scores), level=level)
    found = clustered_mean(pairs.ravel(), level=level)
    count, hits = 2 * pairs.size, round(2 * float(pairs.sum()))
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, count - hits + 1))
    high = 1.0 if hits == count else float(beta.ppf(1 - tail, hits + 1, count - hits))
    return Estimate(found.value, min(found.low, low), max(found.high, high), level)


def roc(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """False and true positive rates, from (0, 0) to (1, 1), as the threshold falls; ties move together."""
    without, inside = scores[:, WITHOUT].ravel(), scores[:, INSIDE].ravel()
    thresholds = np.unique(np.concatenate([without, inside]))[::-1]
    false = 1 - np.searchsorted(np.sort(without), thresholds) / len(without)
    true = 1 - np.searchsorted(np.sort(inside), thresholds) / len(inside)
    return np.concatenate([[0.0], false]), np.concatenate([[0.0], true])


def area(scores: FloatArray) -> float:
    """Area under the ROC: how often a play with the target scores above one without; ties count half."""
    without, inside = np.sort(scores[:, WITHOUT].ravel()), scores[:, INSIDE].ravel()
    below = np.searchsorted(without, inside, side="left") + np.searchsorted(without, inside, side="right")
    return float(below.mean() / (2 * len(without)))


def true_rate(scores: FloatArray, rate: float) -> float:
    """TPR at a false positive rate of at most `rate`; NaN where there are too few plays to see such a rate."""
    if scores[:, WITHOUT].size * rate < 1:
        return math.nan
    false, true = roc(scores)
    return float(true[false <= rate + 1e-12].max())


def true_rates(scores: FloatArray, *, level: float = 0.95, seed: int = 0) -> dict[float, Estimate]:
    """TPR at each of RATES, with intervals from resampled trainings."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(scores), (RESAMPLES, len(scores)))
    found = {}
    for rate in RATES:
        value = true_rate(scores, rate)
        if math.isnan(value):
            continue
        again = [true_rate(scores[rows], rate) for rows in draws]
        low, high = np.quantile(again, [(1 - level) / 2, (1 + level) / 2])
        found[rate] = Estimate(value, float(min(low, value)), float(max(high, value)), level)
    return found


def p_value(scores: FloatArray, *, exact_fit: bool = False) -> float:
    """One-sided: how likely at least this many right answers are if the attacker guesses, by trainings.

    Where every trial is one answer, never less than the exact probability for so many coins.
    """
    from scipy.stats import binomtest, t

    clusters = right(scores)
    if exact_fit:
        clusters = (((scores[:, INSIDE] > 0).astype(float) + (scores[:, WITHOUT] <= 0)) / 2).ravel()
    spread = float(clusters.std(ddof=1)) if len(clusters) > 1 else 0.0
    mean = float(clusters.mean())
    if spread < 1e-12:
        # all trainings agree: as surprising as so many coins that fall alike
        return float(binomtest(round(mean * len(clusters)), len(clusters), alternative="greater").pvalue)
    found = float(t.sf((mean - 0.5) / (spread / math.sqrt(len(clusters))), len(clusters) - 1))
    if exact_fit or scores.shape[2] == 1:
        coins = 2 * len(clusters)
        found = max(found, float(binomtest(round(mean * coins), coins, alternative="greater").pvalue))
    return found
