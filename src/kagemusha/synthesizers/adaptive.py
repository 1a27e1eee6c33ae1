"""What AIM and its siblings share: options, the candidates they imply, the first look at columns, the refit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.generators.markov import measurements_of
from kagemusha.graphical import MarkovField, estimate, tree_cells
from kagemusha.marginals import NoisyMarginal, Workload
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.candidates import Candidates, WorkloadLike, noise_of_pairs, workload_of
from kagemusha.synthesizers.protocol import Plan, Synthesizer

MEASURE, SELECT = 0.9, 0.1
"""Shares of a round's cost."""

START = 0.5
"""The columns at the start never take more than this share of the whole budget, whatever `rounds` is."""

ROUND_WORK, LAST_WORK = 3e7, 3e8
"""Cells the belief propagation of a round and of the last round may visit; small models converge long before."""

FEWEST = 60.0
"""Passes of a round, however large its model."""

WIDE = 32
"""Tables of more columns get a junction tree that is smaller in proportion: what a round expects of all pairs takes as
many products as the tree has cells, times the codes of all columns."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Synthesizer):
    """Options of a synthesizer that goes round by round.

    `degree` k asks for all k-way marginals (or name them in `workload`, with weights if it is a mapping); `target`
    is a column whose sets count `emphasis` times. `rounds` is T, 16 for each column unless given: it sets how small
    the first steps are, never how much is spent. `init` measures every column first. The junction tree stays below
    `max_megabytes` (of more than 32 columns: below 32 / columns of it), early rounds below their share of it.
    """

    degree: int = 2
    rounds: int | None = None
    init: bool = True
    workload: WorkloadLike = None
    target: str | None = None
    emphasis: float = 4.0
    max_megabytes: float = 80.0

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise UsageError(f"degree must be at least 1, got {self.degree}")
        if self.rounds is not None and self.rounds < 1:
            raise UsageError(f"rounds must be at least 1, got {self.rounds}")
        if not self.max_megabytes > 0:
            raise UsageError(f"max_megabytes must be greater than 0, got {self.max_megabytes}")

    def max_cells(self, domain: Domain) -> int:
        """Cells of the largest junction tree allowed, at eight bytes per cell; fewer if the columns are many."""
        return int(self.max_megabytes * 1e6 / 8 * min(1.0, WIDE / max(1, len(domain))))

    def field_cells(self, domain: Domain) -> int:
        """The largest junction tree allowed."""
        return self.max_cells(domain)

    @property
    def power(self) -> int:
        """A measurement is weighed by 1/σ to this power in the fit: 2 is least squares of Gaussian noise."""
        return 2

    def candidates(self, domain: Domain) -> Candidates:
        """Everything a round may measure; raises `ModelTooLarge` from the declared domain alone."""
        workload = workload_of(domain, self.workload, self.degree, self.target, self.emphasis)
        return Candidates.of(domain, workload, self.max_cells(domain), explicit=self.workload is not None)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone; raises what `build` would raise, before anything is spent."""
        candidates = self.candidates(domain)
        cells = min(self.max_cells(domain), tree_cells(domain, candidates.cliques))
        start = self.start_share(domain)
        # seen in tables whose columns all depend on each other; the model is half its largest size on average
        rounds = 6 * len(domain)
        passes = min(rounds * max(ROUND_WORK, FEWEST / 2 * cells) + LAST_WORK, rounds * 300.0 * cells)
        return Plan(
            [("one-way marginals", start), ("selection", SELECT * (1 - start)), ("measurement", MEASURE * (1 - start))],
            cells,
            # in a round every candidate is looked at, and carried through the tree
            1.0 + 5e-9 * passes + rounds * (6e-5 * len(candidates.cliques) + 2.5e-9 * len(domain) * cells),
            error=noise_of_pairs(
                domain, [c for c in candidates.cliques if len(c) == 2], budget, self.accounting, MEASURE * (1 - start)
            ),
            candidates=len(candidates.cliques),
            largest=max(candidates.cliques, key=domain.cells),
            usual=0.005,
        )

    def parameters(self) -> dict[str, Any]:
        """The choices, with the workload spelled out."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.workload is not None:
            given = self.workload.weights if isinstance(self.workload, Workload) else self.workload
            weights = given.items() if isinstance(given, Mapping) else [(tuple(c), 1.0) for c in given]
            chosen["workload"] = [[list(clique), float(weight)] for clique, weight in weights]
        return chosen

    def round_share(self, domain: Domain) -> float:
        """Share of the budget of a first round."""
        return 1 / (self.rounds or 16 * len(domain))

    def start_share(self, domain: Domain) -> float:
        """Share of the budget for the columns: as much each as a round measures with, or what fits."""
        return min(START, MEASURE * len(domain) * self.round_share(domain)) if self.init else 0.0

    def start(self, curator: Curator, mechanism: str = "gaussian") -> list[NoisyMarginal]:
        """Every column once, unless `init` is off."""
        domain = curator.domain
        if not self.init:
            return []
        cost = self.start_share(domain) * curator.total / len(domain)
        return curator.measure([(name,) for name in domain], cost, mechanism=mechanism)

    def begin(
        self, curator: Curator, progress: Progress, mechanism: str = "gaussian"
    ) -> tuple[Candidates, list[NoisyMarginal], MarkovField]:
        """What rounds may measure, what is measured before the first one, and the field that follows from it."""
        candidates = self.candidates(curator.domain)
        progress("measuring columns", 0.0)
        measured = [*curator.required, *self.start(curator, mechanism)]
        return candidates, measured, self.refit(curator, measured, None)

    def refit(self, curator: Curator, measured: Sequence[NoisyMarginal], before: MarkovField | None) -> MarkovField:
        """The field closest to what was measured, starting from the one before; uniform where nothing was measured."""
        domain, rows = curator.domain, curator.public_rows()
        if not measured:
            return MarkovField.build(domain, rows or 1, {}, max_cells=self.max_cells(domain))
        passes = ROUND_WORK / tree_cells(domain, [m.clique for m in measured])
        # close to the minimum where that is cheap: a round that stopped short of it would seem to have moved little,
        # and anneal too soon
        return self._fitted(curator, measured, before, max(FEWEST, passes), tolerance=1e-3 if passes > 400 else 0.01)

    def last_fit(self, curator: Curator, measured: Sequence[NoisyMarginal], before: MarkovField) -> MarkovField:
        """The field to keep: afresh if there is time, because what early rounds left in a warm start lingers."""
        passes = LAST_WORK / tree_cells(curator.domain, [m.clique for m in measured])
        if passes < 500:
            return self._fitted(curator, measured, before, max(120.0, passes))
        return self._fitted(curator, measured, None, passes)

    def _fitted(
        self,
        curator: Curator,
        measured: Sequence[NoisyMarginal],
        before: MarkovField | None,
        passes: float,
        *,
        tolerance: float = 0.01,
    ) -> MarkovField:
        return estimate(
            curator.domain,
            measurements_of(measured),
            total=curator.public_rows(),
            warm_start=before,
            max_cells=self.max_cells(curator.domain),
            max_steps=int(min(4000.0, passes)),
            # AIM is the least-squares fit; stopping before it (at the least estimated risk) helps on Adult, hurts on
            # Bank
            stop_at_least_risk=False,
            tolerance=tolerance,
            power=self.power,
        ).model


def next_round(curator: Curator, cost: float) -> tuple[bool, float, float]:
    """Whether a round of this cost is the last one, its cost then, and the share of the budget spent when it is over.

    The last round takes all that is left: less than the cost of two.
    """
    last = curator.remaining <= 2 * cost
    cost = curator.remaining if last else cost
    return last, cost, 1 - (curator.remaining - cost) / curator.total
