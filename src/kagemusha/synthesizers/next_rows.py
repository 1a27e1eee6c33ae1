"""How the rows of one parent follow each other: lagged tables, and a field that draws the next row given the one before.

The rows themselves have a model already. Asked for here is only how a column goes on from row to row: its interaction
with itself, one row earlier, over few groups of codes. Then potentials are scaled, on rows drawn from the model, until
the next rows have these tables and still are rows of the model: so nothing drifts along a sequence. All but the
interactions is made of released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.marginals import NoisyMarginal
from kagemusha.models.moments import Moments, Rows, fitted_lag
from kagemusha.queries.interactions import Interaction, NoisyInteraction, grouped
from kagemusha.release.curator import Curator
from kagemusha.schema import Measured, Modelled
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.views import View, lag_clique
from kagemusha.synthesizers.candidates import gaussian_sigma

NOISE = 0.3
"""Groups are so few that the noise of a lagged table is about this share of its rows, in L1."""

LEAST, MOST = 2, 12
"""Groups of a column in a lagged table."""

DRAWN = 5_000
"""Rows from the model on which potentials are scaled."""

ROUNDS = 40
"""Steps of that scaling, at most."""

LEVELS = 6
"""Rounds in which the weights of the order's values are scaled."""

HELD = 2.0
"""Rows by which a change of a potential is held back."""

COLUMNS = 0.25
"""Share of the budget for the columns of the rows before, by themselves."""


def lagged(view: View) -> list[tuple[str, str, str]]:
    """(column, the same in the row before, what is asked beside it): itself; of the order column, the gap."""
    order = "" if view.gap is None else view.gap.name.removeprefix("gap of ")
    gap = "" if view.gap is None else view.gap.name
    return [(own, c.name, gap if own == order else own) for own, c in view.previous]


@dataclass(frozen=True, eq=False)
class Lagged:
    """What was released of how rows follow each other."""

    columns: Mapping[str, NoisyMarginal]
    """Of the rows before; their last code: there is none."""
    interactions: Sequence[NoisyInteraction]


def measure_next(curator: Curator, rows: MarkovGenerator, view: View) -> Lagged:
    """Spend what the curator has left: on columns of the rows before, then on their interactions with what follows.

    Columns have fewer groups where noise is large.
    """
    pairs = lagged(view)
    domain = curator.domain
    sizes = np.array([domain.size(before) for _, before, _ in pairs], dtype=np.float64) ** (2 / 3)
    costs = [float(x) for x in COLUMNS * curator.remaining * sizes / sizes.sum()]
    columns = curator.measure([(before,) for _, before, _ in pairs], costs)
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
    cells = np.array([np.prod(query.shape) for query in queries], dtype=np.float64) ** (2 / 3)
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


def next_rows(
    rows: MarkovGenerator,
    view: View,
    measured: Lagged,
    axis: Measured | None,
    context: Sequence[Codes],
    counts: IntArray,
    counts_as: int,
    rng: np.random.Generator,
) -> MarkovField:
    """The field over the row before, what is known, and the row: scaled until lagged tables and rows fit.

    `context` are parents as their model draws them, `counts` how many rows each has; `axis` is the order column.
    """
    domain = _with_previous(rows.field.domain, view)
    base = Rows(rows, view)
    chosen, places = _chosen(counts, counts_as, rng)
    context = [column[chosen] for column in context]
    order = () if view.gap is None else base.order
    given = base.with_groups(view.given, *order)
    earlier, later, moments = _known(base, domain, measured, axis, context, places, rng)
    alone = _calibrated(rows, given, later)
    plan = ConditionalField(_field(rows.field.domain, 1.0, alone), given)
    for lines in (earlier, later):
        plan.draw(lines, rng)
    before = np.hstack([_before(view, rows.field.domain, earlier, places > 1), later])

    potentials: dict[Clique, FloatArray] = dict(alone)
    known = [*(c.name for _, c in view.previous), *given]
    targets = {clique: _counts(domain, clique, before) for clique in potentials}
    for released in measured.interactions:
        clique = released.query.clique
        if clique[1] not in known:
            follows = _shares_after(released, measured, rows)
            first, after = before[places == 1], before[places > 1]
            margins = _counts(domain, clique[:1], after), _counts(domain, clique[1:], after)
            table = with_margins(follows * margins[0][:, None], *margins)
            targets[clique] = table + _counts(domain, clique, first)
            potentials[clique] = np.zeros(table.shape)
    found = scaled(domain, potentials, known, before, targets)
    if moments is not None:  # known by then, so that their own potentials mean nothing
        found[lag_clique(view, moments.axis.name)], found[moments.axis.name,] = moments.lag, moments.level
    return _field(domain, rows.total, found)


def _chosen(counts: IntArray, counts_as: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows of parents as they are counted: each parent's by as much as it counts, any place."""
    weights = np.minimum(counts, counts_as).astype(np.float64)
    if not weights.any():
        return np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    chosen = rng.choice(len(counts), DRAWN, p=weights / weights.sum())
    return chosen, 1 + np.floor(rng.random(DRAWN) * counts[chosen]).astype(np.int64)


def _before(view: View, domain: Domain, earlier: IntArray, there: NDArray[np.bool_]) -> IntArray:
    """The columns of the row before; their last codes where there is none."""
    columns = [np.where(there, earlier[:, domain.axis(own)], c.size - 1) for own, c in view.previous]
    return np.stack(columns, axis=1)


def _calibrated(rows: MarkovGenerator, given: Sequence[str], lines: IntArray) -> dict[Clique, FloatArray]:
    """Potentials of the rows by themselves under which rows with what is known of them have the model's tables.

    The model knows what is known together only roughly; used as it is, it would count the same evidence twice.
    """
    domain = rows.field.domain
    cliques = [c for c in rows.field.potentials if any(name not in given for name in c)]
    targets = {}
    for clique, table in zip(cliques, rows.field.project_many(cliques), strict=True):
        known = tuple(name for name in clique if name in given)
        free = tuple(name for name in clique if name not in given)
        order = [clique.index(name) for name in (*known, *free)]
        flat = np.maximum(table.transpose(order), 0).reshape(domain.cells(known), -1)
        flat = flat / flat.sum()
        actual = _counts(domain, known, lines).reshape(-1) if known else np.array([float(len(lines))])
        follows = flat / np.maximum(flat.sum(axis=1, keepdims=True), 1e-12)
        wanted = with_margins(follows * actual[:, None], actual, flat.sum(axis=0) * len(lines))
        targets[clique] = wanted.reshape(domain.shape((*known, *free))).transpose(np.argsort(order))
    return scaled(domain, rows.field.potentials, given, lines, targets)


def scaled(
    domain: Domain,
    potentials: Mapping[Clique, FloatArray],
    known: Sequence[str],
    rows: IntArray,
    targets: Mapping[Clique, FloatArray],
) -> dict[Clique, FloatArray]:
    """Potentials under which, given what is known of some rows, the other columns have these counts with them.

    The most likely change of the potentials (L-BFGS), held back a little so that cells of few rows say little.
    """
    from scipy.optimize import minimize

    cliques = [c for c in potentials if any(name not in set(known) for name in c)]
    sizes = [domain.cells(clique) for clique in cliques]
    ends = np.cumsum(sizes)

    def changed(change: FloatArray) -> dict[Clique, FloatArray]:
        parts = np.split(change, ends[:-1])
        return {**potentials, **{c: potentials[c] + p.reshape(domain.shape(c)) for c, p in zip(cliques, parts, strict=True)}}

    wanted = np.concatenate([targets[clique].ravel() for clique in cliques])

    def loss(change: FloatArray) -> tuple[float, FloatArray]:
        plan = ConditionalField(_field(domain, 1.0, changed(change)), known)
        log_z, tables = plan.expected(rows)
        expected = {}
        for part, table in zip(plan.parts, tables, strict=True):
            names = (*part.known, *part.free)
            order = [part.clique.index(name) for name in names]
            expected[part.clique] = table.reshape(domain.shape(names)).transpose(np.argsort(order))
        found = np.concatenate([expected[clique].ravel() for clique in cliques])
        value = log_z - float(wanted @ change) + HELD / 2 * float(change @ change)
        return value / len(rows), (found - wanted + HELD * change) / len(rows)

    best = minimize(loss, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS, "maxcor": 20})
    return changed(best.x)


def _field(domain: Domain, total: float, potentials: Mapping[Clique, FloatArray]) -> MarkovField:
    """A field that is only drawn from given what is known: its own tree is never built."""
    return MarkovField(domain, total, JunctionTree(domain, ((),), (-1,), ((),)), dict(potentials))


def _with_previous(domain: Domain, view: View) -> Domain:
    columns = [c for _, c in view.previous]
    return Domain((*(c.name for c in columns), *domain.names), (*(c.size for c in columns), *domain.sizes))


def _known(
    rows: Rows,
    domain: Domain,
    measured: Lagged,
    axis: Measured | None,
    context: Sequence[Codes],
    places: IntArray,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray, Moments | None]:
    """What is known of the rows before some places and of those at them; and what the order column is drawn by."""
    gap = rows.view.gap
    if gap is None or axis is None:
        return rows.known(context, np.maximum(places - 1, 1)), rows.known(context, places), None
    clique = lag_clique(rows.view, axis.name)
    lag = np.zeros((domain.size(clique[0]), gap.size))
    level = np.zeros(axis.size)
    moments = Moments(rows, axis, gap, lag, level)
    released = [m for m in measured.interactions if m.query.clique == clique]
    if released:
        there = places > 1
        some = [column[there] for column in context]
        known = rows.known(some, places[there] - 1)
        rows.given().draw(known, rng)
        values = axis.draw(known[:, rows.generator.field.domain.axis(axis.name)], rng=rng).numbers
        wanted = _shares_after(released[0], measured, rows.generator)
        wanted[:, -1] = 0.0
        wanted /= np.maximum(wanted.sum(axis=1, keepdims=True), 1e-12)
        lag = fitted_lag(moments, rows.known(some, places[there]), values.astype(np.float64), wanted)
        moments = replace(moments, lag=lag)
    wanted = _shares(rows.generator.project((axis.name,))) * len(places)
    at = rows.generator.field.domain.axis(axis.name)
    for _ in range(LEVELS):
        _, later = _walked(moments, context, places, rng)
        actual = np.bincount(later[:, at], minlength=axis.size)
        level = level + 0.7 * np.log((wanted + 1) / (actual + 1))
        moments = replace(moments, level=level)
    return *_walked(moments, context, places, rng), moments


def _walked(
    moments: Moments, context: Sequence[Codes], places: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """What is known of the rows before these places and of those at them, order and gaps walked from the first row on."""
    rows = moments.rows
    known = rows.known(context, np.ones(len(places), dtype=np.int64))
    value = moments.first(known, rng)
    earlier, later = known.copy(), known.copy()
    for place in range(2, int(places.max()) + 1):
        there = np.flatnonzero(places >= place)
        now = rows.known([column[there] for column in context], np.full(len(there), place))
        value[there] = moments.after(now, value[there], rng)
        last = places[there] == place
        later[there[last]] = now[last]
        earlier[there[~last]] = now[~last]
    return earlier, later


def _counts(domain: Domain, clique: Clique, codes: IntArray) -> FloatArray:
    counts = np.bincount(domain.flat(clique, codes.T), minlength=domain.cells(clique))
    return counts.reshape(domain.shape(clique)).astype(np.float64)


def _shares_after(released: NoisyInteraction, measured: Lagged, rows: MarkovGenerator) -> FloatArray:
    """What follows each code, as shares: the interaction with released margins, and even inside groups."""
    earlier, own = released.query.clique
    groups = released.query.groups
    centred = released.values / max(1.0, rows.total)
    for axis in range(2):
        centred = centred - centred.mean(axis=axis, keepdims=True)
    margins = [_shares(measured.columns[earlier].values), _shares(rows.project((own,)))]
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


def _shares(values: Any) -> FloatArray:
    mass = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    mass = mass + 1e-6 * max(1.0, mass.sum())
    return np.asarray(mass / mass.sum())
