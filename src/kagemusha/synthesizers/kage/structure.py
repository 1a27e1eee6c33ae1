"""Which of the measured pairs the model holds, if it has no room for all: decided once they are known, so for nothing.

Like the rounds of AIM, but every round asks what was released already instead of the table: fit the pairs in the model, see
which of the others it gets most wrong, take those in, and so on with a larger model each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.graphical import GrowingTree, MarkovField
from kagemusha.queries.interactions import NoisyInteraction, grouped
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.grouping import on_groups
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.state import Gathered
from kagemusha.synthesizers.noise_cost import MEAN_ABSOLUTE

ROUNDS = 8
FIRST = 64
"""The first model has room for this part of the cells of the last."""
SKETCH = 30
"""Passes of a fit that only serves to see what is still wrong."""
EACH = 2
"""Pairs of one column that a round takes in: many that are wrong together may be set right by a few."""


def grown(
    known: Gathered, *, max_cells: int, importance: Callable[[Clique], float], start: FloatArray | None = None
) -> tuple[Gathered, InteractionFit]:
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


def excess(known: Gathered, field: MarkovField, pairs: Sequence[NoisyInteraction]) -> FloatArray:
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
    known: Gathered,
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
