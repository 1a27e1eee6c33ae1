"""Which pairs to measure and what each may cost, from noisy errors alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.schema.domain import Clique


@dataclass(frozen=True)
class Choice:
    """Chosen pairs (positions), the share of what is left each gets, and the share that goes to columns again."""

    pairs: tuple[int, ...]
    shares: tuple[float, ...]
    columns: float
    predicted: float
    """Total error of all pairs that this choice should lead to."""


def shrunk(noisy: FloatArray, sigma: float) -> FloatArray:
    """Noisy errors moved towards their mean by how much of their spread is noise, never below 0."""
    if len(noisy) < 3:
        return np.maximum(noisy, 0.0)
    mean, spread = float(noisy.mean()), float(noisy.var())
    signal = max(0.0, 1 - sigma**2 / spread) if spread > 0 else 0.0
    return np.maximum(mean + signal * (noisy - mean), 0.0)


def choose(
    pairs: Sequence[Clique],
    errors: FloatArray,
    weights: FloatArray,
    fits: Callable[[list[Clique], Clique], bool],
    *,
    noise: float,
    column_noise: float,
    before: float,
) -> Choice:
    """Least predicted total error over how many pairs to take and how much to give the columns again.

    `weights` w say how noise hurts a pair: measured at a share q of what is left it gets the error noise·w/√q. The
    best split is q ∝ w^(2/3), with the error noise·(Σ w^(2/3))^(3/2). A pair left out keeps its error. Columns now
    have the error column_noise/√before in all pairs together, before = what they were given over what is left.
    """
    price = weights ** (2 / 3)
    order = np.argsort(-errors / price, kind="stable")
    taken: list[int] = []
    spent = 0.0
    for i in order:
        # with the best split, a pair is worth its error if that exceeds the growth of everyone's noise
        if errors[i] <= noise * ((spent + price[i]) ** 1.5 - spent**1.5):
            break
        if fits([pairs[j] for j in taken], pairs[i]):
            taken.append(int(i))
            spent += float(price[i])
    left_out = float(errors.sum()) - np.concatenate([[0.0], np.cumsum(errors[taken])])
    grown = np.concatenate([[0.0], np.cumsum(price[taken])]) ** 1.5 * noise
    best, count, columns = math.inf, 0, 1.0
    for share in np.linspace(0.0, 0.95, 20):
        predicted = grown / math.sqrt(1 - share) + left_out + column_noise / math.sqrt(before + share)
        k = int(np.argmin(predicted))
        if predicted[k] < best:
            best, count, columns = float(predicted[k]), k, float(share)
    taken = taken[:count]
    if not taken:
        return Choice((), (), 1.0, best)
    total = float(price[taken].sum())
    return Choice(tuple(taken), tuple((1 - columns) * float(price[i]) / total for i in taken), columns, best)
