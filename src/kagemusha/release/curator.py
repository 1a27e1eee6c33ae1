"""The one door to private data.

Only the Curator holds a source together with a ledger. Every verb does the same four things in the same order:
charge the filter, write the charge durably, read, publish the noisy answer. A step that was answered before (a retry
after a crash) returns the stored answer without reading anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.ledger.protocol import Ledger
from kagemusha.marginals import Marginal, NoisyMarginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.adjacency import counts_sensitivity
from kagemusha.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent, UnprotectedEvent
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import Noise
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.queries.moments import LinearQuery
from kagemusha.queries.scores import Score
from kagemusha.release.account import Account, affordable, deviation
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain
from kagemusha.sources.protocol import Source

KEPT_CELLS = 1 << 24
"""Cells of exact counts that stay in memory between rounds (128 MiB)."""


def _label(clique: Clique) -> str:
    return " × ".join(clique) if clique else "number of rows"


def require_readable(source: Source) -> None:
    """Read the table once and keep nothing: one that cannot be read must fail before anything is reserved."""
    source.count([()])


class Curator(Account):
    """Reads private data for synthesizers, at a price.

    Costs are in the unit of the release's accounting: ρ for zCDP and Gaussian DP, ε for pure DP. Exact counts of up to
    `keep` cells stay in memory, since later rounds ask for the same ones again.
    """

    def __init__(
        self,
        source: Source,
        budget_filter: Filter,
        ledger: Ledger,
        release: str,
        noise: Noise,
        asked: dict[str, int] | None = None,
        *,
        keep: int = KEPT_CELLS,
    ) -> None:
        super().__init__(budget_filter, ledger, release, noise, asked)
        self._source = source
        self._counted: dict[Clique, Marginal] = {}
        self._room = keep

    @property
    def domain(self) -> Domain:
        """The declared, public domain."""
        return self._source.domain

    @property
    def schema(self) -> Schema:
        """What is declared about the table; public."""
        return self._source.schema

    def public_rows(self) -> int | None:
        """The exact number of rows where the adjacency makes it public (replace); None otherwise."""
        return self._source.rows() if self.adjacency.rows_are_public else None

    # the verbs

    def measure(
        self,
        cliques: Sequence[Clique],
        cost: float | Sequence[float],
        *,
        mechanism: str = "gaussian",
        what: str = "counts",
    ) -> list[NoisyMarginal]:
        """Noisy counts of each clique at its cost (one number for all, or one each).

        `mechanism` is "gaussian" or "laplace", `what` the certificate's word for it. Sensitivity: one record is in exactly one cell of each marginal, so
        the counts move by Δ₁ = 1, Δ₂² = 1 (add-remove) or Δ₁ = 2, Δ₂² = 2 (replace).
        """
        costs = [cost] * len(cliques) if isinstance(cost, float | int) else list(cost)
        if len(costs) != len(cliques):
            raise UsageError(f"{len(cliques)} cliques but {len(costs)} costs")
        events = [self._counting_event(c, affordable(x), mechanism, what) for c, x in zip(cliques, costs, strict=True)]

        def read(missing: Sequence[int]) -> list[IntArray]:
            exact = self._count([cliques[i] for i in missing])
            return [
                m.counts.ravel() + self._draw(events[i], m.counts.size) for i, m in zip(missing, exact, strict=True)
            ]

        answers = self._step(events, read)
        return [
            NoisyMarginal(clique, values.reshape(self.domain.shape(clique)), deviation(event))
            for clique, values, event in zip(cliques, answers, events, strict=True)
        ]

    def measure_interactions(self, queries: Sequence[Interaction], costs: Sequence[float]) -> list[NoisyInteraction]:
        """What pairs (or larger sets) of columns hold beyond their smaller marginals, each at its cost.

        Sensitivity: the query's own, see `Interaction.proof`.
        """
        events = [
            GaussianEvent(
                what=f"interaction of {_label(q.clique)} in {' × '.join(map(str, q.shape))} groups",
                sigma=math.sqrt(q.l2_squared(self.adjacency) / (2 * affordable(cost))),
                l2_squared=q.l2_squared(self.adjacency),
                noise=self._gaussian_kind(),
            )
            for q, cost in zip(queries, costs, strict=True)
        ]

        def read(missing: Sequence[int]) -> list[IntArray]:
            exact = self._count([queries[i].clique for i in missing])
            return [
                queries[i].values(m).ravel() + self._draw(events[i], queries[i].scale)
                for i, m in zip(missing, exact, strict=True)
            ]

        answers = self._step(events, read)
        return [
            NoisyInteraction(q, values.reshape(q.shape) / q.scale, event.sigma / q.scale)
            for q, values, event in zip(queries, answers, events, strict=True)
        ]

    def select(self, score: Score, cost: float) -> int:
        """Index of a candidate with a high score, by the exponential mechanism."""
        budgeted = affordable(cost)
        epsilon = budgeted if self.accounting is Accounting.PURE else math.sqrt(8 * budgeted)
        candidates = score.cliques()
        event = ExponentialEvent(
            what=f"best of {len(candidates)} candidates by {score.name}", epsilon=epsilon, candidates=len(candidates)
        )

        def read(_: Sequence[int]) -> list[IntArray]:
            values = score.values(self._count(candidates))
            scale = 2 * score.sensitivity(self.adjacency) / epsilon
            return [np.array([self._noise.noisy_max(values, scale)], dtype=np.int64)]

        return int(self._step([event], read)[0][0])

    def noisy_scores(self, score: Score, cost: float) -> tuple[FloatArray, float]:
        """All scores at once with Gaussian noise, and the noise's standard deviation, in the score's own scale.

        Sensitivity: each of the P scores moves by at most Δ, so the vector moves by Δ₂² = P·Δ².
        """
        if self.accounting is Accounting.PURE:
            raise PrivacyError("noisy scores need Gaussian noise, which pure DP accounting cannot hold")
        candidates = score.cliques()
        step = score.sensitivity(self.adjacency)
        squared = len(candidates) * step * step
        event = GaussianEvent(
            what=f"{score.name} of {len(candidates)} candidates",
            sigma=math.sqrt(squared / (2 * affordable(cost))),
            l2_squared=squared,
            noise=self._gaussian_kind(),
        )

        def read(_: Sequence[int]) -> list[IntArray]:
            return [score.values(self._count(candidates)) + self._draw(event, len(candidates))]

        values = self._step([event], read)[0]
        return values.astype(np.float64) * score.unit(), event.sigma * score.unit()

    def measure_query(self, query: LinearQuery, cost: float) -> tuple[FloatArray, float]:
        """A vector of sums over records with Gaussian noise, and the noise's standard deviation, in its own scale.

        Sensitivity: the query's own, see its `proof`.
        """
        if self.accounting is Accounting.PURE:
            raise PrivacyError(f"{query.name}: this query needs Gaussian noise, which pure DP accounting cannot hold")
        squared = max(1, query.l2_squared(self.adjacency))  # where no record moves anything, any scale is wide enough
        event = GaussianEvent(
            what=query.name,
            sigma=math.sqrt(squared / (2 * affordable(cost))),
            l2_squared=squared,
            noise=self._gaussian_kind(),
        )

        def read(_: Sequence[int]) -> list[IntArray]:
            exact = query.values(self._count(query.cliques()))
            return [exact + self._draw(event, len(exact))]

        values = self._step([event], read)[0]
        return values.astype(np.float64) * query.unit(), event.sigma * query.unit()

    def unprotected(self, reason: str) -> Source:
        """The source itself, for methods without protection. From here on the certificate says ε = ∞ and why."""
        event = UnprotectedEvent(what="the whole table", reason=reason)
        self._charge([event], self._keys([event]))
        return self._source

    def _count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts, from memory where they are kept. Called by the verbs alone, after the charge."""
        new = [clique for clique in dict.fromkeys(cliques) if clique not in self._counted]
        fresh = dict(zip(new, self._source.count(new), strict=True)) if new else {}
        answers = [fresh[clique] if clique in fresh else self._counted[clique] for clique in cliques]
        for clique, marginal in fresh.items():
            if marginal.counts.size <= self._room:
                marginal.counts.setflags(write=False)
                self._counted[clique] = marginal
                self._room -= marginal.counts.size
        return answers

    def _counting_event(self, clique: Clique, cost: float, mechanism: str, word: str) -> GaussianEvent | LaplaceEvent:
        sensitivity = counts_sensitivity(self.adjacency)
        what = f"{word} of {_label(clique)}"
        if mechanism == "laplace":
            epsilon = cost if self.accounting is Accounting.PURE else math.sqrt(2 * cost)
            return LaplaceEvent(what=what, scale=sensitivity.l1 / epsilon, l1=sensitivity.l1)
        if mechanism != "gaussian":
            raise UsageError(f"mechanism must be 'gaussian' or 'laplace', got {mechanism!r}")
        sigma = math.sqrt(sensitivity.l2_squared / (2 * cost))
        return GaussianEvent(what=what, sigma=sigma, l2_squared=sensitivity.l2_squared, noise=self._gaussian_kind())
