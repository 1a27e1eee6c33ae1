"""Tables of measured pairs that the model has no room for: what it expects of them, moved towards what was measured.

How far is told by the known noise: of the squared distance between both, what noise does not explain is signal, and the table moves
by the share of signal (James and Stein's estimate). Rows are then traded towards these tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.queries.interactions import NoisyInteraction, grouped
from kagemusha.schema.domain import Clique

MOST_CELLS = 1 << 21
"""Of all tables together; those nearest to the model are left out."""

LEAST = 0.02
"""A cell keeps at least this share of what the model expects: the model must be able to make its rows."""

RAKES = 25


def corrected(generator: MarkovGenerator, measured: Sequence[NoisyInteraction]) -> dict[Clique, FloatArray]:
    """A table over codes for each pair, with the model's columns; pairs that noise explains are left out."""
    domain = generator.domain
    tables = generator.field.project_many([m.query.clique for m in measured])
    columns = dict(zip(domain.names, generator.project_many([(name,) for name in domain]), strict=True))
    found: dict[Clique, FloatArray] = {}
    moved: dict[Clique, float] = {}
    for m, table in zip(measured, tables, strict=True):
        ratio = _ratio(m, table)
        if ratio is not None:
            pair = m.query.clique
            found[pair] = _raked(table * ratio[np.ix_(*m.query.groups)], *(columns[name] for name in pair))
            moved[pair] = float(np.abs(found[pair] - table).sum())
    kept: dict[Clique, FloatArray] = {}
    room = MOST_CELLS
    for pair in sorted(found, key=lambda pair: -moved[pair]):
        if found[pair].size <= room:
            kept[pair] = found[pair]
            room -= found[pair].size
    return {pair: kept[pair] for pair in found if pair in kept}


def _ratio(measured: NoisyInteraction, table: FloatArray) -> FloatArray | None:
    """What every group of the model's table must be multiplied by; None where there is nothing to correct."""
    expected = grouped(table, measured.query.groups)
    interaction = expected
    for axis in range(2):
        interaction = interaction - interaction.mean(axis=axis, keepdims=True)
    distance = measured.values - interaction
    for axis in range(2):
        distance = distance - distance.mean(axis=axis, keepdims=True)
    noise = measured.sigma**2 * float(np.prod([1 - 1 / n for n in distance.shape]))
    squared = float((distance**2).mean())
    if squared <= noise:
        return None
    wanted = np.maximum(expected + (1 - noise / squared) * distance, LEAST * expected)
    return np.divide(wanted, expected, out=np.ones_like(expected), where=expected > 0)


def _raked(table: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The table with these sums, by proportional fitting."""
    for _ in range(RAKES):
        table = table * np.divide(rows, s := table.sum(axis=1), out=np.zeros_like(rows), where=s > 0)[:, None]
        table = table * np.divide(columns, s := table.sum(axis=0), out=np.zeros_like(columns), where=s > 0)
    return table
