"""The sums of EM over records: how much belongs to each component, and the first and second moments of that.

A record's responsibilities r lie on the simplex and its vector v is clipped (`Vectors.whole`: ‖v‖ ≤ LATTICE), so each
of the three sums has a joint norm of its own for all components together: three charges per iteration, not one per
component.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.neural.mixture import Mixture
from kagemusha.privacy.query_kinds import BESIDE, DIAGONAL
from kagemusha.queries.record_sums import RecordQuery
from kagemusha.queries.record_vectors import LATTICE, exact_product, on_lattice
from kagemusha.queries.scores import NoisyVector

SHARES = 2.0**20
"""Steps of a responsibility."""

Shape = Literal["diagonal", "full"]


@dataclass(frozen=True, eq=False)
class MixtureQuery(RecordQuery):
    """A sum weighted by responsibilities. `mixture` was released before; None: each class is a component, and known."""

    mixture: Mixture | None

    @property
    def components(self) -> int:
        """How many."""
        return self.vectors.classes if self.mixture is None else len(self.mixture.weights)

    def _parts(self, columns: Sequence[Codes]) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Blocks of (responsibilities, vectors in whole steps)."""
        for rows in self.vectors.blocks(columns):
            whole = self.vectors.whole(columns, rows)
            if self.mixture is None:
                yield np.eye(self.components)[self.vectors.labels(columns, rows)], whole
            else:
                yield shares_of(self.mixture, whole, float(self.vectors.radius[0])), whole

    @property
    def worth(self) -> float:
        """A step of the lattice in the vectors' own scale."""
        return float(self.vectors.radius[0]) / LATTICE


def shares_of(mixture: Mixture, whole: FloatArray, radius: float) -> FloatArray:
    """The responsibilities of records for their vectors in whole steps of the lattice.

    Each from its own record alone, to the last bit. Differences from the means and their products with the factors of
    the precisions are exact sums of whole numbers, squares are added and shares divided entry by entry, in one order;
    shares are rounded down to steps of 1/SHARES, so that none sums to more than one.
    """
    if len(mixture.weights) == 1:
        return np.ones((len(whole), 1))
    logs = []
    for k, mean in enumerate(mixture.means):
        along = exact_product(
            whole / LATTICE - on_lattice(mean / radius), radius * np.linalg.cholesky(mixture.precisions[k])
        )
        distance = np.zeros(len(whole))
        for column in along.T:
            distance += column**2
        logs.append(math.log(max(float(mixture.weights[k]), 1e-300)) - (distance + mixture.log_determinants[k]) / 2)
    highest = np.maximum.reduce(logs)
    found = [np.exp(log - highest) for log in logs]
    total = np.zeros(len(whole))
    for share in found:
        total += share
    return np.stack([np.floor(share / total * SHARES) / SHARES for share in found], axis=1)


@dataclass(frozen=True, eq=False)
class MixtureSizes(MixtureQuery):
    """Σ r: how many records belong to each component."""

    kind: ClassVar[str] = "mixture-sizes"
    proof: ClassVar[str] = (
        "r has no negative entry and sums to at most one, so ‖LATTICE·r‖ ≤ LATTICE after rounding down. Exchanged: the "
        "inner product of two such vectors is not negative, so Δ² at most doubles."
    )

    @property
    def entries(self) -> int:
        """One per component."""
        return self.components

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """In steps of 1/LATTICE."""
        found = np.zeros(self.components)
        for shares, _ in self._parts(columns):
            found += np.floor(LATTICE * shares).sum(axis=0)
        return found.astype(np.int64)

    def split(self, answer: NoisyVector) -> tuple[FloatArray, float]:
        """Sizes, and the deviation of their noise."""
        return answer.values / LATTICE, answer.sigma / LATTICE


@dataclass(frozen=True, eq=False)
class MixtureMeans(MixtureQuery):
    """Σ r·v of each component."""

    kind: ClassVar[str] = "mixture-means"
    proof: ClassVar[str] = (
        "A record adds rₖ·v to each component k, rounded towards zero: Δ² ≤ Σrₖ²‖v‖² ≤ LATTICE². Exchanged: two "
        "vectors differ by at most twice the longer."
    )

    @property
    def entries(self) -> int:
        """A vector per component."""
        return self.components * self.vectors.width

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """Component by component."""
        found = np.zeros((self.components, self.vectors.width))
        for shares, whole in self._parts(columns):
            for k in range(self.components):
                # whole numbers far below 2⁵³: sums of doubles are exact
                found[k] += np.trunc(shares[:, k : k + 1] * whole).sum(axis=0)
        return found.astype(np.int64).ravel()

    def split(self, answer: NoisyVector) -> tuple[FloatArray, float]:
        """Sums in the vectors' own scale, and the deviation of their noise."""
        return answer.values.reshape(self.components, -1) * self.worth, answer.sigma * self.worth


@dataclass(frozen=True, eq=False)
class MixtureScatter(MixtureQuery):
    """Σ r·v·vᵀ of each component: the diagonal alone, or all of it."""

    shape: Shape = "diagonal"

    kind: ClassVar[str] = "mixture-scatter"
    proof: ClassVar[str] = (
        "A record adds 5rₖvᵢ² on the diagonal and 7rₖvᵢvⱼ beside it, rounded towards zero: Δ² ≤ Σrₖ²·(25Σvᵢ⁴ + "
        "49Σ_{i<j}vᵢ²vⱼ²) ≤ 25·LATTICE⁴. Exchanged: rounding apart the inner product of two records' parts is not "
        "negative; 4 covers rounding too."
    )

    @property
    def entries(self) -> int:
        """Diagonals, then what is beside them."""
        width = self.vectors.width
        return self.components * (width if self.shape == "diagonal" else width * (width + 1) // 2)

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """Component by component."""
        width = self.vectors.width
        upper = np.triu_indices(width, 1)
        found = np.zeros((self.components, self.entries // self.components), dtype=np.int64)
        for shares, whole in self._parts(columns):
            for k in range(self.components):
                weights = shares[:, k : k + 1]
                found[k, :width] += np.trunc(DIAGONAL * weights * whole**2).astype(np.int64).sum(axis=0)
                if self.shape == "full":
                    products = whole[:, upper[0]] * whole[:, upper[1]]
                    found[k, width:] += np.trunc(BESIDE * weights * products).astype(np.int64).sum(axis=0)
        return found.ravel()

    def split(self, answer: NoisyVector) -> tuple[FloatArray, float]:
        """Symmetric matrices in the vectors' own scale, and the deviation of the noise on their diagonals."""
        width = self.vectors.width
        flat = answer.values.reshape(self.components, -1)
        found = np.zeros((self.components, width, width))
        if self.shape == "full":
            upper = np.triu_indices(width, 1)
            found[:, upper[0], upper[1]] = flat[:, width:] / BESIDE
            found += found.transpose(0, 2, 1)
        found[:, np.arange(width), np.arange(width)] = flat[:, :width] / DIAGONAL
        return found * self.worth**2, answer.sigma * self.worth**2 / DIAGONAL
