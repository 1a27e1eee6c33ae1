"""What released sums say: class means, directions, covariances, each without what is more likely noise.

Reads nothing.
"""

from __future__ import annotations

import math

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.privacy.query_kinds import BESIDE, DIAGONAL

MEANS = (0.15, 0.4)
"""Least and most share of the budget for class means."""

QUIET = 0.002
"""Class means get their least share if its noise is at most this part of a record's squared length."""

FILLED = 0.06
"""As many directions as leave the noise of a class covariance below this part of it."""

FLOOR = 1e-3
"""The least variance of a direction, in that of the first."""


def class_sizes(counts: FloatArray, rows: float) -> FloatArray:
    """Class sizes that are possible: none below one record, all together the table."""
    sizes = np.maximum(counts, 1.0)
    return np.asarray(sizes * rows / sizes.sum())


def means_share(width: int, classes: int, rows: float, cost: float) -> float:
    """The share of the budget for class means, from public and released sizes."""
    return float(np.clip(MEANS[0] * means_noise(width, classes, rows, cost) / QUIET, *MEANS))


def means_noise(width: int, classes: int, rows: float, cost: float) -> float:
    """The noise of class means at their least share, as a part of a record's squared length."""
    return width * (classes / rows) ** 2 / (2 * MEANS[0] * cost)


def class_means(
    centre: FloatArray, known: float, sums: FloatArray, sizes: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray]:
    """The mean record, now that there are better numbers of it, and how far classes lie apart from it.

    What classes have in common mends the mean record, as far as it is surer.
    """
    rows = sizes.sum()
    common = sums.sum(axis=0) / rows
    own = noise * math.sqrt(len(sizes)) / rows
    apart = sums / sizes[:, None] - common
    return centre + common * known**2 / (known**2 + own**2), np.asarray(apart)


def without_noise(apart: FloatArray, noise: FloatArray) -> FloatArray:
    """Class deviations, each shortened by what noise alone would have made of it (James–Stein)."""
    kept = 1 - apart.shape[1] * noise**2 / np.maximum((apart**2).sum(axis=1), 1e-300)
    return np.asarray(apart * np.maximum(0.0, kept)[:, None])


def most_directions(left: float, size: float) -> int:
    """How many directions a class of this size can fill with what is left of the budget (ρ)."""
    # a class covariance in k whitened directions has noise of about k³·(6/7)²/(2ρn²) of its own size
    return max(1, int((FILLED * 2 * 0.75 * left * size**2 / (6 / 7) ** 2) ** (1 / 3)))


def leading(covariance: FloatArray, deviation: float, most: int, *, exactly: bool) -> tuple[FloatArray, FloatArray]:
    """Leading directions and their variances, as far as they are not made of noise."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    # noise alone has eigenvalues up to 2·deviation·√d
    edge = 2 * deviation * math.sqrt(len(values))
    kept = max(1, min(most if exactly else min(most, int((values > edge).sum())), len(values)))
    # noise lifts what it mixes with: λ̂ ≈ λ + (edge/2)²/λ
    seen = values[:kept]
    true = (seen + np.sqrt(np.maximum(seen**2 - edge**2, 0.0))) / 2
    return vectors[:, :kept], np.maximum(true, max(1e-6, float(true.max()) * FLOOR))


def smoothed(apart: FloatArray, noise: FloatArray, basis: FloatArray, values: FloatArray) -> FloatArray:
    """Class means without what is more likely noise: classes lie apart where records differ, more or less.

    The prior of a coordinate is proportional to the variance along it; its noise is the same in all. The factor is what
    fits the length of all of them.
    """
    inside = apart @ basis
    outside = apart - inside @ basis.T
    free = apart.shape[1] - basis.shape[1]
    found = []
    for a, b, sigma in zip(inside, outside, noise, strict=True):
        factor = max(0.0, float((a**2).sum()) - len(a) * sigma**2) / float(values.sum())
        kept = a * factor * values / (factor * values + sigma**2)
        left = max(0.0, 1 - free * sigma**2 / max(float((b**2).sum()), 1e-300))
        found.append(kept @ basis.T + left * b)
    return np.array(found)


def with_classes(
    covariance: FloatArray, basis: FloatArray, values: FloatArray, apart: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The directions with those in which classes lie apart, and the variances along all of them."""
    left = apart - (apart @ basis) @ basis.T
    left -= left.mean(axis=0)
    _, sizes, beside = np.linalg.svd(left, full_matrices=False)
    extra = beside[sizes > 1e-9].T[:, : max(0, len(apart) - 1)]
    along = np.einsum("ij,ik,kj->j", extra, covariance, extra)
    return np.hstack([basis, extra]), np.append(values, np.maximum(along, values.min()))


def left_out(covariance: FloatArray, deviation: float, root: FloatArray, filled: FloatArray) -> FloatArray:
    """The deviation of each feature that the directions leave out, once it is known how far records fill them."""
    held = np.einsum("ij,jk,ik->i", root, filled, root)
    return np.asarray(np.sqrt(np.maximum(variances(covariance, deviation) - held, 0.0)))


def variances(covariance: FloatArray, deviation: float) -> FloatArray:
    """The diagonal, moved towards its mean by how much of its spread is noise."""
    seen = np.diag(covariance)
    spread, noise = float(seen.var()), (deviation * BESIDE / DIAGONAL) ** 2
    kept = max(0.0, 1 - noise / spread) if spread > 0 else 0.0
    return np.asarray(seen.mean() + kept * (seen - seen.mean()))


def class_factors(
    shift: FloatArray, matrices: FloatArray, deviation: FloatArray, sizes: FloatArray, cut: FloatArray
) -> FloatArray:
    """Factors of the class covariances in whitened directions, shrunk towards the pooled one as far as they are noise.

    `cut` is how many times longer squared lengths are than after clipping.
    """
    inner = matrices.shape[1]
    own = matrices / sizes[:, None, None]
    pooled = np.einsum("c,cij->ij", sizes / sizes.sum(), own)
    factors = np.empty_like(matrices)
    for c, matrix in enumerate(own):
        apart = matrix - np.outer(shift[c], shift[c]) - pooled
        expected = inner * (inner + 1) * (float(deviation[c]) / sizes[c]) ** 2
        weight = max(0.0, 1 - expected / max(float((apart**2).sum()), 1e-300))
        values, vectors = np.linalg.eigh(cut[c] * (pooled + weight * apart))
        factors[c] = vectors * np.sqrt(np.maximum(values, 1e-4))
    return factors
