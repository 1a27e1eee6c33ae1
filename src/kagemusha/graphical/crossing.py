"""Tables of many pairs of attributes that share no clique, all at once.

Pair by pair, every query walks the tree; all pairs of a hundred columns are five thousand walks. Here the tree is climbed once,
with one matrix a clique: P(code | separator) of every attribute behind it, one row a code. Two attributes meet at the clique where
their branches do, and all that meet there come out of one product of matrices. Attributes are numbered branch by branch, so
that what lies behind a clique is one run of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, groupby

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.schema.domain import Clique, Domain

Parts = Callable[[int, Sequence[Clique]], Sequence[FloatArray]]
"""Marginals of a tree clique over some sets of its attributes (in domain order)."""

MOST_CELLS = 1 << 20
"""Matrices of this size are always made; larger ones only if the answer is as large itself."""

MOST_WALKED = 1 << 27
"""Cells of tree cliques between the columns of pairs that are asked for together: one by one, they take seconds."""


def crossing_pairs(tree: JunctionTree, parts: Parts, pairs: Sequence[Clique]) -> dict[Clique, FloatArray] | None:
    """P(a, b) of each pair that lies in no clique of the tree; None where separators make other ways cheaper."""
    layout = _Layout(tree)
    if not _fits(layout, tree, pairs):
        return None
    joint = _joint(tree, layout, parts)
    return {(a, b): joint[layout.rows[a], layout.rows[b]].copy() for a, b in pairs}


def within_reach(tree: JunctionTree, pairs: Sequence[Clique]) -> list[Clique]:
    """Those of the pairs that share no clique whose tables take seconds: all that come out of one climb, or the shortest walks."""
    if not pairs or (len(pairs) > len(tree.cliques) and _fits(_Layout(tree), tree, pairs)):
        return list(pairs)
    sides = branches(tree)
    first, second = (sides[:, [tree.domain.axis(pair[end]) for pair in pairs]] for end in (0, 1))
    walked = np.array(tree.clique_cells) @ (np.abs(first - second) == 2)
    order = np.argsort(walked, kind="stable")
    chosen = order[np.cumsum(walked[order]) <= MOST_WALKED]
    return [pairs[i] for i in np.sort(chosen)]


def _fits(layout: _Layout, tree: JunctionTree, pairs: Sequence[Clique]) -> bool:
    return layout.cells <= max(MOST_CELLS, 3 * sum(map(tree.domain.cells, pairs)))


class _Layout:
    """Rows of every attribute and of every branch, children with the same separator next to each other."""

    def __init__(self, tree: JunctionTree) -> None:
        self.groups: list[list[tuple[Clique, list[int]]]] = []
        for node, near in enumerate(tree.neighbours):
            children = sorted((c for c in near if tree.parents[c] == node), key=lambda c: (tree.separators[c], c))
            self.groups.append([(s, list(g)) for s, g in groupby(children, key=tree.separators.__getitem__)])
        self.rows: dict[str, slice] = {}
        self.branch: list[slice] = [slice(0)] * len(tree.cliques)
        self.order: list[int] = []
        end, waiting = 0, [(0, False)]
        starts = [0] * len(tree.cliques)
        while waiting:  # a list instead of recursion: a chain of cliques may be as long as the table is wide
            node, done = waiting.pop()
            if done:
                self.branch[node] = slice(starts[node], end)
                self.order.append(node)
                continue
            starts[node] = end
            for name in tree.cliques[node]:
                if name not in tree.separators[node]:
                    self.rows[name] = slice(end, end + tree.domain.size(name))
                    end += tree.domain.size(name)
            waiting.append((node, True))
            waiting += [(child, False) for _, group in reversed(self.groups[node]) for child in reversed(group)]
        self.size = end
        self.cells = self._cells(tree)

    def _cells(self, tree: JunctionTree) -> int:
        """Cells of all matrices together."""
        size = tree.domain.cells
        behind = sum((b.stop - b.start) * size(s) for b, s in zip(self.branch[1:], tree.separators[1:], strict=True))
        between = 0
        for node, groups in enumerate(self.groups):
            separators = [tree.separators[node], *(s for s, _ in groups)] if groups else []
            between += sum(size(one) * size(two) for one, two in combinations(separators, 2))
        return int(self.size**2 + behind + between)


def _joint(tree: JunctionTree, layout: _Layout, parts: Parts) -> FloatArray:
    """P(a, b) for all codes of attributes that share no clique; 0 for those that do."""
    joint = np.zeros((layout.size, layout.size))
    behind: dict[int, FloatArray] = {}
    for node in layout.order:
        table = _Node(tree, node, layout, parts)
        stacked = []
        for separator, group in layout.groups[node]:
            branches = [behind.pop(child) for child in group]
            mass = table(separator, ())[:, 0]
            rows = slice(layout.branch[group[0]].start, layout.branch[group[-1]].stop)
            values = np.concatenate(branches)
            stacked.append((separator, rows, values))
            for child, branch in zip(group[:-1], branches, strict=False):
                stop = layout.branch[child].stop
                joint[layout.branch[child], stop : rows.stop] = (branch * mass) @ values[stop - rows.start :].T
            for name in tree.cliques[node]:
                if name not in separator:
                    joint[layout.rows[name], rows] = table((name,), separator) @ values.T
        for (one, first, left), (two, second, right) in combinations(stacked, 2):
            joint[first, second] = (left @ table(one, two)) @ right.T
        if node:
            behind[node] = table.given(tree.separators[node], stacked)
    # every pair was written once, on one side of the diagonal
    return joint + joint.T


class _Node:
    """The marginals of one clique that its matrices are made of, all asked for at once."""

    def __init__(self, tree: JunctionTree, node: int, layout: _Layout, parts: Parts) -> None:
        clique, exit_ = tree.cliques[node], tree.separators[node]
        self._domain = tree.domain
        self._new = [name for name in clique if name not in exit_]
        separators = [s for s, _ in layout.groups[node]]
        asked: list[tuple[Clique, Clique]] = [(s, (name,)) for s in separators for name in clique if name not in s]
        asked += [(s, ()) for s in separators]
        asked += combinations(separators, 2)
        if node:
            asked += ((exit_, other) for other in ((), *((name,) for name in self._new), *separators))
        wanted = list(dict.fromkeys(tree.domain.canonical([*one, *two]) for one, two in asked))
        self._tables = dict(zip(wanted, parts(node, wanted), strict=True))

    def __call__(self, one: Clique, two: Clique) -> FloatArray:
        """P(one, two) as a matrix; attributes that both name agree."""
        union = self._domain.canonical([*one, *two])
        return _matrix(self._domain, union, self._tables[union], one, two)

    def given(self, exit_: Clique, stacked: Sequence[tuple[Clique, slice, FloatArray]]) -> FloatArray:
        """P(code | separator) of all that lies behind the clique's separator, in the order of the rows."""
        mass = self(exit_, ())[:, 0]
        share = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        found = [self((name,), exit_) for name in self._new]
        found += [values @ self(separator, exit_) for separator, _, values in stacked]
        return np.asarray(np.concatenate(found) * share)


def _matrix(domain: Domain, union: Clique, table: FloatArray, one: Clique, two: Clique) -> FloatArray:
    rows, columns = domain.cells(one), domain.cells(two)
    if len(union) == len(one) + len(two):
        return table.transpose([union.index(name) for name in (*one, *two)]).reshape(rows, columns)
    codes = dict(zip(union, np.indices(table.shape).reshape(len(union), -1), strict=True))
    out = np.zeros((rows, columns))
    at = (np.ravel_multi_index(tuple(codes[n] for n in names), domain.shape(names)) for names in (one, two))
    out[tuple(at)] = table.ravel()
    return out


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
