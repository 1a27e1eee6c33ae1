"""How far one synthetic column is from the real one: total variation, Kolmogorov–Smirnov, Wasserstein."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.columns.bins import spans
from kagemusha.marginals.information import shares
from kagemusha.quality.projectable import CodedTable, Projectable, compared
from kagemusha.schema import Measured, Modelled, Schema


def total_variation(first: FloatArray, second: FloatArray) -> float:
    """Half the L1 distance of two tables of counts as shares: the share of rows that would have to change."""
    return float(np.abs(shares(first) - shares(second)).sum() / 2)


def kolmogorov_smirnov(first: FloatArray, second: FloatArray) -> float:
    """The largest difference of the distribution functions of two tables over the same rising positions.

    1 where only one of them is empty, 0 where both are.
    """
    if (first.sum() > 0) != (second.sum() > 0):
        return 1.0
    return float(np.abs(np.cumsum(shares(first) - shares(second))).max(initial=0.0))


def wasserstein(first: FloatArray, second: FloatArray, positions: NDArray[Any]) -> float:
    """The least mean distance that records must be moved to turn one table over rising positions into the other.

    Where only one of them is empty, the whole length of the axis; 0 where both are.
    """
    if (first.sum() > 0) != (second.sum() > 0):
        return float(positions[-1] - positions[0])
    distances = np.abs(np.cumsum(shares(first) - shares(second)))[:-1]
    return float((distances * np.diff(positions)).sum())


def positions(column: Measured) -> FloatArray:
    """The middle of every bin on the column's axis."""
    start, end = spans(column, np.arange(column.n_values))
    last = end if not column.whole else end - 1
    return np.asarray((start + last) / 2, dtype=np.float64)


def span_of(column: Measured) -> float:
    """Length of the column's axis, never zero."""
    return float(column.high - column.low) or 1.0


@dataclass(frozen=True)
class ColumnDistance:
    """One column, real against synthetic; shares, so that 0 is perfect and 1 the worst possible."""

    column: str
    kind: str
    total_variation: float
    kolmogorov_smirnov: float | None
    """Of values that are there; None for labels, which have no order."""
    wasserstein: float | None
    """As a share of the declared range; None for labels."""
    missing_real: float
    missing_synthetic: float


def column_distances(real: Projectable, synthetic: Projectable, schema: Schema) -> list[ColumnDistance]:
    """Every column's distances."""
    columns = {column.name: column for column in schema.modelled}
    return [
        _distance(columns[clique[0]], p, q)
        for clique, p, q in compared(real, synthetic, [(name,) for name in real.domain])
    ]


def _distance(column: Modelled, p: FloatArray, q: FloatArray) -> ColumnDistance:
    missing = [0.0, 0.0] if column.missing_code is None else [float(t[column.missing_code]) for t in (p, q)]
    ks = moved = None
    axis = column.axis
    if axis is not None:
        there = slice(0, column.n_values)
        ks = kolmogorov_smirnov(p[there], q[there])
        moved = min(1.0, wasserstein(p[there], q[there], positions(axis)) / span_of(axis))
    return ColumnDistance(column.name, column.kind, total_variation(p, q), ks, moved, missing[0], missing[1])


def unseen(real: CodedTable, synthetic: CodedTable) -> dict[str, tuple[int, int]]:
    """For each column, how many codes occur only in the real table and how many only in the synthetic one."""
    found = {}
    for (name,), p, q in compared(real, synthetic, [(n,) for n in real.domain]):
        found[name] = (int(((p > 0) & (q == 0)).sum()), int(((q > 0) & (p == 0)).sum()))
    return found
