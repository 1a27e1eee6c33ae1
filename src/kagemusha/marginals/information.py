"""What two columns say about each other, from a table of their counts."""

from __future__ import annotations

import numpy as np

from kagemusha.arrays import FloatArray


def shares(table: FloatArray) -> FloatArray:
    """Counts as shares that sum to one; all zero where there is nothing."""
    total = float(table.sum())
    return np.asarray(table / total) if total > 0 else np.zeros_like(table)


def mutual_information(joint: FloatArray) -> float:
    """I(X, Y) = Σ p log(p / p_x p_y) in nats of a two-way table of counts or shares; never negative."""
    p = shares(joint)
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    occurs = (p > 0) & (independent > 0)  # a product of shares so small that it is 0 as a float adds nothing
    return max(0.0, float((p[occurs] * np.log(p[occurs] / independent[occurs])).sum()))


def chance_information(joint: FloatArray) -> float:
    """What independent columns show on average in n rows: about (r − 1)(c − 1) / 2n, r and c being codes that occur."""
    rows, columns = (int(np.count_nonzero(joint.sum(axis=axis))) for axis in (1, 0))
    total = float(joint.sum())
    return (rows - 1) * (columns - 1) / (2 * total) if total > 0 else 0.0
