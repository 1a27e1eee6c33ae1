"""Tables of many pairs of attributes that share no clique, all at once.

Pair by pair, every query walks the tree; all pairs of a hundred columns are five thousand walks. Here the tree falls into regions,
cut at separators that have no more states than there are codes behind them. A region sees what lies behind a cut as one thing: the
separator, and P(code | separator) of all codes behind it, which was worked out before. Within a region every thing (an attribute or such a
separator) is carried once through its cliques, and meets the others where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.graphical.regions import Region, regions_of
from kagemusha.schema.domain import Clique

Parts = Callable[[int, Sequence[Clique]], Sequence[FloatArray]]
"""Marginals of a tree clique over some sets of its attributes (in domain order)."""

CARRIED_CELLS = 1 << 22
"""Cells that are carried over a separator at a time (32 MiB)."""

MOST_WALKED = 1 << 25
"""Cells of tree cliques between the columns of pairs that are asked for together: one by one, they take some three seconds."""

MOST_CARRIED = 1 << 29
"""Products that take about a second."""

CELLS_A_STEP, PRODUCTS_A_CELL = 2000, 4
"""A step of a walk takes as long as so many cells of a clique, and a cell as long as so many products."""


def crossing_pairs(tree: JunctionTree, parts: Parts, pairs: Sequence[Clique]) -> dict[Clique, FloatArray]:
    """P(a, b) of each pair that lies in no clique of the tree."""
    regions, rows = regions_of(tree, {name for pair in pairs for name in pair})
    joint = np.zeros((regions[0].rows.stop,) * 2)
    behind: dict[int, FloatArray] = {}
    for at in range(len(regions) - 1, -1, -1):
        inner = _Inner(tree, regions[at], parts)
        things = inner.region.things
        told = [np.concatenate([behind[other] for other in thing.behind]) if thing.behind else None for thing in things]
        for thing, codes in zip(things, told, strict=True):
            if codes is not None:
                mass, end = inner.mass(thing.home, thing.names), 0
                for other in thing.behind:
                    end, mine = end + len(behind[other]), regions[other].rows
                    joint[mine, mine.stop : thing.rows.stop] = (behind.pop(other) * mass) @ codes[end:].T
        for one, two, met in inner.meetings():
            joint[things[one].rows, things[two].rows] = _codes(told[two], _codes(told[one], met).T).T
        if at:
            behind[at] = np.concatenate([_codes(told[k], units) for k, units in inner.given_exit()])
    joint += joint.T  # every pair was written once, on one side of the diagonal
    return {(a, b): joint[rows[a], rows[b]].copy() for a, b in pairs}


def better_together(tree: JunctionTree, pairs: Sequence[Clique]) -> bool:
    """Whether `crossing_pairs` is quicker than a walk for each pair that shares no clique."""
    if len(pairs) <= len(tree.cliques):
        return False
    steps = np.array(tree.clique_cells) + CELLS_A_STEP
    return _carried(tree, pairs) <= PRODUCTS_A_CELL * float(_walked(tree, pairs, steps).sum())


def within_reach(tree: JunctionTree, pairs: Sequence[Clique]) -> list[Clique]:
    """Those of the pairs that share no clique whose tables take seconds: all if that is soon done together, or the shortest walks."""
    if not pairs or (len(pairs) > len(tree.cliques) and _carried(tree, pairs) <= MOST_CARRIED):
        return list(pairs)
    walked = _walked(tree, pairs, np.array(tree.clique_cells))
    order = np.argsort(walked, kind="stable")
    chosen = order[np.cumsum(walked[order]) <= MOST_WALKED]
    return [pairs[i] for i in np.sort(chosen)]


def _walked(tree: JunctionTree, pairs: Sequence[Clique], steps: IntArray) -> IntArray:
    """For each pair, what the cliques between its columns take, one step each."""
    sides = branches(tree)
    first, second = (sides[:, [tree.domain.axis(pair[end]) for pair in pairs]] for end in (0, 1))
    return np.asarray(steps @ (np.abs(first - second) == 2))


def _carried(tree: JunctionTree, pairs: Sequence[Clique]) -> int:
    """Products if every thing of each region is carried through all of its cliques."""
    regions, _ = regions_of(tree, {name for pair in pairs for name in pair})
    cells = tree.domain.cells
    return sum(
        sum(cells(thing.names) for thing in region.things) * sum(tree.clique_cells[node] for node in region.nodes)
        for region in regions
    )


def _codes(told: FloatArray | None, units: FloatArray) -> FloatArray:
    """A row a code from a row a unit, which is a code itself or a state of a separator."""
    return units if told is None else told @ units


class _Inner:
    """One region: its cliques' marginals, and how things travel in it."""

    def __init__(self, tree: JunctionTree, region: Region, parts: Parts) -> None:
        self.region = region
        self._domain, self._exit = tree.domain, tree.separators[region.nodes[0]]
        inside = set(region.nodes)
        self._near = {n: [v for v in tree.neighbours[n] if v in inside] for n in region.nodes}
        self._separators = {
            (u, v): tree.separators[max(u, v)] for u in region.nodes for v in self._near[u]
        }  # parents come before children
        self._tables: dict[int, Mapping[Clique, FloatArray]] = {}
        for node in region.nodes:
            sets = [thing.names for thing in region.things if thing.home == node]
            sets += [self._separators[node, v] for v in self._near[node]]
            sets += [self._exit] if node == region.nodes[0] else []
            wanted = list(
                dict.fromkeys(tree.domain.canonical({*a, *b}) for a, b in combinations_with_replacement(sets, 2))
            )
            self._tables[node] = dict(zip(wanted, parts(node, wanted), strict=True))
        self._last = self._furthest(tree)
        widest = max(map(tree.domain.cells, self._separators.values()), default=1)
        self._step = max(1, CARRIED_CELLS // widest)

    def _furthest(self, tree: JunctionTree) -> dict[tuple[int, int], int]:
        """The last thing beyond each step from clique to clique."""
        things = self.region.things
        below: dict[int, set[int]] = {n: {k for k, t in enumerate(things) if t.home == n} for n in self.region.nodes}
        for node in reversed(self.region.nodes[1:]):
            below[tree.parents[node]] |= below[node]
        last = {}
        for node in self.region.nodes[1:]:
            last[tree.parents[node], node] = max(below[node], default=-1)
            last[node, tree.parents[node]] = max(set(range(len(things))) - below[node], default=-1)
        return last

    def mass(self, node: int, names: Clique) -> FloatArray:
        """P of each state of a set that is at home in a clique."""
        return self._tables[node][names].ravel()

    def meetings(self) -> Iterator[tuple[int, int, FloatArray]]:
        """P(thing, other thing) of every two, by their places."""
        for one, thing in enumerate(self.region.things):
            for two, met in self._carry(thing.names, thing.home, one):
                yield one, two, met

    def given_exit(self) -> Iterator[tuple[int, FloatArray]]:
        """P(thing | separator towards the root) of every thing, in their order."""
        root = self.region.nodes[0]
        mass = self.mass(root, self._exit)
        share = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        for k, met in self._carry(self._exit, root, -1):
            yield k, met.T * share

    def _carry(self, names: Clique, home: int, after: int) -> Iterator[tuple[int, FloatArray]]:
        """P(names, thing) of every thing after this one: from clique to clique, some states at a time."""
        domain, things = self._domain, self.region.things
        states = domain.cells(names)
        found = {k: np.empty((states, domain.cells(things[k].names))) for k in range(after + 1, len(things))}
        for start in range(0, states if found else 0, self._step):
            some = slice(start, min(states, start + self._step))
            waiting = [(home, -1, names, np.eye(states)[some])]
            while waiting:
                node, before, given, values = waiting.pop()
                for k in found:
                    if things[k].home == node:
                        found[k][some] = self._moved(node, values, given, things[k].names)
                for next_ in self._near[node]:
                    if next_ != before and self._last[node, next_] > after:
                        separator = self._separators[node, next_]
                        mass = self.mass(node, separator)
                        moved = self._moved(node, values, given, separator)
                        np.divide(moved, mass, out=moved, where=mass > 0)
                        waiting.append((next_, node, separator, moved))
        yield from found.items()

    def _moved(self, node: int, values: FloatArray, one: Clique, two: Clique) -> FloatArray:
        """Σ values(·, one) P(one, two) over the states of `one`: attributes that both have agree, block by block."""
        domain = self._domain
        both = tuple(name for name in one if name in two)
        first, second = (tuple(name for name in names if name not in both) for names in (one, two))
        union = domain.canonical((*both, *first, *second))
        table = self._tables[node][union].transpose([union.index(name) for name in (*both, *first, *second)])
        axes = [1 + one.index(name) for name in (*both, *first)]
        blocks = values.reshape(-1, *domain.shape(one)).transpose([*axes[: len(both)], 0, *axes[len(both) :]])
        shape = [domain.cells(part) for part in (both, first, second)]
        met = blocks.reshape(shape[0], len(values), shape[1]) @ table.reshape(shape)
        order = [(*both, "", *second).index(name) for name in ("", *two)]
        cells = met.reshape(*domain.shape(both), len(values), *domain.shape(second))
        return np.ascontiguousarray(cells.transpose(order).reshape(len(values), -1))


def branches(tree: JunctionTree) -> IntArray:
    """For each clique and column: 1 behind the clique's separator (away from the root), 0 on it, -1 before it."""
    below = np.zeros((len(tree.cliques), len(tree.domain)), dtype=bool)
    for node in range(len(tree.cliques) - 1, -1, -1):
        below[node, [tree.domain.axis(name) for name in tree.cliques[node]]] = True
        if node:
            below[tree.parents[node]] |= below[node]
    sides = np.where(below, 1, -1)
    for node, separator in enumerate(tree.separators):
        sides[node, [tree.domain.axis(name) for name in separator]] = 0
    return sides
