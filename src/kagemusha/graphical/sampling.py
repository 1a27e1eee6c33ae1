"""Rows from a model: column by column down the junction tree, by rounding or independently.

Each column is drawn given the columns before it in its tree clique: rows with the same context form a group, and the
group's counts of the new column are fixed first (`tables_of`, which needs no rows). Then they are dealt out to its rows
in random order (`Tables.rows`). Without that fresh shuffle two columns that share a parent would be dealt in the same
order and come out correlated. Since the tables come first, a table of any length can be dealt hand by hand (`hands`):
the hands together are the rows of one draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.graphical.queries import Factor
from kagemusha.schema.domain import Clique, Domain

if TYPE_CHECKING:
    from kagemusha.graphical.markov_field import MarkovField

_Deal = Callable[[int, IntArray, IntArray], IntArray]
"""The counts of a step's new column in each group, from the number of the step, the groups and their sizes."""


def sample_rounded(model: MarkovField, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of `rows` rows (one column per attribute, in domain order) whose counts stay next to the model's.

    Every group's counts are its expected counts rounded up or down; what rounding owes a code is carried to the
    next group, so that sums over groups (every marginal) stay next to the model's too. Far less noise than
    independent draws. The rows come in random order.
    """
    return rounded_tables(model, rows, rng).rows(rng)


def sample_iid(model: MarkovField, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of `rows` independent draws from the model, one column per attribute, in domain order."""

    def deal(sizes: IntArray, conditional: FloatArray) -> IntArray:
        return np.asarray(rng.multinomial(sizes, conditional), dtype=np.int64)

    return _tables_of(model, rows, deal).rows(rng)


def rounded_tables(model: MarkovField, rows: int, rng: np.random.Generator) -> Tables:
    """The counts of `sample_rounded`."""
    from kagemusha.graphical.kernels import round_with_carry

    def deal(sizes: IntArray, conditional: FloatArray) -> IntArray:
        counts = np.empty(conditional.shape, dtype=np.int64)
        carry = rng.random(conditional.shape[1]) - 0.5
        round_with_carry(_whole(conditional, sizes), sizes, carry, rng.random(conditional.shape), counts)
        return counts

    return _tables_of(model, rows, deal)


@dataclass(frozen=True, eq=False)
class Step:
    """How often each code of a column stands in each group of rows with one context; groups that have rows only."""

    name: str
    context: Clique
    groups: IntArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class Tables:
    """Counts that some rows have over the cliques of a tree, and the rows they may be dealt out to."""

    tree: JunctionTree
    size: int
    steps: Sequence[Step]

    def rows(self, rng: np.random.Generator) -> IntArray:
        """Codes with exactly these counts, dealt at random; one column per attribute, in domain order."""
        domain = self.tree.domain
        codes = np.zeros((self.size, len(domain)), dtype=np.int64)
        if self.size:
            for step in self.steps:
                column = np.tile(np.arange(step.counts.shape[1]), len(step.groups))
                order = grouped_order(domain.flat(step.context, codes.T), domain.cells(step.context), rng)
                codes[order, domain.axis(step.name)] = np.repeat(column, step.counts.ravel())
        return codes

    def hands(self, sizes: Sequence[int], rng: np.random.Generator) -> Iterator[Tables]:
        """These rows dealt out at random to hands of these sizes, which sum to `size`; one after the other.

        A hand is what a random subset of the rows still there would hold: without replacement, group by group
        (hypergeometric). So all hands' rows together are the rows of `rows`, in a random order.
        """
        left = [step.counts.copy() for step in self.steps]

        def deal(at: int, groups: IntArray, wanted: IntArray) -> IntArray:
            place = np.searchsorted(self.steps[at].groups, groups)
            taken = _without_replacement(left[at][place], wanted, rng)
            left[at][place] -= taken
            return taken

        for size in sizes:
            yield _walk(self.tree, size, deal)


def _without_replacement(counts: IntArray, wanted: IntArray, rng: np.random.Generator) -> IntArray:
    """From each row of counts, as many as wanted, drawn like balls from an urn."""
    taken = np.zeros_like(counts)
    wanted, rest = wanted.copy(), counts.sum(axis=1)
    for code in range(counts.shape[1]):
        good = counts[:, code]
        rest = rest - good
        # where nothing is left to choose, nothing is drawn: that is most of the cells
        some = np.flatnonzero((good > 0) & (wanted > 0) & (rest > 0))
        taken[some, code] = rng.hypergeometric(good[some], rest[some], wanted[some])
        last = (rest == 0) & (good > 0)
        taken[last, code] = wanted[last]
        wanted = wanted - taken[:, code]
    return taken


def _whole(conditional: FloatArray, sizes: IntArray) -> FloatArray:
    """Expected counts, with those that are whole numbers but for rounding errors made whole."""
    expected: FloatArray = conditional * sizes[:, None]
    nearest = np.rint(expected)
    # A cell of tiny probability must keep its fraction: only counts near 1 or more are snapped.
    return np.where((np.abs(expected - nearest) < 1e-9) & (nearest > 0), nearest, expected)


def _tables_of(model: MarkovField, rows: int, split: Callable[[IntArray, FloatArray], IntArray]) -> Tables:
    """Counts of so many rows of the model, each group's split by `split` from its size and the model's shares."""
    if rows < 0:
        raise ValueError(f"rows must be at least 0, got {rows}")
    tree, domain = model.tree, model.domain
    steps = list(_order(tree))

    def deal(at: int, groups: IntArray, sizes: IntArray) -> IntArray:
        node, context, name = steps[at]
        table = Factor(domain, tree.cliques[node], model.clique_marginals[node])
        joint = table.project([*context, name]).transpose((*context, name)).values
        conditional = joint.reshape(domain.cells(context), domain.size(name))[groups]
        return split(sizes, conditional / conditional.sum(axis=1, keepdims=True))

    return _walk(tree, rows, deal)


def _order(tree: JunctionTree) -> Iterator[tuple[int, Clique, str]]:
    """Node, context and new column of every step: in each clique, columns of many codes first."""
    domain = tree.domain
    for node, clique in enumerate(tree.cliques):
        known = [name for name in clique if name in tree.separators[node]]
        for name in sorted((name for name in clique if name not in known), key=domain.size, reverse=True):
            yield node, domain.canonical(known), name
            known.append(name)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a table that are not empty: their codes column by column, and their counts."""

    codes: dict[str, IntArray]
    counts: IntArray

    def groups(self, domain: Domain, context: Clique) -> tuple[IntArray, IntArray]:
        """The contexts that have rows, in rising order, and how many each has."""
        flat = np.zeros(len(self.counts), dtype=np.int64)
        for name in context:
            flat = flat * domain.size(name) + self.codes[name]
        # counts below 2⁵³ are exact in doubles
        sizes = np.bincount(flat, weights=self.counts, minlength=domain.cells(context))
        groups = np.flatnonzero(sizes)
        return groups, sizes[groups].astype(np.int64)


def _walk(tree: JunctionTree, rows: int, deal: _Deal) -> Tables:
    """The tables of all steps, from the root down; a group's rows are known before its new column is dealt."""
    domain = tree.domain
    nodes: list[_Cells] = []
    steps: list[Step] = []
    if rows:
        for at, (node, context, name) in enumerate(_order(tree)):
            if node == len(nodes):
                parent = tree.parents[node]
                nodes.append(nodes[parent] if context else _Cells({}, np.array([rows])))
            groups, sizes = nodes[node].groups(domain, context)
            counts = deal(at, groups, sizes)
            steps.append(Step(name, context, groups, counts))
            row, code = np.nonzero(counts)
            found = np.unravel_index(groups[row], domain.shape(context)) if context else ()
            nodes[node] = _Cells({**dict(zip(context, found, strict=True)), name: code}, counts[row, code])
    return Tables(tree, rows, steps)


def grouped_order(group: IntArray, groups: int, rng: np.random.Generator) -> IntArray:
    """Positions of all rows, group by group, each group's rows in a fresh random order."""
    if groups == 1:
        return rng.permutation(len(group))
    bits = 62 - groups.bit_length()
    return np.argsort((group << bits) | rng.integers(0, 1 << bits, size=len(group)))
