"""Rare codes under one roof: what a noisy table cannot tell apart is modelled as one group and shared out later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical import MarkovField
from kagemusha.queries.interactions import Interaction
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain

Tree = Sequence[IntArray]
"""For each level, fine ones first, the group of every code."""


def trees_of(schema: Schema | None) -> Mapping[str, Tree]:
    """The trees of the columns that have one."""
    found: dict[str, Tree] = {}
    for column in schema.modelled if schema is not None else ():
        if levels := column.tree():
            found[column.name] = [np.unique(level, return_inverse=True)[1].astype(np.int64) for level in levels[::-1]]
    return found


def merge_by_tree(counts: FloatArray, threshold: float, tree: Tree, *, most: int | None = None) -> IntArray:
    """The group of every code: alone at or above `threshold`, else in the smallest group that reaches it.

    What no group holds together shares the last one. With `most`, the threshold rises until there are no more groups.
    """
    threshold = max(threshold, 1e-9)
    while True:
        group = _merged(counts, threshold, tree)
        if most is None or int(group.max()) + 1 <= max(1, most):
            return group
        threshold *= 1.5


def _merged(counts: FloatArray, threshold: float, tree: Tree) -> IntArray:
    label = np.full(len(counts), -1, dtype=np.int64)
    label[counts >= threshold] = np.flatnonzero(counts >= threshold)
    taken = len(counts)
    for level in tree:
        rest = np.flatnonzero(label < 0)
        held = np.bincount(level[rest], counts[rest], minlength=int(level.max()) + 1)
        enough = held[level[rest]] >= threshold
        label[rest[enough]] = taken + level[rest[enough]]
        taken += int(level.max()) + 1
    label[label < 0] = taken
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


ROW, ORDERED_ROW = 0.5, 0.3
"""In an interaction a code stays alone if it holds more than this share of the noise in its row; the second for
ordered columns."""

MERGED = 0.1
"""Codes without an order that share a group hold at most this share of the records: what is merged is not
distinguished."""


def merge_rare(counts: FloatArray, threshold: float, *, most: int | None = None, share: float = 1.0) -> IntArray:
    """The group of every code: those below `threshold` share the last group, all others stay alone.

    The last group holds at most a `share` of all records, the rarest codes. With `most` there are no more groups than
    that: the rarest codes share one, the first of equals staying alone.
    """
    rare = counts < threshold
    if share < 1:
        order = np.argsort(counts, kind="stable")
        rare[order] &= np.cumsum(np.maximum(counts[order], 0.0)) <= share * counts.sum()
    if most is not None and most < len(counts):
        rare[np.argsort(-counts, kind="stable")[most - 1 :]] = True
    if rare.sum() < 2:
        return np.arange(len(counts))
    group = np.cumsum(~rare) - 1
    group[rare] = int((~rare).sum())
    return np.asarray(group, dtype=np.int64)


def merge_neighbours(counts: FloatArray, threshold: float, n_values: int, *, most: int | None = None) -> IntArray:
    """The group of every code of an ordered column: neighbours share one, about `threshold` records each.

    A code above the threshold stays alone; a stretch of smaller ones between two of them is cut into parts of about
    equal counts. The first `n_values` codes have an order, each of the others stays alone. With `most` the threshold is
    raised until there are no more groups than that.
    """
    while True:
        group = _neighbours(counts[:n_values], threshold)
        groups = int(group.max(initial=-1)) + 1 + len(counts) - n_values
        if most is None or groups <= most:
            return np.concatenate([group, np.arange(groups - len(counts) + n_values, groups)])
        if threshold > counts.sum():
            return merge_rare(counts, threshold, most=most)
        threshold = max(1.3 * threshold, float(counts.sum()) / (4 * len(counts)))


def merge(
    counts: FloatArray,
    rare: float,
    small: float,
    noise: float,
    ordered: int,
    *,
    tree: Tree = (),
    most: int | None = None,
) -> IntArray:
    """Groups of a column: neighbours with `small` · `noise` records if ordered, else codes below `rare` · `noise`."""
    if tree:  # codes that belong together share a group with their family
        return merge_by_tree(counts, rare * noise, tree, most=most)
    if ordered > 2:
        return merge_neighbours(counts, small * noise, ordered, most=most)
    return merge_rare(counts, rare * noise, most=most, share=MERGED)


def _neighbours(counts: FloatArray, threshold: float) -> IntArray:
    if not len(counts):
        return np.zeros(0, dtype=np.int64)
    alone = counts >= threshold
    # stretches are numbered by the lone codes before them; a lone code is a stretch of its own
    stretch = np.cumsum(alone) + np.cumsum(np.concatenate([[False], alone[:-1]]))
    mass = np.bincount(stretch, counts)
    parts = np.where(np.bincount(stretch, alone) > 0, 1, np.maximum(1, np.floor(mass / max(threshold, 1e-9))))
    # where the middle of a code lies within its stretch, from 0 to 1, says which part it is in
    upto = np.cumsum(counts) - counts / 2 - np.concatenate([[0.0], np.cumsum(mass)])[stretch]
    place = np.divide(upto, mass[stretch], out=np.zeros(len(counts)), where=mass[stretch] > 0)
    part = np.minimum((place * parts[stretch]).astype(np.int64), parts[stretch].astype(np.int64) - 1)
    changes = np.concatenate([[0], (np.diff(stretch) != 0) | (np.diff(part) != 0)])
    return np.cumsum(changes).astype(np.int64)


def sums(counts: FloatArray, group: IntArray) -> FloatArray:
    """Counts of each group."""
    return np.asarray(np.bincount(group, counts, minlength=int(group.max()) + 1), dtype=np.float64)


def coarse_domain(domain: Domain, groups: Mapping[str, IntArray]) -> Domain:
    """The domain of the groups."""
    return Domain(domain.names, tuple(int(groups[n].max()) + 1 for n in domain))


def merged_interaction(
    tables: Mapping[str, FloatArray],
    groups: Mapping[str, IntArray],
    ordered: Mapping[str, int],
    clique: Clique,
    noise: float,
    trees: Mapping[str, Tree] | None = None,
    *,
    given: Mapping[str, IntArray] | None = None,
) -> Interaction:
    """A clique's interaction with codes merged that hold less than a share of their row's noise (`noise` a cell).

    `ordered` says how many of a column's groups have an order; `given` are the groups of columns for which they are
    decided already.
    """
    counts = [sums(tables[name], groups[name]) for name in clique]
    sizes = [len(c) for c in counts]
    found = [np.zeros(0, dtype=np.int64)] * len(clique)
    firsts = [np.unique(groups[name], return_index=True)[1] for name in clique]
    for axis, name in enumerate(clique):
        if given and name in given:
            found[axis] = given[name][firsts[axis]]
            sizes[axis] = int(found[axis].max()) + 1
    for axis in sorted(range(len(clique)), key=lambda i: -sizes[i]):
        name = clique[axis]
        if given and name in given:
            continue
        others = np.prod(sizes, dtype=np.float64) / sizes[axis]
        tree = [level[firsts[axis]] for level in (trees or {}).get(name, ())]
        found[axis] = merge(counts[axis], ROW, ORDERED_ROW, float(others) * noise, ordered[name], tree=tree)
        sizes[axis] = int(found[axis].max()) + 1
    return Interaction(clique, tuple(m[groups[n]] for m, n in zip(found, clique, strict=True)))


def on_groups(query: Interaction, groups: Mapping[str, IntArray]) -> Interaction:
    """The same query on the model's groups instead of codes."""
    firsts = (np.unique(groups[name], return_index=True)[1] for name in query.clique)
    return Interaction(query.clique, tuple(g[first] for g, first in zip(query.groups, firsts, strict=True)))


def expand(
    field: MarkovField, domain: Domain, groups: Mapping[str, IntArray], tables: Mapping[str, FloatArray]
) -> tuple[MarkovField, tuple[str, ...]]:
    """The same model over all codes, and the names of the hidden columns that hold the groups.

    Each column with merged codes becomes a child of its hidden column: within a group, codes follow `tables`.
    """
    hidden = {name: _unused(f"{name} (group)", domain.names) for name, g in groups.items() if len(g) > g.max() + 1}
    if not hidden:
        return field, ()
    names = (*domain.names, *hidden.values())
    sizes = (*domain.sizes, *(field.domain.size(name) for name in hidden))
    wider = Domain(names, sizes)
    potentials = {}
    for clique, table in field.potentials.items():
        renamed = [hidden.get(name, name) for name in clique]
        target = wider.canonical(renamed)
        potentials[target] = table.transpose([renamed.index(name) for name in target])
    for name, column in hidden.items():
        potentials[name, column] = _shares(groups[name], tables[name])
    return MarkovField.build(wider, field.total, potentials), tuple(hidden.values())


def _shares(group: IntArray, table: FloatArray) -> FloatArray:
    """Log P(code | group), -inf outside the group."""
    whole = sums(table, group)
    members = np.bincount(group)
    safe = np.where(whole > 0, whole, 1.0)
    share = np.where(whole[group] > 0, table / safe[group], 1 / members[group])
    tiny = 1e-12
    out = np.full((len(group), len(whole)), -np.inf)
    out[np.arange(len(group)), group] = np.log(np.maximum(share, tiny))
    return out


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "'"
    return name
