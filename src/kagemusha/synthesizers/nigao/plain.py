"""Nigao where the budget carries class means and no more: few records, many features or many classes.

Directions and covariances are sums of products, whose noise grows with the square of the width; class means drown in
what they leave over. So nearly everything goes to class means, and the rest to each feature's own spread, taken from
the sums of squares of all records.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.progress import Progress
from kagemusha.queries.record_sums import ClassSums
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.release.curator import Curator
from kagemusha.schema.features import STEPS, Features
from kagemusha.synthesizers.nigao import estimates
from kagemusha.synthesizers.nigao.lengths import look_at_lengths
from kagemusha.synthesizers.nigao.phases import LENGTHS, MEAN_QUANTILE, ClassMeans, Likeness, MeanRecord, Purse

DROWNED = 0.1
"""From this noise on (that of class means at their least share, in a record's squared length) nothing else is asked,
if classes lie apart at all."""

SEEN = 0.05
"""Classes lie apart if so much of their noisy distance from the mean is no noise; else directions tell more of them."""

ALONE = 0.75
"""Share of what is left for class means once more; squares get the rest."""

COUNT = LATTICE // 3
"""A record's count beside its vector: classes are small here, and a wrong size moves the mean."""


def is_small(width: int, classes: int, rows: float, cost: float) -> bool:
    """Whether the budget carries class means and no more, by public and released sizes."""
    return estimates.means_noise(width, classes, rows, cost) > DROWNED


def plain_likeness(
    curator: Curator, around: Vectors, mean: MeanRecord, purse: Purse, progress: Progress, first: ClassMeans
) -> Likeness | None:
    """Class means and each feature's spread; None where the first look at the means saw nothing but noise."""
    sizes = estimates.class_sizes(first.counts, mean.rows)
    _, apart = estimates.class_means(mean.centre, mean.noise, first.sums, sizes, first.noise)
    lengths = (apart**2).sum(axis=1) * sizes
    if 1 - apart.shape[1] * float((first.noise**2 / sizes).sum()) / max(float(lengths.sum()), 1e-300) < SEEN:
        return None
    progress("class means once more", 0.4)
    squares, lengths_cost = squares_of(around), purse.take(LENGTHS)
    by_class = ClassSums(around, "class sizes and sums once more", COUNT)
    answer = curator.answer([by_class], purse.rest(ALONE))[0]
    found = first.with_more(*by_class.split(answer), answer.sigma * float(around.radius[0]) / LATTICE, COUNT)
    sizes = estimates.class_sizes(found.counts, mean.rows)
    centre, apart = estimates.class_means(mean.centre, mean.noise, found.sums, sizes, found.noise)
    apart = estimates.without_noise(apart, found.noise / sizes)

    progress("spread of features", 0.7)
    lengths_found = look_at_lengths(curator, squares, MEAN_QUANTILE, lengths_cost, together=True)
    squares = replace(squares, radius=lengths_found.radius)
    query = ClassSums(squares, "squares of features", 1)
    answer = curator.answer([query], purse.rest())[0]
    _, sums = query.split(answer)
    blur = answer.sigma * float(squares.radius[0]) / LATTICE / mean.rows
    whole = _levelled(_FURTHEST * sums[0] / mean.rows, _FURTHEST * blur)
    shares = (sizes / sizes.sum())[:, None]
    # squares were taken around the mean record: what classes lie apart is no spread
    between = (shares * (centre + apart - mean.centre) ** 2).sum(axis=0)
    spread = np.sqrt(np.maximum(whole - between, _LEAST * max(float(whole.mean()), _LEAST)))
    width, classes = around.raw_width, around.classes
    return Likeness(
        sizes,
        centre + apart,
        np.zeros((width, 1)),
        np.zeros((classes, 1, 1)),
        spread,
        around,
        float(around.radius[0]),
    )


_FURTHEST = 4.0
"""The largest square of a feature less its mean: both lie within −1 and 1."""

_LEAST = 1e-3


def squares_of(around: Vectors) -> Vectors:
    """Each feature's squared distance from the mean record, by code, in parts of the largest there is."""
    assert around.centre is not None
    features, at = [], 0
    for one in around.features:
        centre = around.centre[0, at : at + one.table.shape[1]]
        squared = (one.table / STEPS - centre) ** 2 / _FURTHEST
        features.append(Features(one.name, one.labelled, np.rint(STEPS * squared).astype(np.int64)))
        at += one.table.shape[1]
    return replace(around, features=features, centre=None, cells=())


def _levelled(seen: FloatArray, noise: float) -> FloatArray:
    """Mean squares, moved towards their mean by how much of their scatter is noise."""
    scatter = float(seen.var())
    kept = max(0.0, 1 - noise**2 / scatter) if scatter > 0 else 0.0
    return np.asarray(np.maximum(seen.mean() + kept * (seen - seen.mean()), 0.0))
