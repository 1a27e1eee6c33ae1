"""Rows from a model, traded until their pair tables lie next to the model's.

Rounding fixes the counts of small cliques only: a clique with more cells than rows, and pairs of columns that share
no clique, keep noise like that of independent draws. Two kinds of trade remove most of it, and neither can make
a row the model would not make:

1. A drawn row changes places with a row of a second draw, judged by the columns and the pairs inside tree cliques.
2. Two rows with the same values on a separator trade all columns behind it. The model gives the two rows before and
   after the same probability, and every table inside a clique keeps its counts: only pairs across cliques change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import ModelTooLarge
from kagemusha.graphical.crossing import branches, within_reach
from kagemusha.graphical.sampling import grouped_order, sample_rounded
from kagemusha.schema.domain import Clique, Domain

if TYPE_CHECKING:
    from kagemusha.graphical.markov_field import MarkovField

TRADED_ROWS = 1 << 18
"""Beyond this many rows sampling adds next to nothing to a model's own error: they are rounded only."""
TRADED_CELLS = 1 << 21
"""Watched tables have at most this many cells in all."""
MOST_VISITS = 1 << 26
"""Tables watched in one pass over the rows, times rows: well below a second."""
MOST_TRADES = 1 << 28
"""Tables looked at in all passes of `trade_towards`, times rows: some ten seconds."""
MOST_TABLES = 1 << 10
COPIED = 1 << 22
"""Codes that are in memory twice for a moment, where that is faster."""
PASSES = 8
SWEEPS = 2
EXCHANGE_GAIN = 0.5
"""An exchange also disturbs the larger tables that rounding got right, so it has to pay this much."""
CROSS_GAIN = 1e-9
"""Trades that gain less than rounding errors could go back and forth."""
COLUMN_WEIGHT, LAST_WEIGHT = 4.0, 128.0
"""A column's table counts this many times as much as a pair's table: its error is part of every table of the column.
The second in the last pass of `trade_towards`."""


def sample_refined(
    model: MarkovField,
    rows: int,
    *,
    rng: np.random.Generator,
    columns: Sequence[str] | None = None,
    pairs: Mapping[Clique, FloatArray] | None = None,
) -> IntArray:
    """Codes like those of `sample_rounded`, with pair tables far nearer to the model's.

    Only tables over `columns` (all by default) are watched; all columns are returned. A table with more cells than
    rows is not watched, and where there is too much to watch, columns next to each other in the tree go first. Rows
    come in random order. `pairs` are tables (expected counts, names in domain order) that the model has no room for:
    rows are traded towards them, see `trade_towards`.
    """
    codes = sample_rounded(model, rows, rng=rng)
    if pairs:
        trade_towards(model, codes, pairs, rng=rng, columns=columns)
        return _shuffled(codes, rng)
    if not 1 < rows <= TRADED_ROWS or model.total <= 0.0:
        return codes
    names = model.domain.canonical(model.domain.names if columns is None else columns)
    inside: list[Clique] = []
    across: list[Clique] = []
    for pair in combinations(names, 2):
        (across if model.tree.host(pair) is None else inside).append(pair)
    if inside:
        _exchange_rows(model, codes, [*((name,) for name in names), *inside], rng)
    if across:
        _cross_rows(model, codes, across, rng)
    return _shuffled(codes, rng)


def _shuffled(codes: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows in random order: a row's place would show when it was offered a trade."""
    order = rng.permutation(len(codes))
    if codes.size <= COPIED:
        return codes[order]
    for axis in range(codes.shape[1]):  # column by column, in place: a long table is not there twice
        codes[:, axis] = codes[order, axis]
    return codes


def trade_towards(
    model: MarkovField,
    codes: IntArray,
    pairs: Mapping[Clique, FloatArray],
    *,
    rng: np.random.Generator,
    columns: Sequence[str] | None = None,
    most: int = MOST_TRADES,
) -> None:
    """Exchange rows of the model for others of its rows until they have these tables of pairs, too; in place.

    Every row is one the model makes, and among them those are kept that bring the pairs nearer to the tables given, the
    columns and the pairs inside cliques staying near the model's own. Pairs that are neither follow: what they owe to
    both is no longer what the model alone says. As many passes as look at `most` tables, times rows, but one at least;
    then one over the first rows in which columns count most.
    """
    from kagemusha.graphical.kernels import exchange

    rows = len(codes)
    names = model.domain.canonical(model.domain.names if columns is None else columns)
    singles: list[Clique] = [(name,) for name in names]
    inside: list[Clique] = [p for p in combinations(names, 2) if p not in pairs and model.tree.host(p) is not None]
    watched = _affordable(model.domain, [*singles, *pairs], [1] * (len(singles) + len(pairs)), rows)
    room = max(0, min(most // (2 * rows), MOST_TABLES) - len(watched)) if rows else 0
    watched += sorted((p for p in inside if model.domain.cells(p) <= rows), key=model.domain.cells)[:room]
    if rows < 2 or model.total <= 0.0 or not any(clique in pairs for clique in watched):
        return
    tables = WatchedTables.of(model, watched, rows, pairs)
    excess = tables.excess(codes)

    def trades(start: int, weight: FloatArray) -> int:
        block = codes[start : start + TRADED_ROWS]
        spare = sample_rounded(model, len(block), rng=rng)
        return int(exchange(block, spare, 0, EXCHANGE_GAIN, *tables.layout(), excess, weight))

    for _ in range(int(np.clip(most // (rows * len(watched)), 1, PASSES))):
        if sum(trades(start, tables.weight) for start in range(0, rows, TRADED_ROWS)) < 0.005 * rows:
            break
    # many pairs at once take columns along, and few trades bring them back
    trades(0, np.where(tables.single, LAST_WEIGHT / COLUMN_WEIGHT, 1.0) * tables.weight)


@dataclass(frozen=True, eq=False)
class WatchedTables:
    """Tables over one or two columns, laid out as `kernels` wants them."""

    left: IntArray
    right: IntArray
    stride: IntArray
    start: IntArray
    expected: FloatArray
    weight: FloatArray
    single: npt.NDArray[np.bool_]
    """Which cells are those of a column."""

    @classmethod
    def of(
        cls, model: MarkovField, cliques: Sequence[Clique], rows: int, given: Mapping[Clique, FloatArray] | None = None
    ) -> WatchedTables:
        """Expected counts of `rows` rows over each clique, or those `given`, towards which rows are traded."""
        domain, given = model.domain, given or {}
        own = [clique for clique in cliques if clique not in given]
        found = {**given, **dict(zip(own, model.project_exactly(own), strict=True))}
        tables = [found[clique].ravel() for clique in cliques]
        sizes = np.array([table.size for table in tables], dtype=np.int64)
        expected = np.concatenate(tables) * (rows / model.total)
        single = np.repeat([len(clique) == 1 for clique in cliques], sizes)
        # |e| ≤ (e²/s + s)/2, and near equality where s is the size of e: with s = √n the squares bound the L1 error.
        weight = np.where(single, COLUMN_WEIGHT, 1.0) / np.sqrt(expected + 1.0)
        return cls(
            left=np.array([domain.axis(clique[0]) for clique in cliques], dtype=np.int64),
            right=np.array([domain.axis(clique[-1]) for clique in cliques], dtype=np.int64),
            stride=np.array([0 if len(c) == 1 else domain.size(c[1]) for c in cliques], dtype=np.int64),
            start=np.cumsum(sizes) - sizes,
            expected=expected,
            weight=weight,
            single=single,
        )

    def layout(self, chosen: IntArray | slice = slice(None)) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Where the cells of some of the tables are."""
        return self.left[chosen], self.right[chosen], self.stride[chosen], self.start[chosen]

    def excess(self, codes: IntArray) -> FloatArray:
        """Counts of the rows minus expected counts."""
        from kagemusha.graphical.kernels import add_rows

        excess = -self.expected
        add_rows(codes, *self.layout(), excess)
        return excess


def _affordable(domain: Domain, cliques: Sequence[Clique], visits: Sequence[int], rows: int) -> list[Clique]:
    """The tables to watch within the limits; `visits` says how often one pass looks at each.

    Those with the fewest visits go first: their columns are next to each other in the tree. Then the smallest.
    """
    cells = [domain.cells(clique) for clique in cliques]
    chosen = []
    cells_left, visits_left = TRADED_CELLS, MOST_VISITS // rows
    for i in sorted(range(len(cliques)), key=lambda i: (visits[i], cells[i])):
        if cells[i] <= min(rows, cells_left) and visits[i] <= visits_left:
            chosen.append(i)
            cells_left -= cells[i]
            visits_left -= visits[i]
    return [cliques[i] for i in sorted(chosen)]


def _exchange_rows(model: MarkovField, codes: IntArray, cliques: Sequence[Clique], rng: np.random.Generator) -> None:
    from kagemusha.graphical.kernels import exchange

    rows = len(codes)
    watched = _affordable(model.domain, cliques, [1] * len(cliques), rows)
    if not watched:
        return
    tables = WatchedTables.of(model, watched, rows)
    excess = tables.excess(codes)
    spare = sample_rounded(model, rows, rng=rng)
    for shift in rng.integers(0, rows, size=PASSES):
        if exchange(codes, spare, shift, EXCHANGE_GAIN, *tables.layout(), excess, tables.weight) < 0.01 * rows:
            break


def _cross_rows(model: MarkovField, codes: IntArray, pairs: Sequence[Clique], rng: np.random.Generator) -> None:
    from kagemusha.graphical.kernels import cross

    rows, domain, tree = len(codes), model.domain, model.tree
    sides = branches(tree)
    ends = np.array([[domain.axis(name) for name in pair] for pair in pairs])
    # A pair changes at every edge between its columns. Pairs left out are shuffled, and shuffled they were before.
    visits = (np.abs(sides[:, ends[:, 0]] - sides[:, ends[:, 1]]) == 2).sum(axis=0)
    watched = _affordable(domain, pairs, visits.tolist(), rows)
    watched = within_reach(tree, watched)
    if not watched:
        return
    try:
        tables = WatchedTables.of(model, watched, rows)
    except ModelTooLarge:
        return  # expected counts across such cliques do not fit into memory: what rounding gave stays
    excess = tables.excess(codes)
    for _ in range(SWEEPS):
        for node in range(1, len(tree.cliques)):
            side, separator = sides[node], tree.separators[node]
            changed = np.flatnonzero(np.abs(side[tables.left] - side[tables.right]) == 2)
            if len(changed):
                first, second = partners(domain.flat(separator, codes.T), domain.cells(separator), rng)
                branch = np.flatnonzero(side == 1)
                cross(codes, first, second, branch, CROSS_GAIN, *tables.layout(changed), excess, tables.weight)


def partners(group: IntArray, groups: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Two rows of the same group at each position, no row twice, in random order.

    Group after group, the first ones would make up for the excess of all: B and C would depend on each other there.
    """
    order = grouped_order(group, groups, rng)
    sorted_group = group[order]
    place = np.arange(len(group)) - np.searchsorted(sorted_group, sorted_group)
    pairs = np.flatnonzero((place[:-1] % 2 == 0) & (place[1:] == place[:-1] + 1))
    pairs = rng.permutation(pairs)
    return order[pairs], order[pairs + 1]
