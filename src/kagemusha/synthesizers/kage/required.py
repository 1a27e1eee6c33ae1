"""What tables that must be right say of columns and pairs, as the fit wants it.

Noise that is independent and alike in every cell is so in every sum of cells, and its centred parts are independent of
each other: a table with such noise is a measurement of each of its columns and of the interaction of each of its pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod, sqrt

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.schema.domain import Clique, Domain


def summed(table: NoisyMarginal, clique: Clique) -> NoisyMarginal:
    """The counts over some of a table's columns, in its order."""
    gone = tuple(axis for axis, name in enumerate(table.clique) if name not in clique)
    cells = prod(table.values.shape[axis] for axis in gone)
    kept = tuple(name for name in table.clique if name in clique)
    return NoisyMarginal(kept, table.values.sum(axis=gone, dtype=np.int64), table.sigma * sqrt(cells))


def columns_in(required: Sequence[NoisyMarginal]) -> Iterator[NoisyMarginal]:
    """Every column of every table."""
    return (summed(table, (name,)) for table in required for name in table.clique)


def interactions_of(domain: Domain, required: Sequence[NoisyMarginal]) -> list[NoisyInteraction]:
    """The interaction of every pair of every table, code by code; of a pair in several tables, the least noisy one."""
    found: dict[Clique, NoisyMarginal] = {}
    for table in required:
        for pair in combinations(table.clique, 2):
            own = summed(table, pair)
            if min(own.values.shape) > 1 and (pair not in found or own.sigma < found[pair].sigma):
                found[pair] = own
    alone = {name: np.arange(domain.size(name)) for name in domain}
    return [
        NoisyInteraction(Interaction(pair, (alone[pair[0]], alone[pair[1]])), _centred(own.values), own.sigma)
        for pair, own in found.items()
    ]


def _centred(counts: IntArray) -> FloatArray:
    table = counts.astype(np.float64)
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table
