"""What rows drawn from a secret normal distribution cost: nothing is assumed of the table.

m rows of N(μ̂, Π(Σ̂)), where (μ̂, Σ̂) are mean and covariance of the table, filled up to at least N records, with
Gaussian noise of multiplier ν (none where ν = 0), and Π raises eigenvalues below σ to σ. One person of k rows moves the
mean by at most k√A/N and the covariance by at most kB/(N+1): A is the largest squared distance of two records, B what
an exchanged record does to the sum of squares. A share of that is hidden by the noise and the rest by the draws, and
both costs add up. Proof: docs/proofs/gaussian-generation-replace.md, sections 5 and 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kagemusha.privacy.generation.bounds import moved_float

GRAIN_BITS = 40
GRAIN = 2.0**-GRAIN_BITS
"""Mean and covariance are whole multiples of this, and eigenvectors are taken to be right to it."""

DRAWN_BITS = 57
"""Draws of the standard normal are whole multiples of 2^−57."""

LATTICE_BITS = 56
"""Drawn features are whole multiples of 2^−56 before they become codes."""

_REACH = 0.9
"""Keeps the split's own Rényi order valid; any share is sound."""


def moved_by_one(apart: float, box: float) -> float:
    """B: the Frobenius norm of ỹỹᵀ − x̃x̃ᵀ for an exchanged record, at most (proof note, Lemma 3).

    `apart` is the largest squared distance of two records, `box` the squared diagonal of the smallest box around them.
    """
    return min(box, math.sqrt(1.5) * apart * (1 + 1e-12))


@dataclass(frozen=True, kw_only=True)
class RowsCost:
    """`rows` drawn rows of `width` features, from a table of at least `at_least` records.

    `apart` is A, `moved` is B (see above), `boundaries` how many edges between codes a row has; `noise` is ν and
    `share` the mean's share of the noise's ρ; `person` is how many rows the one who is protected may have.
    """

    rows: int
    at_least: int
    width: int
    apart: float
    moved: float
    boundaries: int
    floor: float
    noise: float
    share: float
    person: int = 1

    @property
    def mean_step(self) -> float:
        """How far one person moves the mean on its lattice, in Euclidean norm."""
        return self.person * math.sqrt(self.apart) / self.at_least + 2 * math.sqrt(self.width) * GRAIN

    @property
    def covariance_step(self) -> float:
        """How far one person moves the covariance on its lattice, in Frobenius norm."""
        return self.person * self.moved / (self.at_least + 1) + 2 * self.width * GRAIN

    @property
    def mean_deviation(self) -> float:
        """Standard deviation of the noise on every entry of the mean."""
        return self.noise * self.mean_step / math.sqrt(self.share)

    @property
    def covariance_deviation(self) -> float:
        """Standard deviation of the noise on the diagonal; off it √2 less, since each value stands twice."""
        return self.noise * self.covariance_step / math.sqrt(1 - self.share)

    @property
    def failure(self) -> float:
        """How likely it is that rounding changes any code of any row, at most.

        A drawn feature is off by at most η. Its density is at most 1/√(2πσ), that of a difference of two 1/√(4πσ), so
        an edge lies within reach with probability at most 1.13 η/√σ.
        """
        widest = math.sqrt(self.width * max(self.apart, 1.0))
        off = widest * 2.0 ** -(DRAWN_BITS + 1) + 2.0**-LATTICE_BITS
        return self.rows * self.boundaries * 1.13 * off / math.sqrt(self.floor)

    def renyi(self, alpha: float) -> float:
        """Rényi divergence of order α between neighbours, at most; infinite where none is proved.

        Outside of `failure`, which is given away as δ: conditioning on the rest costs α/(α−1) times as much besides.
        """
        # what rounding and eigenvectors of doubles add is moved by the draws alone
        slack = 4 * self.width * GRAIN
        mean, radius = self.mean_step + slack, self.covariance_step + slack
        outside = alpha / (alpha - 1) * 2 * self.failure
        if self.noise <= 0:
            return outside + self.rows * moved_float(alpha, mean**2 / self.floor, radius / self.floor)
        noise = alpha / (2 * self.noise**2)
        on_mean, on_covariance = self.share * noise, (1 - self.share) * noise
        mean_share = on_mean / (on_mean + self.rows * alpha * mean**2 / self.floor / 2)
        part = on_covariance / (on_covariance + self.rows * alpha * (radius / self.floor) ** 2 / 4)
        part = min(part, _REACH * self.floor / (alpha * radius))
        hidden = on_mean * (1 - mean_share) ** 2 + on_covariance * (1 - part) ** 2
        drawn = moved_float(
            alpha,
            (mean_share * self.mean_step + slack) ** 2 / self.floor,
            (part * self.covariance_step + slack) / self.floor,
        )
        return min(noise, hidden + outside + self.rows * drawn)
