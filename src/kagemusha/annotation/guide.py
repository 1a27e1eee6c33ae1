"""Which pairs of columns matter for what the judge does not know yet: derived from doubles and labels alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.schema.domain import Clique, Domain

LEAST = 0.25
"""What a pair counts that tells nothing about where the judge is unsure, when the most telling one counts 1."""


def importance(domain: Domain, pairs: Sequence[Clique], columns: Sequence[Codes], weights: IntArray) -> list[int]:
    """How much each pair counts, in units of 2⁻¹², from LEAST to 1.

    `columns` are doubles and `weights` how unsure the judge is about each (`Weights`). A pair counts by the share of
    the weights' variance that its cells explain, less what as many cells would explain by chance, next to the pair that
    explains most.
    """
    explained = np.array([_explained(domain, pair, columns, weights.astype(np.float64)) for pair in pairs])
    most = float(explained.max(initial=0.0))
    if not most > 0:
        return [UNITS_PER_COUNT] * len(pairs)
    found = np.floor(UNITS_PER_COUNT * (LEAST + (1 - LEAST) * explained / most))
    return [int(x) for x in found]


def _explained(domain: Domain, pair: Clique, columns: Sequence[Codes], weights: np.ndarray) -> float:
    """Adjusted R² of the weights by the cells of a pair, not below 0."""
    flat = columns[domain.axis(pair[0])] * domain.size(pair[1]) + columns[domain.axis(pair[1])]
    count = np.bincount(flat, minlength=domain.cells(pair))
    seen, rows = count > 0, len(weights)
    means = np.bincount(flat, weights, minlength=len(count))[seen] / count[seen]
    whole = float(((weights - weights.mean()) ** 2).sum())
    between = float((count[seen] * (means - weights.mean()) ** 2).sum())
    free = rows - int(seen.sum())
    if not whole > 0 or free < 1:
        return 0.0
    return max(0.0, 1 - (whole - between) / whole * (rows - 1) / free)
