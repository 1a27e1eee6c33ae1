"""Rows from a secret normal distribution: the draws themselves protect, and noise only where they are not enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from kagemusha.certificate.sentences import DRAWN
from kagemusha.errors import UsageError
from kagemusha.generators.rows import RowsGenerator
from kagemusha.privacy.accountants import ACCOUNTANTS, GDP, RDP, Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event, GenerationEvent
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.schema import Schema
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import features_of, generation_facts
from kagemusha.synthesizers.gaussian import require_features
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

SHARE = 0.1
"""The mean's share of the noise's ρ; the draws hide the mean almost for free."""

MOST_FAILURE = 0.1
"""The most of δ that rounding the draws may take."""


@dataclass(frozen=True, kw_only=True)
class GaussianRows(Synthesizer):
    """`rows` rows are drawn from the normal distribution of the table's features; they are all that is released.

    Mean and covariance are written nowhere. Eigenvalues of the covariance are raised to `floor`; a table of fewer than
    `at_least` records is filled up with empty ones: both make the promise hold for every table. The fewer rows and the
    more records, the less noise on mean and covariance is needed besides the draws; often none. Columns as `gaussian`
    has them.
    """

    name: ClassVar[str] = "gaussian-rows"
    summary: ClassVar[str] = "rows of a secret normal distribution: the draws themselves protect; rows only"
    accounting: ClassVar[Accounting] = Accounting.SCHEDULE

    rows: int = 1000
    at_least: int = 100
    floor: float = 0.05

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= 10**7:
            raise UsageError(f"rows must be at least 1 and at most 10,000,000, got {self.rows}")
        if not 1 <= self.at_least <= 10**12:
            raise UsageError(f"at_least must be at least 1 and at most 10¹², got {self.at_least}")
        if not 0 < self.floor <= 1:
            raise UsageError(f"floor must be greater than 0 and at most 1, got {self.floor}")

    @property
    def most_rows(self) -> int:
        """Those that are paid for."""
        return self.rows

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """One step: the rows."""
        require_features(curator.domain)
        progress("drawing rows", 0.1)
        codes = curator.generate(self.event(curator.schema, curator.budget))
        progress("done", 1.0)
        return Fitted(RowsGenerator(curator.domain, codes))

    def schedule_for(self, schema: Schema, budget: Budget) -> Sequence[Event]:
        """The rows."""
        return [self.event(schema, budget)]

    def event(self, schema: Schema, budget: Budget) -> GenerationEvent:
        """The step that this budget pays for, with the least noise found sufficient."""
        facts = generation_facts(features_of(schema))
        silent_event = GenerationEvent(
            what=f"{self.rows:,} rows of a normal distribution",
            rows=self.rows,
            at_least=self.at_least,
            floor=float(self.floor),
            noise=0.0,
            share=SHARE,
            person=budget.rows,
            width=facts["width"],
            apart=facts["apart"],
            box=facts["box"],
            boundaries=facts["boundaries"],
        )
        if not budget.is_finite:
            return silent_event
        if budget.delta <= 0 or float(silent_event.delta) > MOST_FAILURE * budget.delta:
            raise UsageError(
                f"delta must be at least {float(silent_event.delta) / MOST_FAILURE:.2g} for {self.rows:,} rows: "
                f"rounding may "
                f"change one of them with a probability of {float(silent_event.delta):.2g}; got {budget.delta:g}"
            )
        return replace(silent_event, noise=_least_noise(silent_event, budget))

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """One covariance, and exact draws of every feature of every row."""
        width = require_features(domain)
        return Plan([("rows", 1.0)], max(1, width * width), 2.0 + self.rows * width * (1e-5 + 2e-7 * width))

    def remarks(self, domain: Domain, budget: Budget) -> Sequence[str]:
        """Which theorem, and what it takes for granted."""
        return (DRAWN.format(rows=self.rows, floor=self.floor, at_least=self.at_least),)


@lru_cache(maxsize=64)
def _least_noise(event: GenerationEvent, budget: Budget) -> float:
    """The smallest multiplier found to keep the promise; 0 where the draws alone do."""

    def enough(noise: float) -> bool:
        tried = [replace(event, noise=noise)]
        # the two quick bounds behind the accountant that judges in the end
        return min(RDP().epsilon(tried, budget.delta), GDP().epsilon(tried, budget.delta)) <= budget.epsilon

    if enough(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    accountant = ACCOUNTANTS[Accounting.SCHEDULE]
    while accountant.epsilon([replace(event, noise=high)], budget.delta) > budget.epsilon:
        high *= 1.0005
    return high
