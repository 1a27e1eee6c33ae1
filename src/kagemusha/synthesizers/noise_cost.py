"""How much error a cost buys, before it is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.privacy.unit import PrivacyUnit
from kagemusha.schema.domain import Clique, Domain

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""E|Z| of a standard normal."""


def cell_error(unit: PrivacyUnit, cost: float, mechanism: str = "gaussian") -> float:
    """Expected absolute noise in one cell of a marginal measured at this cost (in ρ)."""
    sensitivity = unit.sensitivity(COUNTS)
    if mechanism == "laplace":
        return sensitivity.l1 / math.sqrt(2 * cost)
    return MEAN_ABSOLUTE * math.sqrt(sensitivity.l2_squared / (2 * cost))


def gaussian_sigma(unit: PrivacyUnit, cost: float) -> float:
    """Standard deviation of Gaussian noise on counts at this cost (in ρ)."""
    return math.sqrt(unit.sensitivity(COUNTS).l2_squared / (2 * cost))


def noise_of_pairs(
    domain: Domain, pairs: Sequence[Clique], budget: Budget, accounting: Accounting, share: float
) -> float | None:
    """Mean L1 noise of a pair, in records, if a share of the budget were spread over all pairs in the best way.

    What a method that measures pairs can expect from noise alone: it measures fewer pairs, each with less noise, and
    pays for the others with what it does not know of them.
    """
    if not pairs or not budget.is_finite:
        return None
    cost = share * Filter(budget, accounting).total
    if cost <= 0:
        raise UsageError(
            f"epsilon must be larger: at δ = {budget.delta:g}, {budget.epsilon:g} buys no measurement at all"
        )
    if ACCOUNTANTS[accounting].pure:
        cost = cost**2 / 2  # Laplace noise of ε has the ρ of ε²/2
    # Σ σ_p n_p is least for ρ_p ∝ n_p^(2/3), and is then σ(ρ) (Σ n_p^(2/3))^(3/2)
    spread = math.pow(math.fsum(math.pow(domain.cells(pair), 2 / 3) for pair in pairs), 1.5)
    return cell_error(budget.unit, cost) * spread / len(pairs)
