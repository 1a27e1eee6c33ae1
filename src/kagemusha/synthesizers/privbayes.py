"""PrivBayes: a Bayesian network grown and measured privately (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.generators.markov import MarkovGenerator, measurements_of
from kagemusha.graphical import estimate_total
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.queries.network_scores import (
    MOST_BINARY_PARENTS,
    NETWORK_SCORES,
    Family,
    MutualInformation,
    require_binary,
)
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.candidates import cell_error, require_columns
from kagemusha.synthesizers.network import Growth, network_field, scored
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

ROWS = 0.01
"""Share of the budget for the number of rows, where it is private and needed to tell which tables are useful."""

MOST_PARENTS = 3
"""Parents of a column where usefulness chooses them."""


@dataclass(frozen=True, kw_only=True)
class PrivBayes(Synthesizer):
    """Grow a network by the exponential mechanism, measure every family, draw column after column.

    `degree` is the number of parents. Left out, a family may take any parents (up to three) whose table is
    θ-useful: its average count is at least `usefulness` times the average noise in a cell. `score` is "r" (any
    table), "f" (columns of two codes) or "mutual-information". `accounting` is "zcdp" (Gaussian noise) or "pure"
    (Laplace noise, δ = 0). `structure` is the share of the budget for choosing families. The junction tree of the
    network stays below `max_megabytes`.
    """

    name: ClassVar[str] = "privbayes"
    summary: ClassVar[str] = "PrivBayes: a Bayesian network, chosen and measured privately"
    adaptive: ClassVar[bool] = True

    degree: int | None = None
    usefulness: float = 6.0
    score: str = "r"
    accounting: Accounting = Accounting.ZCDP  # type: ignore[misc]  # a choice here, a fact of the class elsewhere
    structure: float = 0.1
    max_megabytes: float = 80.0

    def __post_init__(self) -> None:
        if self.degree is not None and self.degree < 1:
            raise UsageError(f"degree must be at least 1, got {self.degree}")
        if not self.usefulness > 0:
            raise UsageError(f"usefulness must be greater than 0, got {self.usefulness}")
        if self.score not in NETWORK_SCORES:
            raise UsageError(f"score must be one of {', '.join(NETWORK_SCORES)}, got {self.score!r}")
        if not 0 < self.structure < 1:
            raise UsageError(f"structure must lie between 0 and 1, got {self.structure}")
        if not self.max_megabytes > 0:
            raise UsageError(f"max_megabytes must be greater than 0, got {self.max_megabytes}")
        if self.score == "f" and (self.degree or 1) > MOST_BINARY_PARENTS:
            raise UsageError(f"score 'f' takes a degree of at most {MOST_BINARY_PARENTS}, got {self.degree}")
        if str(self.accounting) not in ("zcdp", "pure"):
            raise UsageError(f"accounting must be 'zcdp' or 'pure', got {str(self.accounting)!r}")
        object.__setattr__(self, "accounting", Accounting(self.accounting))

    @property
    def max_cells(self) -> int:
        """Cells of the largest junction tree allowed, at eight bytes per cell."""
        return int(self.max_megabytes * 1e6 / 8)

    @property
    def _mechanism(self) -> str:
        return "laplace" if ACCOUNTANTS[self.accounting].pure else "gaussian"

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Count the rows if need be, choose the families, measure them."""
        domain = curator.domain
        self._require(domain)
        structure = self.structure * curator.total if len(domain) > 1 else 0.0
        counted = self._rows_share(domain, curator.public_rows() is not None) * curator.total
        measuring = curator.total - structure - counted

        # structure
        growth = self._growth(curator, counted, measuring)
        each = structure / max(1, len(domain) - 1)

        def choose(families: Sequence[Family]) -> Family:
            progress(f"choosing among {len(families)} families", 0.1)
            return families[curator.choose(NETWORK_SCORES[self.score](domain, families), each)]

        network = growth.grow(choose)

        # conditionals
        progress("measuring families", 0.7)
        cliques = [domain.canonical(family.members) for family in network]
        measured = curator.measure(cliques, curator.remaining / len(cliques), mechanism=self._mechanism)
        rows = curator.public_rows()
        total = float(rows) if rows is not None else estimate_total(measurements_of(measured))
        tables = {m.clique: m.values.astype(np.float64) for m in measured}
        field = network_field(domain, total, network, tables)
        progress("done", 1.0)
        return Fitted(MarkovGenerator(field), measured)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Shares and time; the network itself is not known before."""
        self._require(domain)
        structure = self.structure if len(domain) > 1 else 0.0
        counted = self._rows_share(domain, budget.unit.rows_are_public)
        steps = [("number of rows", counted), ("structure", structure), ("conditionals", 1 - structure - counted)]
        degree = min(self.degree or MOST_PARENTS, len(domain) - 1)
        largest = sorted(domain.sizes, reverse=True)[: degree + 1]
        cells = min(self.max_cells, len(domain) * int(np.prod(largest, dtype=np.float64)))
        seconds = 1.0 + 2e-4 * scored(len(domain), degree) + 1e-6 * cells
        return Plan([s for s in steps if s[1]], max(1, cells), seconds, usual=0.008)

    def _require(self, domain: Domain) -> None:
        require_columns(domain, self.max_cells)
        if self.score == "f":
            require_binary(domain)

    def _rows_share(self, domain: Domain, public: bool) -> float:
        return 0.0 if public or self.degree is not None or len(domain) == 1 else ROWS

    def _growth(self, curator: Curator, counted: float, measuring: float) -> Growth:
        domain = curator.domain
        if self.degree is not None:
            return Growth(domain, self.degree, self.max_cells, self.max_cells)
        rows = curator.public_rows()
        if rows is None and counted:
            rows = int(curator.measure([()], counted, mechanism=self._mechanism)[0].values)
        cost = measuring / len(domain)
        # a pure cost of ε buys the Laplace noise that ε²/2 buys under zCDP
        rho = cost**2 / 2 if ACCOUNTANTS[self.accounting].pure else cost
        noise = cell_error(curator.unit, rho, self._mechanism)
        most = MOST_BINARY_PARENTS if self.score == "f" else MOST_PARENTS
        return Growth(domain, most, max(1, rows or 1) / (self.usefulness * noise), self.max_cells)


@dataclass(frozen=True, kw_only=True)
class BayesNet(Synthesizer):
    """A greedy network of `degree` parents on exact counts: the attack paper's BN. It protects nobody.

    It grows from the column `root`, by default the one of the fewest codes.
    """

    name: ClassVar[str] = "bayes-net"
    summary: ClassVar[str] = "plain Bayesian network without protection, for comparison and attack games"
    private: ClassVar[bool] = False

    degree: int = 2
    root: str = ""
    max_megabytes: float = 80.0

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise UsageError(f"degree must be at least 1, got {self.degree}")
        if not self.max_megabytes > 0:
            raise UsageError(f"max_megabytes must be greater than 0, got {self.max_megabytes}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Take the family of highest mutual information each time, with the exact conditionals."""
        domain = curator.domain
        if self.root and self.root not in domain:
            raise UsageError(f"root must be a column of the table, got {self.root!r}")
        max_cells = int(self.max_megabytes * 1e6 / 8)
        require_columns(domain, max_cells)
        table = curator.unprotected("bayes-net learns from exact counts, without noise")

        def choose(families: Sequence[Family]) -> Family:
            progress(f"choosing among {len(families)} families", 0.1)
            score = MutualInformation(domain, families)
            return families[int(np.argmax(score.values(table.count(score.cliques()))))]

        network = Growth(domain, self.degree, max_cells, max_cells).grow(choose, self.root)
        counts = table.count([domain.canonical(family.members) for family in network])
        tables = {m.clique: m.counts.astype(np.float64) for m in counts}
        field = network_field(domain, float(counts[0].counts.sum()), network, tables)
        progress("done", 1.0)
        return Fitted(MarkovGenerator(field))

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        largest = sorted(domain.sizes, reverse=True)[: self.degree + 1]
        cells = min(int(self.max_megabytes * 1e6 / 8), len(domain) * int(np.prod(largest, dtype=np.float64)))
        return Plan([], max(1, cells), 1.0 + 2e-4 * scored(len(domain), self.degree))
