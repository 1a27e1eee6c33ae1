"""From which size on groups are counted rightly: one rule for what is measured and for what is expected."""

from __future__ import annotations

import numpy as np

from kagemusha.arrays import FloatArray

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
