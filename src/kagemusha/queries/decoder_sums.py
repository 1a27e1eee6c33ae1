"""Sums for a decoder on top of linear directions: its gradients over all records, and whether it beats none.

A record's code is its place along the directions; the decoder is asked for what the directions leave out of the record. Every
product is one of whole numbers (`exact_product`), so that nobody's vector hangs on who else is in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.queries.record_sums import RecordQuery
from kagemusha.queries.record_vectors import LATTICE, exact_product, on_lattice, whole_steps
from kagemusha.queries.scores import NoisyVector


@dataclass(frozen=True, eq=False)
class Bend:
    """What is added to a linear decoder: second·relu(first·(code, 1)), a row of numbers for each feature."""

    first: FloatArray
    second: FloatArray

    def hidden(self, codes: FloatArray) -> FloatArray:
        """The middle layer; `codes` are on the lattice and end with a one."""
        return on_lattice(np.maximum(exact_product(codes, self.first), 0.0))

    def out(self, hidden: FloatArray) -> FloatArray:
        """What is added."""
        return exact_product(hidden, self.second)


@dataclass(frozen=True, eq=False)
class DecoderQuery(RecordQuery):
    """`vectors` give codes (with their basis), `root` is the way back; both and `bend` were released before."""

    root: FloatArray
    bend: Bend
    radius: float
    """The clipping norm of what the directions leave out."""

    def _parts(self, columns: Sequence[Codes]) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Blocks of (codes with a one, middle layers, what is left out)."""
        plain = replace(self.vectors, basis=None)
        for rows in self.vectors.blocks(columns):
            codes = on_lattice(self.vectors.free(columns, rows))
            left = plain.free(columns, rows) - exact_product(codes, self.root.T)
            codes = np.column_stack([codes, np.ones(len(codes))])
            yield codes, self.bend.hidden(codes), left


@dataclass(frozen=True, eq=False)
class DecoderGradients(DecoderQuery):
    """Σ over records of the gradient of ½‖left out − bend(code)‖², layer by layer, each factor clipped."""

    proof: ClassVar[str] = (
        "A layer's gradient is the outer product of a slope and an input, each clipped to norm LATTICE and rounded towards zero: "
        "norm at most LATTICE². There are two layers: Δ² ≤ 2·LATTICE⁴. Exchanged: two vectors differ by at most twice the longer."
    )
    norm: ClassVar[int] = 2 * LATTICE**4

    @property
    def entries(self) -> int:
        """Those of both layers."""
        return self.bend.first.size + self.bend.second.size

    @property
    def _radii(self) -> tuple[float, float, float, float]:
        """Clipping norms: slopes and inputs of the second layer, then of the first."""
        inner, middle = self.bend.first.shape
        back = self.radius * max(float(np.linalg.norm(self.bend.second, 2)), 1e-3)
        return self.radius, float(np.sqrt(middle)), back, float(np.sqrt(inner))

    def total(self, columns: Sequence[Codes]) -> IntArray:
        """The first layer's sum, then the second's."""
        first, second = np.zeros(self.bend.first.shape), np.zeros(self.bend.second.shape)
        outer, middle, back, inner = self._radii
        for codes, hidden, left in self._parts(columns):
            slope = on_lattice(self.bend.out(hidden) - left)
            below = exact_product(slope, self.bend.second.T) * (hidden > 0)
            # products below 2²⁴ and their sums below 2⁵³: exact in doubles, in any order
            second += whole_steps(hidden, middle).T @ whole_steps(slope, outer)
            first += whole_steps(codes, inner).T @ whole_steps(below, back)
        return np.concatenate([np.rint(first).ravel(), np.rint(second).ravel()]).astype(np.int64)

    def split(self, answer: NoisyVector) -> tuple[FloatArray, FloatArray]:
        """Both layers' sums in their own scale."""
        outer, middle, back, inner = self._radii
        cut = self.bend.first.size
        first = answer.values[:cut].reshape(self.bend.first.shape) * (back * inner / LATTICE**2)
        return first, answer.values[cut:].reshape(self.bend.second.shape) * (outer * middle / LATTICE**2)


@dataclass(frozen=True, eq=False)
class DecoderGain(DecoderQuery):
    """Σ over records of ‖left out‖² − ‖left out − bend(code)‖², each clipped to the squared clipping norm."""

    proof: ClassVar[str] = (
        "A record adds one whole number between −LATTICE and LATTICE: Δ² ≤ LATTICE². Exchanged: twice that far."
    )
    norm: ClassVar[int] = LATTICE**2
    entries: ClassVar[int] = 1

    def total(self, columns: Sequence[Codes]) -> IntArray:
        """In steps of radius²/LATTICE."""
        found = 0
        for _, hidden, left in self._parts(columns):
            gain = (left**2).sum(axis=1) - ((left - self.bend.out(hidden)) ** 2).sum(axis=1)
            found += int(np.trunc(LATTICE * np.clip(gain / self.radius**2, -1, 1)).sum())
        return np.array([found], dtype=np.int64)

    def split(self, answer: NoisyVector) -> tuple[float, float]:
        """The gain in its own scale, and the deviation of its noise."""
        unit = self.radius**2 / LATTICE
        return float(answer.values[0]) * unit, answer.sigma * unit
