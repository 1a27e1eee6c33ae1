"""The marginals a synthesizer should get right, and how much each one matters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from kagemusha.errors import UsageError
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True)
class Workload:
    """Cliques with positive weights c_r."""

    weights: Mapping[Clique, float]

    def __post_init__(self) -> None:
        if not self.weights:
            raise UsageError("workload: at least one set of columns is needed")
        bad = [clique for clique, weight in self.weights.items() if not 0 < weight < float("inf")]
        if bad:
            raise UsageError(f"workload: the weight of {bad[0]} must be a positive number")

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> Workload:
        """Every set of `k` attributes, all equally important (fewer attributes than k: all of them)."""
        if k < 1:
            raise UsageError(f"degree must be at least 1, got {k}")
        return cls(dict.fromkeys(combinations(domain.names, min(k, len(domain))), 1.0))

    @classmethod
    def of(cls, domain: Domain, cliques: Iterable[Iterable[str]] | Mapping[Clique, float]) -> Workload:
        """A custom list of attribute sets, or sets with weights.

        The weights of repeats add up, whatever their order.
        """
        weights: dict[Clique, float] = {}
        given = cliques.items() if isinstance(cliques, Mapping) else ((clique, 1.0) for clique in cliques)
        for names, weight in given:
            unknown = [name for name in names if name not in domain]
            if unknown:
                raise UsageError(f"workload: no column named {unknown[0]!r}; columns are {', '.join(domain.names)}")
            clique = domain.canonical(names)
            weights[clique] = weights.get(clique, 0.0) + float(weight)
        return cls(weights)

    def emphasise(self, target: str, factor: float) -> Workload:
        """The same workload with every set that holds `target` weighted `factor` times more."""
        return Workload({c: w * (factor if target in c else 1.0) for c, w in self.weights.items()})

    def closure(self) -> tuple[Clique, ...]:
        """W₊: every non-empty subset of a workload clique, smallest first, then in order of appearance."""
        seen: dict[Clique, None] = {}
        for clique in self.weights:
            for size in range(1, len(clique) + 1):
                for subset in combinations(clique, size):
                    seen.setdefault(subset)
        return tuple(sorted(seen, key=len))

    def importance(self, clique: Clique) -> float:
        """AIM's w_r = Σ_s c_s |r ∩ s|."""
        members = set(clique)
        return sum(weight * len(members.intersection(s)) for s, weight in self.weights.items())
