"""The slow, obvious twin of every operation: the whole joint table, and elimination with sets and exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.schema.domain import Clique, Domain

DOMAIN = Domain(tuple("abcdef"), (3, 4, 2, 5, 1, 3))

CLIQUE_SETS: dict[str, list[Clique]] = {
    "empty": [],
    "single": [("b",)],
    "one_pair": [("a", "d")],
    "chain": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "f")],
    "star": [("a", "b"), ("a", "c"), ("a", "d"), ("a", "f")],
    "tree": [("a", "b"), ("b", "c"), ("b", "d"), ("d", "f"), ("d", "e")],
    "cycle": [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")],
    "cycle_with_chord": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "f"), ("a", "f"), ("b", "f")],
    "disconnected": [("a", "b"), ("c", "d")],
    "nested": [("a", "b", "c"), ("a", "b"), ("b",), ("c", "f")],
    "triples": [("a", "b", "c"), ("b", "c", "d"), ("c", "d", "f")],
    "size_one": [("a", "e"), ("e", "f")],
    "complete": [("a", "b", "c", "d", "e", "f")],
    "total_only": [()],
}


def expand(domain: Domain, clique: Clique, table: FloatArray) -> FloatArray:
    return np.asarray(table).reshape([domain.size(n) if n in clique else 1 for n in domain.names])


def joint(domain: Domain, potentials: Mapping[Clique, FloatArray]) -> tuple[float, FloatArray]:
    """Log Z and the joint probabilities."""
    score = np.zeros(domain.sizes)
    for clique, table in potentials.items():
        score = score + expand(domain, clique, table)
    top = score.max()
    mass = np.exp(score - top)
    return float(top + np.log(mass.sum())), mass / mass.sum()


def marginal(domain: Domain, table: FloatArray, clique: Iterable[str]) -> FloatArray:
    kept = set(clique)
    return table.sum(axis=tuple(i for i, n in enumerate(domain.names) if n not in kept))


def random_potentials(
    cliques: Iterable[Clique], scale: float, seed: int, domain: Domain = DOMAIN
) -> dict[Clique, FloatArray]:
    rng = np.random.default_rng(seed)
    return {c: rng.normal(scale=scale, size=domain.shape(c)) for c in cliques}


def eliminate(domain: Domain, cliques: Iterable[Iterable[str]], heuristic: str) -> list[Clique]:
    """Maximal cliques of the greedy triangulation, in its order: every price anew each time, ties to the first."""
    near = {name: {name} for name in domain}
    for clique in map(tuple, cliques):
        for name in clique:
            near[name] |= set(clique)

    def price(name: str) -> tuple[int, int]:
        cells = domain.cells(near[name])
        return (cells, 0) if heuristic == "cells" else (sum(len(near[name] - near[u]) for u in near[name]), cells)

    maximal: list[set[str]] = []
    while near:
        name = min(near, key=price)
        clique = near.pop(name)
        if not any(clique <= known for known in maximal):
            maximal.append(clique)
        for u in clique - {name}:
            near[u] = (near[u] | clique) - {name}
    return [domain.canonical(clique) for clique in maximal]


def smallest_tree(domain: Domain, cliques: Iterable[Iterable[str]]) -> tuple[int, list[Clique]]:
    """Cells and cliques of the better of both triangulations, the first if they are equal."""
    given = [tuple(clique) for clique in cliques]
    trees = [eliminate(domain, given, heuristic) for heuristic in ("cells", "fill")]
    return min(((sum(map(domain.cells, tree)), tree) for tree in trees), key=lambda found: found[0])
