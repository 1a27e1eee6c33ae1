"""The one door to private data.

Only the Curator holds a source together with a ledger. Every verb does the same four things in the same order:
charge the filter, write the charge durably, read, publish the noisy answer. A step that was answered before (a retry
after a crash) returns the stored answer without reading anything.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.adjacency import Adjacency, counts_sensitivity
from kagemusha.privacy.events import Event, ExponentialEvent, GaussianEvent, LaplaceEvent, UnprotectedEvent
from kagemusha.privacy.filter import UNIT, Cost, Filter, cost_of
from kagemusha.privacy.ledger import Ledger
from kagemusha.privacy.mechanisms import Noise
from kagemusha.release.interactions import Interaction, NoisyInteraction
from kagemusha.release.scores import Score
from kagemusha.schema.domain import Clique, Domain
from kagemusha.sources.protocol import Source


def _label(clique: Clique) -> str:
    return " × ".join(clique) if clique else "number of rows"


def affordable(cost: float) -> float:
    """The cost minus the rounding that turning it into a noise scale and back into integer units may add."""
    safe = cost * (1 - 1e-12) - 1 / UNIT
    if not safe > 0:
        raise UsageError(f"a step's share of the budget must be greater than {1 / UNIT:g}, got {cost}")
    return safe


def require_readable(source: Source) -> None:
    """Read the table once and keep nothing: one that cannot be read must fail before anything is reserved."""
    source.count([()])


class Curator:
    """Reads private data for synthesizers, at a price.

    Costs are in the unit of the release's accounting: ρ for zCDP and Gaussian DP, ε for pure DP.
    """

    def __init__(self, source: Source, budget_filter: Filter, ledger: Ledger, release: str, noise: Noise) -> None:
        self._source = source
        self._filter = budget_filter
        self._ledger = ledger
        self._release = release
        self._noise = noise
        self._asked: dict[str, int] = {}

    @property
    def domain(self) -> Domain:
        """The declared, public domain."""
        return self._source.domain

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency every sensitivity follows."""
        return self._filter.budget.adjacency

    @property
    def accounting(self) -> Accounting:
        """How costs add up in this release."""
        return self._filter.accounting

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything charged so far."""
        return self._filter.events

    @property
    def total(self) -> float:
        """The whole budget."""
        return self._filter.total

    @property
    def remaining(self) -> float:
        """What is left of the budget. For choosing a schedule; the filter, not the caller, refuses."""
        return self._filter.remaining

    @property
    def simulated(self) -> bool:
        """Whether the noise is reproducible, so that the run is an experiment and not a release."""
        return self._noise.simulated

    def public_rows(self) -> int | None:
        """The exact number of rows where the adjacency makes it public (replace); None otherwise."""
        return self._source.rows() if self.adjacency.rows_are_public else None

    # the verbs

    def measure(
        self, cliques: Sequence[Clique], cost: float | Sequence[float], *, mechanism: str = "gaussian"
    ) -> list[NoisyMarginal]:
        """Noisy counts of each clique at its cost (one number for all, or one each).

        `mechanism` is "gaussian" or "laplace". Sensitivity: one record is in exactly one cell of each marginal, so
        the counts move by Δ₁ = 1, Δ₂² = 1 (add-remove) or Δ₁ = 2, Δ₂² = 2 (replace).
        """
        costs = [cost] * len(cliques) if isinstance(cost, float | int) else list(cost)
        if len(costs) != len(cliques):
            raise UsageError(f"{len(cliques)} cliques but {len(costs)} costs")
        events = [self._counting_event(c, affordable(x), mechanism) for c, x in zip(cliques, costs, strict=True)]

        def read(missing: Sequence[int]) -> list[IntArray]:
            exact = self._source.count([cliques[i] for i in missing])
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
            exact = self._source.count([queries[i].clique for i in missing])
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
            values = score.values(self._source.count(candidates))
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
            return [score.values(self._source.count(candidates)) + self._draw(event, len(candidates))]

        values = self._step([event], read)[0]
        return values.astype(np.float64) * score.unit(), event.sigma * score.unit()

    def unprotected(self, reason: str) -> Source:
        """The source itself, for methods without protection. From here on the certificate says ε = ∞ and why."""
        event = UnprotectedEvent(what="the whole table", reason=reason)
        self._charge([event], self._keys([event]))
        return self._source

    # how a step is made

    def _gaussian_kind(self) -> str:
        return "rounded" if self.accounting is Accounting.GDP else "discrete"

    def _counting_event(self, clique: Clique, cost: float, mechanism: str) -> GaussianEvent | LaplaceEvent:
        sensitivity = counts_sensitivity(self.adjacency)
        what = f"counts of {_label(clique)}"
        if mechanism == "laplace":
            epsilon = cost if self.accounting is Accounting.PURE else math.sqrt(2 * cost)
            return LaplaceEvent(what=what, scale=sensitivity.l1 / epsilon, l1=sensitivity.l1)
        if mechanism != "gaussian":
            raise UsageError(f"mechanism must be 'gaussian' or 'laplace', got {mechanism!r}")
        sigma = math.sqrt(sensitivity.l2_squared / (2 * cost))
        return GaussianEvent(what=what, sigma=sigma, l2_squared=sensitivity.l2_squared, noise=self._gaussian_kind())

    def _draw(self, event: GaussianEvent | LaplaceEvent, size: int) -> IntArray:
        if isinstance(event, LaplaceEvent):
            return self._noise.discrete_laplace(event.scale, size)
        if event.noise == "rounded":
            return self._noise.rounded_gaussian(event.sigma, size)
        return self._noise.discrete_gaussian(event.sigma, size)

    def _keys(self, events: Sequence[Event]) -> list[str]:
        """A name for each step that a retry of the same run finds again."""
        keys = []
        for event in events:
            text = repr(event)
            again = self._asked.get(text, 0)
            self._asked[text] = again + 1
            keys.append(hashlib.sha256(f"{again} {text}".encode()).hexdigest()[:24])
        return keys

    def _charge(self, events: Sequence[Event], keys: Sequence[str]) -> None:
        costs = self._filter.charge(events)
        if self.accounting is Accounting.PURE:
            # the ledger adds up ρ over releases of every accounting
            costs = [Cost(0) if e.rho is None else cost_of(e, Accounting.ZCDP) for e in events]
        self._ledger.charge(self._release, list(zip(keys, events, costs, strict=True)))

    def _step(self, events: Sequence[Event], read: Callable[[Sequence[int]], list[IntArray]]) -> list[IntArray]:
        """Charge, commit, read, publish. `read` gets the indices of events that have no stored answer yet."""
        keys = self._keys(events)
        self._charge(events, keys)
        stored = [self._ledger.answer(self._release, key) for key in keys]
        missing = [i for i, answer in enumerate(stored) if answer is None]
        if missing:
            fresh = read(missing)
            published = self._ledger.publish(
                self._release,
                {keys[i]: values.astype("<i8").tobytes() for i, values in zip(missing, fresh, strict=True)},
            )
            stored = [published.get(key, answer) for key, answer in zip(keys, stored, strict=True)]
        return [np.frombuffer(answer or b"", dtype="<i8").astype(np.int64) for answer in stored]


def deviation(event: GaussianEvent | LaplaceEvent) -> float:
    """Standard deviation of the event's noise (the discrete laws are within a rounding of it)."""
    if isinstance(event, LaplaceEvent):
        return math.sqrt(2) * event.scale
    return event.sigma
