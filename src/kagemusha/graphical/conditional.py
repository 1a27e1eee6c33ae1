"""Rows drawn from a field given what is known of each of them: other evidence for every row, exactly.

The columns that are known turn every potential into a table over the others, one per row; what is left of the graph is
small. A junction tree over the other columns then serves all rows at once: products up the tree, draws down, with the
rows as the leading axis, some at a time. Work grows with rows times cells of that tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import DataError
from kagemusha.graphical.junction_tree import junction_tree
from kagemusha.graphical.markov_field import MarkovField
from kagemusha.schema.domain import Clique, Domain

CELLS = 1 << 19
"""Cells of all rows' tables that are worked on at a time: few enough for the processor's cache."""


@dataclass(frozen=True, eq=False)
class Part:
    """A potential as one table over the columns to be drawn for each combination of the known ones."""

    clique: Clique

    known: Clique
    free: Clique
    table: FloatArray
    """Log potentials, one line per combination of the known columns."""


class ConditionalField:
    """Draws the other columns of a field's rows, given `known` ones; with `rough`, in half the digits."""

    def __init__(
        self, field: MarkovField, known: Iterable[str], *, max_cells: int | None = None, rough: bool = False
    ) -> None:
        self.domain = field.domain
        self._kind: Any = np.float32 if rough else np.float64
        given = set(known)
        self.free = self.domain.project(name for name in self.domain if name not in given)
        self.parts = [
            part
            for c, table in field.potentials.items()
            if (part := _part(self.domain, c, table.astype(self._kind), given)).free
        ]
        self.tree = junction_tree(self.free, [part.free for part in self.parts], max_cells=max_cells)
        self._hosted: list[list[Part]] = [[] for _ in self.tree.cliques]
        for part in self.parts:
            host = self.tree.host(part.free)
            assert host is not None
            self._hosted[host].append(part)

    def draw(self, codes: IntArray, rng: np.random.Generator) -> None:
        """Fill in the free columns of rows whose known columns are there; one line per row, columns as in `domain`."""
        step = max(1, CELLS // max(1, self.tree.cells))
        for begin in range(0, len(codes), step):
            self._draw(codes[begin : begin + step], rng)

    def chances(self, codes: IntArray, column: str) -> FloatArray:
        """P(column | known columns) of each row."""
        return self.chances_of(codes, (column,))[0]

    def chances_of(self, codes: IntArray, columns: Sequence[str]) -> list[FloatArray]:
        """The same for several columns, each by itself."""
        found = [np.empty((len(codes), self.free.size(name))) for name in columns]
        step = max(1, CELLS // max(1, self.tree.cells))
        hosts = [self.tree.host((name,)) for name in columns]
        for begin in range(0, len(codes), step):
            beliefs, _ = self._beliefs(codes[begin : begin + step])
            for name, host, table in zip(columns, hosts, found, strict=True):
                assert host is not None
                table[begin : begin + step] = beliefs[host].sum(axis=_others(self.tree.cliques[host], (name,)))
        return found

    def expected(self, codes: IntArray) -> tuple[float, list[FloatArray]]:
        """Sum of log Z over rows like these, and how often each cell of each potential is expected among them.

        One line per combination of a potential's known columns, as in `parts`.
        """
        log_z = 0.0
        found = [np.zeros(part.table.shape) for part in self.parts]
        step = max(1, CELLS // max(1, self.tree.cells))
        for begin in range(0, len(codes), step):
            some = codes[begin : begin + step]
            beliefs, logs = self._beliefs(some)
            log_z += float(logs.sum())
            for part, sums in zip(self.parts, found, strict=True):
                host = self.tree.host(part.free)
                assert host is not None
                lines = beliefs[host].sum(axis=_others(self.tree.cliques[host], part.free)).reshape(len(some), -1)
                sums += _summed(self.domain.flat(part.known, some.T), lines, len(sums))
        return log_z, found

    def _beliefs(self, codes: IntArray) -> tuple[list[FloatArray], FloatArray]:
        """For each clique the chances of its cells, and log Z, row by row."""
        beliefs: list[FloatArray] = []
        tables, log_z = self._upward(codes)
        for node, (clique, table) in enumerate(zip(self.tree.cliques, tables, strict=True)):
            separator = self.tree.separators[node]
            sums = table.sum(axis=_others(clique, separator), keepdims=True)
            above = self.tree.parents[node]
            wanted: FloatArray = np.ones(sums.shape)
            if above >= 0:
                wanted = beliefs[above].sum(axis=_others(self.tree.cliques[above], separator)).reshape(sums.shape)
            beliefs.append(table * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0))
        return beliefs, log_z

    def _upward(self, codes: IntArray) -> tuple[list[FloatArray], FloatArray]:
        """For each clique the products of its potentials and of what comes from below, scaled row by row; and log Z."""
        tree, free = self.tree, self.free
        log_z = np.zeros(len(codes))
        tables: list[FloatArray] = [np.zeros((0,))] * len(tree.cliques)
        messages: list[tuple[int, Clique, FloatArray]] = []
        for node in reversed(range(len(tree.cliques))):
            clique = tree.cliques[node]
            logs = np.zeros((len(codes), *free.shape(clique)), dtype=self._kind)
            for part in self._hosted[node]:
                lines = part.table[self.domain.flat(part.known, codes.T)] if part.known else part.table
                logs += lines.reshape(-1, *_spread(free, clique, part.free))
            for parent, separator, message in messages:
                if parent == node:
                    logs += message.reshape(len(codes), *_spread(free, clique, separator))
            inner = tuple(range(1, logs.ndim))
            top = logs.max(axis=inner, keepdims=True)
            top[np.isneginf(top)] = 0.0
            table = np.exp(np.subtract(logs, top, out=logs), out=logs)
            tables[node] = table
            log_z += top.reshape(len(codes))
            if tree.parents[node] >= 0:
                out = tuple(1 + i for i, name in enumerate(clique) if name not in tree.separators[node])
                with np.errstate(divide="ignore"):
                    messages.append((tree.parents[node], tree.separators[node], np.log(table.sum(axis=out))))
        with np.errstate(divide="ignore"):
            log_z += np.log(tables[0].reshape(len(codes), -1).sum(axis=1))
        return tables, log_z

    def _draw(self, codes: IntArray, rng: np.random.Generator) -> None:
        tree, free = self.tree, self.free
        tables, _ = self._upward(codes)
        rows = np.arange(len(codes))
        axes = {name: self.domain.axis(name) for name in free}
        for node, clique in enumerate(tree.cliques):
            separator = tree.separators[node]
            fresh = [name for name in clique if name not in separator]
            if not fresh:
                continue
            order = [1 + clique.index(name) for name in (*separator, *fresh)]
            table = np.transpose(tables[node], (0, *order)).reshape(len(codes), free.cells(separator), -1)
            context = np.zeros(len(codes), dtype=np.int64)
            for name in separator:
                context = context * free.size(name) + codes[:, axes[name]]
            lines = np.cumsum(table[rows, context], axis=1)
            total = lines[:, -1]
            if not (total > 0).all():
                raise DataError("the model rules out every row that goes with what is known, so there is none to draw")
            # below the total, so that the cell it falls into is a possible one
            target = np.minimum(rng.random(len(codes)) * total, np.nextafter(total, 0.0))
            cell = (lines <= target[:, None]).sum(axis=1)
            for name, code in zip(fresh, np.unravel_index(cell, free.shape(fresh)), strict=True):
                codes[:, axes[name]] = code


def _part(domain: Domain, clique: Clique, table: FloatArray, given: set[str]) -> Part:
    known = tuple(name for name in clique if name in given)
    free = tuple(name for name in clique if name not in given)
    order = [clique.index(name) for name in (*known, *free)]
    return Part(clique, known, free, np.ascontiguousarray(table.transpose(order)).reshape(domain.cells(known), -1))


def _summed(groups: IntArray, lines: FloatArray, size: int) -> FloatArray:
    """Sums of lines by group."""
    from scipy.sparse import csr_matrix

    if size == 1:
        return np.asarray(lines.sum(axis=0, keepdims=True))
    member = csr_matrix(
        (np.ones(len(groups), dtype=lines.dtype), (groups, np.arange(len(groups)))), (size, len(groups))
    )
    return np.asarray(member @ lines)


def _spread(domain: Domain, clique: Clique, names: Clique) -> tuple[int, ...]:
    """The shape of a table over some names of a clique, to be added to one over all of them."""
    return tuple(domain.size(name) if name in names else 1 for name in clique)


def _others(clique: Clique, names: Clique) -> tuple[int, ...]:
    """Axes of a clique's table, one row each, that are summed out to leave some names."""
    return tuple(1 + i for i, name in enumerate(clique) if name not in names)
