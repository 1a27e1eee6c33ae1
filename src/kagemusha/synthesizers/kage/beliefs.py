"""What is believed of every pair before any is measured: made of the columns' noisy tables and the pairs' noisy scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.privacy.reach import COUNTS
from kagemusha.privacy.unit import PrivacyUnit
from kagemusha.queries.interactions import Interaction
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.choice import Pairs
from kagemusha.synthesizers.kage.state import Gathered
from kagemusha.synthesizers.noise_cost import MEAN_ABSOLUTE, gaussian_sigma

KEPT = 0.7
"""Share of a pair's raw noise that is left after estimation: neighbours, signs and the ridge take the rest."""

COLUMN_KEPT = 0.7
"""The same for a column's noise."""

ONE_WAY = 0.5
"""How much the mean error of columns counts beside that of pairs."""

FELT = 0.3
"""A cell that expects this many deviations of noise feels all of it, one that expects less only a part."""


def believed(
    known: Gathered,
    queries: Sequence[Interaction],
    errors: FloatArray,
    typical: float,
    unit: PrivacyUnit,
    left: float,
    before: float,
    importance: Callable[[Clique], float],
) -> Pairs:
    """Errors and what noise would do to them if all that is `left` (ρ) were spent; `before` is what columns had, over that.

    `errors` are the scores of the `queries`, `typical` is the noise that a cell of a pair may have.
    """
    total = known.columns.total
    sigma = gaussian_sigma(unit, left)
    sensitivity = np.array([unit.sensitivity(q.reach).l2_squared for q in queries], dtype=np.float64)
    # in records, a pair's noise over all its cells is √(Δ²/2ρ): the number of cells is in Δ already
    weights = np.sqrt(sensitivity / unit.sensitivity(COUNTS).l2_squared)
    felt = np.array([_felt(known, q, typical) for q in queries])
    # the error of two columns that determine each other is 2·N·(1 − 1/codes)
    most = np.array([2 * total * (1 - 1 / min(q.shape)) if min(q.shape) > 1 else 1.0 for q in queries])
    split = sum(size ** (2 / 3) for size in known.domain.sizes)
    column = {n: _column_error(t, sigma * math.sqrt(split / len(t) ** (2 / 3))) for n, t in known.tables.items()}
    in_pairs = np.array([sum(column[n] ** 2 for n in q.clique) for q in queries])
    # the first look at columns was noisy, and that is part of every distance from their product
    errors = np.sqrt(np.maximum(errors**2 - in_pairs / before, 0.0))
    return Pairs(
        [q.clique for q in queries],
        np.where(sensitivity > 0, errors, 0.0),
        np.minimum(errors / most, 1.0),
        weights * felt,
        in_pairs,
        ONE_WAY * sum(column.values()) * len(queries) / len(known.domain),
        np.array([importance(q.clique) for q in queries]),
        noise=KEPT * MEAN_ABSOLUTE * sigma,
        before=before,
    )


def _felt(known: Gathered, query: Interaction, sigma: float) -> float:
    """The share of a pair's cells that feel noise of this deviation: those that expect no more records than it have little to lose."""
    one, two = (np.bincount(g, known.tables[n]) for g, n in zip(query.groups, query.clique, strict=True))
    expected = np.outer(one, two) / known.columns.total
    return max(float(np.minimum(1.0, expected / (FELT * sigma)).mean()), 1e-3)


def _column_error(table: FloatArray, sigma: float) -> float:
    """What noise of this deviation leaves in a column: at most what its rare codes hold."""
    return COLUMN_KEPT * MEAN_ABSOLUTE * float(np.minimum(sigma, table + 0.1 * sigma).sum())
