"""Records as vectors of bounded norm, in whole numbers.

A record's vector must be the same to the last bit whoever else is in the table. A matrix product of plain floats is
not: its last digits depend on how many rows are multiplied at once. So features, centres and bases are whole numbers of
so few digits that every sum of products is exact in doubles, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.privacy.query_kinds import LENGTH_STEPS
from kagemusha.schema.features import STEPS, Features

LATTICE = LENGTH_STEPS
"""Steps in a clipping norm."""

BLOCK = 1 << 22
"""Numbers worked on at a time."""

FINE = 2**16
"""Steps of a feature minus its centre; features are multiples of 1/STEPS, centres are rounded to these steps."""

FURTHEST = 4
"""No centre is taken to lie further out: features lie within −1 and 1."""


def on_lattice(centre: FloatArray) -> FloatArray:
    """A centre in whole steps of 1/FINE, so that subtracting it from features is exact, in floats, too."""
    return np.asarray(np.rint(np.clip(centre, -FURTHEST, FURTHEST) * FINE) / FINE)


def exact_product(vectors: FloatArray, matrix: FloatArray) -> FloatArray:
    """The product, where no row of the answer depends on any other: sums of products of whole numbers below 2⁵³.

    `vectors` are multiples of 1/FINE no larger than FURTHEST + 1; `matrix` is rounded to as many digits as that leaves.
    """
    digits = 53 - math.ceil(math.log2(FINE * (FURTHEST + 1))) - math.ceil(math.log2(max(2, len(matrix)))) - 1
    largest = float(np.abs(matrix).max(initial=0.0)) or 1.0
    step = 2.0 ** (math.ceil(math.log2(largest)) - digits)
    return np.asarray((vectors.astype(np.float64) * FINE) @ np.rint(matrix / step) * (step / FINE))


def whole_steps(vectors: FloatArray, radius: FloatArray | float) -> FloatArray:
    """Vectors clipped to a norm (one each, or one for all), in LATTICE whole steps of it, rounded towards zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    # a hair less than one: rounding of norm and product must not lead beyond the clip
    scale = LATTICE / radius * np.minimum(1.0, radius / np.maximum(norms, 1e-300)) * (1 - 1e-9)
    return np.asarray(np.trunc(vectors * scale[:, None]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Records as vectors: the features of some columns, minus a centre, in the coordinates of a basis, clipped.

    Everything in it is public or was released. `centre` has a row for each class (or one for all), `basis` a column for
    each coordinate; `radius` is the clipping norm, of each class or of all.
    """

    features: Sequence[Features]
    axes: Sequence[int]
    """Where the features' columns lie among the codes."""
    radius: FloatArray
    centre: FloatArray | None = None
    basis: FloatArray | None = None
    cells: Sequence[tuple[int, int]] = ()
    """The columns whose cells are the classes: place among the codes, and number of codes."""
    tables: Sequence[FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", [(f.table / STEPS).astype(np.float32) for f in self.features])

    @property
    def classes(self) -> int:
        """How many; one where there are no cells."""
        return math.prod(size for _, size in self.cells)

    @property
    def width(self) -> int:
        """Coordinates of a vector."""
        return self.raw_width if self.basis is None else self.basis.shape[1]

    @property
    def raw_width(self) -> int:
        """Features of a record."""
        return sum(f.table.shape[1] for f in self.features)

    def blocks(self, columns: Sequence[Codes]) -> list[slice]:
        """The records in pieces that fit into memory."""
        rows = len(columns[0])
        step = max(1, BLOCK // max(1, self.raw_width))
        return [slice(begin, min(begin + step, rows)) for begin in range(0, rows, step)]

    def raw(self, columns: Sequence[Codes], rows: slice) -> FloatArray:
        """Features of some records."""
        found = np.empty((rows.stop - rows.start, self.raw_width), dtype=np.float32)
        at = 0
        for axis, table in zip(self.axes, self.tables, strict=True):
            found[:, at : at + table.shape[1]] = table[columns[axis][rows]]
            at += table.shape[1]
        return found

    def labels(self, columns: Sequence[Codes], rows: slice) -> IntArray:
        """The class of each record."""
        found = np.zeros(rows.stop - rows.start, dtype=np.int64)
        for axis, size in self.cells:
            found = found * size + columns[axis][rows]
        return found

    def free(self, columns: Sequence[Codes], rows: slice) -> FloatArray:
        """The vectors before clipping."""
        vectors = self.raw(columns, rows)
        if self.centre is not None:
            whose = self.labels(columns, rows) if len(self.centre) > 1 else np.zeros(len(vectors), dtype=np.int64)
            vectors -= on_lattice(self.centre).astype(np.float32)[whose]
        return vectors if self.basis is None else exact_product(vectors, self.basis)

    def whole(self, columns: Sequence[Codes], rows: slice) -> FloatArray:
        """The vectors in whole steps of the lattice (as doubles), none longer than LATTICE."""
        vectors = self.free(columns, rows).astype(np.float64)
        return whole_steps(vectors, self.radius[self.labels(columns, rows)] if len(self.radius) > 1 else self.radius[0])
