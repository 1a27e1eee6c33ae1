"""Rows that lend to others: alike in the column that tells most of what is borrowed."""

from __future__ import annotations

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.marginals.information import chance_information, mutual_information


def choose_donors(
    codes: IntArray, wanted: IntArray, donors: IntArray, axes: IntArray, rng: np.random.Generator
) -> IntArray:
    """A donor for each wanted row, one with the same value in the column that tells most of those to be borrowed."""
    others = [axis for axis in range(codes.shape[1]) if axis not in axes.tolist()]
    chosen = rng.choice(donors, len(wanted))
    if not others:
        return chosen
    seen = donors[:20_000]
    best = max(others, key=lambda axis: max(_information(codes[seen, axis], codes[seen, own]) for own in axes))
    order = donors[np.argsort(codes[donors, best], kind="stable")]
    keys = codes[order, best]
    first, last = (np.searchsorted(keys, codes[wanted, best], side=side) for side in ("left", "right"))
    there = last > first
    chosen[there] = order[first[there] + (rng.random(int(there.sum())) * (last - first)[there]).astype(np.int64)]
    return chosen


def _information(a: IntArray, b: IntArray) -> float:
    """Mutual information of two columns of codes, in nats, less what chance alone gives."""
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    sizes = int(x.max()) + 1, int(y.max()) + 1
    joint = np.bincount(x * sizes[1] + y, minlength=sizes[0] * sizes[1]).reshape(sizes).astype(np.float64)
    return mutual_information(joint) - chance_information(joint)
