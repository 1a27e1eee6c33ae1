"""What was measured, and the model that explains it: as many of the measured pairs as it has room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import GrowingTree, MarkovField
from kagemusha.queries.interactions import Interaction, NoisyInteraction, grouped
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE
from kagemusha.synthesizers.kage.columns import NoisyColumns
from kagemusha.synthesizers.kage.constants import LADDER, PASSES, ROW
from kagemusha.synthesizers.kage.grouping import merge, sums
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit, corrected, fit_interactions


@dataclass(frozen=True, eq=False)
class Measurements:
    """Noisy columns, which of their codes share a group in the model, and noisy interactions."""

    domain: Domain
    columns: NoisyColumns
    groups: Mapping[str, IntArray]
    ordered: Mapping[str, int]
    """How many of a column's groups have an order: the first ones."""
    interactions: Sequence[NoisyInteraction] = ()
    outside: Sequence[NoisyInteraction] = ()
    """Measured, but the model has no room for them."""
    kept: Sequence[Clique] = ()
    """Tables that must be right: the model always has room for them."""

    @classmethod
    def of_columns(cls, domain: Domain, columns: NoisyColumns) -> Measurements:
        """Nothing but columns, every code alone."""
        return cls(domain, columns, {name: np.arange(domain.size(name)) for name in domain}, dict.fromkeys(domain, 0))

    @cached_property
    def coarse(self) -> Domain:
        """The domain of the groups, which the model is fitted on."""
        return Domain(self.domain.names, tuple(int(self.groups[n].max()) + 1 for n in self.domain))

    @cached_property
    def tables(self) -> Mapping[str, FloatArray]:
        """The likely counts of each column."""
        return {n: self.columns.table(n) for n in self.domain}

    @property
    def shared_out(self) -> int:
        """Cells of the tables that share groups out among their codes again."""
        groups = ((len(g), int(g.max()) + 1) for g in self.groups.values())
        return sum(codes * count for codes, count in groups if count < codes)

    def room(self, limit: int, most: int) -> int:
        """Cells that the model over groups may have: up to `limit`, and `most` with those that share groups out.

        All columns always fit.
        """
        return max(sum(self.coarse.sizes), min(limit, most - self.shared_out))

    def query(self, clique: Clique, noise: float, given: Mapping[str, IntArray] | None = None) -> Interaction:
        """The clique's interaction, with codes merged that hold less than a share of their row's noise (per cell).

        `given` are the groups of columns for which they are decided already. The widest column is merged first.
        """
        found = {name: (given or {}).get(name, self.groups[name]) for name in clique}
        sizes = {name: int(group.max()) + 1 for name, group in found.items()}
        for name in sorted(set(clique) - set(given or {}), key=lambda name: (-sizes[name], clique.index(name))):
            others = np.prod(list(sizes.values()), dtype=np.float64) / sizes[name]
            group = self.groups[name]
            first = np.unique(group, return_index=True)[1]
            tree = [level[first] for level in self.columns.trees.get(name, ())]
            counts = sums(self.tables[name], group)
            found[name] = merge(counts, ROW * float(others) * noise, self.ordered[name], tree=tree)[group]
            sizes[name] = int(found[name].max()) + 1
        return Interaction(clique, tuple(found[name] for name in clique))

    def on_groups(self, query: Interaction) -> Interaction:
        """The same query on the model's groups instead of codes."""
        firsts = (np.unique(self.groups[name], return_index=True)[1] for name in query.clique)
        return Interaction(query.clique, tuple(g[first] for g, first in zip(query.groups, firsts, strict=True)))

    def fit(self, *, max_cells: int, start: FloatArray | None = None, steps: int | None = None) -> InteractionFit:
        """The model over groups; `start` is what an earlier fit to the same columns and first interactions found.

        Without `steps` it ends when it has converged, or after the most passes there may be.
        """
        columns = [self.columns.grouped(n, self.groups[n]) for n in self.domain]
        interactions = [NoisyInteraction(self.on_groups(m.query), m.values, m.sigma) for m in self.interactions]
        return fit_interactions(
            self.coarse,
            columns,
            interactions,
            self.columns.total,
            max_cells=max_cells,
            max_steps=steps,
            start=start,
        )

    def generator(self, fit: InteractionFit) -> MarkovGenerator:
        """The model over all codes: within a group they follow their column."""
        whole = MarkovGenerator(*self._expanded(fit.field))
        return replace(whole, pairs=corrected(whole, [m for m in self.outside if len(m.query.clique) == 2]))

    def _expanded(self, model: MarkovField) -> tuple[MarkovField, tuple[str, ...]]:
        """The same model over all codes, and the names of the hidden columns that hold the groups.

        Each column with merged codes becomes a child of its hidden column.
        """
        merged = [name for name, g in self.groups.items() if len(g) > g.max() + 1]
        hidden = {name: _unused(f"{name} (group)", self.domain.names) for name in merged}
        if not hidden:
            return model, ()
        names = (*self.domain.names, *hidden.values())
        wider = Domain(names, (*self.domain.sizes, *(self.coarse.size(name) for name in hidden)))
        potentials = {}
        for clique, table in model.potentials.items():
            renamed = [hidden.get(name, name) for name in clique]
            target = wider.canonical(renamed)
            potentials[target] = table.transpose([renamed.index(name) for name in target])
        for name, column in hidden.items():
            potentials[name, column] = _shares(self.groups[name], self.tables[name])
        return MarkovField.build(wider, model.total, potentials), tuple(hidden.values())


def _shares(group: IntArray, table: FloatArray) -> FloatArray:
    """Log P(code | group), -inf outside the group."""
    whole = sums(table, group)
    share = np.divide(table, whole[group], out=1 / np.bincount(group)[group], where=whole[group] > 0)
    out = np.full((len(group), len(whole)), -np.inf)
    out[np.arange(len(group)), group] = np.log(np.maximum(share, 1e-12))
    return out


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "'"
    return name


def grown(
    known: Measurements,
    *,
    max_cells: int,
    importance: Callable[[Clique], float],
    start: FloatArray | None = None,
    steps: int | None = None,
) -> tuple[Measurements, InteractionFit]:
    """The model of as many of the measured sets as fit into `max_cells`; the others stay aside as `outside`.

    A spanning forest first, then in rounds what the model gets most wrong, in a tree that grows to its limit. `start`
    is what an earlier fit to the same columns and the first interactions found.
    """
    everything = GrowingTree(known.coarse, max_cells, known.kept)
    if all(everything.add(m.query.clique) for m in known.interactions):
        return known, known.fit(max_cells=max_cells, start=start, steps=steps)
    waiting = list(known.interactions)
    inside: list[NoisyInteraction] = []
    fit = replace(known, interactions=()).fit(max_cells=max_cells, steps=1)
    for part in LADDER:
        values = excess(known, fit.field, waiting) * np.array([importance(m.query.clique) for m in waiting])
        added = _taken(known, inside, waiting, values, int(part * max_cells), spanning=not inside)
        inside = [*inside, *(waiting[i] for i in added)]
        waiting = [m for i, m in enumerate(waiting) if i not in added]
        known = replace(known, interactions=inside, outside=waiting)
        if added and part < 1:
            fit = known.fit(max_cells=max_cells, start=fit.theta, steps=PASSES[0] // 2)
    return known, known.fit(max_cells=max_cells, start=fit.theta, steps=steps)


def excess(known: Measurements, model: MarkovField, measured: Sequence[NoisyInteraction]) -> FloatArray:
    """How far each measured interaction is from what the model expects, beyond what its noise explains, in records."""
    tables = model.project_many([m.query.clique for m in measured])
    found = np.empty(len(measured))
    for i, (m, table) in enumerate(zip(measured, tables, strict=True)):
        expected = grouped(table, known.on_groups(m.query).groups)
        for axis in range(expected.ndim):
            expected = expected - expected.mean(axis=axis, keepdims=True)
        distance = float(np.abs(m.values - expected).sum())
        found[i] = max(distance**2 - (MEAN_ABSOLUTE * m.sigma * m.query.scale) ** 2, 0.0) ** 0.5
    return found


def _taken(
    known: Measurements,
    inside: Sequence[NoisyInteraction],
    waiting: Sequence[NoisyInteraction],
    values: FloatArray,
    limit: int,
    *,
    spanning: bool,
) -> set[int]:
    """The most valuable ones that fit: a forest if `spanning`, else two per column; they may set others right."""
    tree = GrowingTree(known.coarse, limit, [*known.kept, *(m.query.clique for m in inside)])
    part = {name: i for i, name in enumerate(known.domain)}
    times = dict.fromkeys(known.domain, 0)
    added = set()
    for i in np.argsort(-values, kind="stable").tolist():
        a, b = waiting[i].query.clique[:2]
        if values[i] <= 0 or (part[a] == part[b] if spanning else max(times[a], times[b]) >= 2):
            continue
        if tree.add(waiting[i].query.clique):
            added.add(i)
            times[a] += 1
            times[b] += 1
            part = {name: part[a] if p == part[b] else p for name, p in part.items()} if spanning else part
    return added
