"""What a round may measure (the workload's weighted closure, as far as it fits) and the error it would have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.graphical import candidates_within, tree_cells
from kagemusha.marginals import NoisyMarginal, Workload
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget, PrivacyUnit
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.queries.scores import L1Error
from kagemusha.schema.domain import Clique, Domain

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""E|Z| of a standard normal."""


def cell_error(unit: PrivacyUnit, cost: float, mechanism: str = "gaussian") -> float:
    """Expected absolute noise in one cell of a marginal measured at this cost (in ρ)."""
    sensitivity = unit.sensitivity(COUNTS)
    if mechanism == "laplace":
        return sensitivity.l1 / math.sqrt(2 * cost)
    return MEAN_ABSOLUTE * math.sqrt(sensitivity.l2_squared / (2 * cost))


def gaussian_sigma(unit: PrivacyUnit, cost: float) -> float:
    """Standard deviation of Gaussian noise on counts at this cost (in ρ)."""
    return math.sqrt(unit.sensitivity(COUNTS).l2_squared / (2 * cost))


def noise_of_pairs(
    domain: Domain, pairs: Sequence[Clique], budget: Budget, accounting: Accounting, share: float
) -> float | None:
    """Mean L1 noise of a pair, in records, if a share of the budget were spread over all pairs in the best way.

    What a method that measures pairs can expect from noise alone: it measures fewer pairs, each with less noise, and
    pays for the others with what it does not know of them.
    """
    if not pairs or not budget.is_finite:
        return None
    cost = share * Filter(budget, accounting).total
    if cost <= 0:
        raise UsageError(
            f"epsilon must be larger: at δ = {budget.delta:g}, {budget.epsilon:g} buys no measurement at all"
        )
    if ACCOUNTANTS[accounting].pure:
        cost = cost**2 / 2  # Laplace noise of ε has the ρ of ε²/2
    # Σ σ_p n_p is least for ρ_p ∝ n_p^(2/3), and is then σ(ρ) (Σ n_p^(2/3))^(3/2)
    spread = math.pow(math.fsum(math.pow(domain.cells(pair), 2 / 3) for pair in pairs), 1.5)
    return cell_error(budget.unit, cost) * spread / len(pairs)


COUNTED_CELLS = 1 << 27
"""No step counts more cells than this (1 GiB): all candidates are counted together."""

MOST_CANDIDATES = 200_000

WorkloadLike = Workload | Mapping[Clique, float] | Sequence[Sequence[str]] | None


def workload_of(domain: Domain, given: WorkloadLike, degree: int, target: str | None, emphasis: float) -> Workload:
    """The workload behind the options: all `degree`-way sets unless one is given, `target` weighted up."""
    if target is not None and target not in domain:
        raise UsageError(f"target: no column named {target!r}; columns are {', '.join(domain.names)}")
    if not emphasis > 0:
        raise UsageError(f"emphasis must be greater than 0, got {emphasis}")
    if given is None:
        workload = all_kway(domain, degree)
    else:
        workload = Workload.of(domain, given.weights if isinstance(given, Workload) else given)
    return workload if target is None else workload.emphasise(target, emphasis)


def all_kway(domain: Domain, degree: int) -> Workload:
    """Every set of `degree` columns; too many to score is an error before anything is spent."""
    if degree >= 1 and comb(len(domain), min(degree, len(domain))) > MOST_CANDIDATES:
        raise ModelTooLarge(
            f"{len(domain)} columns have more than {MOST_CANDIDATES:,} sets of {degree}; "
            "use a smaller degree or name the sets that matter"
        )
    return Workload.all_kway(domain, degree)


def countable(domain: Domain, cliques: Sequence[Clique]) -> list[Clique]:
    """Those that can be counted together, in the given order: the smallest, if all have too many cells."""
    kept, cells = set(), 0
    for clique in sorted(cliques, key=domain.cells):
        cells += domain.cells(clique)
        if cells > COUNTED_CELLS:
            break
        kept.add(clique)
    return [clique for clique in cliques if clique in kept]


@dataclass(frozen=True)
class Candidates:
    """The cliques of a workload's closure that fit the limit alone, with AIM's weights w_r."""

    domain: Domain
    weights: Mapping[Clique, float]
    max_cells: int

    @classmethod
    def of(cls, domain: Domain, workload: Workload, max_cells: int, *, explicit: bool) -> Candidates:
        """Checks sizes from the declared domain alone: a column or an `explicit` clique too large is an error.

        Of sets that nobody asked for by name the smallest are kept, if all of them are too many to count together.
        """
        require_columns(domain, max_cells)
        for clique in workload.weights if explicit else ():
            require_clique(domain, clique, max_cells)
        columns = sum(domain.sizes)
        closure = [c for c in workload.closure() if _alone(domain, c, columns) <= max_cells]
        if not explicit:
            closure = countable(domain, closure)
        counted = sum(map(domain.cells, closure))
        if counted > COUNTED_CELLS:
            largest = max(closure, key=domain.cells)
            raise ModelTooLarge(
                f"scoring this workload counts {counted:,} cells and the limit is {COUNTED_CELLS:,}; its largest set "
                f"({', '.join(largest)}) has {domain.cells(largest):,}. Use smaller sets, fewer of them or coarser bins"
            )
        # w_r is the sum over the workload's sets s of c_s |r ∩ s|: each column of r brings the sets it is in
        share = dict.fromkeys(domain.names, 0.0)
        for clique, weight in workload.weights.items():
            for name in clique:
                share[name] += weight
        return cls(domain, {c: sum(share[name] for name in c) for c in closure}, max_cells)

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """All candidates, smallest sets first."""
        return tuple(self.weights)

    def fitting(self, measured: Iterable[Clique], limit: float) -> list[Clique]:
        """Candidates that keep the junction tree of what is `measured` within `limit` cells or leave it as it is."""
        base = list(measured)
        unchanged = tree_cells(self.domain, base)
        fits = candidates_within(self.domain, base, self.cliques, max(limit, unchanged))
        return [c for c, fit in zip(self.cliques, fits, strict=True) if fit]


def require_columns(domain: Domain, max_cells: int) -> None:
    """The columns alone must fit the model."""
    cells = sum(domain.sizes)
    if cells > max_cells:
        widest = max(domain.names, key=domain.size)
        raise ModelTooLarge(
            f"the columns alone need {cells:,} cells and the limit is {max_cells:,}; the widest, {widest!r}, has "
            f"{domain.size(widest):,} codes. Use coarser bins, fewer categories or a higher limit"
        )


def require_clique(domain: Domain, clique: Clique, max_cells: int) -> None:
    """A clique that was asked for by name must fit the model."""
    if _alone(domain, clique, sum(domain.sizes)) > max_cells:
        raise ModelTooLarge(
            f"the set ({', '.join(clique)}) needs {domain.cells(clique):,} cells and the limit is {max_cells:,}. "
            "Leave it out, use coarser bins or a higher limit"
        )


def _alone(domain: Domain, clique: Clique, columns: int) -> int:
    """Cells of the junction tree of one clique: its table, and the other columns each by itself."""
    return domain.cells(clique) + columns - sum(map(domain.size, clique))


RISK = 0.05
"""β: how often a ceiling may fail."""


def choice_ceilings(
    score: L1Error, noisy: NoisyMarginal, moved: Mapping[Clique, float], *, selection: float, unit: PrivacyUnit
) -> dict[Clique, float]:
    """For each candidate of a choice, the most that its L1 error can be, in records.

    What a choice says about those not chosen: had a marginal been much worse, it would have been chosen instead. The
    exponential mechanism's choice r* among C candidates tells, with probability 1 − β, that every candidate r has
    w_r (e_r − b_r) ≤ w_* (e_* − b_*) + (2Δ/ε) log(C/β): e is the L1 error of the model at that time, w and b are the
    weights and penalties of the score. What is known of e_* is the measurement that followed. All of it was released.

    `moved` says how far what the model expects of each candidate has moved since the choice was made. `noisy` is
    the measurement of the chosen candidate, made after the choice; `selection` is what the choice cost (ρ).
    """
    chosen = list(score.candidates).index(noisy.clique)
    # Noise makes a distance larger on average, so the noisy distance bounds the error up to its own spread. Each
    # |cell + noise| moves no further than its noise, so their sum is below its mean by t with a chance of at most
    # exp(−t²/2nσ²), wherever the cells are. Half of β is for that, half for the luck of the choice.
    spread = noisy.sigma * math.sqrt(2 * noisy.values.size * math.log(2 / RISK))
    distance = float(np.abs(noisy.values - score.estimates[chosen]).sum())
    excess = float(score.weights[chosen]) * (distance + spread - float(score.penalties[chosen]))
    sensitivity = float(score.weights.max()) * unit.sensitivity(COUNTS).l1
    luck = 2 * sensitivity / math.sqrt(8 * selection) * math.log(2 * len(score.candidates) / RISK)
    most = np.maximum(0.0, (excess + luck) / score.weights + score.penalties)
    return {clique: each + moved[clique] for clique, each in zip(score.candidates, most.tolist(), strict=True)}


def moved_since(
    cliques: Sequence[Clique], before: Sequence[FloatArray], now: Sequence[FloatArray]
) -> dict[Clique, float]:
    """The L1 distance between what was expected of each clique and what is expected now, in records."""
    return {c: float(np.abs(old - new).sum()) for c, old, new in zip(cliques, before, now, strict=True)}
