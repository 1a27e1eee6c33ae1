"""What is believed of every pair before any is measured: made of the columns' noisy tables and the pairs' noisy scores."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.privacy.unit import PrivacyUnit
from kagemusha.queries.interactions import Interaction
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.choice import Pairs
from kagemusha.synthesizers.kage.dependence import column_errors
from kagemusha.synthesizers.kage.looks import Looks
from kagemusha.synthesizers.kage.resolution import FELT, kept
from kagemusha.synthesizers.kage.state import Gathered
from kagemusha.synthesizers.noise_cost import MEAN_ABSOLUTE, gaussian_sigma

ONE_WAY = 0.5
"""How much the mean error of columns counts beside that of pairs."""


def believed(
    looks: Looks, unit: PrivacyUnit, left: float, before: float, importance: Callable[[Clique], float]
) -> Pairs:
    """Errors and what noise would do to them if all that is `left` (ρ) were spent; `before` is what columns had, over that."""
    known, queries, seen = looks.known, looks.queries, looks.dependence
    worth = np.array([min(q.shape) > 1 for q in queries])
    column = column_errors(known, unit, left)
    return Pairs(
        [q.clique for q in queries],
        np.where(worth, seen.signal, 0.0),
        seen.strength,
        _weights(looks),
        np.array([sum(column[n] ** 2 for n in q.clique) for q in queries]),
        ONE_WAY * sum(column.values()) * len(queries) / len(known.domain),
        np.array([importance(q.clique) for q in queries]),
        noise=MEAN_ABSOLUTE * gaussian_sigma(unit, left),
        before=before,
        floor=np.where(worth, seen.floor, 0.0),
        rest=looks.rest,
    )


def _weights(looks: Looks) -> FloatArray:
    """What a pair's noise comes to, over the noise of one count: in records, all its cells together have √(Δ²/2ρ)."""
    raw = np.array([math.prod(math.sqrt(n * (n - 1)) for n in q.shape) for q in looks.queries])
    felt = np.array([_felt(looks.known, q, looks.typical) for q in looks.queries])
    usual = MEAN_ABSOLUTE * looks.typical
    return kept(usual * raw * felt, looks.dependence.left_out, looks.dependence.strength) / usual


def _felt(known: Gathered, query: Interaction, sigma: float) -> float:
    """The share of a pair's cells that feel noise of this deviation: those that expect no more records than it have little to lose."""
    one, two = (np.bincount(g, known.tables[n]) for g, n in zip(query.groups, query.clique, strict=True))
    expected = np.outer(one, two) / known.columns.total
    return max(float(np.minimum(1.0, expected / (FELT * sigma)).mean()), 1e-3)
