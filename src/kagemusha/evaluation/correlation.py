"""Correlation of numbers and association of labels, real against synthetic, from two-way tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.distances import positions
from kagemusha.marginals.information import shares
from kagemusha.quality.projectable import Projectable, compared
from kagemusha.schema import Clique, Schema


def pearson(joint: FloatArray, first: FloatArray, second: FloatArray) -> float:
    """Correlation of two numbers with a two-way table at these positions; 0 where one of them is constant."""
    p = shares(joint)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    x, y = first - rows @ first, second - columns @ second
    variance = float(rows @ x**2) * float(columns @ y**2)
    # a constant column leaves only the rounding of its mean
    tiny = 1e-24 * float(np.abs(first).max(initial=0) ** 2 * np.abs(second).max(initial=0) ** 2)
    if variance <= tiny:
        return 0.0
    return float(np.clip(x @ p @ y / np.sqrt(variance), -1.0, 1.0))


def cramers_v(joint: FloatArray) -> float:
    """Association of two columns from 0 (independent) to 1; 0 where one of them is constant."""
    p = shares(joint)
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    occurs = expected > 0
    freedom = min(int((p.sum(axis=1) > 0).sum()), int((p.sum(axis=0) > 0).sum())) - 1
    if freedom < 1:
        return 0.0
    squared = float(((p[occurs] - expected[occurs]) ** 2 / expected[occurs]).sum()) / freedom
    return float(np.sqrt(min(1.0, max(0.0, squared))))


@dataclass(frozen=True)
class Correlations:
    """For each pair, the value in the real and in the synthetic table."""

    pearson: Mapping[Clique, tuple[float, float]]
    """Pairs of numbers."""
    association: Mapping[Clique, tuple[float, float]]
    """All pairs, by Cramér's V."""

    @staticmethod
    def difference(values: Mapping[Clique, tuple[float, float]]) -> float | None:
        """Mean absolute difference; None where there is no pair."""
        return float(np.mean([abs(a - b) for a, b in values.values()])) if values else None


def compare_correlations(real: Projectable, synthetic: Projectable, schema: Schema) -> Correlations:
    """Correlations of all pairs on both sides; missing values are left out of Pearson's."""
    numbers = schema.measured
    places = {name: positions(column) for name, column in numbers.items()}
    linear: dict[Clique, tuple[float, float]] = {}
    association: dict[Clique, tuple[float, float]] = {}
    for pair, p, q in compared(real, synthetic, list(combinations(real.domain.names, 2))):
        association[pair] = cramers_v(p), cramers_v(q)
        if all(name in numbers for name in pair):
            a, b = pair
            there = np.s_[: numbers[a].n_values, : numbers[b].n_values]
            linear[pair] = pearson(p[there], places[a], places[b]), pearson(q[there], places[a], places[b])
    return Correlations(linear, association)
