"""How the rows of one parent follow each other: a field that draws the next row given the one before.

The rows themselves have a model already. Asked for here is only how a column goes on from row to row: its interaction
with itself, one row earlier, over few groups of codes. Then potentials are scaled, on rows drawn from the model, until
the next rows have these tables and still are rows of the model: so nothing drifts along a sequence. All but the
interactions is made of released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.models.moments import Moments, Rows, fitted_lag
from kagemusha.schema import Measured
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.views import View, lag_clique
from kagemusha.synthesizers.lagged import Lagged, shares, shares_after, with_margins

DRAWN = 4_000
"""Rows from the model on which potentials are scaled."""

FEWEST, CELLS = 1_000, 1 << 24
"""Fewer of them where the tables of all would have more cells than that, but not less than so many."""

ROUNDS = 40
"""Steps of that scaling, at most."""

ALONE = 15
"""Steps at most for rows by themselves: they are only drawn to see which rows come before."""

LEVELS = 6
"""Rounds in which the weights of the order's values are scaled."""

HELD = 2.0
"""Rows by which a change of a potential is held back."""


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
    order = () if view.gap is None else base.order
    given = base.with_groups(view.given, *order)
    cells = ConditionalField(_field(rows.field.domain, 1.0, rows.field.potentials), given).tree.cells
    drawn = int(np.clip(CELLS // cells, min(FEWEST, DRAWN), DRAWN))
    chosen, places = _chosen(counts, counts_as, drawn, rng)
    context = [column[chosen] for column in context]
    earlier, later, moments = _known(base, domain, measured, axis, context, places, rng)
    alone, targets = _calibrated(rows, given, later)
    plan = ConditionalField(_field(rows.field.domain, 1.0, alone), given)
    for lines in (earlier, later):
        plan.draw(lines, rng)
    before = np.hstack([_before(view, rows.field.domain, earlier, places > 1), later])

    potentials: dict[Clique, FloatArray] = dict(alone)
    known = [*(c.name for _, c in view.previous), *given]
    for released in measured.interactions:
        clique = released.query.clique
        if clique[1] not in known:
            follows = shares_after(released, measured, rows)
            first, after = before[places == 1], before[places > 1]
            margins = _counts(domain, clique[:1], after), _counts(domain, clique[1:], after)
            table = with_margins(follows * margins[0][:, None], *margins)
            targets[clique] = table + _counts(domain, clique, first)
            potentials[clique] = np.zeros(table.shape)
    found = scaled(domain, potentials, known, before, targets)
    if moments is not None:  # known by then, so that their own potentials mean nothing
        found[lag_clique(view, moments.axis.name)], found[moments.axis.name,] = moments.lag, moments.level
    return _field(domain, rows.total, found)


def _chosen(counts: IntArray, counts_as: int, rows: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows of parents as they are counted: each parent's by as much as it counts, any place."""
    weights = np.minimum(counts, counts_as).astype(np.float64)
    if not weights.any():
        return np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    chosen = rng.choice(len(counts), rows, p=weights / weights.sum())
    return chosen, 1 + np.floor(rng.random(rows) * counts[chosen]).astype(np.int64)


def _before(view: View, domain: Domain, earlier: IntArray, there: NDArray[np.bool_]) -> IntArray:
    """The columns of the row before; their last codes where there is none."""
    columns = [np.where(there, earlier[:, domain.axis(own)], c.size - 1) for own, c in view.previous]
    return np.stack(columns, axis=1)


Tables = dict[Clique, FloatArray]


def _calibrated(rows: MarkovGenerator, given: Sequence[str], lines: IntArray) -> tuple[Tables, Tables]:
    """Potentials of the rows by themselves under which rows with what is known of them have the model's tables.

    And these tables, as rows with what is known of these lines have them: what the rows drawn are scaled to once more,
    since counts of some thousand drawn rows are noise themselves. The model knows what is known together only roughly;
    used as it is, it would count the same evidence twice.
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
    return scaled(domain, rows.field.potentials, given, lines, targets, ALONE), targets


def scaled(
    domain: Domain,
    potentials: Mapping[Clique, FloatArray],
    known: Sequence[str],
    rows: IntArray,
    targets: Mapping[Clique, FloatArray],
    rounds: int | None = None,
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
        return {
            **potentials,
            **{c: potentials[c] + p.reshape(domain.shape(c)) for c, p in zip(cliques, parts, strict=True)},
        }

    wanted = np.concatenate([targets[clique].ravel() for clique in cliques])
    base = ConditionalField(_field(domain, 1.0, potentials), known)
    lines = base.lines(rows)

    def loss(change: FloatArray) -> tuple[float, FloatArray]:
        plan = base.with_potentials(changed(change))
        log_z, tables = plan.expected(lines)
        expected = {}
        for part, table in zip(plan.parts, tables, strict=True):
            names = (*part.known, *part.free)
            order = [part.clique.index(name) for name in names]
            expected[part.clique] = table.reshape(domain.shape(names)).transpose(np.argsort(order))
        found = np.concatenate([expected[clique].ravel() for clique in cliques])
        value = log_z - float(wanted @ change) + HELD / 2 * float(change @ change)
        return value / len(rows), (found - wanted + HELD * change) / len(rows)

    best = minimize(
        loss, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options={"maxiter": rounds or ROUNDS, "maxcor": 20}
    )
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
        wanted = shares_after(released[0], measured, rows.generator)
        wanted[:, -1] = 0.0
        wanted /= np.maximum(wanted.sum(axis=1, keepdims=True), 1e-12)
        lag = fitted_lag(moments, rows.known(some, places[there]), values.astype(np.float64), wanted)
        moments = replace(moments, lag=lag)
    wanted = shares(rows.generator.project((axis.name,))) * len(places)
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
    """What is known of the rows before these places and of those at them, walked from the first row on."""
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
