"""Whether the noise that a release claims is there: some of what was released would be zero, or equal, without it.

Every marginal counts the same records, so sums of two of them differ by noise alone. An interaction's exact cells sum to
zero along every axis; what the released ones sum to is noise. Together this is a χ² with as many degrees of freedom as
there are such differences. Less than it can be by chance means that less noise was drawn than the certificate says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import NoisyInteraction

LEAST_CHANCE = 1e-9
"""A release with its noise in it is called one without it this often, at most."""


def chance_of_so_little(measurements: Sequence[NoisyMarginal], interactions: Sequence[NoisyInteraction]) -> float:
    """The probability that noise of the stated deviations shows as little as here; 1 where nothing can be told.

    For Gaussian noise on integers. Counts and interactions are looked at apart, since one may be there and the other not.
    """
    families = [[*_between_sums(measurements)], [_of_interaction(one) for one in interactions]]
    chances = [_chance(family) for family in families]
    return min(1.0, len(chances) * min(chances))


def _chance(terms: Sequence[tuple[float, int, float]]) -> float:
    from scipy.special import gammainc

    freedom = sum(of for _, of, _ in terms)
    if not freedom:
        return 1.0
    # half a unit more in each direction, because integers may agree exactly
    seen = math.sqrt(sum(one for one, _, _ in terms)) + math.sqrt(sum(of * (step / 2) ** 2 for _, of, step in terms))
    return float(gammainc(freedom / 2, seen**2 / 2))


def _between_sums(measurements: Sequence[NoisyMarginal]) -> Iterator[tuple[float, int, float]]:
    """How far sums of marginals differ, in deviations; degrees of freedom; size of an integer step in deviations."""
    noisy = [m for m in measurements if m.sigma > 0]
    if len(noisy) < 2:
        return
    sums = np.array([float(m.values.sum()) for m in noisy])
    variances = np.array([m.values.size * m.sigma**2 for m in noisy])
    middle = (sums / variances).sum() / (1 / variances).sum()
    steps = 1 / np.sqrt(variances)
    yield float(((sums - middle) ** 2 / variances).sum()), len(noisy) - 1, float(steps.max())


def _of_interaction(released: NoisyInteraction) -> tuple[float, int, float]:
    """The part of an interaction that is noise alone: what is left of it when it is centred, taken away."""
    if not released.sigma > 0:
        return 0.0, 0, 0.0
    centred = released.values
    for axis in range(centred.ndim):
        centred = centred - centred.mean(axis=axis, keepdims=True)
    freedom = centred.size - math.prod(n - 1 for n in centred.shape)
    left = float(((released.values - centred) ** 2).sum()) / released.sigma**2
    return left, freedom, 1 / (released.sigma * released.query.scale)
