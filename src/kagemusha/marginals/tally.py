"""Tables of counts: exact and released ones as two types, counted over many cliques chunk by chunk, kept and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.schema import Clique, Domain

Table = TypeVar("Table", bound=NDArray[Any])
Answer = TypeVar("Answer", float, FloatArray)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Exact counts of the private table over a clique. Private: do not store, print or return it."""

    clique: Clique
    counts: IntArray

    def __post_init__(self) -> None:
        if self.counts.ndim != len(self.clique) or self.counts.dtype != np.int64:
            raise ValueError("counts need int64 and one axis for each attribute of the clique")

    def __repr__(self) -> str:
        return f"Marginal({self.clique}, <private>)"


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """Released counts over a clique: exact integer counts plus integer noise of standard deviation `sigma`."""

    clique: Clique
    values: IntArray
    sigma: float

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.clique) or self.values.dtype != np.int64:
            raise ValueError("values need int64 and one axis for each attribute of the clique")
        if not self.sigma >= 0:
            raise ValueError(f"sigma must be at least 0, got {self.sigma}")


def nearest_counts(values: FloatArray, total: float) -> FloatArray:
    """The nearest table (in L2) of non-negative counts that sum to `total`, which is positive.

    All cells are lowered by the same amount and cut at zero (Duchi, Shalev-Shwartz, Singer and Chandra 2008).

    >>> nearest_counts(np.array([5.0, -3.0, 1.0]), 4.0)
    array([4., 0., 0.])
    """
    flat = np.sort(values.ravel())[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > excess)[-1])
    counts: FloatArray = np.maximum(values - excess[last], 0.0)
    return counts


def merged(answers: Iterable[tuple[Answer, float]]) -> tuple[Answer, float]:
    """The mean of several noisy answers to one question, each counting by its weight, and the sum of the weights.

    With weights 1/σ² no unbiased mean has less noise, and the sum is the 1/σ² of that mean.

    >>> merged([(8.0, 1.0), (12.0, 3.0)])
    (11.0, 4.0)
    """
    (total, weights), *others = ((weight * answer, weight) for answer, weight in answers)
    for part, weight in others:
        total = total + part
        weights += weight
    return total / weights, weights


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


class KeptTables(Generic[Table]):
    """Tables of counts that stay in memory, because whoever asked for them will ask again.

    They are the first that come, as long as there is room for their cells; nobody can write into them.
    """

    def __init__(self, cells: int, *, widest: int | None = None) -> None:
        self.room = cells
        """Cells for which there is still room."""
        self._widest = widest
        self._kept: dict[Clique, Table] = {}

    def of(
        self, cliques: Sequence[Clique], count: Callable[[Sequence[Clique]], Mapping[Clique, Table]]
    ) -> dict[Clique, Table]:
        """The table of each clique; `count` is asked once, for all that are not here.

        Tables of more than `widest` columns do not stay.
        """
        wanted = dict.fromkeys(cliques)
        new = [clique for clique in wanted if clique not in self._kept]
        fresh = count(new) if new else {}
        for clique, table in fresh.items():
            if table.size <= self.room and (self._widest is None or len(clique) <= self._widest):
                table.setflags(write=False)
                self._kept[clique] = table
                self.room -= table.size
        return {clique: fresh[clique] if clique in fresh else self._kept[clique] for clique in wanted}
