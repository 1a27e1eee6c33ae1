"""How far the cells of some columns lie apart from the mean record: the score by which classes are chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.queries.query import Choice, ReadsRecords
from kagemusha.queries.record_sums import add_by_class
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class CellLengths(Choice[NoisyVector], ReadsRecords):
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
        "A record is in one cell of a candidate and adds to its sum a vector of norm at most LATTICE, so that cell's length moves by "
        "at most LATTICE (triangle inequality), and the length rounded down to a whole number by at most LATTICE + 1. "
        "Exchanged, it leaves one cell and enters another: twice that. Penalties are public."
    )

    @property
    def what(self) -> str:
        """Lengths of so many candidates."""
        return f"distance between cells of {len(self.candidates)} candidates"

    @property
    def options(self) -> Sequence[tuple[str, ...]]:
        """The candidates."""
        return [tuple(clique) for clique in self.candidates]

    def cliques(self) -> Sequence[Clique]:
        """None: records are read."""
        return ()

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """Not asked of marginals."""
        raise NotImplementedError

    def total(self, columns: Sequence[Codes]) -> IntArray:
        """A score a candidate, in steps of the lattice."""
        asked = [replace(self.vectors, cells=cells_of(self.domain, clique)) for clique in self.candidates]
        sums = [np.zeros((vectors.classes, self.vectors.width)) for vectors in asked]
        for rows in self.vectors.blocks(columns):
            whole = self.vectors.whole(columns, rows)
            for found, vectors in zip(sums, asked, strict=True):
                add_by_class(found, whole, vectors.labels(columns, rows))
        lengths = [sum(math.isqrt(sum(int(x) ** 2 for x in cell)) for cell in found) for found in sums]
        return np.array(lengths, dtype=np.int64) - np.rint(self.penalties).astype(np.int64)

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """In records of the clipping norm."""
        return NoisyVector(values / LATTICE, deviation / LATTICE)


def cells_of(domain: Domain, clique: Clique) -> list[tuple[int, int]]:
    """Columns whose cells are classes, as `Vectors` wants them."""
    return [(domain.axis(name), domain.size(name)) for name in clique]
