"""Columns and pairs in two instalments: a model of the first says which still need measuring, and which it then holds.

How far every pair is from independence was released at the start. A model fitted to a few pairs implies a distance for
each of the others; a pair whose distance it implies follows from the pairs that were measured, and only the others are
worth the rest of the budget. Measuring a pair twice tells as much as measuring it once at the sum of both costs, so
nothing is lost by waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.graphical import GrowingTree, MarkovField
from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import Interaction, NoisyInteraction, combined, grouped
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE
from kagemusha.synthesizers.kage.choice import ChosenPairs
from kagemusha.synthesizers.kage.grouping import on_groups
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.state import Measurements, NoisyColumns, measure_columns

ROUNDS = 8
FIRST = 64
"""The first model has room for this part of the cells of the last."""
SKETCH = 30
"""Passes of a fit that only serves to see what is still wrong."""
EACH = 2
"""Pairs of one column that a round takes in: many that are wrong together may be set right by a few."""


def grown(
    known: Measurements, *, max_cells: int, importance: Callable[[Clique], float], start: FloatArray | None = None
) -> tuple[Measurements, InteractionFit]:
    """The model of as many of the measured pairs as fit into `max_cells`; the others stay aside as `outside`.

    `start` is what an earlier fit to the same columns and the first pairs found.
    """
    pairs = [m.query.clique for m in known.interactions]
    everything = GrowingTree(known.coarse, max_cells)
    if all(everything.add(pair) for pair in pairs):
        return known, known.fit(max_cells=max_cells, start=start)
    waiting = list(known.interactions)
    inside: list[NoisyInteraction] = []
    fit = replace(known, interactions=()).fit(max_cells=max_cells, steps=1)
    for step in range(ROUNDS):
        limit = int(max_cells / FIRST ** (1 - (step + 1) / ROUNDS))
        values = excess(known, fit.field, waiting) * np.array([importance(m.query.clique) for m in waiting])
        added = _taken(known, inside, waiting, values, limit, spanning=step == 0)
        inside += added
        waiting = [m for m in waiting if not any(m is other for other in added)]
        known = replace(known, interactions=inside, outside=waiting)
        if step == ROUNDS - 1:
            return known, known.fit(max_cells=max_cells, start=fit.theta)
        if added:
            fit = known.fit(max_cells=max_cells, start=fit.theta, steps=SKETCH)
    raise AssertionError("the last round returns")


def excess(known: Measurements, field: MarkovField, pairs: Sequence[NoisyInteraction]) -> FloatArray:
    """How far each measured interaction is from what the model expects, beyond what its noise explains, in records."""
    tables = field.project_many([m.query.clique for m in pairs])
    found = np.empty(len(pairs))
    for i, (m, table) in enumerate(zip(pairs, tables, strict=True)):
        expected = grouped(table, on_groups(m.query, known.groups).groups)
        for axis in range(expected.ndim):
            expected = expected - expected.mean(axis=axis, keepdims=True)
        distance = float(np.abs(m.values - expected).sum())
        noise = MEAN_ABSOLUTE * m.sigma * m.query.scale
        found[i] = max(distance**2 - noise**2, 0.0) ** 0.5
    return found


def _taken(
    known: Measurements,
    inside: Sequence[NoisyInteraction],
    waiting: Sequence[NoisyInteraction],
    values: FloatArray,
    limit: int,
    *,
    spanning: bool,
) -> list[NoisyInteraction]:
    """The most valuable pairs that fit: a forest if `spanning`, else not too many of one column."""
    tree = GrowingTree(known.coarse, limit, [m.query.clique for m in inside])
    part = {name: i for i, name in enumerate(known.domain)}
    times = dict.fromkeys(known.domain, 0)
    added = []
    for i in np.argsort(-values, kind="stable"):
        a, b = waiting[i].query.clique
        if values[i] <= 0 or (part[a] == part[b] if spanning else max(times[a], times[b]) >= EACH):
            continue
        if tree.add((a, b)):
            added.append(waiting[i])
            times[a] += 1
            times[b] += 1
            part = {name: part[a] if p == part[b] else p for name, p in part.items()} if spanning else part
    return added


LEAST_PART = 1e-6
"""Smaller parts of an instalment are not worth a question."""

DOUBT = 0.15
"""A pair keeps at least this share of the distance that the model implies: tables as far from independence need not
be alike."""

COLUMNS = -1
"""Stands for all columns where pairs go by their place."""


@dataclass
class Purchases:
    """What was measured so far, what it cost (ρ), and what the model makes of it."""

    curator: Curator
    queries: Sequence[Interaction]
    marginals: list[NoisyMarginal]
    measured: dict[int, NoisyInteraction] = field(default_factory=dict)
    had: dict[int, float] = field(default_factory=dict)

    def spend(self, choice: ChosenPairs, cost: float) -> None:
        """Bring what columns and pairs have had in all towards the shares that were chosen."""
        wanted = {COLUMNS: choice.columns, **dict(zip(choice.pairs, choice.shares, strict=True))}
        costs = topped_up(self.had, {i: share for i, share in wanted.items() if share > 0}, cost)
        for i, part in costs.items():
            self.had[i] = self.had.get(i, 0.0) + part
        if (columns := costs.pop(COLUMNS, 0.0)) > 0:
            self.marginals += measure_columns(self.curator, columns)
        answers = self.curator.answer([self.queries[i] for i in costs], list(costs.values()))
        for i, new in zip(costs, answers, strict=True):
            self.measured[i] = combined(self.measured[i], new) if i in self.measured else new

    def known(self, before: Measurements) -> Measurements:
        """The same groups with all that was measured."""
        was = before.columns
        columns = NoisyColumns.of(self.marginals, self.curator.public_rows(), was.trees, was.ordered)
        return replace(before, columns=columns, interactions=list(self.measured.values()))


def unexplained(
    field: MarkovField,
    pairs: Sequence[Clique],
    scores: NoisyVector,
    products: Sequence[FloatArray],
    base: FloatArray,
    measured: Mapping[int, object],
) -> FloatArray:
    """How far each pair is thought to be from the model, in records.

    `scores` are noisy distances from the `products` of columns. Of the squared distance from independence, the model
    has its own part and what it does not know the other, as for a projection; and where scores differ from what the
    model implies by no more than their noise, there is nothing that it does not know.
    """
    tables = field.project_soon(pairs)
    implied = np.array([float(np.abs(t - p).sum()) for t, p in zip(tables, products, strict=True)])
    together = np.sqrt(implied**2 + base**2)
    gap = scores.values - together
    others = np.array([i not in measured for i in range(len(pairs))])
    squared = float((gap[others] ** 2).mean()) if others.any() else 0.0
    signal = max(0.0, 1 - scores.sigma**2 / squared) if squared > 0 else 0.0
    gap = np.maximum(signal * gap, 0.0)
    return np.asarray(np.maximum(np.sqrt(gap * (2 * together + gap)), DOUBT * implied), dtype=np.float64)


def topped_up(had: Mapping[int, float], wanted: Mapping[int, float], cost: float) -> dict[int, float]:
    """How to split `cost` so that all that was spent comes nearest to the shares `wanted`: nobody gives anything back.

    The lowest level L with Σ max(0, L·wanted − had) = cost, found by leaving out those that have had more than their
    share.
    """
    places = sorted(wanted, key=lambda i: had.get(i, 0.0) / wanted[i])
    shares: FloatArray = np.cumsum([wanted[i] for i in places])
    before: FloatArray = np.cumsum([had.get(i, 0.0) for i in places])
    levels = (cost + before) / shares
    reached = np.array([had.get(i, 0.0) / wanted[i] for i in places])
    # the first so many are below the level that they would share, the next one is not
    count = int(np.flatnonzero(levels > reached)[-1]) + 1
    level = float(levels[count - 1])
    raw = {i: level * wanted[i] - had.get(i, 0.0) for i in places[:count]}
    worth = {i: x for i, x in raw.items() if x > LEAST_PART * cost}
    scale = cost / sum(worth.values())
    return {i: x * scale for i, x in worth.items()}
