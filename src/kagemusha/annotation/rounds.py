"""The private side of the loop: one marginal per round, chosen where the judge is unsure, measured plainly.

Adjacency, sensitivity, cost: choosing is an exponential mechanism on weighted errors (`queries.weighted_errors`),
measuring a Gaussian one on plain counts. Of the budget ρ, nine tenths are shared by the columns and the rounds'
measurements, a tenth by the rounds' choices. Everything goes through the Curator; after a crash, rounds that were
answered are answered again from the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kagemusha.annotation.weights import Weights
from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.generators.generator import Round
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.scores import Distances, L1Error
from kagemusha.queries.weighted_errors import WeightedError, weighted_counts
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.adaptive import MEASURE, SELECT
from kagemusha.synthesizers.aim import AIM
from kagemusha.synthesizers.candidates import cell_error
from kagemusha.synthesizers.protocol import Fitted

DRAWN = 20_000
"""Synthetic records behind a weighted estimate, at least: weights need whole records, not cells."""


@dataclass
class Rounds:
    """AIM, one round at a time, within a fixed number of rounds or (`annealed`) as AIM paces itself."""

    curator: Curator
    count: int
    rng: np.random.Generator
    annealed: bool = False
    aim: AIM = field(default_factory=AIM)
    measured: list[NoisyMarginal] = field(default_factory=list)
    trace: list[Round] = field(default_factory=list)
    model: MarkovField | None = None
    done: bool = False

    def __post_init__(self) -> None:
        columns = len(self.curator.domain)
        self._candidates = self.aim.candidates(self.curator.domain)
        self._each = MEASURE * self.curator.total / (columns + self.count)
        self._choice = SELECT * self.curator.total / self.count

    def start(self) -> MarkovGenerator:
        """Every column once."""
        names = [(name,) for name in self.curator.domain]
        self.measured = self.curator.measure(names, self._each)
        self.model = self.aim.refit(self.curator, self.measured, None)
        return MarkovGenerator(self.model)

    def draw(self, rows: int) -> list[Codes]:
        """Synthetic records of the present model, column by column."""
        assert self.model is not None
        drawn = MarkovGenerator(self.model).sample(rows, rng=self.rng)
        return [np.ascontiguousarray(column) for column in drawn.T]

    def go(self, weights: Weights | None) -> MarkovGenerator:
        """Choose, measure, fit."""
        assert self.model is not None
        each, choice = self._costs()
        pairs = self._open()
        query = self._query(pairs, weights, each)
        clique = pairs[self.curator.choose(query, choice)]
        (noisy,) = self.curator.measure([clique], each)
        self.measured.append(noisy)
        before = self.model.project(clique)
        fit = self.aim.last_fit if self.done else self.aim.refit
        self.model = fit(self.curator, self.measured, self.model)
        change = float(np.abs(self.model.project(clique) - before).sum())
        expected = self._noise_error(clique, each)
        if self.annealed and change <= expected:
            self._each, self._choice = 4 * self._each, 4 * self._choice
        spent = self.curator.spent
        self.trace.append(Round(clique, noisy.sigma, spent, change, self.model.tree.cells, choice, expected))
        return MarkovGenerator(self.model)

    def fitted(self, generator: MarkovGenerator) -> Fitted:
        """The model, and everything that was released on the way."""
        return Fitted(generator, self.measured, self.trace)

    def _costs(self) -> tuple[float, float]:
        """Of measuring and of choosing; the last round takes what is left."""
        each, choice, left = self._each, self._choice, self.curator.remaining
        self.done = left <= 2 * (each + choice) if self.annealed else len(self.trace) + 1 >= self.count
        if self.done:
            each, choice = left * each / (each + choice), left * choice / (each + choice)
        return each, choice

    def _open(self) -> list[Clique]:
        spent = self.curator.spent
        room = max(spent, 0.1) * self._candidates.max_cells
        fitting = self._candidates.fitting([m.clique for m in self.measured], room)
        pairs: list[Clique] = [clique for clique in fitting if len(clique) == 2]
        return pairs or fitting

    def _query(self, pairs: Sequence[Clique], weights: Weights | None, cost: float) -> Distances:
        assert self.model is not None
        sizes = np.array([self._candidates.weights[c] for c in pairs])
        penalties = np.array([self._noise_error(c, cost) for c in pairs])
        if weights is None:
            return L1Error(pairs, self.model.project_many(pairs), sizes, penalties)
        estimates, usual = self._weighted(pairs, weights)
        return WeightedError(pairs, estimates, sizes, usual * penalties, self.curator.domain, weights)

    def _weighted(self, pairs: Sequence[Clique], weights: Weights) -> tuple[list[FloatArray], float]:
        """What the model expects of the weighted marginals, and the usual weight: both from synthetic records."""
        assert self.model is not None
        rows = max(DRAWN, round(self.model.total))
        columns = self.draw(rows)
        weighed: IntArray = weights(columns)
        scale = self.model.total / rows / UNITS_PER_COUNT
        domain = self.curator.domain
        tables = [np.asarray(scale * weighted_counts(domain, c, columns, weighed), dtype=np.float64) for c in pairs]
        return tables, float(weighed.mean()) / UNITS_PER_COUNT

    def _noise_error(self, clique: Clique, cost: float) -> float:
        return cell_error(self.curator.unit, cost) * self.curator.domain.cells(clique)
