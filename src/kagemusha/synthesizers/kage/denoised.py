"""A column's noisy counts, nearer to the truth: what differs no more than noise does is drawn together.

Codes without an order are drawn towards their mean, those of an ordered column towards their neighbours, level by level (the differences
between halves, quarters, eighths and so on, which are Haar's wavelets). How far is told by the known noise: of the squared
differences of a level, what noise does not explain is signal, and they keep the share of signal (James and Stein's estimate).
A difference that stands out keeps all of it, so a spike stays a spike. Reads nothing but released counts.
"""

from __future__ import annotations

import numpy as np

from kagemusha.arrays import FloatArray

STANDS_OUT = 3.0
"""A difference of more than this many deviations is no noise."""

FEWEST = 3
"""Fewer differences than this say nothing about how much of them is noise: they are left as they are."""


def denoised(noisy: FloatArray, sigma: float, ordered: int) -> FloatArray:
    """Counts with noise of deviation `sigma`, the first `ordered` of which have an order; their sum stays the same."""
    if sigma <= 0:
        return noisy
    if ordered > FEWEST:
        return np.concatenate([_by_neighbours(noisy[:ordered], sigma), noisy[ordered:]])
    return _by_mean(noisy, sigma)


def kept(differences: FloatArray, sigma: float) -> FloatArray:
    """The share of each difference that is kept, 0 to 1."""
    usual = np.abs(differences) <= STANDS_OUT * sigma
    share = np.ones(len(differences))
    if usual.sum() >= FEWEST:
        squared = float((differences[usual] ** 2).mean())
        share[usual] = max(0.0, 1 - sigma**2 / squared) if squared > 0 else 0.0
    return share


def _by_mean(noisy: FloatArray, sigma: float) -> FloatArray:
    usual = np.ones(len(noisy), dtype=bool)
    for _ in range(len(noisy)):
        # what stands out does not say where the others lie
        still = usual & (np.abs(noisy - noisy[usual].mean()) <= STANDS_OUT * max(sigma, float(noisy[usual].std())))
        if still.sum() == usual.sum() or still.sum() < FEWEST:
            break
        usual = still
    if usual.sum() <= FEWEST:
        return noisy
    found = noisy.copy()
    rest = noisy[usual]
    # their mean is one of them: as many differences less
    spread = float(((rest - rest.mean()) ** 2).sum()) / (len(rest) - 1)
    share = max(0.0, 1 - sigma**2 / spread) if spread > 0 else 0.0
    found[usual] = rest.mean() + share * (rest - rest.mean())
    return found


def _by_neighbours(noisy: FloatArray, sigma: float) -> FloatArray:
    upto = np.concatenate([[0.0], np.cumsum(noisy)])
    edges = np.array([0, len(noisy)])
    means = np.array([noisy.mean()])
    while len(means) < len(noisy):
        first, last = edges[:-1], edges[1:]
        middle = (first + last + 1) // 2
        split = middle < last
        a, b = (middle - first)[split], (last - middle)[split]
        left = (upto[middle] - upto[first])[split] / a
        right = (upto[last] - upto[middle])[split] / b
        # of the same deviation as the counts themselves
        differences = (left - right) * np.sqrt(a * b / (a + b))
        gap = (left - right) * kept(differences, sigma)
        halves = np.repeat(means, 1 + split)
        starts = np.cumsum(1 + split) - 1 - split
        halves[starts[split]] += gap * b / (a + b)
        halves[starts[split] + 1] -= gap * a / (a + b)
        edges = np.sort(np.concatenate([edges, middle[split]]))
        means = halves
    return means
