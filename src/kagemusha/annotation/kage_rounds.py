"""Our own rounds: all looks first, then labels say where the rest of the privacy budget goes.

Adjacency, sensitivity, cost. What is asked of the table is what kage asks, and nothing else: counts of columns,
distances of all pairs from independence, interactions of pairs, all answered with Gaussian noise, so the proof in
docs/proofs/kage.md holds word for word. The judge never sees a real record here, not even inside the Curator. Its
labels enter through one number for each pair, from 0 to 1, computed from doubles (`guide.importance`). These numbers
decide only *which* interactions are measured and at *what cost*; both may be chosen freely after earlier answers
(adaptive composition under the filter), and no sensitivity depends on them.

A pair measured several times tells as much as one measured once at the sum of the costs. So a round does not choose
anew: it brings what every pair has had in all towards what the present labels would have given it.

The numbers are written down before they are used (`Desk.remembered`). Started again, a round asks for the same at the
same cost and gets its stored answer, whatever labels have come since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from kagemusha.annotation.guide import importance
from kagemusha.annotation.weights import Weights
from kagemusha.arrays import Codes
from kagemusha.generators.generator import PairScores, Round
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import GrowingTree
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.interactions import NoisyInteraction, combined
from kagemusha.release.curator import Curator
from kagemusha.synthesizers.kage.instalments import topped_up
from kagemusha.synthesizers.kage.kage import LIMITS, Kage
from kagemusha.synthesizers.kage.looks import Looks
from kagemusha.synthesizers.kage.state import Measurements, NoisyColumns, measure_columns
from kagemusha.synthesizers.protocol import Fitted

FIRST = 0.5
"""Of what is left for pairs after the looks, the share that is spent before the first label."""

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
    _marginals: list[NoisyMarginal] = field(default_factory=list)
    _measured: dict[int, NoisyInteraction] = field(default_factory=dict)
    _had: dict[int, float] = field(default_factory=dict)
    """What each pair has cost so far (ρ)."""
    _round: int = 0

    def start(self) -> MarkovGenerator:
        """The looks, columns once more, and a first measurement of the pairs worth it."""
        self._looks = self.kage.looks(self.curator)
        self._marginals = list(self._looks.marginals)
        if self._looks.scores is None:
            return self._fit(self._looks.known)
        choice = self.kage.choose(self.curator, self._looks)
        left = self.curator.remaining
        if choice.columns > 0:
            self._marginals += measure_columns(self.curator, choice.columns * left * (1.0 if choice.pairs else FIRST))
        self._measure({i: share * left * FIRST for i, share in zip(choice.pairs, choice.shares, strict=True)})
        return self._fit(self._looks.known)

    def draw(self, rows: int) -> list[Codes]:
        """Doubles of the present model, column by column."""
        return [np.ascontiguousarray(column) for column in self._model.sample(rows, rng=self.rng).T]

    def go(self, weights: Weights | None) -> MarkovGenerator:
        """One instalment, spent on the pairs that `weights` (of doubles) point at; evenly without any."""
        self._round += 1
        cost = self.curator.remaining / (self.count - self._round + 1)
        self.done = self._round == self.count
        looks = self._looks
        wanted: dict[int, float] = {}
        if looks.scores is not None:
            counts = dict(zip(looks.pairs, self._importance(looks, weights), strict=True))
            whole = sum(self._had.values()) + self.curator.remaining
            choice = self.kage.choose(self.curator, looks, left=whole, importance=counts.__getitem__)
            wanted = {i: share for i, share in zip(choice.pairs, choice.shares, strict=True) if self._fits(i)}
        if wanted:
            self._measure(topped_up(self._had, wanted, cost))
        else:
            self._marginals += measure_columns(self.curator, cost)
        return self._fit(looks.known)

    def _importance(self, looks: Looks, weights: Weights | None) -> list[float]:
        def made() -> list[int]:
            if weights is None:
                return [UNITS_PER_COUNT] * len(looks.pairs)
            drawn = self.draw(DRAWN)
            return importance(self.curator.domain, looks.pairs, drawn, weights(drawn))

        # labels may change later, questions that were asked may not
        return [n / UNITS_PER_COUNT for n in self.remembered(f"importance-{self._round}", made)]

    def _fits(self, pair: int) -> bool:
        """Whether a pair was measured before, or finds room in the model beside those that were."""
        return pair in self._had or self._tree.add(self._looks.queries[pair].clique)

    def fitted(self, generator: MarkovGenerator) -> Fitted:
        """The model, and everything that was released on the way."""
        scores = self._looks.scores
        return Fitted(
            generator,
            self._marginals,
            self.trace,
            interactions=tuple(self._measured.values()),
            scores=None
            if scores is None
            else PairScores(self._looks.pairs, scores.values, scores.sigma, self._looks.groups),
        )

    def _measure(self, costs: dict[int, float]) -> None:
        """Interactions of pairs (positions) at their costs; together with what was measured of them before."""
        queries = [self._looks.queries[i] for i in costs]
        for i, new in zip(costs, self.curator.answer(queries, list(costs.values())), strict=True):
            self._measured[i] = combined(self._measured[i], new) if i in self._measured else new
            self._had[i] = self._had.get(i, 0.0) + costs[i]
            self.trace.append(Round(new.query.clique, new.sigma, self.curator.spent))

    def _fit(self, known: Measurements) -> MarkovGenerator:
        columns = NoisyColumns.of(self._marginals, self.curator.public_rows())
        now = replace(known, columns=columns, interactions=list(self._measured.values()))
        fit = now.fit(max_cells=self.kage.max_cells)
        room = min(max(LIMITS[0], fit.field.tree.cells), self.kage.max_cells - now.shared_out)
        self._tree = GrowingTree(now.coarse, room, [m.query.clique for m in now.interactions])
        self._model = now.generator(fit)
        return self._model
