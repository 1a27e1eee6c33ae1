"""The simplest synthesizer: every column on its own. A floor to compare with, and the fastest to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kagemusha.generators.markov import MarkovGenerator, measurements_of
from kagemusha.graphical import estimate
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import require_columns
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

COLUMN_CELLS = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Independent(Synthesizer):
    """One-way marginals with Gaussian noise, the budget shared equally; columns come out independent.

    Everything is Gaussian and chosen in advance, so Gaussian DP holds the budget exactly.
    """

    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "every column on its own: no relation between columns survives"
    accounting: ClassVar[Accounting] = Accounting.GDP

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Measure every column once."""
        domain = curator.domain
        progress("measuring columns", 0.1)
        cliques = [(name,) for name in domain]
        marginals = curator.measure(cliques, curator.total / len(cliques))
        progress("fitting", 0.6)
        known = [*marginals, *curator.required]
        fitted = estimate(domain, measurements_of(known), total=curator.public_rows(), max_cells=COLUMN_CELLS)
        progress("done", 1.0)
        return Fitted(MarkovGenerator(fitted.model), marginals)

    def counted(self, domain: Domain) -> Sequence[Sequence[Clique]]:
        """Columns alone."""
        return [[(name,) for name in domain.names]]

    def field_cells(self, domain: Domain) -> int:
        """As the columns have."""
        return COLUMN_CELLS

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Equal shares, one cell per code."""
        cells = sum(domain.sizes)
        require_columns(domain, COLUMN_CELLS)
        return Plan([("one-way marginals", 1.0)], cells, 1.0 + 2e-5 * cells)
