"""Kage (the shadow): few looks at everything at once instead of many at one thing, all noise Gaussian.

The algorithm in pseudo-code, with a reason for every constant: docs/algorithms/kage.md. The proof: docs/proofs/kage.md.
The loop itself is `rounds.Run`: look, believe, allocate, measure, fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.graphical import tree_cells
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import countable, noise_of_pairs, require_columns
from kagemusha.synthesizers.kage.constants import COLUMNS, INSTALMENTS, MANY, TYPICAL
from kagemusha.synthesizers.kage.rounds import Run, Shares
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer


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
        """Columns, then the same in every instalment: look, believe, allocate, measure, fit."""
        run = self.started(curator, progress=progress)
        left = curator.remaining
        instalments = INSTALMENTS if run.pairs <= MANY else INSTALMENTS[-1:]
        for count, upto in enumerate(instalments):
            last = upto == instalments[-1]
            progress("choosing", 0.1 + 0.8 * count / len(instalments))
            choice = run.allocate(paths=not last)
            if last and run.look_at_triples(choice):
                choice = run.allocate()
            run.measure(choice, curator.remaining - (1 - upto) * left)
            progress(f"fitting {len(run.measured)} tables", 0.1 + 0.8 * (count + 0.5) / len(instalments))
            run.fit_model(last=last)
        progress("done", 1.0)
        return run.fitted()

    def started(self, curator: Curator, *, progress: Progress = silent) -> Run:
        """The looks at everything: every column, then the dependence of all pairs at once."""
        pairs = self._pairs(curator.domain)
        progress("measuring columns", 0.0)
        run = Run(curator, self.max_cells, self.importance)
        shares = self.shares(curator.domain)
        run.measure_columns(shares.columns * curator.total)
        if pairs:
            progress("looking at pairs", 0.05)
            run.look_at_pairs(pairs, shares)
        return run

    def field_cells(self, domain: Domain) -> int:
        """The largest junction tree allowed."""
        return self.max_cells

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        pairs = self._pairs(domain)
        shares = self.shares(domain)
        cells = min(self.max_cells, tree_cells(domain, pairs) if len(domain) <= 40 else self.max_cells)
        growing = 3.1e-6 * cells
        steps = [
            ("columns", shares.columns),
            ("dependence of pairs", shares.scores),
            ("pairs, and triples where pairs are precise", shares.rest),
        ]
        error = noise_of_pairs(domain, pairs, budget, self.accounting, shares.rest)
        return Plan(
            steps if pairs else [("columns", 1.0)],
            max(cells, sum(domain.sizes)),
            2.6 + growing + 1.2e-3 * len(pairs),
            growing=growing,
            # pairs that do not pay are not measured: about half of what all of them would have
            error=None if error is None else error / 2,
        )

    def _pairs(self, domain: Domain) -> list[Clique]:
        """All pairs that can be counted together, smallest first if there are too many cells."""
        require_columns(domain, self.max_cells)
        if self.target is not None and self.target not in domain:
            raise UsageError(f"target: no column named {self.target!r}; columns are {', '.join(domain.names)}")
        return countable(domain, [pair for pair in combinations(domain.names, 2) if min(domain.shape(pair)) > 1])

    def importance(self, clique: Clique) -> float:
        """How much a pair or triple counts."""
        return self.emphasis if self.target in clique else 1.0

    def shares(self, domain: Domain) -> Shares:
        """Of the whole budget, as planned; the share of columns may grow once the noise is known.

        A share q for the scores of P pairs takes q/2 of everybody's precision, and a wrong choice costs about a score's
        noise, √(P/q). Where K pairs of w cells are measured their noise is √K·w, so both together cost least for q =
        (P/K)^(1/3) / w^(2/3); pairs get no more than columns.
        """
        columns = len(domain)
        if columns < 2:
            return Shares(COLUMNS, 0.0)
        pairs = columns * (columns - 1) / 2
        sizes = np.array(domain.sizes, dtype=np.float64) ** (2 / 3)
        cells = (sizes.sum() ** 2 - (sizes**2).sum()) / (2 * pairs)  # mean of w^(2/3) over pairs
        return Shares(COLUMNS, min(COLUMNS, float((pairs / min(pairs, TYPICAL * columns)) ** (1 / 3) / cells)))
