"""Sums over records of vectors that no marginal holds: class means, scatter matrices, responsibilities.

A record becomes a vector of whole numbers of bounded norm, by a rule made of public and released numbers alone; the
answer is the sum of these vectors. The vector is scaled down to its norm bound where it is longer, and rounded towards
zero, which makes no vector longer. So the bound holds to the last bit, and sums of integers are exact.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.privacy.budget import QueryFact
from kagemusha.privacy.query_kinds import BESIDE, DIAGONAL
from kagemusha.queries.query import ReadsRecords
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.queries.scores import NoisyVector


@dataclass(frozen=True, eq=False)
class RecordQuery(ReadsRecords[NoisyVector]):
    """A sum over records of vectors of bounded norm."""

    vectors: Vectors
    word: str
    """What is asked, for the certificate."""

    @property
    def what(self) -> str:
        return self.word

    @property
    @abstractmethod
    def entries(self) -> int:
        """Length of the answer."""

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """The length of the answer.

        How long one record's vector can be, the kind alone says: see `privacy.query_kinds`.
        """
        return {"entries": self.entries}

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """In whole units."""
        return NoisyVector(values.astype(np.float64), deviation)


@dataclass(frozen=True, eq=False)
class NormCounts(RecordQuery):
    """How many records of each class have a vector of each length, on a public grid; the vectors are not clipped."""

    edges: FloatArray

    kind: ClassVar[str] = "norm-counts"
    proof: ClassVar[str] = "One record is in one cell of its class's grid: norm 1. Two are in the same cell or in two."

    @property
    def entries(self) -> int:
        """Cells of the grids."""
        return self.vectors.classes * (len(self.edges) + 1)

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """Counts between the edges."""
        counts = np.zeros(self.entries, dtype=np.int64)
        for rows in self.vectors.blocks(columns):
            lengths = np.searchsorted(self.edges, np.linalg.norm(self.vectors.free(columns, rows), axis=1))
            cells = self.vectors.labels(columns, rows) * (len(self.edges) + 1) + lengths
            counts += np.bincount(cells, minlength=self.entries)
        return counts


@dataclass(frozen=True, eq=False)
class ClassSums(RecordQuery):
    """For each class, how many records it has and the sum of their vectors."""

    weight: int
    """What a count is multiplied by, so that it gets its share of the precision."""

    kind: ClassVar[str] = "class-sums"
    proof: ClassVar[str] = (
        "A record has one class and adds (weight, v) to its block, with ‖v‖ ≤ LATTICE after clipping and rounding "
        "towards zero: Δ² ≤ weight² + LATTICE². Exchanged: two vectors differ by at most twice the larger."
    )

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """The weight too."""
        return {"weight": self.weight, "entries": self.entries}

    @property
    def entries(self) -> int:
        """A count and a vector for each class."""
        return self.vectors.classes * (1 + self.vectors.width)

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """Counts first, then the vectors class by class."""
        counts = np.zeros(self.vectors.classes, dtype=np.int64)
        sums = np.zeros((self.vectors.classes, self.vectors.width))
        for rows in self.vectors.blocks(columns):
            labels = self.vectors.labels(columns, rows)
            counts += np.bincount(labels, minlength=self.vectors.classes)
            # whole numbers far below 2⁵³: sums of doubles are exact
            add_by_class(sums, self.vectors.whole(columns, rows), labels)
        return np.concatenate([self.weight * counts, sums.astype(np.int64).ravel()])

    def split(self, answer: NoisyVector) -> tuple[FloatArray, FloatArray]:
        """Counts, and sums of vectors in their own scale."""
        counts = answer.values[: self.vectors.classes] / self.weight
        sums = answer.values[self.vectors.classes :].reshape(self.vectors.classes, self.vectors.width)
        return counts, sums * (self.vectors.radius / LATTICE)[:, None]


@dataclass(frozen=True, eq=False)
class Scatter(RecordQuery):
    """Σ v vᵀ over the records of each class (`apart`) or of all: upper triangles, diagonal first."""

    apart: bool = False

    kind: ClassVar[str] = "scatter"
    proof: ClassVar[str] = (
        "A record adds 5vᵢ² on the diagonal and 7vᵢvⱼ beside it, in one block: Δ² = 25Σvᵢ⁴ + 49Σ_{i<j}vᵢ²vⱼ² ≤ 25‖v‖⁴ "
        "≤ 25·LATTICE⁴. "
        "Exchanged: the inner product of two records' parts is 24.5(v·w)² + 0.5Σvᵢ²wᵢ² ≥ 0, so Δ² at most doubles."
    )

    @property
    def entries(self) -> int:
        """Triangles of all blocks."""
        width = self.vectors.width
        return self._count * (width * (width + 1) // 2)

    @property
    def _count(self) -> int:
        return self.vectors.classes if self.apart else 1

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """Diagonals and what is beside them, block by block."""
        width = self.vectors.width
        sums = np.zeros((self._count, width, width))
        for rows in self.vectors.blocks(columns):
            vectors = self.vectors.whole(columns, rows)
            labels = self.vectors.labels(columns, rows) if self.apart else np.zeros(len(vectors), dtype=np.int64)
            for one in np.unique(labels):
                part = vectors[labels == one]
                # products below 2²⁴ and their sums below 2⁵³: exact in doubles, in any order
                sums[one] += part.T @ part
        return np.concatenate([_triangle(block) for block in sums])

    def split(self, answer: NoisyVector) -> tuple[FloatArray, FloatArray]:
        """Symmetric matrices in the vectors' own scale, and the deviation of each one's noise beside the diagonal."""
        width = self.vectors.width
        worth = np.broadcast_to((self.vectors.radius / LATTICE) ** 2, self._count)
        upper = np.triu_indices(width, 1)
        found = np.zeros((self._count, width, width))
        for block, flat in zip(found, answer.values.reshape(self._count, -1), strict=True):
            block[upper] = flat[width:] / BESIDE
            block += block.T
            block[np.arange(width), np.arange(width)] = flat[:width] / DIAGONAL
        return found * worth[:, None, None], answer.sigma * worth / BESIDE


def _triangle(block: FloatArray) -> IntArray:
    whole = np.rint(block).astype(np.int64)
    return np.concatenate([DIAGONAL * np.diag(whole), BESIDE * whole[np.triu_indices(len(whole), 1)]])


def add_by_class(sums: FloatArray, vectors: NDArray[np.float64], labels: IntArray) -> None:
    """Add each vector to the sum of its class; whole numbers far below 2⁵³ add up exactly, in any order."""
    order = np.argsort(labels, kind="stable")
    present, begins = np.unique(labels[order], return_index=True)
    if len(present):
        sums[present] += np.add.reduceat(vectors[order], begins, axis=0)
