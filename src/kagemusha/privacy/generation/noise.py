"""How much less noise on (μ, Σ) is needed when the randomness of generation is counted.

The generator adds Gaussian noise to μ and Σ once, raises small eigenvalues to a floor σ, and releases m records
drawn from the result; the noisy parameters stay secret. Ignoring generation, the records are post-processing of
the noisy parameters. Counting it, the neighbour's displacement is split: a share θ is hidden by the draws, the
rest by the noise, and the two Rényi costs add up. To leading order the best split is harmonic,
1/cost = 1/cost(noise) + 1/cost(draws). Composing both for the *whole* displacement would only add costs.
Proof: docs/proofs/gaussian-generation-replace.md, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants.gdp import gdp_mu
from kagemusha.privacy.accountants.rdp import rdp_epsilon
from kagemusha.privacy.accountants.zcdp import zcdp_rho
from kagemusha.privacy.budget import Adjacency
from kagemusha.privacy.generation import bounds
from kagemusha.privacy.generation.gaussian import best_order, eigenvalue, neighbouring, probability, whole

# keeps the split's own Rényi order valid; any share is sound
_LARGEST_REACH = 0.9


@dataclass(frozen=True)
class NoiseSaving:
    """The noise multiplier ν that meets (ε, δ), with and without counting generation randomness.

    A multiplier ν stands for ρ = 1/(2ν²): standard deviation ν·Δ_μ/√b on every coordinate of μ and ν·Δ_Σ/√(1−b)
    on Σ in Frobenius-orthonormal coordinates (√2 less off the diagonal, where each value stands twice), with b
    the mean's share of ρ. Counting generation hides the mean almost for free, so up to 1 − √(1−b) of the saving
    is the mean's budget, which the noise no longer has to spend.
    """

    counted: float
    """Generation counted; 0 when the draws alone are enough."""
    ignored: float
    """Generation ignored, by the same Rényi conversion."""
    ignored_exact: float
    """Generation ignored, by the exact Gaussian analysis: the strongest competitor."""
    mean_unit: float
    """Standard deviation on μ per unit of ν."""
    covariance_unit: float
    """Standard deviation on Σ's diagonal per unit of ν."""

    @property
    def needed(self) -> float:
        """The smallest multiplier proved sufficient."""
        return min(self.counted, self.ignored_exact)

    @property
    def saving(self) -> float:
        """Share of noise saved, like for like: 1 − counted/ignored."""
        return max(0.0, 1 - self.counted / self.ignored)

    @property
    def saving_over_exact(self) -> float:
        """Share of noise saved against the exact analysis that ignores generation."""
        return 1 - self.needed / self.ignored_exact


@dataclass(frozen=True, kw_only=True)
class NoisyGeneration:
    """m records from N(μ + noise, floor_σ(Σ + noise)), fitted to at least n records (exactly n under replace).

    Nothing is assumed about Σ: `sigma` is the floor the generator applies after the noise. `mean_budget` is the
    mean's share of the noise's ρ.
    """

    n: int
    d: int
    sigma: float
    m: int
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    mean_budget: float = 0.1

    def __post_init__(self) -> None:
        smallest_n = 2 if self.adjacency == Adjacency.REPLACE else 1
        for name, given, lowest in (("n", self.n, smallest_n), ("d", self.d, 1), ("m", self.m, 1)):
            object.__setattr__(self, name, whole(name, given, lowest))
        object.__setattr__(self, "sigma", eigenvalue(self.sigma))
        object.__setattr__(self, "adjacency", neighbouring(self.adjacency))
        if not (isinstance(self.mean_budget, float) and 0 < self.mean_budget < 1):
            raise UsageError(f"mean_budget must be greater than 0 and less than 1, got {self.mean_budget!r}")

    @property
    def _step(self) -> tuple[float, float]:
        step = bounds.replace_step if self.adjacency == Adjacency.REPLACE else bounds.add_remove_step
        mean, radius = step(self.n, 4 * self.d / Fraction(self.sigma))
        return float(mean), float(radius)

    def sensitivities(self) -> tuple[float, float]:
        """(Δ_μ, Δ_Σ): how far a neighbour moves μ (Euclidean) and Σ (Frobenius)."""
        mean, radius = self._step
        return math.sqrt(mean * self.sigma), radius * self.sigma

    def rdp(self, alpha: float, multiplier: float) -> float:
        """A Rényi bound of order α with noise multiplier ν ≥ 0; infinite where none is proved."""
        mean, radius = self._step
        if multiplier <= 0:
            return self.m * bounds.moved_float(alpha, mean, radius)
        noise = alpha / (2 * multiplier**2)
        on_mean, on_covariance = self.mean_budget * noise, (1 - self.mean_budget) * noise
        mean_share = on_mean / (on_mean + self.m * alpha * mean / 2)
        share = on_covariance / (on_covariance + self.m * alpha * radius**2 / 4)
        share = min(share, _LARGEST_REACH / (alpha * radius))
        hidden = on_mean * (1 - mean_share) ** 2 + on_covariance * (1 - share) ** 2
        drawn = self.m * bounds.moved_float(alpha, mean_share**2 * mean, share * radius)
        return min(noise, hidden + drawn)

    def epsilon(self, multiplier: float, delta: float) -> float:
        """ε at δ with noise multiplier ν, the order optimised."""
        delta = probability(delta)
        limit = 1e9 if multiplier > 0 else 1 / self._step[1]
        if limit <= 1 + 1e-9:
            return math.inf

        def at(alpha: float) -> float:
            value = self.rdp(alpha, multiplier)
            return rdp_epsilon([alpha], [value], delta) if math.isfinite(value) else math.inf

        return at(best_order(at, limit))

    def solve(self, epsilon: float, delta: float) -> NoiseSaving:
        """The least noise for a target (ε, δ), counted and ignored."""
        if not (isinstance(epsilon, int | float) and 0 < epsilon < math.inf):
            raise UsageError(f"epsilon must be greater than 0 and finite, got {epsilon!r}")
        delta = probability(delta)
        ignored = 1 / math.sqrt(2 * zcdp_rho(epsilon, delta))
        exact = 1 / gdp_mu(epsilon, delta)
        mean, covariance = self.sensitivities()
        return NoiseSaving(
            counted=self._least(epsilon, delta, ignored),
            ignored=ignored,
            ignored_exact=exact,
            mean_unit=mean / math.sqrt(self.mean_budget),
            covariance_unit=covariance / math.sqrt(1 - self.mean_budget),
        )

    def _least(self, epsilon: float, delta: float, enough: float) -> float:
        if self.epsilon(0.0, delta) <= epsilon:
            return 0.0
        low, high = 0.0, enough
        while high - low > 1e-6 * enough:
            middle = (low + high) / 2
            low, high = (low, middle) if self.epsilon(middle, delta) <= epsilon else (middle, high)
        return high

    def assumption(self) -> str:
        """What the certificate must say the guarantee rests on."""
        rows = f"exactly {self.n}" if self.adjacency == Adjacency.REPLACE else f"at least {self.n}"
        return (
            f"Every table that could have been the input has {rows} records of {self.d} numbers in [-1, 1]; the"
            f" number of released records ({self.m}) was fixed without looking at the table. The noisy mean and"
            " covariance are released to nobody: publishing them would leave only the noise's own guarantee."
            f" Nothing is assumed about the covariance: every eigenvalue of the noisy one below {self.sigma:g} is"
            f" raised to {self.sigma:g}."
        )
