"""CTGAN's networks with a promise: noisy counts of the columns, then DP-SGD on the critic.

Adjacency: add-remove of a person. First the counts of every column, Gaussian noise; a record is in one cell of each.
Modes of numbers, frequencies of labels and the number of rows follow from them. Then training on Poisson samples: a
person's gradient of the critic's score is clipped to one norm, the noise is solved so that the whole schedule keeps (ε,
δ) by numerical composition. The generator sees no people, only the critic. What is left out of CTGAN, and why: see
`neural.private_gan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.generators.gan import GanGenerator
from kagemusha.neural.networks import need_torch
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import Event
from kagemusha.progress import Progress, part, silent
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.deep.options import TRAINING, Networked
from kagemusha.synthesizers.deep.spending import GaussianStep, Spending
from kagemusha.synthesizers.encoded_rows import require_labels
from kagemusha.synthesizers.protocol import Fitted, Plan
from kagemusha.synthesizers.written_codes import WrittenCodes, total_of


@dataclass(frozen=True, kw_only=True)
class DPCTGAN(Networked):
    """`counts` is the columns' share of ρ, `noise` the noise vector's length, `turns` steps per critic step."""

    name: ClassVar[str] = "dp-ctgan"
    summary: ClassVar[str] = "a generative network whose critic is trained by DP-SGD (CTGAN with a promise)"
    accounting: ClassVar[Accounting] = Accounting.SCHEDULE
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_REMOVE,)

    hidden: int = 128
    epochs: float = 10.0
    step: float = 5e-3
    counts: float = 0.2
    noise: int = 32
    turns: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.counts < 0.95:
            raise UsageError(f"counts must be greater than 0 and less than 0.95, got {self.counts}")
        if not 1 <= self.noise <= 10_000:
            raise UsageError(f"noise must be at least 1 and at most 10,000, got {self.noise}")
        if not 1 <= self.turns <= 1_000:
            raise UsageError(f"turns must be at least 1 and at most 1,000, got {self.turns}")

    def spending(self, domain: Domain, budget: Budget) -> Spending:
        """Counts of every column at equal cost, then training."""
        each = self.counts / len(domain)
        return Spending([GaussianStep(f"counts of {name}", 1, each) for name in domain], self.training, budget)

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        return self.spending(domain, budget).events(TRAINING)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Shares and time from the declared domain alone."""
        need_torch()
        width = self.require(domain, budget)
        steps = [("counts of every column", self.counts), (f"training, {self.training.steps:,} steps", 1 - self.counts)]
        weights = 2 * self.hidden * (width + self.hidden)
        return Plan(steps, weights, self.seconds(width) + 2e-6 * self.training.steps * self.turns * weights)

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Counts, modes, training."""
        need_torch()
        domain = curator.domain
        self.require(domain, curator.budget)
        require_labels(curator.schema)
        from kagemusha.neural.private_gan import PrivateGame

        spending = self.spending(domain, curator.budget)
        progress("counts of every column", 0.0)
        costs = [spending.cost(step.share) for step in spending.gaussian]
        counts = curator.measure([(name,) for name in domain], costs)
        rows = total_of(counts)
        written = WrittenCodes.of(curator.schema, counts, rows)
        game = PrivateGame(
            written.blocks,
            written.vectors,
            written.independent,
            written.start,
            written.means,
            hidden=self.hidden,
            noise=self.noise,
            rate=self.step,
            clip=self.clip,
            turns=self.turns,
        )
        schedule = self.schedule_of(spending, rows)
        curator.train(schedule, game, what=TRAINING, progress=part(progress, 0.02, 1.0))
        return Fitted(GanGenerator(domain, rows, written.modes, self.noise, np.zeros(0), game.weights()), counts)
