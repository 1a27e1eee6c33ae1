"""Numbers on scales of their own: heavy tails pulled in, gaps put at the mean of what is there.

A normal distribution fits a number whose values have one mode between the declared bounds. Where a noisy histogram
shows that most records share a few codes and the rest lies far away, places are pulled in logarithmically. Afterwards
the doubles' codes are cut so that they are as frequent as the histogram says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.generators.classes import ClassGenerator
from kagemusha.queries.record_vectors import Vectors
from kagemusha.release.curator import Curator
from kagemusha.schema.features import STEPS, Features
from kagemusha.schema.images import image_shape
from kagemusha.synthesizers.candidates import gaussian_sigma
from kagemusha.synthesizers.nigao.phases import MeanRecord, Purse

TAILS = 0.03
"""The most that histograms of numbers may get of the budget."""

FINE, COARSE = 0.005, 0.015
"""Noise in a cell of a histogram, as a share of records: no finer is paid for, and none is asked if it would be
coarser."""

SKEWED, PEAKED = 1.5, 8.0
"""From this skewness (in absolute value) or excess kurtosis on, a number has a heavy tail."""

FEWEST_CODES = 9
"""Numbers of fewer codes are taken as they are."""

CLEAR = 2.5
"""A group of codes counts if it is so many deviations of its noise away from none."""

LEAST_GAPS = 1e-4
"""The least chance of a gap where a column may have gaps."""

_REFERENCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Scales:
    """Features as the phases see them, and the released shares that the doubles' codes are cut by."""

    features: Sequence[Features]
    rising: Mapping[str, FloatArray]
    """For each number with a heavy tail, the share of records up to each code."""
    gaps: Mapping[str, FloatArray]
    """For each number with marks (special values, a gap), the share of records that has each."""

    def calibrated(self, generator: ClassGenerator) -> ClassGenerator:
        """The same generator with codes and gaps as frequent as they should be. Post-processing: reads nothing."""
        if not self.rising and not self.gaps:
            return generator
        rng = np.random.default_rng(0)
        classes = rng.choice(len(generator.weights), _REFERENCE, p=generator.weights)
        drawn = np.concatenate([features for _, features in generator.features(classes, rng)])
        edges, gaps, at = {}, [], 0
        for place in generator.columns:
            if place.name in self.rising:
                edges[place.name] = np.quantile(drawn[:, at], self.rising[place.name][:-1])
            for i, share in enumerate(self.gaps.get(place.name, ())):
                gaps.append(float(np.quantile(drawn[:, at + 1 + i], 1 - share)))
            at += place.width
        return replace(generator, edges=edges, gaps=np.array(gaps))


def scaled(curator: Curator, start: Vectors, mean: MeanRecord, purse: Purse) -> tuple[Scales, MeanRecord]:
    """The scales of all numbers, and the mean record on them."""
    features, centre = [*start.features], mean.centre[0].copy()
    gaps = _fill_gaps(features, centre)
    rising = {}
    for i, shares in _histograms(curator, features, mean.rows, purse).items():
        if is_heavy(features[i].table[: len(shares), 0] / STEPS, np.diff(shares, prepend=0.0)):
            at = sum(f.table.shape[1] for f in features[:i])
            features[i] = _pulled_in(features[i], shares)
            centre[at] = features[i].table[: len(shares), 0] / STEPS @ np.diff(shares, prepend=0.0)
            rising[features[i].name] = shares
    return Scales(features, rising, gaps), replace(mean, centre=centre[None, :])


def is_heavy(places: FloatArray, shares: FloatArray) -> bool:
    """Whether a number is far from any normal distribution."""
    apart = places - float(places @ shares)
    variance = max(float(apart**2 @ shares), 1e-12)
    skew, peak = float(apart**3 @ shares) / variance**1.5, float(apart**4 @ shares) / variance**2 - 3
    return abs(skew) > SKEWED or peak > PEAKED


def rising_shares(counts: FloatArray, sigma: float) -> FloatArray:
    """The share of records up to each code, from counts with noise of deviation `sigma`: never falling, from 0 to 1.

    Codes are taken together in groups that double away from the most frequent one, and a group that noise alone could
    have made is empty: single counts of a long tail drown, their sums do not.
    """
    peak = int(counts.argmax())
    smooth = np.zeros(len(counts))
    smooth[peak] = max(float(counts[peak]), 1.0)
    for side, mine in ((smooth[peak + 1 :], counts[peak + 1 :]), (smooth[:peak][::-1], counts[:peak][::-1])):
        begin, size = 0, 1
        while begin < len(side):
            group = mine[begin : begin + size]
            found = float(group.sum())
            side[begin : begin + size] = found / len(group) if found > CLEAR * sigma * len(group) ** 0.5 else 0.0
            begin, size = begin + size, 2 * size
    return np.asarray(np.cumsum(smooth) / smooth.sum())


def _fill_gaps(features: list[Features], centre: FloatArray) -> dict[str, FloatArray]:
    """Put what is no number at the mean of those that are there, and tell how often that is."""
    gaps, at = {}, 0
    for i, one in enumerate(features):
        marks = one.table.shape[1] - 1
        if marks:
            shares = np.clip(centre[at + 1 : at + 1 + marks], LEAST_GAPS, 1 - LEAST_GAPS)
            there = float(np.clip(centre[at] / max(1 - float(shares.sum()), LEAST_GAPS), -1, 1))
            table = one.table.copy()
            table[-marks:, 0] = round(STEPS * there)
            features[i] = replace(one, table=table)
            centre[at], gaps[one.name] = table[-1, 0] / STEPS, shares
        at += one.table.shape[1]
    return gaps


def _histograms(curator: Curator, features: Sequence[Features], rows: float, purse: Purse) -> dict[int, FloatArray]:
    """Rising shares of all numbers of many codes, by position; none where their noise would be too coarse."""
    asked = [i for i, f in enumerate(features) if len(f.table) >= FEWEST_CODES]
    if not asked or image_shape(curator.schema) is not None:  # pictures have no tails
        return {}
    whole = gaussian_sigma(curator.unit, purse.rho / len(asked))
    share = min(TAILS, (whole / (FINE * rows)) ** 2)
    if whole / share**0.5 > COARSE * rows:
        return {}
    cost = purse.take(share) / len(asked)
    counted = curator.measure([(features[i].name,) for i in asked], cost)
    n_values = [len(features[i].table) - (features[i].table.shape[1] - 1) for i in asked]
    return {
        i: rising_shares(np.asarray(m.values, dtype=np.float64)[:n], m.sigma)
        for i, m, n in zip(asked, counted, n_values, strict=True)
    }


def _pulled_in(one: Features, shares: FloatArray) -> Features:
    """The place between the bounds, linear about the middle half of records and logarithmic beyond."""
    places = one.table[: len(shares), 0] / STEPS
    low, middle, high = (float(np.interp(q, shares, places)) for q in (0.25, 0.5, 0.75))
    drawn = np.arcsinh((places - middle) / max(high - low, float(np.diff(places).max(initial=0.0)), 1e-3))
    table = one.table.copy()
    table[: len(shares), 0] = np.rint(STEPS * drawn / max(float(np.abs(drawn).max()), 1e-9)).astype(np.int64)
    table[len(shares) :, 0] = 0  # what is no number stands in the middle
    return replace(one, table=table)
