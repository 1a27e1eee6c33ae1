"""`chain`: measures every column together with the next one, and nothing else. An example, not a recommendation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from kagemusha.errors import UsageError
from kagemusha.generators.markov import MarkovGenerator, measurements_of
from kagemusha.graphical import estimate
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer


@dataclass(frozen=True, kw_only=True)
class Chain(Synthesizer):
    """Noisy counts of neighbouring columns, an equal share of the budget for each pair.

    `max_cells` bounds the model.
    """

    name: ClassVar[str] = "chain"
    summary: ClassVar[str] = "every column with the next one"
    accounting: ClassVar[Accounting] = Accounting.GDP  # Gaussian noise alone, chosen in advance

    max_cells: int = 1_000_000

    def __post_init__(self) -> None:
        if self.max_cells < 1:
            raise UsageError(f"max_cells must be at least 1, got {self.max_cells}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Ask the Curator once; it charges, reads and adds noise. The table itself is never seen here."""
        cliques = _cliques(curator.domain)
        progress("measuring neighbours", 0.1)
        marginals = curator.measure(cliques, curator.total / len(cliques))
        progress("fitting", 0.5)
        fitted = estimate(
            curator.domain, measurements_of(marginals), total=curator.public_rows(), max_cells=self.max_cells
        )
        return Fitted(MarkovGenerator(fitted.model), marginals)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """What `build` will need, from the declared domain alone."""
        cells = sum(domain.cells(clique) for clique in _cliques(domain))
        if cells > self.max_cells:
            raise UsageError(f"the pairs have {cells:,} cells, more than max_cells = {self.max_cells:,}")
        return Plan([("neighbouring columns", 1.0)], cells, seconds=1.0 + 1e-4 * cells)


def _cliques(domain: Domain) -> list[Clique]:
    return list(pairwise(domain.names)) or [domain.names]
