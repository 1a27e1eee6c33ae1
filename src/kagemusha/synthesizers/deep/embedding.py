"""P3GM's first phase: the mean record, DP-PCA, and a mixture of Gaussians by DP-EM in the coordinates found.

All sums over records, exact integers with Gaussian noise. Records are clipped to a length of which a noisy count on a
public grid says how many keep it. PCA's noise is symmetric, with half the variance beside the diagonal, at no extra
cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.neural.learners import Projection
from kagemusha.neural.mixture import Mixture, mixture_of
from kagemusha.progress import Progress
from kagemusha.queries.mixture_sums import MixtureMeans, MixtureScatter, MixtureSizes
from kagemusha.queries.record_sums import ClassSums, NormCounts, Scatter
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.schema.features import Features
from kagemusha.synthesizers.deep.asking import Asking
from kagemusha.synthesizers.deep.spending import GaussianStep, norm_of

COUNT = LATTICE // 8
"""A record's count beside its vector of LATTICE: counts need far less precision."""

GRID = 64
KEPT = 0.8
"""The share of records that keeps its length in PCA: clipping the longest costs less than noise made for them."""

REACH = 1.6
"""Codes are clipped to so many times √d′ in coordinates of variance one."""

LEAST = 1e-3
"""The least variance of a direction, in that of the first."""


@dataclass(frozen=True)
class Embedding:
    """Public choices of the first phase. The shares are of ρ: mean record and lengths, PCA, EM."""

    latent: int
    components: int
    iterations: int
    covariance: Literal["diagonal", "full"]
    centre: float
    pca: float
    em: float
    released_pca: bool = True
    """False where PCA is no step of the promise (Wishart noise)."""

    @property
    def rounds(self) -> int:
        """One component, or known ones, need no iteration."""
        return 1 if self.components == 1 else self.iterations

    def steps(self) -> list[GaussianStep]:
        """What will be asked, in its order."""
        asked = [
            GaussianStep("sum of all records", norm_of(ClassSums, weight=COUNT), 0.7 * self.centre),
            GaussianStep("lengths of records", norm_of(NormCounts), 0.3 * self.centre),
            GaussianStep("scatter of records", norm_of(Scatter), self.pca),
        ]
        if not self.released_pca:
            asked.pop()
        for _ in range(self.rounds):
            asked += [
                GaussianStep("sizes", norm_of(MixtureSizes), 0.1 * self.em / self.rounds),
                GaussianStep("means", norm_of(MixtureMeans), 0.3 * self.em / self.rounds),
                GaussianStep("covariances", norm_of(MixtureScatter), 0.6 * self.em / self.rounds),
            ]
        return asked


def embed(
    asking: Asking,
    choices: Embedding,
    rho: float,
    features: Sequence[Features],
    axes: Sequence[int],
    progress: Progress,
    *,
    class_axis: int | None = None,
) -> tuple[Projection, float]:
    """The released first phase, and the number of rows. With `class_axis` the components are the classes."""
    steps = iter(replace(choices, released_pca=True).steps())

    def price() -> float:
        return next(steps).share * rho

    start = Vectors(features, axes, radius=np.full(1, math.sqrt(sum(f.largest for f in features)) / 2**10))
    progress("the mean record", 0.1)
    query = ClassSums(start, "sum of all records", COUNT)
    counts, sums = query.split(asking.sums(query, price()))
    rows = max(1.0, float(counts[0]))
    mean = np.clip(sums[0] / rows, -1, 1)
    around = replace(start, centre=mean[None, :])
    around = replace(around, radius=np.full(1, length_kept(asking, around, price())))
    progress("PCA", 0.3)
    scatter = Scatter(around, "scatter of records")
    matrices, deviation = scatter.split(asking.scatter(scatter, price()))
    basis, values = leading(matrices[0] / rows, float(deviation[0]) / rows, choices.latent)
    white = replace(
        around,
        basis=basis / np.sqrt(values),
        radius=np.full(1, REACH * math.sqrt(len(values))),
        cells=() if class_axis is None else [(class_axis, choices.components)],
    )
    mixture = None if class_axis is not None else Mixture.spread(choices.components, len(values))
    for i in range(choices.rounds):
        progress(f"EM, iteration {i + 1}", 0.6 + 0.4 * i / choices.rounds)
        step = f"of the mixture, iteration {i + 1}"
        sizes = MixtureSizes(white, f"sizes {step}", mixture)
        means = MixtureMeans(white, f"means {step}", mixture)
        covariances = MixtureScatter(white, f"covariances {step}", mixture, choices.covariance)
        answers = [q.split(asking.sums(q, price())) for q in (sizes, means, covariances)]
        (n, a), (first, b), (second, c) = answers
        mixture = mixture_of(n, first, second, (a, b, c))
    assert mixture is not None
    back = (basis * np.sqrt(values)).T
    return Projection(mean, white.basis if white.basis is not None else basis, back, mixture), rows


def length_kept(asking: Asking, vectors: Vectors, cost: float, share: float = KEPT) -> float:
    """The length that this share of records does not pass, from noisy counts on a public grid."""
    edges = 2 * math.sqrt(vectors.raw_width) * np.linspace(0, 1, GRID + 1)[1:-1] ** 1.5
    counted = asking.sums(NormCounts(vectors, "lengths of records", edges), cost)
    clear = np.cumsum(np.where(counted.values > 2 * counted.sigma, counted.values, 0.0))
    at = int(np.searchsorted(clear, share * clear[-1])) if clear[-1] > 0 else GRID // 2
    return float(edges[min(at, len(edges) - 1)])


def leading(covariance: FloatArray, deviation: float, latent: int) -> tuple[FloatArray, FloatArray]:
    """Leading directions and their variances, less what noise added to them."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1][:latent], vectors[:, ::-1][:, :latent]
    edge = 2 * deviation * math.sqrt(len(covariance))
    true = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2
    return vectors, np.maximum(true, max(1e-6, float(true.max()) * LEAST))
