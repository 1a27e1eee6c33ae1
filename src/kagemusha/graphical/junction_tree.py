"""Junction trees by greedy elimination, with their size known before any array exists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from kagemusha.errors import ModelTooLarge
from kagemusha.schema.domain import Clique, Domain

_HEURISTICS = ("cells", "fill")


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulated graph, parents before children, joined through separators.

    There is exactly one root; parts of the graph that do not touch hang on it by empty separators. Every
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
        wanted = set(clique)
        hosts = [i for i, c in enumerate(self.cliques) if wanted.issubset(c)]
        return min(hosts, key=self.clique_cells.__getitem__, default=None)

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
    adjacency = _adjacency(domain, cliques)
    masks = min((_eliminate(adjacency, domain.sizes, h) for h in _HEURISTICS), key=lambda m: _cells(m, domain.sizes))
    tree = _span(domain, [_clique(domain, mask) for mask in masks])
    if max_cells is not None:
        tree.require(max_cells)
    return tree


def tree_cells(domain: Domain, cliques: Iterable[Iterable[str]]) -> int:
    """Total cells of `junction_tree(domain, cliques)`, without building it."""
    adjacency = _adjacency(domain, cliques)
    return min(_cells(_eliminate(adjacency, domain.sizes, h), domain.sizes) for h in _HEURISTICS)


def candidate_cells(domain: Domain, base: Iterable[Iterable[str]], candidates: Sequence[Iterable[str]]) -> list[int]:
    """For each candidate, the cells of the tree of ``base + [candidate]``: AIM's filter, for a whole round at once."""
    adjacency = _adjacency(domain, base)
    everyone = range(len(domain))
    prices = {h: _prices(adjacency, domain.sizes, h, everyone) for h in _HEURISTICS}
    trees = [_eliminate(adjacency, domain.sizes, h, prices[h]) for h in _HEURISTICS]
    masks = min(trees, key=lambda m: _cells(m, domain.sizes))
    unchanged = _cells(masks, domain.sizes)
    sizes = []
    for candidate in candidates:
        mask = _mask(domain, candidate)
        if any(mask & ~tree_mask == 0 for tree_mask in masks):
            sizes.append(unchanged)
            continue
        grown = adjacency.copy()
        _connect(grown, mask)
        touched = 0
        for i in _bits(mask):
            touched |= grown[i]
        options = []
        for h in _HEURISTICS:
            price = prices[h] | _prices(grown, domain.sizes, h, _bits(touched))
            options.append(_cells(_eliminate(grown, domain.sizes, h, price), domain.sizes))
        sizes.append(min(options))
    return sizes


def _mask(domain: Domain, names: Iterable[str]) -> int:
    mask = 0
    for name in names:
        mask |= 1 << domain.axis(name)
    return mask


@lru_cache(maxsize=1 << 16)
def _bits(mask: int) -> tuple[int, ...]:
    bits = []
    while mask:
        low = mask & -mask
        bits.append(low.bit_length() - 1)
        mask ^= low
    return tuple(bits)


@lru_cache(maxsize=1 << 16)
def _size(mask: int, sizes: tuple[int, ...]) -> int:
    return prod(sizes[i] for i in _bits(mask))


def _clique(domain: Domain, mask: int) -> Clique:
    return tuple(domain.names[i] for i in _bits(mask))


def _cells(masks: Iterable[int], sizes: tuple[int, ...]) -> int:
    return sum(_size(mask, sizes) for mask in masks)


def _connect(adjacency: list[int], mask: int) -> None:
    for i in _bits(mask):
        adjacency[i] |= mask


def _adjacency(domain: Domain, cliques: Iterable[Iterable[str]]) -> list[int]:
    """Neighbour sets as bit masks; every attribute is its own neighbour."""
    adjacency = [1 << i for i in range(len(domain))]
    for clique in cliques:
        _connect(adjacency, _mask(domain, clique))
    return adjacency


_Price = tuple[int, int]


def _prices(near: Sequence[int], sizes: tuple[int, ...], heuristic: str, vertices: Iterable[int]) -> dict[int, _Price]:
    """What eliminating each vertex next would cost: (cells, 0), or (twice the missing edges, cells)."""
    if heuristic == "cells":
        return {v: (_size(near[v], sizes), 0) for v in vertices}
    prices = {}
    for v in vertices:
        around = near[v]
        missing = sum([(around & ~near[u]).bit_count() for u in _bits(around)])
        prices[v] = (missing, _size(around, sizes))
    return prices


def _eliminate(
    adjacency: Sequence[int],
    sizes: tuple[int, ...],
    heuristic: str,
    prices: dict[int, _Price] | None = None,
) -> list[int]:
    """Maximal cliques (bit masks) of the triangulation by greedy elimination; ties go to the first attribute."""
    near = list(adjacency)
    left = list(range(len(near)))
    price = _prices(near, sizes, heuristic, left) if prices is None else dict(prices)
    maximal: list[int] = []
    while left:
        v = min(left, key=price.__getitem__)
        clique = near[v]
        left.remove(v)
        if not any(clique & known == clique for known in maximal):
            maximal.append(clique)
        rest = clique & ~(1 << v)
        touched, filled = rest, False
        for u in _bits(rest):
            filled = filled or bool(rest & ~near[u])
            near[u] = (near[u] | rest) & ~(1 << v)
            touched |= near[u]
        # A new edge changes the fill-in of every vertex next to both its ends.
        again = touched if heuristic == "fill" and filled else rest
        price.update(_prices(near, sizes, heuristic, _bits(again)))
    return maximal


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
