"""From which size on groups are counted rightly: one rule for what is measured and for what is expected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.quality.released import NoisyTable

WITHIN = 0.10
"""A count is right if it is off by at most this share of itself."""

STEP = 1.1
SURE = 0.9
"""Share of groups that must be right."""


def right_from(sizes: FloatArray, right: FloatArray) -> float | None:
    """The smallest size from which on nine of ten groups are right, among those up to twice as large as any size above it.

    `right` says of each group whether it is (1 or 0), or how likely. None if not even the largest groups are.
    """
    order = np.argsort(sizes)
    sizes, right = sizes[order], right[order]
    sums = np.concatenate([[0.0], np.cumsum(right)])
    if not len(sizes) or sizes[-1] < 1:
        return None
    reached = None
    size = float(sizes[-1])
    while size >= 1:
        first, last = np.searchsorted(sizes, [size, 2 * size], side="left")
        if last > first and sums[last] - sums[first] < SURE * (last - first):
            break
        reached = size
        size /= STEP
    return None if reached is None else float(sizes[np.searchsorted(sizes, reached)])


def group_sizes(
    table: FloatArray, released: Sequence[NoisyTable], error: float, scale: float
) -> tuple[float | None, float]:
    """From which size on groups of a model's table are right to within 10 %, and the share of people in such groups.

    A cell is as likely to be right as its noisy counts say (where its codes were measured alone), and drawing doubles adds chance
    of its own: one stands for `scale` people. Whatever is known, no cell can be off by more than half of the table's whole `error`.
    """
    model = table.ravel()
    chance = (model * WITHIN >= error / 2).astype(np.float64)
    for noisy in released:
        alone = np.ones(table.shape, dtype=bool)
        for axis, group in enumerate(noisy.groups or ()):
            alone &= (np.bincount(group)[group] == 1).reshape([-1 if i == axis else 1 for i in range(table.ndim)])
        y = noisy.values if noisy.groups is None else noisy.values[np.ix_(*noisy.groups)]
        chance = np.maximum(chance, np.where(alone.ravel(), _likely(model, y.ravel(), noisy.sigma, scale), 0.0))
    there = model > 0.5
    size = right_from(model[there], chance[there])
    if size is None:
        return None, 0.0
    return size, float(model[model >= size].sum() / max(float(model.sum()), 1e-12))


def _likely(model: FloatArray, noisy: FloatArray, sigma: float, scale: float) -> FloatArray:
    """For each cell, the chance that doubles show its true count to within 10 %, given its noisy count."""
    from scipy.special import ndtr

    spread = np.sqrt(max(sigma, 1e-9) ** 2 + scale * np.maximum(model, 0.0))
    return np.asarray(ndtr(((1 + WITHIN) * model - noisy) / spread) - ndtr(((1 - WITHIN) * model - noisy) / spread))
