"""The cap nobody can pass: the most that all releases of a data set under a policy may cost together."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.spend import CapRule, Spend

DELTA = 1e-9
"""What commands take for δ where nobody says another."""


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
    looks: bool = True
    """Whether the owner allows looks at the table whose results stay inside: `evaluate`, `compare`, `attack`."""

    def __post_init__(self) -> None:
        if not self.budget.delta and self.rule is None:
            object.__setattr__(self, "rule", CapRule.PURE)
        if self.rule is not None and (self.rule is CapRule.PURE) != (self.budget.delta == 0):
            raise UsageError(
                f"a cap with δ = {self.budget.delta:g} cannot add up by the rule {self.rule}: pure goes with δ = 0, "
                "the others with δ > 0"
            )

    def used(self, spend: Spend) -> float:
        """How much of the cap is taken; 1 is all of it, and infinity is what its rule cannot hold."""
        return 0.0 if self.rule is None else self.rule.used(spend, self.budget)

    def epsilon(self, spend: Spend) -> float:
        """The ε of what was spent, at this cap's δ."""
        return 0.0 if self.rule is None else self.rule.epsilon(spend, self.budget)

    def holds(self, spend: Spend) -> bool:
        """Whether all of it together keeps the cap's (ε, δ)."""
        return self.used(spend) <= 1

    def in_words(self, spend: Spend) -> str:
        """What is taken of a finite cap, for a message."""
        taken = self.epsilon(spend)
        if math.isinf(taken):
            return f"more than the cap's rule of addition, {self.rule}, can hold"
        return f"ε = {taken:.6g} of {self.budget.in_words()} (added up by {self.rule})"

    def refusal(self, after: Spend, here: str) -> str:
        """Why a release that would leave so much spent is refused, and what its owner can do.

        `here` names the ledger.
        """
        wanted = self.enough_for(after)
        return (
            f"data set {self.dataset!r} (policy {self.policy!r}): with this release {self.in_words(after)} would be "
            f"taken, which passes the cap. Nothing was spent. `kagemusha ledger show{here}` lists what was spent. To "
            f"allow all of it together, its owner sets a cap of ε = {wanted.budget.epsilon:g}: "
            f"`{wanted.command()}{here}`"
        )

    def enough_for(self, spend: Spend) -> Cap:
        """The least cap, in ε to three digits, that holds all of this; by a rule, and with a δ, that can hold it."""
        cap = self
        if math.isinf(cap.used(spend)) and cap.budget.delta:
            cap = replace(cap, budget=replace(cap.budget, delta=max(cap.budget.delta, 2 * float(spend.aside))))
        if math.isinf(cap.used(spend)):
            cap = replace(cap, rule=CapRule.RENYI, budget=replace(cap.budget, delta=cap.budget.delta or DELTA))

        def at(epsilon: float) -> Cap:
            return replace(cap, budget=replace(cap.budget, epsilon=epsilon))

        low, high = cap.budget.epsilon, 2 * cap.budget.epsilon
        while not at(high).holds(spend) and high < 1e6:
            low, high = high, 2 * high
        while high > low * 1.0005:
            middle = (low + high) / 2
            low, high = (low, middle) if at(middle).holds(spend) else (middle, high)
        step = 10.0 ** (math.floor(math.log10(high)) - 2)
        return at(float(f"{math.ceil(high / step) * step:.6g}"))

    def command(self) -> str:
        """The command line that sets this cap; it can be pasted."""
        words = ["kagemusha", "ledger", "cap", self.dataset, "--epsilon", f"{self.budget.epsilon:g}"]
        words += [] if self.budget.delta == DELTA else ["--delta", f"{self.budget.delta:g}"]
        words += [] if self.budget.adjacency is Adjacency.ADD_REMOVE else ["--adjacency", str(self.budget.adjacency)]
        words += [] if self.policy == "default" else ["--policy", self.policy]
        words += [] if self.budget.rows == 1 else ["--max-rows", str(self.budget.rows)]
        words += ["--rule", str(self.rule)] if self.rule is CapRule.RENYI else []
        return shlex.join(words)

    def for_release(self, accounting: Accounting) -> Cap:
        """The same cap with a rule that the first release under it fits."""
        if self.rule is not None:
            return self
        return replace(self, rule=CapRule(ACCOUNTANTS[accounting].cap_rule))

    @classmethod
    def made_of(cls, dataset: str, policy: str, budget: Budget, accounting: Accounting, spend: Spend) -> Cap:
        """The cap that a first release leaves behind where nobody set one: what it costs, and no more.

        Where the rule adds up less tightly than the release's own accounting, that is a little more than its ε.
        """
        cap = cls(dataset, policy, budget).for_release(accounting)
        while budget.is_finite and not cap.holds(spend):
            cap = replace(cap, budget=replace(cap.budget, epsilon=cap.budget.epsilon * 1.01))
        return cap
