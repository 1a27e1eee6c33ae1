"""Tables of many pairs of attributes that share no clique, all at once.

Pair by pair, every query walks the tree; all pairs of a hundred columns are five thousand walks. Here the tree falls
into regions, cut at separators that have no more states than there are codes behind them. A region sees what lies
behind a cut as one thing: the separator, and P(code | separator) of all codes behind it, which was worked out before.
Within a region every thing (an attribute or such a separator) is carried once through its cliques, and meets the others
where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, groupby

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.graphical.regions import Region, regions_of
from kagemusha.schema.domain import Clique

Parts = Callable[[int, Sequence[Clique]], Sequence[FloatArray]]
"""Marginals of a tree clique over some sets of its attributes (in domain order)."""

CARRIED_CELLS = 1 << 21
"""Cells that are carried over a separator at a time (16 MiB)."""

MOST_WALKED = 1 << 27
"""Cells of tree cliques between the columns of pairs that are asked for together: one by one, they take seconds."""

MOST_CARRIED = 1 << 29
"""Products that take about a second."""

WALKED_CELLS = 1 << 19
"""Through a larger clique there are no walks: they lay it out several times over."""

MOST_JOINT = 1 << 22
"""All codes by each other: a table of this size is always made, a larger one only for an answer as large."""

CELLS_PER_STEP, PRODUCTS_PER_CELL = 2000, 8
"""A step of a walk takes as long as so many cells of a clique, and a cell as long as so many products."""


def crossing_pairs(tree: JunctionTree, parts: Parts, pairs: Sequence[Clique]) -> dict[Clique, FloatArray]:
    """P(a, b) of each pair that lies in no clique of the tree."""
    regions, rows = regions_of(tree, {name for pair in pairs for name in pair})
    joint = np.zeros((regions[0].rows.stop,) * 2)
    behind: dict[int, FloatArray] = {}
    for at in range(len(regions) - 1, -1, -1):
        inner = _Inner(tree, regions[at], parts)
        things = inner.region.things
        carried = [
            np.concatenate([behind[other] for other in thing.behind]) if thing.behind else None for thing in things
        ]
        for thing, codes in zip(things, carried, strict=True):
            if codes is not None:
                mass, end = inner.mass(thing.home, thing.names), 0
                for other in thing.behind:
                    end, mine = end + len(behind[other]), regions[other].rows
                    joint[mine, mine.stop : thing.rows.stop] = (behind.pop(other) * mass) @ codes[end:].T
        for one, part, two, met in inner.meetings():
            _add(joint[things[one].rows, things[two].rows], carried[one], part, _codes(carried[two], met).T)
        if at:
            behind[at] = np.empty((_length(regions[at].rows), tree.domain.cells(inner.exit)))
            for part, two, met in inner.given_exit():
                start = things[two].rows.start - regions[at].rows.start
                behind[at][start : start + _length(things[two].rows), part] = _codes(carried[two], met)
    joint += joint.T  # every pair was written once, on one side of the diagonal
    return {(a, b): joint[rows[a], rows[b]].copy() for a, b in pairs}


def better_together(tree: JunctionTree, pairs: Sequence[Clique]) -> bool:
    """Whether `crossing_pairs` is quicker than a walk per pair that shares no clique, or needs less memory."""
    if not pairs or not _fits(tree, pairs):
        return False
    if max(tree.clique_cells) > WALKED_CELLS:
        return True
    if len(pairs) <= len(tree.cliques):
        return False
    steps = np.array(tree.clique_cells) + CELLS_PER_STEP
    return _carried(tree, pairs) <= PRODUCTS_PER_CELL * float(_walked(tree, pairs, steps).sum())


def within_reach(tree: JunctionTree, pairs: Sequence[Clique]) -> list[Clique]:
    """Those of the pairs that share no clique whose tables take seconds.

    All if that is soon done together, or the shortest walks.
    """
    together = len(pairs) > len(tree.cliques) and _fits(tree, pairs) and _carried(tree, pairs) <= MOST_CARRIED
    if not pairs or together:
        return list(pairs)
    walked = _walked(tree, pairs, np.array(tree.clique_cells))
    order = np.argsort(walked, kind="stable")
    chosen = order[np.cumsum(walked[order]) <= MOST_WALKED]
    return [pairs[i] for i in np.sort(chosen)]


def _fits(tree: JunctionTree, pairs: Sequence[Clique]) -> bool:
    """Whether a table of all codes of all these columns by each other is small, or as large as the answer itself."""
    codes = sum(map(tree.domain.size, {name for pair in pairs for name in pair}))
    return codes**2 <= max(MOST_JOINT, 3 * sum(map(tree.domain.cells, pairs)))


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


def _length(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _codes(carried: FloatArray | None, states: FloatArray) -> FloatArray:
    """A row per code from a row per state: a code itself, or a state of a separator."""
    return states if carried is None else carried @ states


def _add(block: FloatArray, carried: FloatArray | None, part: slice, met: FloatArray) -> None:
    """The same for some of the states, into the rows of their codes."""
    if carried is None:
        block[part] = met
    else:
        block += carried[:, part] @ met


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """The quotient, 0 where the whole is.

    Not by way of 1 / whole, which is infinite where the whole is next to nothing.
    """
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


class _Inner:
    """One region: its cliques' marginals, and how things travel in it."""

    def __init__(self, tree: JunctionTree, region: Region, parts: Parts) -> None:
        self.region = region
        self._domain, self.exit = tree.domain, tree.separators[region.nodes[0]]
        inside = set(region.nodes)
        self._near = {n: [v for v in tree.neighbours[n] if v in inside] for n in region.nodes}
        self._separators = {
            (u, v): tree.separators[max(u, v)] for u in region.nodes for v in self._near[u]
        }  # parents come before children
        self._tables: dict[int, Mapping[Clique, FloatArray]] = {}
        for node in region.nodes:
            sets = [thing.names for thing in region.things if thing.home == node]
            sets += [self._separators[node, v] for v in self._near[node]]
            sets += [self.exit] if node == region.nodes[0] else []
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

    def meetings(self) -> Iterator[tuple[int, slice, int, FloatArray]]:
        """P(other thing, some states of a thing) of every two, the second one later: things by their places."""
        things = self.region.things
        for home, members in groupby(range(len(things)), key=lambda k: things[k].home):
            here = list(members)
            for one, two in combinations(here, 2):
                yield one, slice(None), two, self._from(home, things[one].names, slice(None), things[two].names)
            for batch in self._batches(here):
                for two, met in self._sent(home, [(things[one].names, part) for one, part in batch], here[0]):
                    end = 0
                    for one, part in batch:
                        start, end = end, end + _length(part)
                        yield one, part, two, met[:, start:end]

    def given_exit(self) -> Iterator[tuple[slice, int, FloatArray]]:
        """P(thing | some states of the separator towards the root) of every thing."""
        root, things = self.region.nodes[0], self.region.things
        mass = self.mass(root, self.exit)
        for start in range(0, len(mass), self._step):
            part = slice(start, min(len(mass), start + self._step))
            for two, thing in enumerate(things):
                if thing.home == root:
                    yield part, two, _share(self._from(root, self.exit, part, thing.names), mass[part])
            for two, met in self._sent(root, [(self.exit, part)], -1):
                yield part, two, _share(met, mass[part])

    def _batches(self, places: Sequence[int]) -> Iterator[list[tuple[int, slice]]]:
        """States of things that travel together, as many as may at a time."""
        batch: list[tuple[int, slice]] = []
        room = self._step
        for place in places:
            states, start = self._domain.cells(self.region.things[place].names), 0
            while start < states:
                part = slice(start, min(states, start + room))
                batch.append((place, part))
                room -= _length(part)
                start = part.stop
                if not room:
                    yield batch
                    batch, room = [], self._step
        if batch:
            yield batch

    def _sent(self, home: int, sets: Sequence[tuple[Clique, slice]], after: int) -> Iterator[tuple[int, FloatArray]]:
        """P(thing, states of sets at home) of every thing elsewhere after this place.

        One column per state, from clique to clique.
        """
        things = self.region.things
        waiting = []
        for next_ in self._near[home]:
            if self._last[home, next_] > after:
                separator = self._separators[home, next_]
                values = np.concatenate([self._from(home, names, part, separator) for names, part in sets], axis=1)
                waiting.append((next_, home, self._given(home, separator, values)))
        while waiting:
            node, before, values = waiting.pop()
            entry = self._separators[before, node]
            for two, thing in enumerate(things):
                if thing.home == node and two > after:
                    yield two, self._moved(node, values, entry, thing.names)
            for next_ in self._near[node]:
                if next_ != before and self._last[node, next_] > after:
                    separator = self._separators[node, next_]
                    moved = self._moved(node, values, entry, separator)
                    waiting.append((next_, node, self._given(node, separator, moved)))

    def _from(self, home: int, names: Clique, part: slice, to: Clique) -> FloatArray:
        """P(to, some states of names): a column a state."""
        cells = self._domain.cells(names)
        first, last, _ = part.indices(cells)
        states = np.eye(cells, last - first, -first)
        return self._moved(home, states, names, to)

    def _given(self, node: int, separator: Clique, values: FloatArray) -> FloatArray:
        """P(· | separator) in the place of P(separator, ·)."""
        return _share(values, self.mass(node, separator)[:, None])

    def _moved(self, node: int, values: FloatArray, one: Clique, two: Clique) -> FloatArray:
        """Σ P(two, one) values(one, ·) over the states of `one`: attributes that both have agree, block by block."""
        domain, columns = self._domain, values.shape[1]
        both = tuple(name for name in one if name in two)
        first, second = (tuple(name for name in names if name not in both) for names in (one, two))
        union = domain.canonical((*both, *first, *second))
        table = self._tables[node][union].transpose([union.index(name) for name in (*both, *second, *first)])
        axes = [one.index(name) for name in (*both, *first)]
        blocks = values.reshape(*domain.shape(one), columns).transpose(*axes, len(one))
        shape = [domain.cells(part) for part in (both, second, first)]
        met = table.reshape(shape) @ blocks.reshape(shape[0], shape[2], columns)
        order = [(*both, *second).index(name) for name in two]
        cells = met.reshape(*domain.shape(both), *domain.shape(second), columns)
        return np.ascontiguousarray(cells.transpose(*order, len(two)).reshape(-1, columns))


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
