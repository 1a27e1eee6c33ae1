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
from kagemusha.privacy.reach import COUNTS
from kagemusha.progress import Progress, silent
from kagemusha.queries.interactions import GroupedError, Interaction
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import countable, require_columns
from kagemusha.synthesizers.kage.choice import Choice, choose, shrunk
from kagemusha.synthesizers.kage.grouping import merge_rare, sums
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.state import Gathered, NoisyColumns, measure_columns
from kagemusha.synthesizers.kage.triples import second_look
from kagemusha.synthesizers.noise_cost import MEAN_ABSOLUTE, gaussian_sigma, noise_of_pairs
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

COLUMNS = 0.15
"""Share of the budget for the first look at columns."""

SCORES, SCORES_EACH = (0.04, 0.15), 0.0121
"""Share of the budget for the dependence of all pairs: between these two, SCORES_EACH times the cube root of how many there
are. Each score's noise grows with the square root of their number, and what a wrong choice costs shrinks with it."""

KEPT = 0.5
"""Share of a pair's raw noise that is left after estimation: neighbours, signs and the ridge take the rest."""

COLUMN_KEPT = 0.27
"""The same for a column's noise, as it shows in each pair."""

ALONE = 2.0
"""A code gets a place of its own in the model above this many deviations of a typical pair cell."""

LIMITS = (60_000, 250_000, 1_000_000, 4_000_000)
WORTH = 0.04
"""The model may have four times the cells if that should take this share off the error."""

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
            alone = replace(known, columns=NoisyColumns.of(marginals, rows))
            return _fitted(alone, alone.fit(max_cells=self.max_cells), marginals)

        columns, groups, scores, errors = known.columns, known.groups, looks.scores, looks.errors
        choice = self.choose(curator, looks)
        further = len(domain) > 2 and choice.predicted < PRECISE * columns.total * len(pairs)

        progress(f"measuring {len(choice.pairs)} pairs", 0.2)
        left = curator.remaining * (1 - LATER if further else 1)
        if choice.columns > 0:
            marginals += measure_columns(curator, choice.columns * left)
            columns = NoisyColumns.of(marginals, rows)
        chosen = [looks.queries[i] for i in choice.pairs]
        measured = curator.answer(chosen, [share * left for share in choice.shares])
        known = Gathered(domain, columns, groups, measured)
        progress("fitting", 0.3)
        fit = known.fit(max_cells=self.max_cells)
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
                known = replace(known, columns=NoisyColumns.of(marginals, rows))
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
        columns = NoisyColumns.of(marginals, curator.public_rows())
        if not pairs:
            return Looks(marginals, Gathered(domain, columns, {n: np.arange(domain.size(n)) for n in domain}), (), None)

        progress("looking at pairs", 0.1)
        typical = gaussian_sigma(curator.unit, shares["pairs"] * curator.total / min(len(pairs), 3 * len(domain)))
        groups = {n: merge_rare(columns.table(n), ALONE * typical, most=self._most(domain)) for n in domain}
        known = Gathered(domain, columns, groups)
        (scores,) = curator.answer([_independence(known, pairs)], shares["scores"] * curator.total)
        return Looks(marginals, known, [known.query(pair, typical) for pair in pairs], scores)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        pairs = self._pairs(domain)
        shares = self._shares(domain)
        cells = min(self.max_cells, tree_cells(domain, pairs) if len(domain) <= 40 else self.max_cells)
        seconds = 0.5 + 6e-7 * cells + 5e-4 * len(pairs)
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
    ) -> Choice:
        """The pairs worth measuring with all that is left (or with `left`), and the share of each. Reads nothing.

        `importance` says how much a pair counts: it may be made of anything that is released or public.
        """
        known, queries, errors = looks.known, looks.queries, looks.errors
        domain, total = curator.domain, known.columns.total
        left = curator.remaining if left is None else left
        raw = MEAN_ABSOLUTE * gaussian_sigma(curator.unit, left)
        sensitivity = np.array([curator.unit.sensitivity(q.reach).l2_squared for q in queries], dtype=np.float64)
        # in records, a pair's noise over all its cells is √(Δ²/2ρ): the number of cells is in Δ already
        weights = np.sqrt(sensitivity / curator.unit.sensitivity(COUNTS).l2_squared)
        counts = np.array([(importance or self._importance)(q.clique) for q in queries])
        sizes = np.array(domain.sizes, dtype=np.float64)
        useful = np.where(sensitivity > 0, errors * counts, 0.0)

        # the error of two columns that determine each other is 2·N·(1 − 1/codes)
        most = np.array([2 * total * (1 - 1 / min(q.shape)) if min(q.shape) > 1 else 1.0 for q in queries])
        strengths = np.minimum(errors / most, 1.0)

        def within(limit: int) -> Choice:
            return choose(
                [q.clique for q in queries],
                useful,
                strengths,
                np.maximum(weights * counts, 1e-9),
                GrowingTree(known.coarse, min(limit, self.max_cells - known.shared_out)).add,
                noise=KEPT * raw,
                column_noise=COLUMN_KEPT * raw * (len(domain) - 1) * float((sizes ** (2 / 3)).sum()) ** 1.5,
                before=COLUMNS * curator.total / left,
            )

        best = within(LIMITS[0])
        for limit in LIMITS[1:]:
            larger = within(limit)
            if larger.predicted > (1 - WORTH) * best.predicted:
                break
            best = larger
        return best


def _independence(known: Gathered, pairs: Sequence[Clique]) -> GroupedError:
    tables = {n: sums(known.tables[n], g) for n, g in known.groups.items()}
    return GroupedError(
        pairs,
        [(known.groups[a], known.groups[b]) for a, b in pairs],
        [np.outer(tables[a], tables[b]) / known.columns.total for a, b in pairs],
    )


def _fitted(known: Gathered, fit: InteractionFit, marginals: Sequence[NoisyMarginal]) -> Fitted:
    trace = [Round(m.query.clique, m.sigma, 1.0, cells=fit.field.tree.cells) for m in known.interactions]
    return Fitted(known.generator(fit), marginals, trace, interactions=tuple(known.interactions))
