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
from kagemusha.synthesizers.nigao.phases import LENGTHS, MEAN_QUANTILE, Likeness, MeanRecord, Purse

DROWNED = 0.1
"""From this noise on (that of class means at their least share, in a record's squared length) nothing else is asked."""

FEW_DIRECTIONS = 6
"""Nor where half of the budget fills fewer directions of a class than this: two classes of 200 came out reversed."""

LEAST_APART = 1.0
"""Classes are taken to lie at least so far apart, in what noise alone makes of their means."""

ALONE = 0.8
"""Share of what is left for class means; squares get the rest."""

COUNT = LATTICE // 3
"""A record's count beside its vector: classes are small here, and a wrong size moves the mean."""


def is_small(width: int, classes: int, rows: float, cost: float) -> bool:
    """Whether the budget carries class means and no more, by public and released sizes."""
    drowned = estimates.means_noise(width, classes, rows, cost) > DROWNED
    return drowned or estimates.most_directions(cost / 2, rows / classes) < min(FEW_DIRECTIONS, width)


def plain_likeness(curator: Curator, around: Vectors, mean: MeanRecord, purse: Purse, progress: Progress) -> Likeness:
    """Class means, and each feature's spread."""
    progress("class means", 0.3)
    squares, lengths_cost = squares_of(around), purse.take(LENGTHS)
    by_class = ClassSums(around, "class sizes and sums", COUNT)
    answer = curator.answer([by_class], purse.rest(ALONE))[0]
    counts, sums = by_class.split(answer)
    noise = answer.sigma * float(around.radius[0]) / LATTICE
    sizes = estimates.class_sizes(counts, mean.rows)
    centre, apart = estimates.class_means(mean.centre, mean.noise, sums, sizes, noise)

    progress("spread of features", 0.7)
    lengths_found = look_at_lengths(curator, squares, MEAN_QUANTILE, lengths_cost, together=True)
    squares = replace(squares, radius=lengths_found.radius)
    query = ClassSums(squares, "squares of features", 1)
    answer = curator.answer([query], purse.rest())[0]
    _, squared = query.split(answer)
    blur = answer.sigma * float(squares.radius[0]) / LATTICE / mean.rows
    whole = _levelled(_FURTHEST * squared[0] / mean.rows, _FURTHEST * blur)
    # where records hardly differ, classes cannot lie apart: noise there would be a certain sign of a class
    apart = apart_by_feature(apart, noise / sizes, np.maximum(whole, _LEAST))
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


def apart_by_feature(apart: FloatArray, noise: FloatArray, values: FloatArray) -> FloatArray:
    """Class deviations without what is more likely noise: classes lie apart where features vary, more or less.

    As in `estimates.smoothed`, but never less than LEAST_APART: learners can use a direction that is half noise.
    """
    drowned = len(values) * noise**2
    factor = np.maximum((apart**2).sum(axis=1) - drowned, LEAST_APART * drowned) / values.sum()
    prior = factor[:, None] * values
    return np.asarray(apart * prior / (prior + (noise**2)[:, None]))


def _levelled(seen: FloatArray, noise: float) -> FloatArray:
    """Mean squares, moved towards their mean by how much of their scatter is noise."""
    scatter = float(seen.var())
    kept = max(0.0, 1 - noise**2 / scatter) if scatter > 0 else 0.0
    return np.asarray(np.maximum(seen.mean() + kept * (seen - seen.mean()), 0.0))
