"""Exact inference: from log potentials on the measured cliques to their marginals and log Z.

Shafer–Shenoy towards the root, then conditionals times separator marginals away from it. Only the upward half
works in log space, with one shift for each separator state; what comes back is a product of probabilities. So one
`exp` a cell is the whole transcendental cost, no ratio of small numbers is ever taken, and -inf (a structural
zero) passes through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.graphical.program import ADD, MULTIPLY, SET, ProgramTable, ProgramWriter, fold_plan
from kagemusha.schema.domain import Clique


class BeliefPropagation:
    """A compiled inference plan for one tree and one list of cliques that carry potentials.

    `size` is the length of the flat parameter vector; `pack` and `unpack` translate between it and one array per
    clique. Not safe to share between threads: the buffer is reused by every call.
    """

    def __init__(self, tree: JunctionTree, cliques: Iterable[Clique]) -> None:
        self.tree = tree
        self.cliques = tuple(cliques)
        domain = tree.domain
        hosted: list[list[int]] = [[] for _ in tree.cliques]
        for i, clique in enumerate(self.cliques):
            host = tree.host(clique)
            if host is None:
                raise ValueError(f"clique {clique} is not inside the junction tree")
            hosted[host].append(i)
        layouts: list[tuple[Clique, bool]] = []
        for node, parent in enumerate(tree.parents):
            layouts.append(_layout(tree, node, layouts[parent][0] if node else ()))
        host_of = {i: node for node, members in enumerate(hosted) for i in members}
        axes = [tuple(a for a in layouts[host_of[i]][0] if a in c) for i, c in enumerate(self.cliques)]

        writer = ProgramWriter(domain)
        self._theta = [writer.table(a) for a in axes]
        self.size = writer.length
        self._mu = [writer.table(a) for a in axes]
        self._tables = [writer.table(layout) for layout, _ in layouts]
        self._write(writer, hosted, [last for _, last in layouts])
        self._program = writer.finish()
        self._buffer = np.zeros(writer.length)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Log Z and the marginals (each summing to one) of every clique, for a flat vector of log potentials.

        If every cell is ruled out, log Z is -inf and the marginals are zero.
        """
        from kagemusha.graphical.kernels import run

        self._buffer[: self.size] = theta
        run(self._program, self._buffer)
        return float(self._buffer[self._root.start]), self._buffer[self.size : 2 * self.size].copy()

    def clique_marginals(self) -> list[FloatArray]:
        """Marginals of the tree cliques after the last call, axes in domain order."""
        return [np.ascontiguousarray(t.view(self._buffer, self.tree.domain)) for t in self._tables]

    def pack(self, tables: Mapping[Clique, FloatArray] | Sequence[FloatArray]) -> FloatArray:
        """One flat vector from one array per clique (axes in domain order); cliques left out of a mapping are 0."""
        flat = np.zeros(self.size)
        self._fill(flat, tables)
        return flat

    def pack_integers(self, tables: Sequence[IntArray]) -> IntArray:
        """The same for one array of whole numbers per clique."""
        flat = np.zeros(self.size, dtype=np.int64)
        self._fill(flat, tables)
        return flat

    def _fill(self, flat: NDArray[Any], tables: Mapping[Clique, NDArray[Any]] | Sequence[NDArray[Any]]) -> None:
        for i, (clique, table) in enumerate(zip(self.cliques, self._theta, strict=True)):
            source = tables.get(clique) if isinstance(tables, Mapping) else tables[i]
            if source is not None:
                table.view(flat, self.tree.domain)[...] = source

    def unpack(self, flat: FloatArray) -> list[FloatArray]:
        """One array per clique, axes in domain order (copies)."""
        return [np.ascontiguousarray(t.view(flat, self.tree.domain)) for t in self._theta]

    def spread(self, values: Sequence[float]) -> FloatArray:
        """A flat vector that holds one number per clique in all its cells."""
        return np.repeat(np.asarray(values, dtype=np.float64), [t.cells for t in self._theta])

    @property
    def starts(self) -> list[int]:
        """Where each clique begins in the flat vector."""
        return [t.start for t in self._theta]

    def _write(self, writer: ProgramWriter, hosted: list[list[int]], separator_last: list[bool]) -> None:
        tree = self.tree
        nodes = range(len(tree.cliques))
        messages: list[ProgramTable] = []
        marginals: list[ProgramTable] = []
        inverses: list[ProgramTable] = []
        for node in nodes:
            separator = tuple(a for a in self._tables[node].axes if a in tree.separators[node])
            messages.append(writer.table(separator))
            marginals.append(writer.table(separator))
            inverses.append(writer.table(separator))
        children = [[c for c in tree.neighbours[n] if tree.parents[c] == n] for n in nodes]
        for node in reversed(nodes):
            parts = [self._theta[i] for i in hosted[node]] + [messages[c] for c in children[node]]
            with writer.scratch():
                gather(writer, self._tables[node], parts)
            last = separator_last[node]
            writer.log_sum_exp(self._tables[node], messages[node], inverses[node], separator_last=last)
        for node in nodes:
            # P(clique) = P(separator) / (sum of the row) × row: one walk for both factors.
            if tree.parents[node] >= 0:
                writer.combine(MULTIPLY, inverses[node], marginals[node])
            writer.combine(MULTIPLY, self._tables[node], inverses[node])
            parts = [self._mu[i] for i in hosted[node]] + [marginals[c] for c in children[node]]
            with writer.scratch():
                scatter(writer, self._tables[node], parts)
        self._root = messages[0]


def _layout(tree: JunctionTree, node: int, parent: Clique) -> tuple[Clique, bool]:
    """Memory order of a clique's axes, and whether its separator is the inner block.

    The separator keeps the parent's order, so that no instruction needs a transposition. The inner run of every
    loop should be long: the larger block goes inside, the largest new attribute innermost.
    """
    separator = [a for a in parent if a in tree.separators[node]]
    residual = sorted((a for a in tree.cliques[node] if a not in separator), key=tree.domain.size)
    separator_last = tree.domain.cells(separator) > tree.domain.cells(residual)
    return tuple(residual + separator if separator_last else separator + residual), separator_last


def gather(writer: ProgramWriter, table: ProgramTable, parts: list[ProgramTable]) -> None:
    """Table = Σ parts, by way of smaller tables where several parts lack the same axis."""
    direct, groups = fold_plan(writer.domain, table.axes, [p.axes for p in parts])
    sources = [parts[i] for i in direct]
    for axes, members in groups:
        smaller = writer.table(axes)
        gather(writer, smaller, [parts[i] for i in members])
        sources.append(smaller)
    if not sources:
        writer.clear(table)
    for i, source in enumerate(sources):
        writer.combine(SET if i == 0 else ADD, table, source)


def scatter(writer: ProgramWriter, table: ProgramTable, parts: list[ProgramTable]) -> None:
    """Every part = the sums of `table` over the axes it lacks; the mirror image of `gather`."""
    direct, groups = fold_plan(writer.domain, table.axes, [p.axes for p in parts])
    for i in direct:
        writer.sum(table, parts[i])
    for axes, members in groups:
        smaller = writer.table(axes)
        writer.sum(table, smaller)
        scatter(writer, smaller, [parts[i] for i in members])
