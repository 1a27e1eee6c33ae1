"""AIM: measure, round by round, the marginal the model gets most wrong (McKenna, Mullins, Sheldon, Miklau 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.graphical import MarkovField, estimate, tree_cells
from kagemusha.marginals import NoisyMarginal, Workload
from kagemusha.privacy.budget import Budget
from kagemusha.release.curator import Curator
from kagemusha.release.scores import L1Error
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import Candidates, WorkloadLike, workload_of
from kagemusha.synthesizers.markov import MarkovGenerator, measurements_of
from kagemusha.synthesizers.noise_level import cell_error
from kagemusha.synthesizers.protocol import Cost, Fitted, Progress, Round, Synthesizer, silent

MEASURE, SELECT = 0.9, 0.1
"""Shares of a round's cost."""

START = 0.5
"""The one-way marginals at the start never take more than this share of the whole budget, whatever `rounds` is."""

STEPS = 300
"""Most belief-propagation passes a round; the last round runs to convergence."""


@dataclass(frozen=True, kw_only=True)
class AIM(Synthesizer):
    """Adaptive and iterative: select by the exponential mechanism, measure, estimate, anneal, until nothing is left.

    `degree` k asks for all k-way marginals (or name them in `workload`, with weights if it is a mapping); `target`
    is a column whose sets count `emphasis` times. `rounds` is T, 16 for each column unless given: it sets how small
    the first steps are, never how much is spent. `init` measures every column first. `noise` is "gaussian" or
    "laplace" (at equal ρ). The junction tree stays below `max_megabytes`, early rounds below their share of it.
    """

    name: ClassVar[str] = "aim"
    summary: ClassVar[str] = "AIM: round by round, measures what the model gets most wrong"
    adaptive: ClassVar[bool] = True

    degree: int = 2
    rounds: int | None = None
    init: bool = True
    noise: str = "gaussian"
    workload: WorkloadLike = None
    target: str | None = None
    emphasis: float = 4.0
    max_megabytes: float = 80.0

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise UsageError(f"degree must be at least 1, got {self.degree}")
        if self.rounds is not None and self.rounds < 1:
            raise UsageError(f"rounds must be at least 1, got {self.rounds}")
        if self.noise not in ("gaussian", "laplace"):
            raise UsageError(f"noise must be 'gaussian' or 'laplace', got {self.noise!r}")
        if not self.max_megabytes > 0:
            raise UsageError(f"max_megabytes must be greater than 0, got {self.max_megabytes}")

    @property
    def max_cells(self) -> int:
        """Cells of the largest junction tree allowed, at eight bytes a cell."""
        return int(self.max_megabytes * 1e6 / 8)

    def candidates(self, domain: Domain) -> Candidates:
        """Everything a round may measure; raises `ModelTooLarge` from the declared domain alone."""
        workload = workload_of(domain, self.workload, self.degree, self.target, self.emphasis)
        return Candidates.of(domain, workload, self.max_cells, explicit=self.workload is not None)

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Select, measure and estimate until the budget is spent."""
        candidates = self.candidates(curator.domain)
        cost = curator.total / self._rounds(curator.domain)
        progress("measuring columns", 0.0)
        measured = self._start(curator, cost)
        model = fitted_to(curator, measured, self.max_cells)
        trace: list[Round] = []
        last = False
        while not last:
            last = curator.remaining <= 2 * cost
            cost = curator.remaining if last else cost
            spent = 1 - (curator.remaining - cost) / curator.total

            # select
            open_now = candidates.fitting((m.clique for m in measured), spent * self.max_cells)
            score = self._score(curator, candidates, open_now, model, MEASURE * cost)
            clique = open_now[curator.select(score, SELECT * cost)]

            # measure
            noisy = curator.measure([clique], MEASURE * cost, mechanism=self.noise)[0]
            measured.append(noisy)

            # estimate
            before = model.project(clique)
            model = fitted_to(curator, measured, self.max_cells, warm_start=model, final=last)
            change = float(np.abs(model.project(clique) - before).sum())
            trace.append(Round(clique, noisy.sigma, spent, change, model.tree.cells))
            progress(f"round {len(trace)}: {' × '.join(clique)}", spent)

            # anneal: a round that moved the model less than its own noise was too timid
            if change <= self._noise_error(curator, clique, MEASURE * cost):
                cost *= 4
        return Fitted(MarkovGenerator(model), measured, trace)

    def plan(self, domain: Domain, budget: Budget) -> Cost:
        """Sizes and time from the declared domain alone; raises what `build` would raise, before anything is spent."""
        candidates = self.candidates(domain)
        whole = tree_cells(domain, candidates.cliques)
        cells = min(self.max_cells, whole)
        start = self._start_share(domain)
        rounds = 3 * len(domain)
        counted = sum(map(domain.cells, candidates.cliques))
        return Cost(
            [("one-way marginals", start), ("selection", SELECT * (1 - start)), ("measurement", MEASURE * (1 - start))],
            cells,
            1.0 + rounds * (1e-6 * min(cells, 50 * counted) + 2e-4 * len(candidates.cliques)),
        )

    def parameters(self) -> dict[str, Any]:
        """The choices, with the workload spelled out."""
        chosen = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.workload is not None:
            given = self.workload.weights if isinstance(self.workload, Workload) else self.workload
            weights = given.items() if hasattr(given, "items") else [(tuple(c), 1.0) for c in given]
            chosen["workload"] = [[list(clique), weight] for clique, weight in weights]
        return chosen

    def _rounds(self, domain: Domain) -> int:
        return self.rounds or 16 * len(domain)

    def _start_share(self, domain: Domain) -> float:
        return min(START, MEASURE * len(domain) / self._rounds(domain)) if self.init else 0.0

    def _start(self, curator: Curator, cost: float) -> list[NoisyMarginal]:
        """Every column once, at a round's cost or at what fits."""
        domain = curator.domain
        if not self.init:
            return []
        share = self._start_share(domain) * curator.total / len(domain)
        return curator.measure([(name,) for name in domain], share, mechanism=self.noise)

    def _score(
        self, curator: Curator, candidates: Candidates, cliques: Sequence[Clique], model: MarkovField, cost: float
    ) -> L1Error:
        return L1Error(
            cliques,
            model.project_many(cliques),
            weights=np.array([candidates.weights[c] for c in cliques]),
            penalties=np.array([self._noise_error(curator, c, cost) for c in cliques]),
        )

    def _noise_error(self, curator: Curator, clique: Clique, cost: float) -> float:
        return cell_error(curator.adjacency, cost, self.noise) * curator.domain.cells(clique)


def fitted_to(
    curator: Curator,
    measured: Sequence[NoisyMarginal],
    max_cells: int,
    *,
    warm_start: MarkovField | None = None,
    final: bool = False,
) -> MarkovField:
    """The Markov field that fits what was measured; uniform where nothing was."""
    rows = curator.public_rows()
    if not measured:
        return MarkovField.build(curator.domain, rows or 1, {}, max_cells=max_cells)
    result = estimate(
        curator.domain,
        measurements_of(measured),
        total=rows,
        warm_start=warm_start,
        max_cells=max_cells,
        max_steps=4000 if final else STEPS,
    )
    return result.model
