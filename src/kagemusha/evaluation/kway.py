"""k-way error: how far synthetic tables of counts are from the real ones, over all sets of k columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import UsageError
from kagemusha.quality.projectable import CodedTable, Projectable, compared, same_columns
from kagemusha.schema import Clique, Domain

MOST = 1000
"""Sets of columns looked at before a random sample of them has to do."""

DENSE_CELLS = 2**22
"""Sets of columns with more cells are compared over the combinations that occur."""


@dataclass(frozen=True, eq=False)
class KwayErrors:
    """‖p_r(D) − p_r(D̂)‖₁ / |D| for sets r of k columns, D̂ scaled to |D| rows; each lies between 0 and 2."""

    k: int
    cliques: Sequence[Clique]
    errors: FloatArray
    of: int
    """How many sets of k columns there are; more than `cliques` when they were sampled."""

    @property
    def mean(self) -> float:
        """The k-way error."""
        return float(self.errors.mean())

    @property
    def sampled(self) -> bool:
        """Whether only some of the sets were looked at."""
        return len(self.cliques) < self.of

    @property
    def standard_error(self) -> float:
        """Of the mean, from looking at a sample of the sets; 0 when all were looked at."""
        if not self.sampled:
            return 0.0
        return float(self.errors.std(ddof=1) / np.sqrt(len(self.errors))) if len(self.errors) > 1 else self.mean

    def worst(self, most: int = 5) -> list[tuple[Clique, float]]:
        """The sets with the largest error, worst first."""
        order = np.argsort(-self.errors, kind="stable")[:most]
        return [(self.cliques[i], float(self.errors[i])) for i in order]


def kway_errors(
    real: Projectable, synthetic: Projectable, k: int, *, most: int = MOST, rng: np.random.Generator | None = None
) -> KwayErrors:
    """The error of every set of `k` columns, or of `most` sets taken at random when there are more.

    Either side may be a table or a model. Sets with more cells than fit into memory are compared over the
    combinations that occur, which needs tables on both sides.
    """
    same_columns(real, synthetic)
    domain = real.domain
    if not 1 <= k <= len(domain):
        raise UsageError(f"k must lie between 1 and the number of columns, {len(domain)}; got {k}")
    cliques = choose_cliques(domain, k, most, rng or np.random.default_rng(0))
    errors = l1_errors(real, synthetic, cliques)
    return KwayErrors(k, cliques, errors, comb(len(domain), k))


def l1_errors(real: Projectable, synthetic: Projectable, cliques: Sequence[Clique]) -> FloatArray:
    """The L1 distance between the shares of both sides over each clique."""
    tables = isinstance(real, CodedTable) and isinstance(synthetic, CodedTable)
    sparse = {c for c in cliques if tables and real.domain.cells(c) > DENSE_CELLS}
    found = {
        c: float(np.abs(p - q).sum()) for c, p, q in compared(real, synthetic, [c for c in cliques if c not in sparse])
    }
    for clique in sparse:
        assert isinstance(real, CodedTable)
        assert isinstance(synthetic, CodedTable)
        found[clique] = _sparse_error(real, synthetic, clique)
    return np.array([found[c] for c in cliques])


def choose_cliques(domain: Domain, k: int, most: int, rng: np.random.Generator) -> list[Clique]:
    """All sets of `k` columns, or `most` different ones at random."""
    if most < 1:
        raise UsageError(f"at least one set of columns must be looked at, got {most}")
    if comb(len(domain), k) <= most:
        return list(combinations(domain.names, k))
    chosen: dict[Clique, None] = {}
    while len(chosen) < most:
        axes = np.sort(rng.choice(len(domain), k, replace=False))
        chosen.setdefault(tuple(domain.names[i] for i in axes))
    return list(chosen)


def _sparse_error(real: CodedTable, synthetic: CodedTable, clique: Clique) -> float:
    keys = np.concatenate([real.keys(clique), synthetic.keys(clique)])
    _, where = np.unique(keys, return_inverse=True)
    p = np.bincount(where[: real.rows], minlength=int(where.max()) + 1) / real.rows
    q = np.bincount(where[real.rows :], minlength=int(where.max()) + 1) / synthetic.rows
    return float(np.abs(p - q).sum())
