"""Rows drawn from the table's own normal distribution; mean and covariance are forgotten as soon as they are drawn.

Everything up to the eigenvectors, and everything after them, is in whole numbers: the sums are exact, mean and
covariance lie on a lattice, noise and draws are exact integers, and the edges between codes are compared as integers.
What a step rounds is counted in the cost (`privacy.generation.rows`). A table of fewer records than declared is filled
up with records all of whose features are nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import QueryRecord
from kagemusha.privacy.events import GenerationEvent
from kagemusha.privacy.generation.rows import DRAWN_BITS, GRAIN, GRAIN_BITS, LATTICE_BITS
from kagemusha.privacy.mechanisms import Noise
from kagemusha.queries.moments import CrossMoments, FirstMoments
from kagemusha.schema.domain import Clique
from kagemusha.schema.features import STEPS, Features, generation_facts

_GRAINS = round(1 / GRAIN)
_FACTOR_BITS = 50
_CUT = 1 << (LATTICE_BITS + 6)
"""A drawn feature beyond ±64 counts as that."""
_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Secret:
    """Mean and covariance in whole grains. Never stored, never returned."""

    mean: IntArray
    covariance: IntArray

    def normal(self, event: GenerationEvent) -> tuple[FloatArray, FloatArray]:
        """Mean and factor F of the normal distribution that rows are drawn from; F·Fᵀ is the covariance."""
        values, vectors = np.linalg.eigh(self.covariance.astype(np.float64) * GRAIN)
        lowest = event.floor + 4 * event.width * GRAIN
        # the projection onto covariances between the floor and the most that records so near each other can have
        values = np.clip(values, lowest, max(lowest, event.apart / 2))
        factor: FloatArray = vectors * np.sqrt(values)
        return self.mean.astype(np.float64) * GRAIN, factor

    def noisy(self, event: GenerationEvent, noise: Noise) -> Secret:
        """The same with the event's noise."""
        if not event.noise:
            return self
        width = len(self.mean)
        cost = event.cost
        mean = self.mean + noise.rounded_gaussian(cost.mean_deviation * _GRAINS, width)
        covariance = self.covariance.copy()
        on = noise.rounded_gaussian(cost.covariance_deviation * _GRAINS, width)
        off = noise.rounded_gaussian(cost.covariance_deviation / math.sqrt(2) * _GRAINS, width * (width - 1) // 2)
        rows, columns = np.triu_indices(width, k=1)
        covariance[np.diag_indices(width)] += on
        covariance[rows, columns] += off
        covariance[columns, rows] += off
        return Secret(mean, covariance)


def cliques_of(features: Sequence[Features]) -> list[Clique]:
    """The marginals that mean and covariance are made of."""
    return [*FirstMoments(features).cliques(), *CrossMoments(features).cliques()]


def generation_query(features: Sequence[Features]) -> QueryRecord:
    """What an event says of the table that rows are drawn from."""
    fields = [[f.name, f.labelled, f.table.shape] for f in features]
    digest = hashlib.sha256(json.dumps(fields).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return QueryRecord.of("generated-rows", generation_facts(features), digest)


def secret_of(features: Sequence[Features], counted: Mapping[Clique, Marginal], at_least: int) -> Secret:
    """Mean and covariance of the table, filled up to at least so many records; exact, then rounded to grains."""
    first, cross = FirstMoments(features), CrossMoments(features)
    sums = first.values([counted[c] for c in first.cliques()])
    products = cross.values([counted[c] for c in cross.cliques()])
    records = max(at_least, int(sums[0]) // STEPS**2)
    width = sum(f.table.shape[1] for f in features)
    total, second = np.zeros(width, dtype=object), np.zeros((width, width), dtype=object)
    starts, at, place = [], 1, 0
    for feature in features:
        own = feature.table.shape[1]
        starts.append(place)
        total[place : place + own] = [int(v) for v in sums[at : at + own]]
        # features of one column never occur together: their products are squares
        squares = (
            sums[at : at + own]
            if feature.labelled
            else [sums[at + feature.statistics.shape[1] - 1], *sums[at + 1 : at + own]]
        )
        for i, value in enumerate(squares):
            second[place + i, place + i] = int(value)
        at += feature.statistics.shape[1]
        place += own
    at = 0
    for (i, a), (j, b) in combinations(enumerate(features), 2):
        shape = a.table.shape[1], b.table.shape[1]
        block = products[at : at + shape[0] * shape[1]].reshape(shape).astype(object)
        second[starts[i] : starts[i] + shape[0], starts[j] : starts[j] + shape[1]] = block
        second[starts[j] : starts[j] + shape[1], starts[i] : starts[i] + shape[0]] = block.T
        at += block.size
    scale = STEPS**2  # what sums are counted in
    mean = [_rounded(int(v) * _GRAINS, records * scale) for v in total]
    covariance = [
        [
            _rounded(
                (records * scale * int(second[i, j]) - int(total[i]) * int(total[j])) * _GRAINS, (records * scale) ** 2
            )
            for j in range(width)
        ]
        for i in range(width)
    ]
    return Secret(np.array(mean, dtype=np.int64), np.array(covariance, dtype=np.int64).reshape(width, width))


def _rounded(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


Seen = Callable[[IntArray], None]
"""Takes drawn features in units of 2^−56, block by block: audits look at them, a release does not."""


def draw(features: Sequence[Features], secret: Secret, event: GenerationEvent, noise: Noise, seen: Seen) -> IntArray:
    """The codes of the rows that the event pays for."""
    mean, factor = secret.normal(event)
    middle = [round(float(v) * _GRAINS) << (_FACTOR_BITS + DRAWN_BITS - GRAIN_BITS) for v in mean]
    scaled = np.array([[round(math.ldexp(float(v), _FACTOR_BITS)) for v in row] for row in factor], dtype=object)
    codes = np.empty((event.rows, len(features)), dtype=np.int64)
    step = max(1, _BLOCK // len(mean))
    for begin in range(0, event.rows, step):
        block = codes[begin : begin + step]
        drawn = noise.rounded_gaussian(2.0**DRAWN_BITS, len(block) * len(mean)).reshape(len(block), -1)
        exact = drawn.astype(object) @ scaled.T + np.array(middle, dtype=object)
        lattice = _cut(exact >> (_FACTOR_BITS + DRAWN_BITS - LATTICE_BITS))
        seen(lattice)
        at = 0
        for axis, feature in enumerate(features):
            own = feature.table.shape[1]
            block[:, axis] = codes_of(feature, lattice[:, at : at + own])
            at += own
    return codes


def _cut(values: Any) -> IntArray:
    cut: IntArray = np.clip(values, -_CUT, _CUT).astype(np.int64)
    return cut


def codes_of(feature: Features, drawn: IntArray) -> IntArray:
    """The codes that drawn features stand for: the largest label, the nearest place, missing from one half on."""
    if feature.labelled:
        best: IntArray = drawn.argmax(axis=1).astype(np.int64)
        return best
    size, width = feature.table.shape
    places = feature.table[: size - (width - 1), 0]
    # halfway between two places, in the units of drawn features
    edges = (places[1:] + places[:-1]) << (LATTICE_BITS - STEPS.bit_length())
    codes: IntArray = np.searchsorted(edges, drawn[:, 0]).astype(np.int64)
    if width == 2:
        codes[drawn[:, 1] > 1 << (LATTICE_BITS - 1)] = size - 1
    return codes
