"""Closed forms and neighbouring data sets for the tests of generation randomness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def divergence(mean1: Floats, cov1: Floats, mean2: Floats, cov2: Floats, alpha: float) -> float:
    """D_α(N(μ₁, Σ₁) ‖ N(μ₂, Σ₂)) by Proposition 4.1; infinite where it does not exist."""
    root = np.linalg.inv(np.linalg.cholesky(cov1))
    change = np.linalg.eigvalsh(root @ (cov2 - cov1) @ root.T)
    if np.min(1 + alpha * change) <= 0:
        return np.inf
    gap = mean2 - mean1
    mixed = cov1 + alpha * (cov2 - cov1)
    determinants = np.sum(alpha * np.log1p(change) - np.log1p(alpha * change)) / (2 * (alpha - 1))
    return float(alpha / 2 * gap @ np.linalg.solve(mixed, gap) + determinants)


def fit(records: Floats) -> tuple[Floats, Floats]:
    mean = records.mean(axis=0)
    return mean, (records - mean).T @ (records - mean) / len(records)


def floored(cov: Floats, floor: float) -> Floats:
    values, vectors = np.linalg.eigh(cov)
    return (vectors * np.maximum(values, floor)) @ vectors.T


def records(rng: np.random.Generator, n: int, d: int) -> Floats:
    """A data set pushed towards a corner of the box, where one record can matter most."""
    corner = rng.choice([-1.0, 1.0], d) * rng.uniform(0, 1)
    spread = rng.uniform(0.2, 1.0)
    return np.clip(corner + spread * rng.normal(size=(n, d)), -1, 1)


def extreme_record(rng: np.random.Generator, mean: Floats) -> Floats:
    """Anything from the mean itself to the corner furthest from it."""
    kind = rng.integers(4)
    if kind == 0:
        return np.where(mean > 0, -1.0, 1.0)
    if kind == 1:
        return rng.choice([-1.0, 1.0], len(mean))
    if kind == 2:
        return rng.uniform(-1, 1, len(mean))
    return mean
