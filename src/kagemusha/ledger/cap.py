"""The cap nobody can pass: the most that all releases of a data set under a policy may cost together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.spend import CapRule, Spend


@dataclass(frozen=True)
class Cap:
    """An (ε, δ) over all releases, and the rule by which they add up; with δ = 0 it holds pure releases only.

    A cap without a rule gets that of the first release made under it.
    """

    dataset: str
    policy: str
    budget: Budget
    rule: CapRule | None = None
    unprotected: bool = False
    """Whether the owner allows reads without protection, which no number could account for."""

    def __post_init__(self) -> None:
        if not self.budget.delta and self.rule is None:
            object.__setattr__(self, "rule", CapRule.PURE)
        if self.rule is not None and (self.rule is CapRule.PURE) != (self.budget.delta == 0):
            raise UsageError(
                f"a cap with δ = {self.budget.delta:g} cannot add up by the rule {self.rule}: pure goes with δ = 0, the "
                "others with δ > 0"
            )

    def used(self, spend: Spend) -> float:
        """How much of the cap is taken; 1 is all of it, and infinity is what its rule cannot hold."""
        return 0.0 if self.rule is None else self.rule.used(spend, self.budget)

    def holds(self, spend: Spend) -> bool:
        """Whether all of it together keeps the cap's (ε, δ)."""
        return self.used(spend) <= 1

    def in_words(self, spend: Spend) -> str:
        """What is taken of a finite cap, for a message."""
        taken = 0.0 if self.rule is None else self.rule.epsilon(spend, self.budget)
        if math.isinf(taken):
            return f"more than the cap's rule of addition, {self.rule}, can hold"
        return f"ε = {taken:.6g} of {self.budget.in_words()} (added up by {self.rule})"

    def for_release(self, accounting: Accounting) -> Cap:
        """The same cap with a rule that the first release under it fits."""
        if self.rule is not None:
            return self
        return replace(self, rule=_RULES[accounting])

    @classmethod
    def made_of(cls, dataset: str, policy: str, budget: Budget, accounting: Accounting, spend: Spend) -> Cap:
        """The cap that a first release leaves behind where nobody set one: what it costs, and no more.

        Where the rule adds up less tightly than the release's own accounting, that is a little more than its ε.
        """
        cap = cls(dataset, policy, budget).for_release(accounting)
        while budget.is_finite and not cap.holds(spend):
            cap = replace(cap, budget=replace(cap.budget, epsilon=cap.budget.epsilon * 1.01))
        return cap


_RULES = {
    Accounting.ZCDP: CapRule.ZCDP,
    Accounting.GDP: CapRule.GDP,
    Accounting.PURE: CapRule.ZCDP,
    Accounting.SCHEDULE: CapRule.RENYI,
}
