"""Our own rounds, those of kage: all looks first, then labels say where the rest of the privacy budget goes.

Adjacency, sensitivity, cost. What is asked of the table is what kage asks, and nothing else: counts of columns,
distances of all pairs from independence, interactions of pairs, all answered with Gaussian noise, so the proof in
docs/proofs/kage.md holds word for word. The judge never sees a real record here, not even inside the Curator. Its
labels enter through one number for each pair, from 0 to 1, computed from doubles (`guide.importance`). These numbers
decide only *which* interactions are measured and at *what cost*; both may be chosen freely after earlier answers
(adaptive composition under the filter), and no sensitivity depends on them.

A pair measured several times tells as much as one measured once at the sum of the costs. So a round does not choose
anew: it brings what columns and every pair have had in all towards what the present labels would have given them, as
every instalment of kage does (`kage.rounds.Run`).

The numbers are written down before they are used (`Desk.remembered`). Started again, a round asks for the same at the
same cost and gets its stored answer, whatever labels have come since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kagemusha.annotation.guide import importance
from kagemusha.annotation.weights import Weights
from kagemusha.arrays import Codes
from kagemusha.generators.generator import Round
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.kage import Kage
from kagemusha.synthesizers.kage.rounds import Importance
from kagemusha.synthesizers.protocol import Fitted

FIRST = 0.5
"""Of what is left after the looks, the share that is spent before the first label."""

DRAWN = 10_000
"""Doubles from which the importance of pairs is taken."""

Remember = Callable[[str, Callable[[], list[int]]], list[int]]
"""A name and how to make some numbers → those numbers, always the same for a name."""


@dataclass
class KageRounds:
    """Kage in so many instalments."""

    curator: Curator
    count: int
    rng: np.random.Generator
    remembered: Remember
    kage: Kage = field(default_factory=Kage)
    trace: list[Round] = field(default_factory=list)
    done: bool = False
    _round: int = 0

    def start(self) -> MarkovGenerator:
        """The looks, columns once more, and a first measurement of the pairs worth it."""
        self._run = self.kage.started(self.curator)
        return self._spend(FIRST * self.curator.remaining, self.kage.importance)

    def draw(self, rows: int) -> list[Codes]:
        """Doubles of the present model, column by column."""
        return [np.ascontiguousarray(column) for column in self._model.sample(rows, rng=self.rng).T]

    def go(self, weights: Weights | None) -> MarkovGenerator:
        """One instalment, spent on the pairs that `weights` (of doubles) point at; evenly without any."""
        self._round += 1
        self.done = self._round == self.count
        pairs = self._run.beliefs.cliques if self._run.beliefs is not None else []
        counts = dict(zip(pairs, self._importance(pairs, weights), strict=True))
        return self._spend(self.curator.remaining / (self.count - self._round + 1), counts.__getitem__)

    def _importance(self, pairs: Sequence[Clique], weights: Weights | None) -> list[float]:
        def made() -> list[int]:
            if weights is None:
                return [UNITS_PER_COUNT] * len(pairs)
            drawn = self.draw(DRAWN)
            return importance(self.curator.domain, pairs, drawn, weights(drawn))

        # labels may change later, questions that were asked may not
        return [n / UNITS_PER_COUNT for n in self.remembered(f"importance-{self._round}", made)]

    def fitted(self, generator: MarkovGenerator) -> Fitted:
        """The model, and everything that was released on the way."""
        return replace(self._run.fitted(), generator=generator, trace=self.trace)

    def _spend(self, cost: float, importance: Importance) -> MarkovGenerator:
        """One instalment at this cost, where pairs count as `importance` says; and the model after it."""
        choice = self._run.allocate(importance)
        for measured in self._run.measure(choice, cost):
            self.trace.append(Round(measured.query.clique, measured.sigma, self.curator.spent))
        self._run.fit_model()
        self._model = self._run.generator()
        return self._model
