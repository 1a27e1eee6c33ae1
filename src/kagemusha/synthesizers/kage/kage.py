"""Kage (the shadow): few looks at everything at once instead of many at one thing, all noise Gaussian.

The algorithm in pseudo-code, with a reason for every constant: docs/algorithms/kage.md. The proof: docs/proofs/kage.md.

Columns first, then the noisy dependence of all pairs at once, then the interactions worth their noise, each at the
cost that makes the total error least; where that makes pairs precise, the same once more for triples. A set of columns
is asked only for what its smaller sets do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import UsageError
from kagemusha.graphical import GrowingTree, tree_cells
from kagemusha.marginals import NoisyMarginal
from kagemusha.models.generator import PairScores, Round
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.queries.interactions import GroupedError, Interaction
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.measured import Measured
from kagemusha.synthesizers.candidates import countable, require_columns
from kagemusha.synthesizers.kage.beliefs import KEPT, believed
from kagemusha.synthesizers.kage.choice import Choice, choose, shrunk
from kagemusha.synthesizers.kage.grouping import merge, sums
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.state import Gathered, NoisyColumns, measure_columns
from kagemusha.synthesizers.kage.structure import grown
from kagemusha.synthesizers.kage.tree import trees_of
from kagemusha.synthesizers.kage.triples import second_look
from kagemusha.synthesizers.noise_cost import gaussian_sigma, noise_of_pairs
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

COLUMNS = 0.15
"""Share of the budget for the first look at columns."""

SCORES, SCORES_EACH = (0.04, 0.15), 0.0121
"""Share of the budget for the dependence of all pairs: between these two, SCORES_EACH times the cube root of how many there
are. Each score's noise grows with the square root of their number, and what a wrong choice costs shrinks with it."""

ALONE = 2.0
"""A code gets a place of its own in the model above this many deviations of a typical pair cell."""

ORDERED_ALONE = 0.5
"""The same for the groups of neighbours of an ordered column."""

LIMITS = (60_000, 250_000, 1_000_000, 4_000_000)
GROWTH = 2
"""Triples may make it this many times as large again."""

PRECISE = 0.006
"""Triples are looked at if pairs should end with a smaller mean error than this, a share of records."""

LATER = 0.3
"""Then this share of what is left waits for what that look says."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What the looks at everything told: columns, and how far every pair is from independence. All of it released."""

    marginals: Sequence[NoisyMarginal]
    known: Gathered
    queries: Sequence[Interaction]
    """One for each pair."""
    scores: NoisyVector | None
    """None where there is no pair."""
    typical: float
    """The noise that a cell of a pair may have."""

    @property
    def pairs(self) -> list[Clique]:
        """The pairs that were looked at."""
        return [query.clique for query in self.queries]

    @property
    def errors(self) -> FloatArray:
        """Their distances from independence, in records, with the noise taken into account."""
        return np.zeros(0) if self.scores is None else shrunk(self.scores.values, self.scores.sigma)


@dataclass(frozen=True, kw_only=True)
class Kage(Synthesizer):
    """All Gaussian: columns, dependence of all pairs, then the interactions worth their noise.

    All choices are automatic. `max_cells` bounds the junction tree, which is far smaller where that costs little.
    `target` is a column whose pairs and triples count `emphasis` times.
    """

    name: ClassVar[str] = "kage"
    summary: ClassVar[str] = (
        "our own: the pairs and triples worth their noise, all of it Gaussian; fast, and nearest on Adult and Bank up to ε = 10"
    )
    accounting: ClassVar[Accounting] = Accounting.GDP
    adaptive: ClassVar[bool] = True

    max_cells: int = 4_000_000
    target: str | None = None
    emphasis: float = 4.0

    def __post_init__(self) -> None:
        if self.max_cells < 1:
            raise UsageError(f"max_cells must be at least 1, got {self.max_cells}")
        if not self.emphasis > 0:
            raise UsageError(f"emphasis must be greater than 0, got {self.emphasis}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Measure columns, look at all pairs, measure what pays, fit; where pairs are precise, go on to triples."""
        domain, rows = curator.domain, curator.public_rows()
        looks = self.looks(curator, progress=progress)
        marginals, known, pairs = list(looks.marginals), looks.known, looks.pairs
        if looks.scores is None:
            marginals += measure_columns(curator, curator.remaining)
            alone = replace(known, columns=NoisyColumns.of(marginals, rows, trees_of(curator.schema)))
            return _fitted(alone, alone.fit(max_cells=self.max_cells), marginals)

        columns, groups, scores, errors = known.columns, known.groups, looks.scores, looks.errors
        choice = self.choose(curator, looks, beyond=True)
        further = len(domain) > 2 and choice.predicted < PRECISE * columns.total * len(pairs)

        progress(f"measuring {len(choice.pairs)} pairs", 0.2)
        left = curator.remaining * (1 - LATER if further else 1)
        if choice.columns > 0:
            marginals += measure_columns(curator, choice.columns * left)
            columns = NoisyColumns.of(marginals, rows, trees_of(curator.schema))
        chosen = [looks.queries[i] for i in choice.pairs]
        measured = curator.answer(chosen, [share * left for share in choice.shares])
        known = replace(known, columns=columns, interactions=measured)
        progress("fitting", 0.3)
        room = min(choice.cells, self.max_cells - known.shared_out)
        known, fit = grown(known, max_cells=room, importance=self._importance)
        if further:
            progress("looking at triples", 0.6)
            known = second_look(
                curator,
                known,
                fit,
                dict(zip(pairs, errors.tolist(), strict=True)),
                importance=self._importance,
                kept=KEPT,
                max_cells=min(max(LIMITS[0], GROWTH * fit.field.tree.cells), self.max_cells - known.shared_out),
            )
            if not known.interactions:
                marginals += measure_columns(curator, curator.remaining)
                known = replace(known, columns=NoisyColumns.of(marginals, rows, trees_of(curator.schema)))
            progress("fitting again", 0.7)
            fit = known.fit(max_cells=self.max_cells, start=fit.theta)
        progress("done", 1.0)
        return replace(_fitted(known, fit, marginals), scores=PairScores(pairs, scores.values, scores.sigma, groups))

    def looks(self, curator: Curator, *, progress: Progress = silent) -> Looks:
        """The first two steps: every column, then the dependence of all pairs at once."""
        domain = curator.domain
        pairs = self._pairs(domain)
        shares = self._shares(domain)
        progress("measuring columns", 0.0)
        marginals = measure_columns(curator, shares["columns"] * curator.total)
        columns = NoisyColumns.of(marginals, curator.public_rows(), trees_of(curator.schema))
        if not pairs:
            codes = {n: np.arange(domain.size(n)) for n in domain}
            return Looks(marginals, Gathered(domain, columns, codes, dict.fromkeys(domain, 0)), (), None, 0.0)

        progress("looking at pairs", 0.1)
        typical = gaussian_sigma(curator.unit, shares["pairs"] * curator.total / min(len(pairs), 3 * len(domain)))
        ordinary, most = ordered_codes(curator.schema, domain), self._most(domain)
        groups = {
            n: merge(
                columns.table(n), ALONE, ORDERED_ALONE, typical, ordinary[n], tree=columns.trees.get(n, ()), most=most
            )
            for n in domain
        }
        # merged for want of room, codes of an ordered column need not be neighbours any more
        ordered = {
            n: int(g[ordinary[n] - 1]) + 1 if ordinary[n] and (np.diff(g) >= 0).all() else 0 for n, g in groups.items()
        }
        known = Gathered(domain, columns, groups, ordered)
        (scores,) = curator.answer([_independence(known, pairs)], shares["scores"] * curator.total)
        return Looks(marginals, known, [known.query(pair, typical) for pair in pairs], scores, typical)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        pairs = self._pairs(domain)
        shares = self._shares(domain)
        cells = min(self.max_cells, tree_cells(domain, pairs) if len(domain) <= 40 else self.max_cells)
        seconds = 0.5 + 2e-6 * cells + 1.2e-3 * len(pairs)
        steps = [
            ("columns", shares["columns"]),
            ("dependence of pairs", shares["scores"]),
            ("pairs, and triples where pairs are precise", shares["pairs"]),
        ]
        error = noise_of_pairs(domain, pairs, budget, self.accounting, shares["pairs"])
        return Plan(
            steps if pairs else [("columns", 1.0)],
            max(cells, sum(domain.sizes)),
            seconds,
            error=None if error is None else KEPT * error,
        )

    def _pairs(self, domain: Domain) -> list[Clique]:
        """All pairs that can be counted together, smallest first if there are too many cells."""
        require_columns(domain, self.max_cells)
        if self.target is not None and self.target not in domain:
            raise UsageError(f"target: no column named {self.target!r}; columns are {', '.join(domain.names)}")
        return countable(domain, [pair for pair in combinations(domain.names, 2) if min(domain.shape(pair)) > 1])

    def _importance(self, clique: Clique) -> float:
        return self.emphasis if self.target in clique else 1.0

    def _shares(self, domain: Domain) -> dict[str, float]:
        """Of the whole budget, as planned; the share of columns may grow once the noise is known."""
        pairs = len(domain) * (len(domain) - 1) / 2
        scores = float(np.clip(SCORES_EACH * pairs ** (1 / 3), *SCORES))
        return {"columns": COLUMNS, "scores": scores, "pairs": 1 - COLUMNS - scores}

    def _most(self, domain: Domain) -> int:
        """Groups a column may have in the model, so few that the tables that share them out again stay within half the limit."""
        return max(1, self.max_cells // (2 * sum(domain.sizes)))

    def choose(
        self,
        curator: Curator,
        looks: Looks,
        *,
        left: float | None = None,
        importance: Callable[[Clique], float] | None = None,
        beyond: bool = False,
    ) -> Choice:
        """The pairs worth measuring with all that is left (or with `left`), and the share of each. Reads nothing.

        `importance` says how much a pair counts: it may be made of anything that is released or public. With
        `beyond` there may be more pairs than the model has room for.
        """
        known, queries, errors = looks.known, looks.queries, looks.errors
        left = curator.remaining if left is None else left
        before = COLUMNS * curator.total / left
        pairs = believed(
            known, queries, errors, looks.typical, curator.unit, left, before, importance or self._importance
        )
        room = self.max_cells - known.shared_out
        return choose(pairs, lambda limit: GrowingTree(known.coarse, min(limit, room)).add, LIMITS, beyond=beyond)


def ordered_codes(schema: Schema, domain: Domain) -> dict[str, int]:
    """How many of a column's codes have an order, those of numbers, dates and times; *missing* and the like come after them."""
    columns = {c.name: c for c in schema.modelled}
    return {n: c.ordinary if isinstance(c := columns.get(n), Measured) else 0 for n in domain}


def _independence(known: Gathered, pairs: Sequence[Clique]) -> GroupedError:
    tables = {n: sums(known.tables[n], g) for n, g in known.groups.items()}
    return GroupedError(
        pairs,
        [(known.groups[a], known.groups[b]) for a, b in pairs],
        [np.outer(tables[a], tables[b]) / known.columns.total for a, b in pairs],
    )


def _fitted(known: Gathered, fit: InteractionFit, marginals: Sequence[NoisyMarginal]) -> Fitted:
    measured = (*known.interactions, *known.outside)
    trace = [Round(m.query.clique, m.sigma, 1.0, cells=fit.field.tree.cells) for m in measured]
    return Fitted(known.generator(fit), marginals, trace, interactions=measured)
