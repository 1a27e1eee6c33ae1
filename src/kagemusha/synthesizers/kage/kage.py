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
from math import comb
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import UsageError
from kagemusha.generators.generator import PairScores, Round
from kagemusha.graphical import GrowingTree, tree_cells
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import countable, gaussian_sigma, noise_of_pairs, require_columns
from kagemusha.synthesizers.kage.choice import MANY, TRUST, ChosenPairs, choose
from kagemusha.synthesizers.kage.instalments import Purchases, grown, unexplained
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.looks import Looks, believed, look_at_pairs
from kagemusha.synthesizers.kage.resolution import KEPT
from kagemusha.synthesizers.kage.state import Measurements, columns_of, measure_columns
from kagemusha.synthesizers.kage.triples import second_look
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

COLUMNS = 0.15
"""Share of the budget for the first look at columns."""

SCORES, BALANCE = (0.03, 0.15), 0.55
"""Share of the budget for the dependence of all pairs: between these two, see `_shares`."""

TYPICAL = 3
"""Pairs that are measured for each column, about."""

FORESEEN = 0.5
"""Share of the raw noise of all pairs that `plan` tells: pairs that do not pay are not measured."""

LIMITS = (60_000, 250_000, 1_000_000, 4_000_000)
GROWTH = 2
"""Triples may make it this many times as large again."""

PRECISE = 0.008
"""Triples are looked at if pairs should end with a smaller mean error than this, a share of records."""

FEW = 150
"""So many triples are looked at even if the model has no room for all pairs."""

NEARLY = 0.9
"""More are looked at where the model has room for this share of the pairs."""

FIRST, FIRST_TRUST = 0.4, 1.0
"""Share of what is left that is spent before a model says which pairs it does not know; and how far paths are trusted
until then: what is wrongly left out is found later."""

SKETCH = 60
"""Passes of the fit that says so: it need not be exact, and the next one goes on from there."""

LATER = 0.3
"""Then this share of what is left waits for what that look says."""


@dataclass(frozen=True, kw_only=True)
class Kage(Synthesizer):
    """All Gaussian: columns, dependence of all pairs, then the interactions worth their noise.

    All choices are automatic. `max_cells` bounds the junction tree, which is far smaller where that costs little.
    `target` is a column whose pairs and triples count `emphasis` times.
    """

    name: ClassVar[str] = "kage"
    summary: ClassVar[str] = (
        "our own: the pairs and triples worth their noise, all of it Gaussian; fast, and nearest on Adult and Bank up "
        "to ε = 10"
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
        domain = curator.domain
        looks = self.looks(curator, progress=progress)
        marginals, known, pairs = list(looks.marginals), looks.known, looks.pairs
        if looks.scores is None:
            marginals += measure_columns(curator, curator.remaining)
            alone = replace(known, columns=columns_of(curator, marginals))
            return _fitted(alone, alone.fit(max_cells=self.max_cells), marginals)

        bought = Purchases(curator, looks.queries, marginals)
        left = curator.remaining
        few = len(pairs) <= MANY
        choice, sketched = self.choose(curator, looks, trust=FIRST_TRUST if few else TRUST, beyond=not few), None
        if few and 0 < len(choice.pairs) < len(pairs):
            progress(f"measuring {len(choice.pairs)} pairs", 0.2)
            bought.spend(choice, FIRST * left)
            progress("fitting", 0.25)
            sketch = bought.known(known).fit(max_cells=self.max_cells, steps=SKETCH)
            sketched = sketch.theta
            unknown = unexplained(
                sketch.field, pairs, looks.scores, looks.products, looks.dependence.base, bought.measured
            )
            held = [i for i in choice.pairs if i in bought.measured]
            choice = self.choose(
                curator, looks, left=left, unknown=unknown, start=held, least=choice.cells, beyond=True
            )
        precise = choice.predicted < PRECISE * known.columns.total * len(pairs)
        room = known.room(choice.cells, self.max_cells)
        # a model without room for pairs has hardly any for triples: it is worth the time only where they are few
        further = precise and len(domain) > 2 and (comb(len(domain), 3) <= FEW or _holds(known, pairs, choice, room))
        progress(f"measuring {len(choice.pairs)} pairs", 0.3)
        bought.spend(choice, curator.remaining - (LATER * left if further else 0.0))
        known = bought.known(known)
        progress("fitting", 0.35)
        known, fit = grown(known, max_cells=room, importance=self._importance, start=sketched)
        if further:
            progress("looking at triples", 0.6)
            known = second_look(
                curator,
                known,
                fit,
                dict(zip(pairs, looks.dependence.signal.tolist(), strict=True)),
                importance=self._importance,
                kept=KEPT,
                max_cells=known.room(max(LIMITS[0], GROWTH * fit.field.tree.cells), self.max_cells),
            )
            if not known.interactions:
                marginals += measure_columns(curator, curator.remaining)
                known = replace(known, columns=columns_of(curator, marginals))
            progress("fitting again", 0.7)
            fit = known.fit(max_cells=self.max_cells, start=fit.theta)
        progress("done", 1.0)
        scores = PairScores(pairs, looks.scores.values, looks.scores.sigma, looks.groups)
        expected = min(2.0, float(choice.expected.mean()) / known.columns.total)
        return replace(_fitted(known, fit, marginals), scores=scores, expected=expected)

    def looks(self, curator: Curator, *, progress: Progress = silent) -> Looks:
        """The first two steps: every column, then the dependence of all pairs at once."""
        domain = curator.domain
        pairs = self._pairs(domain)
        shares = self._shares(domain)
        progress("measuring columns", 0.0)
        marginals = measure_columns(curator, shares["columns"] * curator.total)
        every = {name: np.arange(domain.size(name)) for name in domain}
        known = Measurements(domain, columns_of(curator, marginals), every, dict.fromkeys(domain, 0))
        if not pairs:
            return Looks.of_columns(marginals, known)
        progress("looking at pairs", 0.1)
        typical = gaussian_sigma(curator.unit, shares["pairs"] * curator.total / min(len(pairs), TYPICAL * len(domain)))
        return look_at_pairs(
            curator,
            marginals,
            known,
            pairs,
            typical=typical,
            most=self._most(domain),
            spent=shares["columns"] * curator.total,
            cost=shares["scores"] * curator.total,
            target=self.target,
        )

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        pairs = self._pairs(domain)
        shares = self._shares(domain)
        cells = min(self.max_cells, tree_cells(domain, pairs) if len(domain) <= 40 else self.max_cells)
        growing = 3.1e-6 * cells
        steps = [
            ("columns", shares["columns"]),
            ("dependence of pairs", shares["scores"]),
            ("pairs, and triples where pairs are precise", shares["pairs"]),
        ]
        error = noise_of_pairs(domain, pairs, budget, self.accounting, shares["pairs"])
        return Plan(
            steps if pairs else [("columns", 1.0)],
            max(cells, sum(domain.sizes)),
            2.6 + growing + 1.2e-3 * len(pairs),
            growing=growing,
            error=None if error is None else FORESEEN * error,
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
        """Of the whole budget, as planned; the share of columns may grow once the noise is known.

        A share q for the scores of P pairs takes q/2 of everybody's precision, and a wrong choice costs about a score's
        noise, √(P/q). Where K pairs of w cells are measured their noise is √K·w, so both together cost least for q ∝
        (P/K)^(1/3) / w^(2/3).
        """
        columns = len(domain)
        pairs = columns * (columns - 1) / 2
        sizes = np.array(domain.sizes, dtype=np.float64) ** (2 / 3)
        cells = (sizes.sum() ** 2 - (sizes**2).sum()) / (2 * pairs) if pairs else 1.0  # mean of w^(2/3) over pairs
        measured = min(pairs, TYPICAL * columns)
        scores = float(np.clip(BALANCE * (pairs / measured) ** (1 / 3) / cells, *SCORES)) if pairs else 0.0
        return {"columns": COLUMNS, "scores": scores, "pairs": 1 - COLUMNS - scores}

    def _most(self, domain: Domain) -> int:
        """Groups a column may have, so few that the tables that share them out again stay within half the limit."""
        return max(1, self.max_cells // (2 * sum(domain.sizes)))

    def choose(
        self,
        curator: Curator,
        looks: Looks,
        *,
        left: float | None = None,
        importance: Callable[[Clique], float] | None = None,
        unknown: FloatArray | None = None,
        start: Sequence[int] = (),
        least: int = 0,
        trust: float = TRUST,
        beyond: bool = False,
    ) -> ChosenPairs:
        """The pairs worth measuring with all that is left (or with `left`), and the share of each. Reads nothing.

        `importance` says how much a pair counts: it may be made of anything that is released or public. `start` are
        pairs that a model holds already, of `least` cells, and `unknown` is how far the others are from it: a smaller
        model would not know as much. With `beyond` there may be more pairs than the model has room for.
        """
        left = curator.remaining if left is None else left
        before = COLUMNS * curator.total / left
        pairs = believed(looks, curator.unit, left, before, importance or self._importance)
        known = looks.known
        room = self.max_cells - known.shared_out
        return choose(
            replace(pairs, unknown=unknown),
            lambda limit: GrowingTree(known.coarse, min(limit, room)).add,
            [limit for limit in LIMITS if limit >= least],
            beyond=beyond,
            trust=trust,
            start=start,
        )


def _holds(known: Measurements, pairs: Sequence[Clique], choice: ChosenPairs, room: int) -> bool:
    """Whether a model of so many cells has room for nearly all chosen pairs."""
    tree = GrowingTree(known.coarse, room)
    return choice.inside or sum(tree.add(pairs[i]) for i in choice.pairs) >= NEARLY * len(choice.pairs)


def _fitted(known: Measurements, fit: InteractionFit, marginals: Sequence[NoisyMarginal]) -> Fitted:
    measured = (*known.interactions, *known.outside)
    trace = [Round(m.query.clique, m.sigma, 1.0, cells=fit.field.tree.cells) for m in measured]
    return Fitted(known.generator(fit), marginals, trace, interactions=measured)
