"""Counting codes over many cliques, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.marginals import Marginal
from kagemusha.schema import Clique, Domain

MAX_CELLS = 2**28
"""Cells one call may count over in all: 2 GB of counts."""


BLOCK = 2**18
"""Rows counted at a time: small enough for the columns to stay in the processor's cache."""

COMPILE_FROM = 200_000_000
"""Rows times cliques from which loading the compiled kernel pays."""

PairCounter = Callable[[Codes, Codes, int, IntArray], None]


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
        self._counts: dict[Clique, IntArray] = {c: np.zeros(domain.cells(c), dtype=np.int64) for c in distinct}
        self.rows = 0

    def add(self, columns: Sequence[Codes]) -> None:
        """Count one chunk: codes of every column of the domain, all of one length."""
        length = len(columns[0])
        self.rows += length
        add = _compiled() if self.rows * len(self._counts) >= COMPILE_FROM else _add_pairs
        for begin in range(0, length, BLOCK):
            block = [column[begin : begin + BLOCK] for column in columns]
            for clique, counts in self._counts.items():
                self._add_clique(clique, counts, block, add)

    def _add_clique(self, clique: Clique, counts: IntArray, block: list[Codes], add: PairCounter) -> None:
        if not clique:
            counts += len(block[0])
            return
        *front, last = (self.domain.axis(name) for name in clique)
        if not front:
            counts += np.bincount(block[last], minlength=len(counts))
            return
        index = block[front[0]]
        for axis in front[1:]:
            # Below MAX_CELLS every index fits 32 bits.
            index = index.astype(np.int32) * np.int32(self.domain.sizes[axis]) + block[axis]
        add(index, block[last], self.domain.sizes[last], counts)

    def marginals(self) -> list[Marginal]:
        """The marginals, in the order the cliques were given."""
        return [Marginal(c, self._counts[c].reshape(self.domain.shape(c))) for c in self.cliques]


def _add_pairs(first: Codes, second: Codes, size: int, counts: IntArray) -> None:
    index = first.astype(np.int64) * size + second
    if len(counts) <= len(index):
        counts += np.bincount(index, minlength=len(counts))
    else:
        # More cells than rows: touch only those that occur.
        np.add.at(counts, index, 1)


def _compiled() -> PairCounter:
    from kagemusha.marginals.kernels import count_pairs

    counter: PairCounter = count_pairs
    return counter


def _check_clique(domain: Domain, clique: Clique) -> None:
    unknown = [name for name in clique if name not in domain]
    if unknown:
        raise UsageError(f"no modelled column is named {unknown[0]!r}")
    if clique != domain.canonical(clique):
        raise UsageError(f"clique {clique} must hold distinct columns in domain order")
