"""Pure differential privacy: epsilons add up and δ = 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from kagemusha.privacy.accountants.protocol import Composition
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event


class Pure(Composition):
    """Adds ε over events that are purely private; infinite as soon as one is not.

    A valid filter (Rogers et al. 2016).
    """

    name = "pure"
    words = "pure DP (sum of ε)"
    pure = True

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        costs = [event.pure_epsilon for event in events]
        return math.inf if None in costs else float(sum(cost for cost in costs if cost is not None))

    def amount(self, event: Event) -> Fraction | None:
        return event.pure_epsilon

    def limit(self, epsilon: float, delta: float) -> float:
        """ε itself."""
        return epsilon

    def exponential(self, cost: float) -> float:
        """All of it."""
        return cost

    def laplace(self, cost: float) -> float:
        """All of it."""
        return cost

    def group(self, budget: Budget, rows: int) -> float:
        """k·ε."""
        return rows * budget.epsilon
