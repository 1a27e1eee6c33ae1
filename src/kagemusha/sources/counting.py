"""Counting codes over many cliques, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.encoding.bins import Codes
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.marginals import Marginal
from kagemusha.schema import Clique, Domain

MAX_CELLS = 2**28
"""Cells one call may count over in all: 2 GB of counts."""


class Tally:
    """Running counts over fixed cliques; add chunks of codes, then take the marginals."""

    def __init__(self, domain: Domain, cliques: Iterable[Clique]) -> None:
        self.domain = domain
        self.cliques = tuple(tuple(clique) for clique in cliques)
        distinct = dict.fromkeys(self.cliques)
        cells = 0
        for clique in distinct:
            _check_clique(domain, clique)
            cells += domain.cells(clique)
        if cells > MAX_CELLS:
            raise ModelTooLarge(
                f"counting {len(distinct)} sets of columns needs {cells:,} cells, more than {MAX_CELLS:,}; "
                "use fewer bins, fewer categories or smaller sets"
            )
        self._counts: dict[Clique, IntArray] = {
            c: np.zeros(domain.cells(c), dtype=np.int64) for c in distinct
        }
        self.rows = 0

    def add(self, columns: Sequence[Codes]) -> None:
        """Count one chunk: codes of every column of the domain, all of one length."""
        length = len(columns[0])
        self.rows += length
        for clique, counts in self._counts.items():
            if not clique:
                counts += length
                continue
            axes = [self.domain.axis(name) for name in clique]
            index = columns[axes[0]].astype(np.int64)
            for axis in axes[1:]:
                index *= self.domain.sizes[axis]
                index += columns[axis]
            counts += np.bincount(index, minlength=len(counts))

    def marginals(self) -> list[Marginal]:
        """The marginals, in the order the cliques were given."""
        return [Marginal(c, self._counts[c].reshape(self.domain.shape(c))) for c in self.cliques]


def _check_clique(domain: Domain, clique: Clique) -> None:
    unknown = [name for name in clique if name not in domain]
    if unknown:
        raise UsageError(f"no modelled column is named {unknown[0]!r}")
    if clique != domain.canonical(clique):
        raise UsageError(f"clique {clique} must hold distinct columns in domain order")


def poisson_mask(
    rows: int, rate: float, *, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows a Poisson batch takes."""
    if not 0 <= rate <= 1:
        raise UsageError(f"rate must lie between 0 and 1, got {rate}")
    return rng.random(rows) < rate


def stack(columns: Sequence[Codes], rows: np.ndarray[tuple[int], np.dtype[np.bool_]] | slice) -> IntArray:
    """Some rows of the columns as one array of codes."""
    picked = [column[rows] for column in columns]
    codes = np.empty((len(picked[0]), len(picked)), dtype=np.int64)
    for axis, column in enumerate(picked):
        codes[:, axis] = column
    return codes
