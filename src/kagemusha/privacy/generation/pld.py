"""ε of generation randomness from the privacy loss itself, under add-remove.

One pair of product Gaussians dominates every pair of neighbours (any n' ≥ n, any record, any Σ ⪰ σI): each is
its image under a channel, so its hockey-stick divergence bounds theirs in both directions (proof note, section
4). Its loss over all m records is a shifted non-central χ² plus a shifted χ²: no composition is approximated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kagemusha.arrays import FloatArray

# `scipy.stats.ncx2` agrees with 40-digit integration to 6e-13; probabilities are moved 1e-9 the safe way
_ROUNDING = 1e-9
_CELLS = 512
# the mass outside the cells is below e^(−_REACH) on either side (Laurent and Massart 2000)
_REACH = 42.0


def _ncx2() -> Any:
    # not `chi2`: scipy's incomplete gamma function loses up to half of a lower tail at 10^9 degrees of freedom
    from scipy.stats import ncx2

    return ncx2


@dataclass(frozen=True)
class WideningPart:
    """P = N(0, I) against Q = N(shift·e₁, (1 + widening)·I) in `size` dimensions.

    The loss is level − slope·U with U = ‖y − y*‖², non-central χ² under P and (1 + widening) times one under Q.
    """

    size: int
    shift: float
    widening: float

    @property
    def _slope(self) -> float:
        return self.widening / (2 * (1 + self.widening))

    @property
    def _level(self) -> float:
        return self.size / 2 * math.log1p(self.widening) + self.shift**2 / (2 * self.widening)

    def delta(self, epsilon: FloatArray) -> FloatArray:
        """An upper bound of the hockey-stick divergence of P from Q at each ε."""
        import numpy as np

        return self._hockey_stick(epsilon, np.maximum(0.0, (self._level - epsilon) / self._slope), _ncx2().cdf, 0)

    def delta_reversed(self, epsilon: FloatArray) -> FloatArray:
        """The same of Q from P."""
        import numpy as np

        return self._hockey_stick(epsilon, np.maximum(0.0, (self._level + epsilon) / self._slope), _ncx2().sf, 1)

    def _hockey_stick(
        self, epsilon: FloatArray, edge: FloatArray, mass: Callable[..., FloatArray], order: int
    ) -> FloatArray:
        import numpy as np

        off_centre = (self.shift / self.widening) ** 2
        wide = 1 + self.widening
        under = (mass(edge, self.size, off_centre), mass(edge / wide, self.size, off_centre * wide))
        first, second = under[order], under[1 - order]
        with np.errstate(divide="ignore"):  # in logarithms: e^ε alone would overflow at ε = 710
            lost = np.exp(np.minimum(epsilon + np.log(second), 1.0))
        return np.clip(first * (1 + _ROUNDING) - lost * (1 - _ROUNDING), 0.0, 1.0)


@dataclass(frozen=True)
class ShrinkingPart:
    """P = N(0, I) against Q = N(0, (1 − shrinking)·I) in `size` dimensions."""

    size: int
    shrinking: float

    def cells(self, *, reversed_pair: bool) -> tuple[FloatArray, FloatArray]:
        """(losses, masses): the loss distribution with each cell's mass moved up to its largest loss.

        The mass above the last cell gets infinite loss.
        """
        import numpy as np

        spread = 2 * math.sqrt(self.size * _REACH)
        edges = np.linspace(self.size - spread, self.size + spread + 2 * _REACH, _CELLS + 1)
        edges = np.concatenate(([0.0], edges[edges > 0], [np.inf]))
        below, above = _ncx2().cdf(edges, self.size, 1e-30), _ncx2().sf(edges, self.size, 1e-30)
        below[0], above[0], below[-1], above[-1] = 0.0, 1.0, 1.0, 0.0
        # each tail from its own side, so that small masses keep their digits
        masses = np.where(edges[1:] <= self.size, np.diff(below), -np.diff(above))
        tails = np.minimum(below, above)
        masses = masses + _ROUNDING * (masses + tails[:-1] + tails[1:])
        scale = (1 - self.shrinking) if reversed_pair else 1.0
        square = scale * (edges[:-1] if reversed_pair else edges[1:])
        sign = -1.0 if reversed_pair else 1.0
        log_ratio = self.size / 2 * math.log1p(-self.shrinking)
        return sign * (log_ratio + self.shrinking / (2 * (1 - self.shrinking)) * square), masses


@dataclass(frozen=True)
class GaussianPair:
    """The product of both parts; `epsilon` bounds both directions."""

    widening: WideningPart
    shrinking: ShrinkingPart | None

    def delta(self, epsilon: float) -> float:
        """An upper bound of δ(ε): E over the second part's loss L of the first part's δ(ε − L)."""
        return max(self._one_direction(epsilon, backwards) for backwards in (False, True))

    def _one_direction(self, epsilon: float, backwards: bool) -> float:
        import numpy as np

        part = self.widening.delta_reversed if backwards else self.widening.delta
        if self.shrinking is None:
            return float(part(np.array([epsilon]))[0])
        losses, masses = self.shrinking.cells(reversed_pair=backwards)
        finite = np.isfinite(losses)
        return float(masses[finite] @ part(epsilon - losses[finite]) + masses[~finite].sum())

    def epsilon(self, delta: float) -> float:
        """An ε ≥ 0 whose bound is at most δ, within 1e-6 of the smallest; ∞ if none below 10⁶ is."""
        forwards = self._smallest(delta, 0.0, backwards=False)
        return forwards if math.isinf(forwards) else self._smallest(delta, forwards, backwards=True)

    def _smallest(self, delta: float, start: float, *, backwards: bool) -> float:
        from scipy.optimize import brentq

        def above(epsilon: float) -> float:
            # the floor only keeps the logarithm finite, far below any δ asked for
            return math.log(max(self._one_direction(epsilon, backwards), 1e-300) / delta)

        if above(start) <= 0:
            return start
        high = max(1.0, 2 * start)
        while above(high) > 0:
            start, high = high, 2 * high
            if high > 1e6:
                return math.inf
        found = float(brentq(above, start, high, xtol=1e-7)) + 2e-7
        while above(found) > 0:
            found += 1e-6
        return found


def dominating_pair(n: int, d: int, tau: Fraction, m: int) -> GaussianPair:
    """The pair that dominates m records from all neighbours with at least n records.

    A share of each released record's variance carries the common factor n/(n+1); any share is valid, this one
    nearly minimises the summed squares.
    """
    ratio = (d / float(tau) ** 2) ** (1 / 3)
    share = ratio / (1 + ratio)
    widening = float(n * tau / (n + 1) ** 2) / (1 - share)
    shift = math.sqrt(m * float(tau) / (1 - share)) / (n + 1)
    shrinking = 1 / ((n + 1) * share)
    # one spare record lets the mean shrink while the variance stays: needed for n' > n
    return GaussianPair(WideningPart(m + 1, shift, widening), ShrinkingPart(d * m, shrinking))


def pair_at(n: int, d: int, r: float, m: int) -> GaussianPair:
    """One pair of neighbours, of n and n + 1 records, with r = (x−μ)ᵀΣ⁻¹(x−μ) > 1 + 1/n: a diagnostic.

    Its ε shows how much the dominating pair gives away; it is no guarantee for other pairs.
    """
    widening = (n * r / (n + 1) - 1) / (n + 1)
    rest = ShrinkingPart((d - 1) * m, 1 / (n + 1)) if d > 1 else None
    return GaussianPair(WideningPart(m, math.sqrt(m * r) / (n + 1), widening), rest)
