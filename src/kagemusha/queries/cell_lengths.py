"""How far the cells of some columns lie apart from the mean record: the score by which classes are chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.queries.query import Choice, ReadsRecords
from kagemusha.queries.record_sums import add_by_class
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class CellLengths(Choice[NoisyVector], ReadsRecords[NoisyVector]):
    """Σ over the cells of each candidate of ‖sum of the cell's clipped vectors‖, less a public penalty.

    `vectors` are records around the released mean record with one clipping norm; candidates are sets of columns.
    """

    vectors: Vectors
    domain: Domain
    candidates: Sequence[Clique]
    penalties: FloatArray
    """In steps of the lattice."""

    kind: ClassVar[str] = "cell-lengths"
    proof: ClassVar[str] = (
        "A record is in one cell of a candidate and adds to its sum a vector of norm at most LATTICE, so that cell's "
        "length moves by at most LATTICE (triangle inequality), and the length rounded down to a whole number by at "
        "most LATTICE + 1. Exchanged, it leaves one cell and enters another: twice that. Penalties are public. Lengths "
        "are taken once, of the sums over all records."
    )

    @property
    def what(self) -> str:
        """Lengths of so many candidates."""
        return f"distance between cells of {len(self.candidates)} candidates"

    @property
    def options(self) -> Sequence[tuple[str, ...]]:
        """The candidates."""
        return [tuple(clique) for clique in self.candidates]

    def _divided(self) -> list[Vectors]:
        """The vectors with each candidate's cells as classes."""
        return [replace(self.vectors, cells=cells_of(self.domain, clique)) for clique in self.candidates]

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """The sums of the cells of every candidate, one after the other, in steps of the lattice."""
        divided = self._divided()
        sums = [np.zeros((vectors.classes, self.vectors.width)) for vectors in divided]
        for rows in self.vectors.blocks(columns):
            whole = self.vectors.whole(columns, rows)
            for found, vectors in zip(sums, divided, strict=True):
                add_by_class(found, whole, vectors.labels(columns, rows))
        return np.concatenate([found.astype(np.int64).ravel() for found in sums])

    def finish(self, total: IntArray) -> IntArray:
        """A score per candidate, in steps of the lattice."""
        ends = np.cumsum([vectors.classes * self.vectors.width for vectors in self._divided()])
        lengths = [
            sum(math.isqrt(sum(int(x) ** 2 for x in cell)) for cell in sums.reshape(-1, self.vectors.width))
            for sums in np.split(total, ends[:-1])
        ]
        return np.array(lengths, dtype=np.int64) - np.rint(self.penalties).astype(np.int64)

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """In records of the clipping norm."""
        return NoisyVector(values / LATTICE, deviation / LATTICE)


def cells_of(domain: Domain, clique: Clique) -> list[tuple[int, int]]:
    """Columns whose cells are classes, as `Vectors` wants them."""
    return [(domain.axis(name), domain.size(name)) for name in clique]
