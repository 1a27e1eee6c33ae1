"""Mixtures of Gaussians: what a record belongs to, what a step of EM makes of sums, and draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray

LEAST_VARIANCE = 0.02
"""Of a component along any direction, in coordinates whose variance is about one."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σ_k weights[k] · N(means[k], covariances[k])."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @classmethod
    def spread(cls, components: int, width: int, seed: int = 0) -> Mixture:
        """A public start: the standard normal, cut into components whose means are drawn from it."""
        means = (
            np.random.default_rng(seed).standard_normal((components, width)) if components > 1 else np.zeros((1, width))
        )
        return cls(np.full(components, 1 / components), means, np.tile(np.eye(width), (components, 1, 1)))

    @property
    def width(self) -> int:
        """Coordinates."""
        return int(self.means.shape[1])

    @cached_property
    def precisions(self) -> FloatArray:
        """Inverse covariances."""
        return np.asarray(np.linalg.inv(self.covariances))

    @cached_property
    def log_determinants(self) -> FloatArray:
        """Of the covariances."""
        return np.asarray(np.linalg.slogdet(self.covariances)[1])

    @cached_property
    def factors(self) -> FloatArray:
        """Cholesky factors of the covariances."""
        return np.asarray(np.linalg.cholesky(self.covariances))

    def responsibilities(self, points: FloatArray) -> FloatArray:
        """For each point how likely each component is; each row lies on the simplex."""
        if len(self.weights) == 1:
            return np.ones((len(points), 1))
        logs = np.empty((len(points), len(self.weights)))
        for k, mean in enumerate(self.means):
            apart = points - mean
            along = np.einsum("ni,ij,nj->n", apart, self.precisions[k], apart)
            logs[:, k] = math.log(max(float(self.weights[k]), 1e-300)) - (along + self.log_determinants[k]) / 2
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def sample(
        self, rows: int, rng: np.random.Generator
    ) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """Points, and the component each comes from."""
        which = rng.choice(len(self.weights), rows, p=self.weights)
        drawn = rng.standard_normal((rows, self.width))
        return self.means[which] + np.einsum("nij,nj->ni", self.factors[which], drawn), which


def mixture_of(
    sizes: FloatArray, firsts: FloatArray, seconds: FloatArray, noise: tuple[float, float, float]
) -> Mixture:
    """The M-step from noisy sums: Σr, Σr·x and Σr·x·xᵀ of each component, and the deviations of their noise.

    No size is below its noise, so that nothing is divided by it; covariances are drawn towards their common mean as far
    as they are noise.
    """
    count, width = firsts.shape
    sizes = np.maximum(sizes, max(1.0, 2 * noise[0]))
    total = sizes.sum()
    means = firsts / sizes[:, None]
    own = width * (noise[1] / sizes) ** 2
    centre = firsts.sum(axis=0) / total
    apart = means - centre
    kept = np.maximum(0.0, 1 - own / np.maximum((apart**2).sum(axis=1), 1e-300))
    means = centre + apart * kept[:, None] if count > 1 else means
    free = seconds / sizes[:, None, None] - np.einsum("ki,kj->kij", means, means)
    pooled = np.einsum("k,kij->ij", sizes / total, free)
    found = np.empty_like(free)
    for k in range(count):
        beside = free[k] - pooled
        expected = width * (width + 1) / 2 * (noise[2] / sizes[k]) ** 2
        weight = max(0.0, 1 - expected / max(float((beside**2).sum()), 1e-300)) if count > 1 else 0.0
        found[k] = possible(pooled + weight * beside)
    return Mixture(sizes / total, means, found)


def possible(matrix: FloatArray) -> FloatArray:
    """The nearest covariance whose variances are no smaller than the least, and not beyond all sense."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.clip(values, LEAST_VARIANCE, 100.0)) @ vectors.T)
