"""AIM: measure, round by round, the marginal the model gets most wrong (McKenna, Mullins, Sheldon, Miklau 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.generators.generator import Round
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.privacy.accountants import Accounting
from kagemusha.progress import Progress, silent
from kagemusha.queries.scores import L1Error
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.adaptive import MEASURE, SELECT, Adaptive, next_round
from kagemusha.synthesizers.candidates import Candidates, cell_error, choice_ceilings, moved_since
from kagemusha.synthesizers.protocol import Fitted


@dataclass(frozen=True, kw_only=True)
class AIM(Adaptive):
    """Adaptive and iterative: select by the exponential mechanism, measure, estimate, anneal, until nothing is left.

    `noise` is "gaussian" or "laplace" (at equal ρ). `accounting` is "zcdp", or "pure" for δ = 0, which needs Laplace
    noise: costs are then sums of ε, not of ρ. `weights` is "variance" (the fit weighs a measurement by 1/σ²) or "paper"
    (by 1/σ, as the paper prints it; the error of pairs is 5 to 10 % larger at ε = 1). Others as `Adaptive`.
    """

    name: ClassVar[str] = "aim"
    summary: ClassVar[str] = "AIM: round by round, measures what the model gets most wrong"
    adaptive: ClassVar[bool] = True

    noise: str = "gaussian"
    accounting: Accounting = Accounting.ZCDP  # type: ignore[misc]  # a choice here, a fact of the class elsewhere
    weights: str = "variance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in ("gaussian", "laplace"):
            raise UsageError(f"noise must be 'gaussian' or 'laplace', got {self.noise!r}")
        if self.weights not in ("variance", "paper"):
            raise UsageError(f"weights must be 'variance' or 'paper', got {self.weights!r}")
        if str(self.accounting) not in ("zcdp", "pure"):
            raise UsageError(f"accounting must be 'zcdp' or 'pure', got {str(self.accounting)!r}")
        object.__setattr__(self, "accounting", Accounting(self.accounting))
        if self._pure and self.noise != "laplace":
            raise UsageError(f"noise must be 'laplace' where accounting is 'pure', got {self.noise!r}")

    @property
    def _pure(self) -> bool:
        return self.accounting is Accounting.PURE

    @property
    def power(self) -> int:
        """1/σ as printed, or 1/σ²."""
        return 1 if self.weights == "paper" else 2

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Select, measure and estimate until the budget is spent."""
        candidates, measured, model = self.begin(curator, progress, self.noise)
        cost = self.round_share(curator.domain) * curator.total
        trace: list[Round] = []
        last = False
        while not last:
            last, cost, spent = next_round(curator, cost)

            # select
            open_now = candidates.fitting((m.clique for m in measured), spent * candidates.max_cells)
            score = self._score(curator, candidates, open_now, model, MEASURE * cost)
            chosen = curator.choose(score, SELECT * cost)
            clique, before = open_now[chosen], score.estimates[chosen]

            # measure
            noisy = curator.measure([clique], MEASURE * cost, mechanism=self.noise)[0]
            measured.append(noisy)

            # estimate
            model = (self.last_fit if last else self.refit)(curator, measured, model)
            change = float(np.abs(model.project(clique) - before).sum())
            expected = self._cell_error(curator, MEASURE * cost) * curator.domain.cells(clique)
            trace.append(Round(clique, noisy.sigma, spent, change, model.tree.cells, self._choice_rho(cost), expected))
            progress(f"round {len(trace)}: {' × '.join(clique)}", spent)

            # anneal: a round that moved the model less than its own noise was too timid; ε doubles and σ halves
            if not last and change <= expected:
                cost *= 2 if self._pure else 4
        moved = moved_since(score.candidates, score.estimates, model.project_many(score.candidates))
        ceilings = choice_ceilings(score, noisy, moved, selection=self._choice_rho(cost), unit=curator.unit)
        return Fitted(MarkovGenerator(model), measured, trace, ceilings=ceilings)

    def _score(
        self, curator: Curator, candidates: Candidates, cliques: Sequence[Clique], model: MarkovField, cost: float
    ) -> L1Error:
        each = self._cell_error(curator, cost)
        return L1Error(
            cliques,
            model.project_many(cliques),
            weights=np.array([candidates.weights[c] for c in cliques]),
            penalties=np.array([each * curator.domain.cells(c) for c in cliques]),
        )

    def _cell_error(self, curator: Curator, cost: float) -> float:
        # a pure cost of ε buys the Laplace noise that ε²/2 buys under zCDP
        rho = cost**2 / 2 if self._pure else cost
        return cell_error(curator.unit, rho, self.noise)

    def _choice_rho(self, cost: float) -> float:
        """ρ of the choice in a round of this cost."""
        return (SELECT * cost) ** 2 / 8 if self._pure else SELECT * cost
