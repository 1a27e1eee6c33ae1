"""The privacy that sampling from a fitted Gaussian gives by itself (Miura et al. 2022).

The generator fits the mean μ and the covariance Σ (divided by n) of records in [−1, 1]^d, keeps both secret and
releases m records drawn from N(μ, Σ), clipped to the box. Neither parameter is noised: the draw is the noise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants.rdp import rdp_epsilon
from kagemusha.privacy.accountants.zcdp import golden_section
from kagemusha.privacy.budget import Adjacency
from kagemusha.privacy.generation import bounds

Method = Literal["paper", "two-eigenvalue", "floor"]
Conversion = Literal["paper", "optimal", "pld"]

_METHODS: dict[Adjacency, tuple[Method, ...]] = {
    Adjacency.ADD_REMOVE: ("paper", "floor"),
    Adjacency.REPLACE: ("two-eigenvalue", "paper", "floor"),
}


class GenerationEpsilon(NamedTuple):
    """ε at the asked δ, and the Rényi order that gave it (None for the PLD)."""

    epsilon: float
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class GaussianGeneration:
    """m records from the Gaussian fitted to at least n records (exactly n under replace) in [−1, 1]^d.

    `sigma` bounds the smallest eigenvalue of Σ from below. How that is known is the `method`:

    - `paper`: assumed of every data set that could have been the input. Theorem 3.1 or 3.2.
    - `two-eigenvalue` (replace only, its default): the same assumption, Theorem 3.2's L₂ maximised over both
      eigenvalues of Σ₁⁻¹X as the paper proposes, and over the box they can come from.
    - `floor`: nothing is assumed; the generator raises smaller eigenvalues of Σ to `sigma` before sampling.
    """

    n: int
    d: int
    sigma: float
    m: int
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    method: Method | None = None

    def __post_init__(self) -> None:
        smallest_n = 2 if self.adjacency == Adjacency.REPLACE else 1
        for name, given, lowest in (("n", self.n, smallest_n), ("d", self.d, 1), ("m", self.m, 1)):
            object.__setattr__(self, name, whole(name, given, lowest))
        object.__setattr__(self, "sigma", eigenvalue(self.sigma))
        object.__setattr__(self, "adjacency", neighbouring(self.adjacency))
        allowed = _METHODS[Adjacency(self.adjacency)]
        if self.method is None:
            object.__setattr__(self, "method", allowed[0])
        if self.method not in allowed:
            raise UsageError(f"method must be one of {', '.join(allowed)} under {self.adjacency}, got {self.method!r}")
        if self.alpha_max() <= 1 + 1e-9:
            raise UsageError(
                f"n must be greater than about 4d/sigma = {float(self.tau):g} for any Rényi order above 1"
                f" to be valid, got {self.n}"
            )

    @property
    def tau(self) -> Fraction:
        """τ = 4d/σ, exactly: the largest squared distance of a record from the mean in units of Σ."""
        return 4 * self.d / Fraction(self.sigma)

    def alpha_max(self) -> float:
        """Valid orders are 1 < α < this."""
        return float(self._limit())

    def rdp(self, alpha: float) -> float:
        """The (α, ε)-RDP of all m records together, m times that of one (Proposition 2.4)."""
        order = self._order(alpha)
        if self.method == "paper":
            if self.adjacency == Adjacency.ADD_REMOVE:
                return self.m * bounds.add_remove(self.n, self.d, self.tau, order)
            return self.m * bounds.replace(self.n, self.tau, order)
        mean, radius = self._step()
        return self.m * bounds.moved(order, mean=mean, radius=radius)

    def epsilon(
        self, delta: float, *, conversion: Conversion = "optimal", alpha: float | None = None
    ) -> GenerationEpsilon:
        """ε at δ; without `alpha` the best order is searched for (every order alone is valid).

        `paper`: ε_α + log(1/δ)/(α−1) (Proposition 2.5). `optimal`: Balle et al. 2020, Canonne, Kamath and
        Steinke 2020. `pld`: from the privacy loss itself, only for method `paper` under add-remove.
        """
        delta = probability(delta)
        if conversion not in get_args(Conversion):
            raise UsageError(f"conversion must be one of {', '.join(get_args(Conversion))}, got {conversion!r}")
        if conversion == "pld":
            return GenerationEpsilon(self._pld_epsilon(delta, alpha), None)

        def at(order: float) -> float:
            return _convert(self.rdp(order), order, delta, conversion)

        if alpha is not None:
            return GenerationEpsilon(at(alpha), float(alpha))
        best = best_order(at, self.alpha_max())
        return GenerationEpsilon(at(best), best)

    def assumption(self) -> str:
        """What the certificate must say the guarantee rests on."""
        rows = f"exactly {self.n}" if self.adjacency == Adjacency.REPLACE else f"at least {self.n}"
        common = (
            f"Every table that could have been the input has {rows} records of {self.d} numbers in [-1, 1]; the"
            f" number of released records ({self.m}) was fixed without looking at the table; the fitted mean and"
            " covariance are released to nobody."
        )
        if self.method == "floor":
            return (
                f"{common} Nothing is assumed about the covariance: the generator raises every eigenvalue below"
                f" {self.sigma:g} to {self.sigma:g} before it samples."
            )
        return (
            f"{common} ASSUMED, NOT PROTECTED: the covariance (divided by the number of records) of every such"
            f" table, and of every neighbour, has smallest eigenvalue at least {self.sigma:g}. For tables outside"
            " this assumption there is no guarantee, and nothing checks it: releases by `gaussian-rows` raise the"
            " eigenvalues instead."
        )

    def _step(self) -> tuple[Fraction, Fraction]:
        if self.adjacency == Adjacency.REPLACE:
            return bounds.replace_step(self.n, self.tau)
        return bounds.add_remove_step(self.n, self.tau)

    def _limit(self) -> Fraction:
        if self.method == "paper" and self.adjacency == Adjacency.ADD_REMOVE:
            return bounds.add_remove_limit(self.n, self.tau)
        if self.adjacency == Adjacency.REPLACE:
            return bounds.replace_limit(self.n, self.tau)
        return 1 / self._step()[1]

    def _order(self, alpha: float) -> Fraction:
        if not (isinstance(alpha, int | float) and math.isfinite(alpha) and 1 < Fraction(alpha) < self._limit()):
            raise UsageError(
                f"alpha must be greater than 1 and less than {self.alpha_max():g} for n = {self.n}, d = {self.d},"
                f" sigma = {self.sigma:g} under {self.adjacency}, got {alpha}"
            )
        return Fraction(alpha)

    def _pld_epsilon(self, delta: float, alpha: float | None) -> float:
        from kagemusha.privacy.generation.pld import dominating_pair

        if alpha is not None:
            raise UsageError(f"alpha must be left out for the pld conversion, got {alpha}")
        if self.method != "paper" or self.adjacency != Adjacency.ADD_REMOVE:
            raise UsageError(
                "conversion must be paper or optimal here: a dominating pair is proved only for method paper"
                f" under add-remove, got pld for {self.method} under {self.adjacency}"
            )
        return dominating_pair(self.n, self.d, self.tau, self.m).epsilon(delta)


def _convert(rdp: float, alpha: float, delta: float, conversion: Conversion) -> float:
    if conversion == "paper":
        return rdp - math.log(delta) / (alpha - 1)
    return rdp_epsilon([alpha], [rdp], delta)


def best_order(cost: Callable[[float], float], limit: float) -> float:
    """The order in (1, limit) of least `cost`: a coarse search in log(α − 1), then golden section."""
    high = math.log((limit - 1) * (1 - 1e-9))
    low = min(math.log(1e-3), high - 5)
    step = (high - low) / 60

    def at(t: float) -> float:
        return cost(1 + math.exp(t))

    near = min((low + i * step for i in range(61)), key=at)
    fine = golden_section(at, max(low, near - step), min(high, near + step))
    return 1 + math.exp(min(near, fine, key=at))


def whole(name: str, value: object, lowest: int) -> int:
    """`value` as an int of at least `lowest`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{name} must be a whole number of at least {lowest}, got {value!r}") from None
    if isinstance(value, bool) or number < lowest:
        raise UsageError(f"{name} must be a whole number of at least {lowest}, got {value!r}")
    return number


def eigenvalue(sigma: float) -> float:
    """A lower bound of the covariance's eigenvalues; a column in [−1, 1] has variance at most 1."""
    if not (isinstance(sigma, int | float) and 0 < sigma <= 1):
        raise UsageError(f"sigma must be greater than 0 and at most 1, got {sigma!r}")
    return float(sigma)


def neighbouring(adjacency: Adjacency | str) -> Adjacency:
    """The adjacency named by a string."""
    try:
        return Adjacency(adjacency)
    except ValueError:
        raise UsageError(f"adjacency must be one of {', '.join(Adjacency)}, got {adjacency!r}") from None


def probability(delta: float) -> float:
    """A δ strictly between 0 and 1."""
    if not (isinstance(delta, int | float) and 0 < delta < 1):
        raise UsageError(f"delta must be greater than 0 and less than 1, got {delta!r}")
    return float(delta)
