"""The one door to private data.

Only the Curator holds a source together with a release. It answers queries with noise (`answer`), chooses among
candidates (`choose`), trains on samples (`train`), or hands the table over without protection, which the certificate
then says (`unprotected`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.columns.bins import no_codes
from kagemusha.errors import LedgerError, UndeclaredDomain, UsageError
from kagemusha.marginals import Marginal, NoisyMarginal
from kagemusha.marginals.tally import KeptTables
from kagemusha.privacy.accountants import ACCOUNTANTS, Composition
from kagemusha.privacy.budget import Budget, PrivacyUnit, QueryRecord
from kagemusha.privacy.events import (
    ExponentialEvent,
    GaussianEvent,
    GenerationEvent,
    LaplaceEvent,
    ThresholdEvent,
    UnprotectedEvent,
)
from kagemusha.progress import Progress, silent
from kagemusha.queries.query import Choice, Counts, Part, Query
from kagemusha.release.release import Release, affordable
from kagemusha.release.rows import cliques_of, draw, generation_query, secret_of
from kagemusha.release.share import WHOLE, Share
from kagemusha.release.training import Learner, PersonRows, Step, TrainingSchedule, train
from kagemusha.schema import Fact, Schema
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.features import features_of
from kagemusha.schema.related import Related
from kagemusha.sources.part import PartSource
from kagemusha.sources.protocol import Source


class Observer:
    """Hears of every answer before it is used. Does nothing; whoever wants to know more overrides a verb."""

    def answered(
        self,
        queries: Sequence[Query[Any]],
        events: Sequence[GaussianEvent | LaplaceEvent],
        answers: Sequence[IntArray],
    ) -> None:
        """Noisy answers, in whole numbers."""

    def chose(self, query: Choice[object], event: ExponentialEvent, at: int) -> None:
        """The candidate at this position."""

    def passed(self, name: str, event: ThresholdEvent, places: Sequence[str]) -> None:
        """Labels or groups of a column whose noisy count reached the threshold."""

    def drew(self, event: GenerationEvent, lattice: Sequence[IntArray]) -> None:
        """Rows, as features before they became codes."""

    def stepped(self, learner: Learner, schedule: TrainingSchedule, rows: PersonRows, step: Step) -> None:
        """A step of training."""


NOBODY = Observer()


KEPT_CELLS = 1 << 24
"""Cells of exact counts that stay in memory between rounds (128 MiB)."""

Released = TypeVar("Released")


def summed(source: Source, part: Part) -> IntArray:
    """Parts added up over all records, batch by batch: whole numbers, so neither cuts nor order matter."""
    total = part(no_codes(source.domain.sizes))
    for columns in source.batches():
        total = total + part(columns)
    return total


def require_readable(source: Source) -> None:
    """Read the table once and keep nothing: one that cannot be read must fail before anything is reserved."""
    source.count([()])


def require_confirmed(
    schema: Schema | Related, *, allowed: bool = False, only: Collection[str] | None = None
) -> Sequence[Fact]:
    """Facts (of some columns) that were taken from the data; refused unless they are allowed to void the promise."""
    derived = [fact for fact in schema.derived_facts() if only is None or fact.column in only]
    if derived and not allowed:
        shown = ", ".join(str(fact) for fact in derived[:5]) + (", …" if len(derived) > 5 else "")
        raise UndeclaredDomain(
            f"{len(derived)} facts of the schema were taken from the data and nobody confirmed them ({shown}). "
            "Replace them by public knowledge and remove them from `derived`, or leave them out of the schema and "
            "give private discovery a share of the budget"
        )
    return derived


def gaussian_event(
    what: str, l2_squared: int, cost: float, noise: str, query: QueryRecord | None = None
) -> GaussianEvent:
    """The Gaussian step of a cost (ρ); whoever declares a schedule beforehand makes its steps here, too."""
    squared = max(1, l2_squared)  # where no record moves anything, any scale is wide enough
    sigma = math.sqrt(squared / (2 * affordable(cost)))
    return GaussianEvent(what=what, sigma=sigma, l2_squared=squared, noise=noise, query=query)


class Curator:
    """Reads private data for synthesizers, at a price.

    Costs are in the unit of the release's accounting: ρ for zCDP and Gaussian DP, ε for pure DP. Exact counts of up to
    `keep` cells stay in memory, since later rounds ask for the same ones again.
    """

    def __init__(
        self,
        source: Source,
        release: Release,
        *,
        keep: int = KEPT_CELLS,
        observer: Observer = NOBODY,
        share: Share = WHOLE,
    ) -> None:
        self._source, self._release, self._share, self.required = source, release, share, share.required
        self._kept = KeptTables[IntArray](keep)
        self._observer = observer
        self.total = (release.remaining if release.events else release.filter.total) - share.kept_back
        """The whole budget: what the release may spend, less what it spent before this part of it began."""

    @property
    def domain(self) -> Domain:
        """The declared, public domain."""
        return self._source.domain

    @property
    def schema(self) -> Schema:
        """What is declared about the table; public."""
        return self._source.schema

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return self._release.unit.of_rows(self._share.rows)

    @property
    def budget(self) -> Budget:
        """What is promised."""
        return self._release.filter.budget

    @property
    def remaining(self) -> float:
        """What is left of the budget. For choosing a schedule; the filter, not the caller, refuses."""
        return self._release.remaining - self._share.kept_back

    @property
    def _accountant(self) -> Composition:
        return ACCOUNTANTS[self._release.accounting]

    @property
    def spent(self) -> float:
        """Share of the whole budget that is used, from 0 to 1."""
        return 1 - self.remaining / self.total if self.total else 1.0

    def public_rows(self) -> int | None:
        """The exact number of rows where no neighbour has another number (replace, one row each); None otherwise."""
        return self._source.rows() if self.unit.rows_are_public else None

    def seed(self) -> int:
        """For what needs chance but no protection: initial weights, hidden draws. Never for noise."""
        return self._release.noise.seed()

    def part(self, names: Sequence[str]) -> Curator:
        """The same release with these columns alone: what is left of the budget is the whole of this part's."""
        source = PartSource(self._source, names)
        part = Curator(source, self._release, keep=self._kept.room, observer=self._observer, share=self._share)
        part.total = self.remaining
        return part

    # the verbs

    def answer(
        self, queries: Sequence[Query[Released]], cost: float | Sequence[float], *, mechanism: str = "gaussian"
    ) -> list[Released]:
        """The noisy answer of each query at its cost (one number for all, or one each); all charged at once.

        `mechanism` is "gaussian" or "laplace". How far the answer can move is the query's own to say, see its `proof`.
        """
        costs = [float(cost)] * len(queries) if isinstance(cost, float | int) else list(cost)
        if len(costs) != len(queries):
            raise UsageError(f"{len(queries)} queries but {len(costs)} costs")
        events = [self._event(q, x, mechanism) for q, x in zip(queries, costs, strict=True)]

        def read(missing: Sequence[int]) -> list[IntArray]:
            counted = self._count([clique for i in missing for clique in queries[i].cliques()])
            exact = [self._exact(queries[i], counted) for i in missing]
            return [e + self._release.draw(events[i], e.size) for i, e in zip(missing, exact, strict=True)]

        answers = self._release.integers(events, read)
        self._observer.answered(queries, events, answers)
        return [q.released(v, e.deviation) for q, v, e in zip(queries, answers, events, strict=True)]

    def measure(
        self,
        cliques: Sequence[Clique],
        cost: float | Sequence[float],
        *,
        mechanism: str = "gaussian",
        word: str = "counts",
    ) -> list[NoisyMarginal]:
        """Noisy counts of each clique at its cost; `word` is what the certificate calls them."""
        return self.answer([Counts(self.domain, c, word) for c in cliques], cost, mechanism=mechanism)

    def choose(self, query: Choice[object], cost: float) -> int:
        """Position of a candidate with a high score, by the exponential mechanism; its name is stored."""
        budgeted = affordable(cost)
        epsilon = self._accountant.exponential(budgeted)
        options = [tuple(option) for option in query.options]
        what, asked = query.record.asked(query.what, self._share.table, self._share.rows)
        event = ExponentialEvent(what=f"best by {what}", epsilon=epsilon, candidates=len(options), query=asked)

        def read(_: Sequence[int]) -> list[bytes]:
            values = self._exact(query, self._count(query.cliques()))
            scale = 2 * self.unit.sensitivity(query.sensitivity).each / epsilon
            return [json.dumps(options[self._release.noise.noisy_max(values, scale)]).encode()]

        chosen = tuple(json.loads(self._release.answers([event], read)[0]))
        if chosen not in options:
            raise LedgerError(
                f"release {self._release.id}: the stored choice is none of the candidates; use another key"
            )
        at = options.index(chosen)
        self._observer.chose(query, event, at)
        return at

    def train(self, schedule: TrainingSchedule, learner: Learner, *, what: str, progress: Progress = silent) -> None:
        """Train a learner on Poisson samples with clipped, noisy gradients; one charge for the whole schedule.

        Sensitivity: a person's gradient, clipped, see `release.training`. Resumes after a crash.
        """
        train(
            self._release, self._source, schedule, learner, what=what, progress=progress, watch=self._observer.stepped
        )

    def generate(self, event: GenerationEvent) -> IntArray:
        """The codes of rows drawn from the table's own normal distribution; a retry returns the same rows.

        How far one person moves mean and covariance: `privacy.generation.rows`. Both are forgotten here.
        """
        features = features_of(self.schema)
        asked = replace(event, query=generation_query(features))
        lattice: list[IntArray] = []

        def read(_: Sequence[int]) -> list[bytes]:
            secret = secret_of(features, self._count(cliques_of(features)), event.at_least)
            noisy = secret.noisy(event, self._release.noise)
            return [draw(features, noisy, event, self._release.noise, lattice.append).astype("<i8").tobytes()]

        (stored,) = self._release.answers([asked], read)
        codes = np.frombuffer(stored, dtype="<i8").astype(np.int64).reshape(event.rows, len(self.domain))
        self._observer.drew(asked, lattice)
        return codes

    def unprotected(self, reason: str) -> Source:
        """The source itself, for methods without protection. From here on the certificate says ε = ∞ and why."""
        self._release.charge([UnprotectedEvent(what="the whole table", reason=reason)])
        return self._source

    def _event(self, query: Query[object], cost: float, mechanism: str) -> GaussianEvent | LaplaceEvent:
        moves, (what, asked) = (
            self.unit.sensitivity(query.sensitivity),
            query.record.asked(query.what, self._share.table, self._share.rows),
        )
        if mechanism == "laplace":
            epsilon = self._accountant.laplace(affordable(cost))
            l1 = max(1, moves.l1)
            return LaplaceEvent(what=what, scale=l1 / epsilon, l1=l1, query=asked)
        if mechanism != "gaussian":
            raise UsageError(f"mechanism must be 'gaussian' or 'laplace', got {mechanism!r}")
        return gaussian_event(what, moves.l2_squared, cost, self._release.gaussian_kind, asked)

    def _exact(self, query: Query[object], counted: Mapping[Clique, Marginal]) -> IntArray:
        return query.exact([counted[c] for c in query.cliques()], lambda part: summed(self._source, part))

    def _count(self, cliques: Sequence[Clique]) -> dict[Clique, Marginal]:
        """Exact counts, from memory where they are kept. Called by the verbs alone, after the charge."""
        found = self._kept.of(cliques, lambda new: {m.clique: m.counts for m in self._source.count(new)})
        return {clique: Marginal(clique, counts) for clique, counts in found.items()}
