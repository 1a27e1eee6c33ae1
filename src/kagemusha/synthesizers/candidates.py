"""What a round may measure (the workload's weighted closure, as far as it fits) and the error it would have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.graphical import candidates_within, tree_cells
from kagemusha.marginals import Workload
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget, PrivacyUnit
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.query_kinds import COUNTS
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
