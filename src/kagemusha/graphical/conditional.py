"""Rows drawn from a field given what is known of each of them: other evidence for every row, exactly.

The columns that are known turn every potential into a table over the others, one per row; what is left of the graph is
small. A junction tree over the other columns then serves all rows at once: products up the tree, draws down, some rows
at a time, with the rows as the last axis, so that every step runs along memory. Tables are products of weights, each
line of a potential scaled to 1 at its largest: what is less likely than e⁻⁷⁰⁰ beside the likeliest cannot occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import DataError
from kagemusha.graphical.junction_tree import junction_tree
from kagemusha.graphical.markov_field import MarkovField
from kagemusha.schema.domain import Clique, Domain

FEW = 256
"""So many rows are worked out one by one."""

CELLS = 1 << 18
"""Cells of all rows' tables that are worked on at a time: few enough for the processor's cache."""


@dataclass(frozen=True, eq=False)
class Part:
    """A potential as one table over the columns to be drawn for each combination of the known ones."""

    clique: Clique
    known: Clique
    free: Clique
    weights: FloatArray
    """One column per combination of the known columns, one line per cell of the free ones; at most 1."""
    scale: FloatArray
    """The logarithm of what each column was divided by."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Some rows as their evidence: for each part the combination of its known columns, row by row."""

    rows: int
    at: Sequence[IntArray]
    members: Sequence[Any]
    """For each part which rows have each combination, as a sparse matrix; None where there is one combination."""


class ConditionalField:
    """Draws the other columns of a field's rows, given `known` ones."""

    def __init__(self, field: MarkovField, known: Iterable[str], *, max_cells: int | None = None) -> None:
        self.domain = field.domain
        self._given = set(known)
        self.free = self.domain.project(name for name in self.domain if name not in self._given)
        self.parts = self._parts(field.potentials)
        self.tree = junction_tree(self.free, [part.free for part in self.parts], max_cells=max_cells)
        # potentials over the same free columns are multiplied with each other first: that is small
        self._hosted: list[dict[Clique, list[int]]] = [{} for _ in self.tree.cliques]
        for at, part in enumerate(self.parts):
            host = self.tree.host(part.free)
            assert host is not None
            self._hosted[host].setdefault(part.free, []).append(at)

    def with_potentials(self, potentials: Mapping[Clique, FloatArray]) -> ConditionalField:
        """The same field with other numbers in its potentials."""
        other = copy(self)
        other.parts = self._parts(potentials)
        return other

    def _parts(self, potentials: Mapping[Clique, FloatArray]) -> list[Part]:
        found = (_part(self.domain, clique, table, self._given) for clique, table in potentials.items())
        return [part for part in found if part.free]

    def lines(self, codes: IntArray) -> list[Lines]:
        """The evidence of rows, some at a time."""
        step = max(1, CELLS // max(1, self.tree.cells))
        return [self._lines(codes[begin : begin + step]) for begin in range(0, len(codes), step)]

    def _lines(self, codes: IntArray, *, members: bool = True) -> Lines:
        at = [self.domain.flat(part.known, codes.T) if part.known else np.zeros(0, np.int64) for part in self.parts]
        sparse = [
            _member(a, part.weights.shape[1]) if members else None for a, part in zip(at, self.parts, strict=True)
        ]
        return Lines(len(codes), at, sparse)

    def draw(self, codes: IntArray, rng: np.random.Generator) -> None:
        """Fill in the free columns of rows whose known columns are there; one line per row, columns as in `domain`."""
        step = max(1, CELLS // max(1, self.tree.cells))
        for begin in range(0, len(codes), step):
            self._draw(codes[begin : begin + step], rng)

    def chances(self, codes: IntArray, column: str) -> FloatArray:
        """P(column | known columns) of each row."""
        return self.chances_of(codes, (column,))[0]

    def chances_of(self, codes: IntArray, columns: Sequence[str]) -> list[FloatArray]:
        """The same for several columns, each by itself; rows of which the same is known are worked out once."""
        known, back = self._distinct(codes)
        found = [np.empty((len(known), self.free.size(name))) for name in columns]
        step = max(1, CELLS // max(1, self.tree.cells))
        hosts = [host for name in columns if (host := self.tree.host((name,))) is not None]
        needed = self._up_to_the_root(hosts)
        for begin in range(0, len(known), step):
            beliefs, _ = self._beliefs(self._lines(known[begin : begin + step], members=False), needed)
            for name, host, table in zip(columns, hosts, found, strict=True):
                table[begin : begin + step] = beliefs[host].sum(axis=_others(self.tree.cliques[host], (name,))).T
        return found if back is None else [table[back] for table in found]

    def _distinct(self, codes: IntArray) -> tuple[IntArray, IntArray | None]:
        """Rows of which different things are known, and for each row which of them it is; None: each is its own."""
        used = self.domain.project(dict.fromkeys(name for part in self.parts for name in part.known))
        if len(codes) < FEW or used.cells(used.names) >= 1 << 62:
            return codes, None
        if not len(used):
            return codes[:1], np.zeros(len(codes), dtype=np.int64)
        flat = used.flat(used.names, [codes[:, self.domain.axis(name)] for name in used])
        _, first, back = np.unique(flat, return_index=True, return_inverse=True)
        return codes[first], back

    def _up_to_the_root(self, nodes: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for node in nodes:
            while node >= 0:
                found.add(node)
                node = self.tree.parents[node]
        return found

    def expected(self, lines: Iterable[Lines]) -> tuple[float, list[FloatArray]]:
        """Sum of log Z over rows with this evidence, and how often each cell of each potential is expected among them.

        One line per combination of a potential's known columns, as in `parts`.
        """
        log_z = 0.0
        found = [np.zeros(part.weights.T.shape) for part in self.parts]
        for some in lines:
            beliefs, logs = self._beliefs(some)
            log_z += float(logs.sum())
            for clique, belief, hosted in zip(self.tree.cliques, beliefs, self._hosted, strict=True):
                for free, parts in hosted.items():
                    cells = belief.sum(axis=_others(clique, free)).reshape(-1, some.rows)
                    turned = np.ascontiguousarray(cells.T)
                    for at in parts:
                        member = some.members[at]
                        found[at] += cells.sum(axis=1) if member is None else member @ turned
        return log_z, found

    def _beliefs(self, lines: Lines, needed: set[int] | None = None) -> tuple[list[FloatArray], FloatArray]:
        """For each clique (of those `needed`) the chances of its cells, and log Z, row by row."""
        beliefs: list[FloatArray] = []
        tables, log_z = self._upward(lines)
        for node, (clique, table) in enumerate(zip(self.tree.cliques, tables, strict=True)):
            if needed is not None and node not in needed:
                beliefs.append(table)  # nobody looks at it
                continue
            separator = self.tree.separators[node]
            sums = table.sum(axis=_others(clique, separator), keepdims=True)
            above = self.tree.parents[node]
            wanted: FloatArray = np.ones(sums.shape)
            if above >= 0:
                wanted = beliefs[above].sum(axis=_others(self.tree.cliques[above], separator)).reshape(sums.shape)
            beliefs.append(table * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0))
        return beliefs, log_z

    def _upward(self, lines: Lines) -> tuple[list[FloatArray], FloatArray]:
        """For each clique the products of its potentials and of what comes from below, scaled row by row; and log Z."""
        tree, free, rows = self.tree, self.free, lines.rows
        log_z = np.zeros(rows)
        tables: list[FloatArray] = [np.zeros((0,))] * len(tree.cliques)
        messages: list[list[tuple[Clique, FloatArray]]] = [[] for _ in tree.cliques]
        for node in reversed(range(len(tree.cliques))):
            clique = tree.cliques[node]
            factors = [(names, self._product(parts, lines, log_z)) for names, parts in self._hosted[node].items()]
            table = np.ones((*free.shape(clique), rows))
            for at, (names, factor) in enumerate(sorted([*factors, *messages[node]], key=lambda pair: -pair[1].size)):
                spread = factor.reshape(*_spread(free, clique, names), factor.shape[-1])
                if at:
                    table *= spread
                else:
                    table[...] = spread
            tables[node] = table
            out = table.sum(axis=_others(clique, tree.separators[node] if tree.parents[node] >= 0 else ()))
            top = out.reshape(-1, rows).max(axis=0)
            with np.errstate(divide="ignore"):
                log_z += np.log(top)
            if tree.parents[node] >= 0:
                messages[tree.parents[node]].append((tree.separators[node], out / np.where(top > 0, top, 1.0)))
        return tables, log_z

    def _product(self, parts: Sequence[int], lines: Lines, log_z: FloatArray) -> FloatArray:
        """Potentials over the same free columns, multiplied: their cells, then rows."""
        found: FloatArray | None = None
        for at in parts:
            part = self.parts[at]
            own = part.weights
            if part.known:
                own = own.take(lines.at[at], axis=1)
                log_z += part.scale[lines.at[at]]
            else:
                log_z += part.scale[0]
            found = own if found is None else found * own
        assert found is not None
        return found

    def _draw(self, codes: IntArray, rng: np.random.Generator) -> None:
        tree, free, n = self.tree, self.free, len(codes)
        tables, _ = self._upward(self._lines(codes, members=False))
        axes = {name: self.domain.axis(name) for name in free}
        for node, clique in enumerate(tree.cliques):
            separator = tree.separators[node]
            fresh = [name for name in clique if name not in separator]
            order = [clique.index(name) for name in (*separator, *fresh)]
            table = tables[node].transpose(*order, len(order))
            for name in separator:
                table = _lines_of(table, codes[:, axes[name]])
            for name in fresh:  # one column after the other: sums are cheaper than a choice among all cells
                sums = np.cumsum(table.sum(axis=tuple(range(1, table.ndim - 1))), axis=0)
                total = sums[-1]
                if not (total > 0).all():
                    raise DataError("the model rules out every row that goes with what is known; there is none to draw")
                # below the total, so that the code it falls into is a possible one
                target = np.minimum(rng.random(n) * total, np.nextafter(total, 0.0))
                codes[:, axes[name]] = (sums <= target).sum(axis=0)
                table = _lines_of(table, codes[:, axes[name]])


def _lines_of(table: FloatArray, chosen: IntArray) -> FloatArray:
    """Of a table whose last axis are rows, each row's own line of the first axis."""
    rest, n = table.shape[1:-1], table.shape[-1]
    cells = int(np.prod(rest))
    places = chosen * (cells * n) + np.arange(n) + n * np.arange(cells)[:, None]
    return np.asarray(table.ravel().take(places)).reshape(*rest, n)


def _part(domain: Domain, clique: Clique, table: FloatArray, given: set[str]) -> Part:
    known = tuple(name for name in clique if name in given)
    free = tuple(name for name in clique if name not in given)
    order = [clique.index(name) for name in (*free, *known)]
    logs = table.transpose(order).reshape(domain.cells(free), domain.cells(known))
    scale = logs.max(axis=0)
    scale[np.isneginf(scale)] = 0.0
    return Part(clique, known, free, np.exp(logs - scale), scale)


def _member(groups: IntArray, size: int) -> Any:
    """Which rows are in which group."""
    from scipy.sparse import csr_matrix

    if not len(groups):
        return None
    return csr_matrix((np.ones(len(groups)), (groups, np.arange(len(groups)))), (size, len(groups)))


def _spread(domain: Domain, clique: Clique, names: Clique) -> tuple[int, ...]:
    """The shape of a table over some names of a clique, to be multiplied with one over all of them."""
    return tuple(domain.size(name) if name in names else 1 for name in clique)


def _others(clique: Clique, names: Clique) -> tuple[int, ...]:
    """Axes of a clique's table that are summed out to leave some names, and the rows."""
    return tuple(i for i, name in enumerate(clique) if name not in names)
