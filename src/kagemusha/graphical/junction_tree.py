"""Junction trees by greedy elimination, with their size known before any array exists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge
from kagemusha.schema.domain import Clique, Domain

_HEURISTICS = ("cells", "fill")

_EXACT = 1 << 53
"""Below this every float is the number it stands for."""


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulated graph, parents before children, joined through separators.

    There is exactly one root; parts of the graph that do not touch are attached to it by empty separators. Every
    attribute of the domain is in some clique.
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    """Position of each clique's parent; -1 for the root, which comes first."""
    separators: tuple[Clique, ...]
    """Attributes each clique shares with its parent."""

    @cached_property
    def clique_cells(self) -> tuple[int, ...]:
        """Number of cells of each clique table."""
        return tuple(self.domain.cells(clique) for clique in self.cliques)

    @cached_property
    def cells(self) -> int:
        """Total number of cells of the clique tables."""
        return sum(self.clique_cells)

    @cached_property
    def largest(self) -> Clique:
        """The clique with the most cells."""
        return max(self.cliques, key=self.domain.cells)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """Adjacent cliques of each clique, by position."""
        near: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                near[parent].append(child)
                near[child].append(parent)
        return tuple(map(tuple, near))

    def host(self, clique: Iterable[str]) -> int | None:
        """Position of the smallest tree clique that contains `clique`, or None."""
        holding = self._holding
        hosts: Iterable[int] | None = None
        for name in clique:
            hosts = holding[name] if hosts is None else holding[name].intersection(hosts)
        if hosts is None:
            hosts = range(len(self.cliques))
        # of equals the first
        return min(hosts, key=lambda i: (self.clique_cells[i], i), default=None)

    @cached_property
    def _holding(self) -> dict[str, set[int]]:
        """The cliques that each attribute is in."""
        found: dict[str, set[int]] = {name: set() for name in self.domain}
        for i, clique in enumerate(self.cliques):
            for name in clique:
                found[name].add(i)
        return found

    def require(self, max_cells: int) -> None:
        """Raise `ModelTooLarge` unless the clique tables have at most `max_cells` cells in all."""
        if self.cells > max_cells:
            raise ModelTooLarge(
                f"the model needs {self.cells:,} cells and the limit is {max_cells:,}; its largest clique "
                f"({', '.join(self.largest)}) alone has {self.domain.cells(self.largest):,}. "
                "Use fewer or smaller column sets, coarser bins, or a higher limit"
            )


def junction_tree(domain: Domain, cliques: Iterable[Iterable[str]], *, max_cells: int | None = None) -> JunctionTree:
    """A small junction tree in which every given clique lies inside some tree clique.

    Several elimination heuristics are tried and the tree with the fewest cells kept. Raises `ModelTooLarge`,
    before allocating anything, if it has more than `max_cells` cells.
    """
    tree = _span(domain, _Graph(domain, cliques).smallest())
    if max_cells is not None:
        tree.require(max_cells)
    return tree


def tree_cells(domain: Domain, cliques: Iterable[Iterable[str]]) -> int:
    """Total cells of `junction_tree(domain, cliques)`, without building it."""
    return _cells(domain, _Graph(domain, cliques).smallest())


def candidate_cells(domain: Domain, base: Iterable[Iterable[str]], candidates: Sequence[Iterable[str]]) -> list[int]:
    """For each candidate, the cells of the tree of ``base + [candidate]``: AIM's filter, for a whole round at once.

    Elimination is greedy: even a candidate inside a clique of the present tree may, rarely, lead to a larger one.
    """
    from kagemusha.graphical.elimination import candidate_totals

    base = [tuple(clique) for clique in base]
    added = [tuple(candidate) for candidate in candidates]
    graph = _Graph(domain, base)
    totals = np.empty(len(added))
    candidate_totals(*graph.arrays, graph.sizes, _words(domain, added), totals)
    return [
        int(total) if total < _EXACT else tree_cells(domain, [*base, candidate])
        for total, candidate in zip(totals.tolist(), added, strict=True)
    ]


def candidates_within(
    domain: Domain, base: Iterable[Iterable[str]], candidates: Sequence[Iterable[str]], limit: float
) -> list[bool]:
    """For each candidate, whether the tree of ``base + [candidate]`` has at most `limit` cells.

    `candidate_cells` in less time.
    """
    from kagemusha.graphical.candidate_trees import candidates_fit

    base = [tuple(clique) for clique in base]
    added = [tuple(candidate) for candidate in candidates]
    if limit >= _EXACT:
        return [cells <= limit for cells in candidate_cells(domain, base, added)]
    graph = _Graph(domain, base)
    fits = np.empty(len(added), dtype=np.bool_)
    candidates_fit(*graph.arrays, graph.sizes, _words(domain, added), float(limit), fits)
    return [bool(fit) for fit in fits]


def triangulation(domain: Domain, cliques: Iterable[Iterable[str]], heuristic: str) -> list[Clique]:
    """Maximal cliques of one greedy triangulation, in the order of elimination; ties go to the first attribute.

    "cells" next eliminates the attribute whose neighbourhood has the fewest cells, "fill" the one whose neighbours
    lack the fewest edges (then: the fewest cells).
    """
    return _Graph(domain, cliques).eliminate(heuristic)


class GrowingTree:
    """A set of cliques that takes in another one as long as their junction tree has at most `max_cells` cells.

    The first `cliques` are in it whatever the size of their tree. What `candidate_cells` says, without starting from
    nothing each time. Limits above 2^53 count as 2^53.

    >>> tree = GrowingTree(Domain(("a", "b", "c"), (10, 10, 10)), 300)
    >>> [tree.add(pair) for pair in (("a", "b"), ("b", "c"), ("a", "c"))]
    [True, True, False]
    """

    def __init__(self, domain: Domain, max_cells: int, cliques: Iterable[Iterable[str]] = ()) -> None:
        self._domain = domain
        self._most = float(min(max_cells, _EXACT))
        self._graph = _Graph(domain, cliques)

    def add(self, clique: Iterable[str]) -> bool:
        """Take the clique in if it fits, else leave everything as it is; says which."""
        from kagemusha.graphical.elimination import grow

        graph = self._graph
        return bool(grow(*graph.arrays, graph.sizes, _words(self._domain, [clique]), self._most))


class _Graph:
    """Which attributes are joined, in the arrays that `elimination` works on."""

    def __init__(self, domain: Domain, cliques: Iterable[Iterable[str]]) -> None:
        from kagemusha.graphical.elimination import add_cliques

        self.domain = domain
        self.sizes: FloatArray = np.array(domain.sizes, dtype=np.float64)
        near = _words(domain, [(name,) for name in domain])
        self.arrays = (near, self.sizes.copy(), np.zeros(len(domain), dtype=np.int64))
        add_cliques(*self.arrays, self.sizes, _words(domain, cliques))

    def eliminate(self, heuristic: str) -> list[Clique]:
        """Maximal cliques of the triangulation, in the order of elimination."""
        from kagemusha.graphical.elimination import eliminate

        near, cells, missing = (array.copy() for array in self.arrays)
        found = np.empty_like(near)
        count, _ = eliminate(near, cells, missing, self.sizes, heuristic == "fill", math.inf, found)
        masks = (sum(word << 64 * w for w, word in enumerate(words)) for words in found[:count].tolist())
        return [_clique(self.domain, mask) for mask in masks]

    def smallest(self) -> list[Clique]:
        """The cliques of the heuristic with the fewest cells."""
        return min(map(self.eliminate, _HEURISTICS), key=lambda cliques: _cells(self.domain, cliques))


def _cells(domain: Domain, cliques: Iterable[Clique]) -> int:
    return sum(map(domain.cells, cliques))


def _mask(domain: Domain, names: Iterable[str]) -> int:
    mask = 0
    for name in names:
        mask |= 1 << domain.axis(name)
    return mask


def _clique(domain: Domain, mask: int) -> Clique:
    return tuple(name for i, name in enumerate(domain.names) if mask >> i & 1)


def _words(domain: Domain, cliques: Iterable[Iterable[str]]) -> NDArray[np.uint64]:
    """One row per clique: a bit for each attribute, in words of 64."""
    starts = range(0, max(1, len(domain)), 64)
    masks = [_mask(domain, clique) for clique in cliques]
    rows = [[mask >> start & 0xFFFF_FFFF_FFFF_FFFF for start in starts] for mask in masks]
    return np.array(rows, dtype=np.uint64).reshape(len(rows), len(starts))


def _span(domain: Domain, cliques: list[Clique]) -> JunctionTree:
    """Maximum-weight spanning tree over shared attributes (Prim), rooted at the largest clique."""
    if not cliques:
        return JunctionTree(domain, ((),), (-1,), ((),))
    masks = [_mask(domain, clique) for clique in cliques]
    root = max(range(len(cliques)), key=lambda i: domain.cells(cliques[i]))
    order, parents = [root], [-1]
    best = {i: (masks[i] & masks[root], root) for i in range(len(cliques)) if i != root}
    while best:
        child = max(best, key=lambda i: (best[i][0].bit_count(), -i))
        _, parent = best.pop(child)
        order.append(child)
        parents.append(order.index(parent))
        for i, (shared, _) in best.items():
            if (masks[i] & masks[child]).bit_count() > shared.bit_count():
                best[i] = (masks[i] & masks[child], child)
    separators = tuple(
        _clique(domain, masks[child] & masks[order[parent]]) if parent >= 0 else ()
        for child, parent in zip(order, parents, strict=True)
    )
    return JunctionTree(domain, tuple(cliques[i] for i in order), tuple(parents), separators)
