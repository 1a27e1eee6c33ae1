"""What is asked of how the rows of a parent follow each other: columns of the row before, and what follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import Interaction, NoisyInteraction, grouped
from kagemusha.release.curator import Curator
from kagemusha.schema import Modelled
from kagemusha.schema.views import View
from kagemusha.synthesizers.candidates import gaussian_sigma

NOISE = 0.3
"""Groups are so few that the noise of a lagged table is about this share of its rows, in L1."""

LEAST, MOST = 2, 12
"""Groups of a column in a lagged table."""

EMPHASIS = 4.0
"""How much what follows as the target counts, as in kage."""

COLUMNS = 0.25
"""Share of the budget for the columns of the rows before, by themselves."""


def lagged(view: View, target: str | None = None) -> list[tuple[str, str, str]]:
    """(column, the same in the row before, what is asked beside it): itself; of the order column, the gap.

    A target is asked beside every column of the row before, since any of them may tell it.
    """
    order = "" if view.gap is None else view.gap.name.removeprefix("gap of ")
    gap = "" if view.gap is None else view.gap.name
    found = [(own, c.name, gap if own == order else own) for own, c in view.previous]
    aimed = target in {own for own, _ in view.previous} and target != order
    return found + [(own, c.name, str(target)) for own, c in view.previous if aimed and own not in (order, target)]


@dataclass(frozen=True, eq=False)
class Lagged:
    """What was released of how rows follow each other."""

    columns: Mapping[str, NoisyMarginal]
    """Of the rows before; their last code: there is none."""
    interactions: Sequence[NoisyInteraction]


def measure_next(curator: Curator, rows: MarkovGenerator, view: View, target: str | None = None) -> Lagged:
    """Spend what the curator has left: on columns of the rows before, then on their interactions with what follows.

    Columns have fewer groups where noise is large. What follows as the target counts `EMPHASIS` times.
    """
    pairs = lagged(view, target)
    domain = curator.domain
    before_rows = [column.name for _, column in view.previous]
    sizes = np.array([domain.size(before) for before in before_rows], dtype=np.float64) ** (2 / 3)
    costs = [float(x) for x in COLUMNS * curator.remaining * sizes / sizes.sum()]
    columns = curator.measure([(before,) for before in before_rows], costs)
    share = gaussian_sigma(curator.unit, curator.remaining / len(pairs)) / max(1.0, rows.total)
    most = int(np.clip(np.sqrt(NOISE / (0.8 * share)), LEAST, MOST))
    declared = {c.name: c for c in view.schema.modelled}
    queries = []
    for own, before, after in pairs:
        group = groups_of(declared[own], rows.project((own,)), most)
        earlier = np.append(group, group.max() + 1) if domain.size(before) > len(group) else group
        later = group if after == own else groups_of(declared[after], rows.project((after,)), most)
        queries.append(Interaction((before, after), (earlier, later)))
    queries = [query for query in queries if min(query.shape) > 1]
    counts = [EMPHASIS if query.clique[1] == target else 1.0 for query in queries]
    cells = np.array([c * np.prod(q.shape) for c, q in zip(counts, queries, strict=True)], dtype=np.float64) ** (2 / 3)
    costs = [float(x) for x in curator.remaining * cells / max(1e-9, cells.sum()) * (1 - 1e-9)]
    return Lagged({m.clique[0]: m for m in columns}, curator.answer(queries, costs) if queries else [])


def groups_of(column: Modelled, counts: FloatArray, most: int) -> IntArray:
    """The group of every code: neighbours of about equal mass on an axis, the largest labels and the rest elsewhere."""
    mass = np.maximum(counts, 0.0) + 1e-9
    if len(mass) <= most:
        return np.arange(len(mass))
    if column.axis is None:
        largest = np.argsort(-mass, kind="stable")[: most - 1]
        group = np.full(len(mass), most - 1)
        group[largest] = np.arange(most - 1)
        return np.unique(group, return_inverse=True)[1].astype(np.int64)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    group = np.minimum((middle * most).astype(np.int64), most - 1)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def shares_after(released: NoisyInteraction, measured: Lagged, rows: MarkovGenerator) -> FloatArray:
    """What follows each code, as shares: the interaction with released margins, and even inside groups."""
    earlier, own = released.query.clique
    groups = released.query.groups
    centred = released.values / max(1.0, rows.total)
    for axis in range(2):
        centred = centred - centred.mean(axis=axis, keepdims=True)
    margins = [shares(measured.columns[earlier].values), shares(rows.project((own,)))]
    coarse = [grouped(margin, (group,)) for margin, group in zip(margins, groups, strict=True)]
    table = centred + coarse[0][:, None] / len(coarse[1]) + coarse[1][None, :] / len(coarse[0]) - 1 / centred.size
    table = np.maximum(table, 1e-3 * np.outer(*coarse))
    table = with_margins(table, *coarse)
    inside = [margin / c[group] for margin, c, group in zip(margins, coarse, groups, strict=True)]
    fine = table[np.ix_(*groups)] * np.outer(*inside)
    return np.asarray(fine / np.maximum(fine.sum(axis=1, keepdims=True), 1e-12))


def with_margins(table: FloatArray, lines: FloatArray, columns: FloatArray) -> FloatArray:
    """A table scaled until its margins are these: rows follow each other without a drift."""
    for _ in range(50):
        table = table * (lines / np.maximum(table.sum(axis=1), 1e-12))[:, None]
        table = table * (columns / np.maximum(table.sum(axis=0), 1e-12))[None, :]
    return table


def shares(values: Any) -> FloatArray:
    """Counts as shares, all above nothing."""
    mass = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    mass = mass + 1e-6 * max(1.0, mass.sum())
    return np.asarray(mass / mass.sum())
