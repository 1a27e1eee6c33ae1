"""Marginals of many cliques at once, from the calibrated tables of a junction tree.

Cliques inside a tree clique are summed out of it together, in one compiled program if it is large. Many pairs across
cliques are worked out together (`crossing`). The others come from messages along the tree: P(attributes behind
an edge | separator), each computed once and shared by every query that needs it. What is kept for later queries is
bounded; beyond that a table lives until it is used once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge
from kagemusha.graphical.belief_propagation import scatter
from kagemusha.graphical.crossing import better_together, crossing_pairs
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.graphical.program import ProgramWriter
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class Factor:
    """Non-negative values over a clique, one axis per attribute, in the clique's order."""

    domain: Domain
    clique: Clique
    values: FloatArray

    def project(self, clique: Iterable[str]) -> Factor:
        """Sum over every attribute outside `clique` (which must lie inside this one); axes in domain order."""
        kept = self.domain.canonical(clique)
        if kept == self.clique:
            return self
        axes = tuple(i for i, name in enumerate(self.clique) if name not in kept)
        left = tuple(name for name in self.clique if name in kept)
        return Factor(self.domain, left, self.values.sum(axis=axes)).transpose(kept)

    def transpose(self, clique: Clique) -> Factor:
        """The same table with its axes in the order of `clique`."""
        if clique == self.clique:
            return self
        order = [self.clique.index(name) for name in clique]
        return Factor(self.domain, clique, self.values.transpose(order))

    def given(self, clique: Clique) -> Factor:
        """The conditional of the other attributes given `clique`; zero where `clique` has no mass."""
        inside = self.project(clique)
        shape = [self.domain.size(name) if name in clique else 1 for name in self.clique]
        order = tuple(name for name in self.clique if name in clique)
        mass = inside.transpose(order).values.reshape(shape)
        values = np.divide(self.values, mass, out=np.zeros_like(self.values), where=mass > 0)
        return Factor(self.domain, self.clique, values)

    def contract(self, other: Factor, keep: Iterable[str], *, max_cells: int) -> Factor:
        """Multiply by `other` and sum out every attribute not in `keep`, without forming the product.

        Raises `ModelTooLarge` before allocating a result of more than `max_cells` cells.
        """
        kept = set(keep)
        mine, theirs = set(self.clique), set(other.clique)
        batch = tuple(n for n in self.clique if n in theirs and n in kept)
        summed = tuple(n for n in self.clique if n in theirs and n not in kept)
        left = self.project(n for n in self.clique if n in kept or n in theirs)
        right = other.project(n for n in other.clique if n in kept or n in mine)
        left_free = tuple(n for n in left.clique if n not in theirs)
        right_free = tuple(n for n in right.clique if n not in mine)
        clique = batch + left_free + right_free
        size = self.domain.cells
        if size(clique) > max_cells:
            raise ModelTooLarge(
                f"the marginal needs a table over ({', '.join(self.domain.canonical(clique))}) of {size(clique):,} "
                f"cells and the limit is {max_cells:,}"
            )
        a = left.transpose(batch + left_free + summed).values.reshape(size(batch), size(left_free), size(summed))
        b = right.transpose(batch + summed + right_free).values.reshape(size(batch), size(summed), size(right_free))
        shape = self.domain.shape(clique)
        return Factor(self.domain, clique, (a @ b).reshape(shape) if prod(shape) else np.zeros(shape))


KEPT_CELLS = 1 << 23
"""Cells kept for later queries (64 MiB)."""

SMALL = 1 << 12
"""Writing a program for a clique of so few cells takes longer than summing them one by one."""

Edge = tuple[int, int, Clique]
"""A message from a tree clique to its neighbour, and the attributes on the near side that it tells of."""


class TreeQueries:
    """Answers for one calibrated tree: `tables` are the clique marginals, each summing to one."""

    def __init__(
        self, tree: JunctionTree, tables: Sequence[FloatArray], *, max_cells: int, kept_cells: int = KEPT_CELLS
    ) -> None:
        self._tree = tree
        self._tables = tables
        self._max_cells = max_cells
        self._room = kept_cells
        self._messages: dict[Edge, Factor] = {}
        self._projections: dict[tuple[int, Clique], Factor] = {}

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """The marginal of each clique (any order of names; axes follow it), each summing to one."""
        domain = self._tree.domain
        wanted = {domain.canonical(clique) for clique in cliques}
        found: dict[Clique, FloatArray] = {}
        by_host: dict[int, list[Clique]] = {}
        across: list[Clique] = []
        for clique in sorted(wanted):
            host = self._tree.host(clique)
            (across if host is None else by_host.setdefault(host, [])).append(clique)
        pairs = [clique for clique in across if len(clique) == 2]
        if better_together(self._tree, pairs):
            found |= crossing_pairs(self._tree, self._inside, pairs)
        found |= {clique: self._across(clique).values for clique in across if clique not in found}
        for host, members in by_host.items():
            found.update(zip(members, self._inside(host, members), strict=True))
        return [
            Factor(domain, canonical, found[canonical]).transpose(tuple(clique)).values.copy()
            for clique, canonical in ((c, domain.canonical(c)) for c in cliques)
        ]

    def _inside(self, host: int, cliques: Sequence[Clique]) -> list[FloatArray]:
        """The marginals of one tree clique over some of its attributes (in domain order)."""
        from kagemusha.graphical.kernels import run

        domain, clique = self._tree.domain, self._tree.cliques[host]
        if self._tables[host].size <= SMALL:
            whole = Factor(domain, clique, self._tables[host])
            return [whole.project(c).values for c in cliques]
        writer = ProgramWriter(domain)
        table = writer.table(clique)
        parts = [writer.table(c) for c in cliques]
        scatter(writer, table, parts)
        buffer = np.empty(writer.length)
        buffer[: table.cells] = self._tables[host].ravel()
        run(writer.finish(), buffer)
        return [part.view(buffer, domain) for part in parts]

    @cached_property
    def _behind(self) -> dict[tuple[int, int], frozenset[str]]:
        """Attributes on the far side of each directed edge (u, v): those of u's side, away from v."""
        tree = self._tree
        below: list[set[str]] = [set(clique) for clique in tree.cliques]
        for node in range(len(tree.cliques) - 1, 0, -1):
            below[tree.parents[node]] |= below[node]
        sides: dict[tuple[int, int], frozenset[str]] = {}
        for node in range(1, len(tree.cliques)):
            parent = tree.parents[node]
            sides[node, parent] = frozenset(below[node])
            sides[parent, node] = frozenset(tree.domain.names) - (below[node] - set(tree.separators[node]))
        return sides

    def _separator(self, u: int, v: int) -> Clique:
        return self._tree.separators[u if self._tree.parents[u] == v else v]

    def _local(self, node: int, clique: Clique) -> Factor:
        key = (node, clique)
        if key in self._projections:
            return self._projections[key]
        part = Factor(self._tree.domain, self._tree.cliques[node], self._tables[node]).project(clique)
        if self._room > 0:
            self._projections[key] = part
            self._room -= part.values.size
        return part

    def _across(self, clique: Clique) -> Factor:
        tree = self._tree
        wanted = set(clique)

        def cost(i: int) -> tuple[int, int]:
            return -len(wanted.intersection(tree.cliques[i])), tree.clique_cells[i]

        root = min(range(len(tree.cliques)), key=cost)
        # far messages first; a list instead of recursion, for a chain of cliques may be as long as the table is wide
        asked = self._asked(root, None, clique)
        waiting: list[Edge] = list(asked)
        while waiting:
            u, v, behind = edge = waiting[-1]
            before = self._asked(u, v, behind) if edge not in self._messages else []
            missing = [e for e in before if e not in self._messages]
            waiting.extend(missing)
            if not missing:
                waiting.pop()
                if edge not in self._messages:
                    self._messages[edge] = message = self._collect(u, v, behind, before)
                    self._room -= message.values.size
        return self._collect(root, None, clique, asked).project(clique)

    def _asked(self, node: int, towards: int | None, wanted: Clique) -> list[Edge]:
        """The messages that `node` needs to tell of `wanted`."""
        tree = self._tree
        inside = set(tree.cliques[node])
        asked = [
            (u, node, tree.domain.canonical(n for n in wanted if n not in inside and n in self._behind[u, node]))
            for u in tree.neighbours[node]
            if u != towards
        ]
        return [edge for edge in asked if edge[2]]

    def _collect(self, node: int, towards: int | None, wanted: Clique, asked: Sequence[Edge]) -> Factor:
        """P(wanted | separator of `node` and `towards`), or P(wanted and more) if there is nobody to tell it to."""
        domain = self._tree.domain
        exit_ = self._separator(node, towards) if towards is not None else ()
        keep = set(exit_).union(wanted)
        entries = [set(self._separator(u, node)) for u, _, _ in asked]
        needed = domain.canonical(set(self._tree.cliques[node]) & keep.union(*entries))
        factor = self._local(node, needed)
        if towards is not None:
            factor = factor.given(exit_)
        for i, edge in enumerate(asked):
            later = keep.union(*entries[i + 1 :])
            factor = factor.contract(self._take(edge), later, max_cells=self._max_cells)
            keep = keep.union(edge[2])
        return factor

    def _take(self, edge: Edge) -> Factor:
        """A message, which is forgotten if too many are kept: a query uses each but once."""
        message = self._messages[edge]
        if self._room < 0:
            del self._messages[edge]
            self._room += message.values.size
        return message
