"""The phases of nigao: the mean record, class means, directions, and how classes fill them.

Every read is a paid sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.progress import Progress
from kagemusha.queries.record_sums import ClassSums, Scatter
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.release.curator import Curator
from kagemusha.synthesizers.nigao import estimates
from kagemusha.synthesizers.nigao.lengths import look_at_lengths

CENTRE, LENGTHS, SCATTER = 0.03, 0.01, 0.34
"""Shares of the budget: the mean record, each of three looks at lengths, directions. Class means have a share of their
own (`estimates.MEANS`), classes along the directions get the rest."""

MOVED = 0.25
"""Share of the rest for class means along the directions; class covariances get the other part."""

COUNT = LATTICE // 8
"""A record's count beside its vector of LATTICE: counts need far less precision."""

MEAN_QUANTILE, SCATTER_QUANTILE, CLASS_QUANTILE = 0.9, 0.7, 0.8
"""Which share of records keeps its length: clipping the longest costs less than noise made for them."""


class Purse:
    """What the phases may spend (ρ), and what is left of it."""

    def __init__(self, rho: float) -> None:
        self.rho = self.left = rho

    def take(self, share: float) -> float:
        """The cost of a step that gets this share of the whole."""
        cost = share * self.rho
        self.left -= cost
        return cost

    def rest(self, share: float = 1.0) -> float:
        """The cost of a step that gets this share of what is left."""
        cost = share * self.left * (1 - 1e-9)
        self.left -= cost
        return cost


@dataclass(frozen=True, eq=False)
class MeanRecord:
    """How many records there are, their mean, and the deviation of the noise in its entries."""

    rows: float
    centre: FloatArray
    noise: float


@dataclass(frozen=True, eq=False)
class Likeness:
    """Class c is N(means[c], (root·factors[c])(root·factors[c])ᵀ), plus each feature's own spread."""

    sizes: FloatArray
    means: FloatArray
    root: FloatArray
    factors: FloatArray
    spread: FloatArray
    white: Vectors
    """Records in whitened directions around their class means, clipped."""
    radius: float
    """The clipping norm of records around their class means."""


def mean_record(curator: Curator, start: Vectors, purse: Purse) -> MeanRecord:
    """Clipped at the length that no record passes."""
    whole = replace(start, radius=np.full(1, math.sqrt(start.raw_width)), cells=())
    query = ClassSums(whole, "sum of all records", COUNT)
    answer = curator.answer([query], purse.take(CENTRE))[0]
    counts, sums = query.split(answer)
    public = curator.public_rows()
    rows = max(1.0, float(counts[0]) if public is None else float(public))
    return MeanRecord(rows, np.clip(sums / rows, -1, 1), answer.sigma * float(whole.radius[0]) / LATTICE / rows)


def likeness(
    curator: Curator,
    around: Vectors,
    mean: MeanRecord,
    purse: Purse,
    *,
    directions: int | None,
    progress: Progress,
) -> Likeness:
    """All phases after the mean record; `around` are the records around it, with their classes and a clipping norm."""
    progress("class means", 0.15)
    rows, classes = mean.rows, around.classes
    share = estimates.means_share(around.raw_width, classes, rows, purse.rho)
    by_class = ClassSums(around, "class sizes and sums", COUNT)
    answer = curator.answer([by_class], purse.take(share))[0]
    counts, sums = by_class.split(answer)
    noise = answer.sigma * float(around.radius[0]) / LATTICE
    sizes = estimates.class_sizes(counts, rows)
    centre, apart = estimates.class_means(mean.centre, mean.noise, sums, sizes, noise)
    means = centre + estimates.without_noise(apart, noise / sizes)

    progress("directions", 0.35)
    within = replace(around, centre=means)
    lengths = look_at_lengths(curator, within, SCATTER_QUANTILE, purse.take(LENGTHS), together=True)
    within = replace(within, radius=lengths.radius)
    query = Scatter(within, "scatter around class means")
    cost = purse.take(SCATTER * (1 - share) / (1 - estimates.MEANS[0]))
    matrices, deviations = query.split(curator.answer([query], cost)[0])
    per_row = float(lengths.cut[0]) / rows
    covariance, deviation = matrices[0] * per_row, float(deviations[0]) * per_row
    most = directions or estimates.most_directions(purse.left, rows / classes)
    found = estimates.leading(covariance, deviation, most, exactly=directions is not None)
    apart = estimates.smoothed(apart, noise / sizes, *found)
    basis, values = estimates.with_classes(covariance, *found, apart)

    progress("classes in these directions", 0.7)
    white = replace(within, basis=basis / np.sqrt(values))
    lengths = look_at_lengths(curator, white, CLASS_QUANTILE, purse.take(LENGTHS))
    white = replace(white, radius=lengths.radius)
    moved = ClassSums(white, "class means along the directions", COUNT)
    filled = Scatter(white, "class covariances along the directions", apart=True)
    first = curator.answer([moved], purse.rest(MOVED))[0]
    second = curator.answer([filled], purse.rest())[0]
    _, sums = moved.split(first)
    shift = sums / sizes[:, None]
    blurred = (first.sigma * white.radius / LATTICE / sizes)[:, None] ** 2
    shift *= np.maximum(0.0, 1 - blurred / np.maximum(shift**2, 1e-300))
    matrices, deviations = filled.split(second)
    factors = estimates.class_factors(shift, matrices, deviations, sizes, lengths.cut)
    root = basis * np.sqrt(values)
    inside = np.einsum("c,cij,ckj->ik", sizes / sizes.sum(), factors, factors)
    spread = estimates.left_out(covariance, deviation, root, inside)
    means = centre + ((means - centre) @ basis) @ basis.T + shift @ root.T
    return Likeness(sizes, means, root, factors, spread, white, float(within.radius[0]))
