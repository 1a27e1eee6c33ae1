"""Whether the noise that a release claims is there: some of what was released would be zero, or equal, without it.

Every marginal counts the same records, so sums of two of them differ by noise alone. An interaction's exact cells sum
to zero along every axis; what the released ones sum to is noise. Together this is a χ² with as many degrees of freedom
as there are such differences. Less than it can be by chance means that less noise was drawn than the certificate says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import NoisyInteraction

LEAST_CHANCE = 1e-9
"""A release with its noise in it is called one without it this often, at most."""


def chi_squared(measurements: Sequence[NoisyMarginal], interactions: Sequence[NoisyInteraction]) -> float:
    """The probability that Gaussian noise of the stated deviations shows as little as here.

    1 where nothing can be known. Counts and interactions are looked at apart, since one may be there and the other not.
    """
    from scipy.special import gammainc

    return _least([(float(gammainc(of / 2, seen**2 / 2)), of) for seen, of in _seen(measurements, interactions)])


def any_shape(measurements: Sequence[NoisyMarginal], interactions: Sequence[NoisyInteraction]) -> float:
    """A bound on that probability for noise of any log-concave law, such as Laplace noise.

    Such a law of deviation 1, or a sum of such, has no density above 1. Of independent ones, a projection onto k
    dimensions has none above 2^(k/2) (Livshyts, Paouris and Pivovarov 2016), so a ball of radius r holds at most that
    times its volume.
    """
    bounds = []
    for seen, of in _seen(measurements, interactions):
        log = of / 2 * math.log(2 * math.pi) + of * math.log(seen) - math.lgamma(of / 2 + 1) if seen else -math.inf
        bounds.append((math.exp(min(0.0, log)), of))
    return _least(bounds)


def _least(chances: Sequence[tuple[float, int]]) -> float:
    """The smallest of several chances, times how many were looked at."""
    known = [chance for chance, freedom in chances if freedom]
    return min(1.0, len(known) * min(known)) if known else 1.0


def _seen(
    measurements: Sequence[NoisyMarginal], interactions: Sequence[NoisyInteraction]
) -> Iterator[tuple[float, int]]:
    """How much noise is seen in counts, and in interactions: its length in deviations, and degrees of freedom."""
    for terms in ([*_between_sums(measurements)], [_of_interaction(one) for one in interactions]):
        # half a unit more in each direction, because integers may agree exactly
        exact = math.sqrt(sum(of * (step / 2) ** 2 for _, of, step in terms))
        yield math.sqrt(sum(one for one, _, _ in terms)) + exact, sum(of for _, of, _ in terms)


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
