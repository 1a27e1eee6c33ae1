"""Rows from a model: column by column down the junction tree, by rounding or independently.

Each column is drawn given the columns before it in its tree clique: rows with the same context form a group, the
group's counts of the new column are fixed first, then dealt out to its rows in random order. Without that fresh
shuffle two columns that share a parent would be dealt in the same order and come out correlated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical.queries import Factor
from kagemusha.schema.domain import Clique, Domain

if TYPE_CHECKING:
    from kagemusha.graphical.markov_field import MarkovField

_Deal = Callable[[IntArray, FloatArray], IntArray]


def sample_rounded(model: MarkovField, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of `rows` rows (one column an attribute, in domain order) whose counts stay next to the model's.

    Every group's counts are its expected counts rounded up or down; what rounding owes a code is carried to the
    next group, so that sums over groups (every marginal) stay next to the model's too. Far less noise than
    independent draws. The rows come in random order.
    """
    from kagemusha.graphical.kernels import round_with_carry

    def deal(sizes: IntArray, conditional: FloatArray) -> IntArray:
        counts = np.empty(conditional.shape, dtype=np.int64)
        carry = rng.random(conditional.shape[1]) - 0.5
        round_with_carry(_whole(conditional, sizes), sizes, carry, rng.random(conditional.shape), counts)
        return counts

    return _sample(model, rows, deal, rng)


def sample_iid(model: MarkovField, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of `rows` independent draws from the model, one column an attribute, in domain order."""

    def deal(sizes: IntArray, conditional: FloatArray) -> IntArray:
        return np.asarray(rng.multinomial(sizes, conditional), dtype=np.int64)

    return _sample(model, rows, deal, rng)


def _whole(conditional: FloatArray, sizes: IntArray) -> FloatArray:
    """Expected counts, with those that are whole numbers but for rounding errors made whole."""
    expected: FloatArray = conditional * sizes[:, None]
    nearest = np.rint(expected)
    # A cell of tiny probability must keep its fraction: only counts near 1 or more are snapped.
    return np.where((np.abs(expected - nearest) < 1e-9) & (nearest > 0), nearest, expected)


def _sample(model: MarkovField, rows: int, deal: _Deal, rng: np.random.Generator) -> IntArray:
    if rows < 0:
        raise ValueError(f"rows must be at least 0, got {rows}")
    tree, domain = model.tree, model.domain
    codes = np.zeros((rows, len(domain)), dtype=np.int64)
    if rows == 0:
        return codes
    for node, clique in enumerate(tree.cliques):
        known = [name for name in clique if name in tree.separators[node]]
        new = sorted((name for name in clique if name not in known), key=domain.size, reverse=True)
        table = Factor(domain, clique, model.clique_marginals[node])
        for name in new:
            context = domain.canonical(known)
            joint = table.project([*context, name]).transpose((*context, name)).values
            joint = joint.reshape(domain.cells(context), domain.size(name))
            codes[:, domain.axis(name)] = _column(context_of(domain, codes, context), joint, deal, rng)
            known.append(name)
    return codes


def _column(group: IntArray, joint: FloatArray, deal: _Deal, rng: np.random.Generator) -> IntArray:
    """One new column: `group` is each row's context, `joint` the model's table of context by new code."""
    sizes = np.bincount(group, minlength=len(joint))
    present = np.flatnonzero(sizes)
    conditional = joint[present]
    conditional = conditional / conditional.sum(axis=1, keepdims=True)
    counts = deal(sizes[present], conditional)
    values = np.repeat(np.tile(np.arange(joint.shape[1]), len(present)), counts.ravel())
    column = np.empty(len(group), dtype=np.int64)
    column[grouped_order(group, len(joint), rng)] = values
    return column


def context_of(domain: Domain, codes: IntArray, names: Clique) -> IntArray:
    """Each row's cell in the table over `names`: rows with the same context form a group."""
    group = np.zeros(len(codes), dtype=np.int64)
    for name in names:
        group = group * domain.size(name) + codes[:, domain.axis(name)]
    return group


def grouped_order(group: IntArray, groups: int, rng: np.random.Generator) -> IntArray:
    """Positions of all rows, group by group, each group's rows in a fresh random order."""
    if groups == 1:
        return rng.permutation(len(group))
    bits = 62 - groups.bit_length()
    return np.argsort((group << bits) | rng.integers(0, 1 << bits, size=len(group)))
