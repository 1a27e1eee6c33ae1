"""What a fit will take, estimated beforehand: about, with a model of usual size, and at most, as its own limits allow.

How large a model grows depends on how columns depend on each other, which no schema says, so one figure cannot be both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kagemusha.schema import Domain
from kagemusha.synthesizers.kage.constants import LADDER, PASSES
from kagemusha.synthesizers.protocol import Plan

DEPENDENCE = 0.125
"""What is lost of a pair that nobody measures: the L1 distance from independence of typical columns. Pairs that noise
would hide are not measured, so it decides how large a model usually grows, too."""

CONNECTED = 0.6
"""How many columns of a clique come with a neighbour of a column more, where few pairs are measured."""

GROUPS = 64
"""Codes of a column that noise leaves apart in pairs, about: the others are merged, so a column of thousands of
codes hides no pair but its own."""

PER_CELL, FOLDED, PER_TABLE = 4.5e-9, 1 / 16, 3e-6
"""Seconds that one pass of a fit takes for a cell of the model, at most, what share more for each column of its
cliques, whose pairs are folded into them, and seconds for a table that was measured."""

A_COLUMN = 4
"""Pairs that are measured for each column, about."""

SETTLED = 1 << 10
"""Cells of a model so small that it agrees long before it has made all passes it may."""

USUAL_PASSES = 170
"""Passes of all fits together until they agree."""

PER_PAIR, PER_COUNT = 4e-4, 2e-8
"""Seconds for a pair of columns that is looked at, and for a row of it."""


def largest(cost: Plan, domain: Domain, rows: int) -> Plan:
    """The plan where the model grows to its largest size, and every fit makes as many passes as it may."""
    if not cost.growing:
        return cost
    cells = LADDER[-1] * cost.cells
    grown = sum(LADDER[:-1]) * PASSES[0] / 2  # while a model without room for everything grows
    others = 3 * PASSES[0] + 2 * grown  # the first fit, and columns once more after the last one
    walked = others * cells + max(PASSES[1] * cells, PASSES[2])
    passes = others + max(PASSES[1], PASSES[2] / max(cells, SETTLED))
    return replace(
        cost,
        seconds=_counting(domain, rows) + _per_cell(cost.cells, domain) * walked + PER_TABLE * passes * _tables(domain),
    )


def typical(cost: Plan, domain: Domain, rows: int) -> Plan:
    """The plan for so many rows, of a model that grows with the pairs that noise leaves visible.

    With distances from independence as an exponential law has them, a share f of the pairs is worth its noise where
    f = exp(−1.5 · noise · √f / DEPENDENCE): the noise of all grows with the power 1.5 of their number. A column then
    has f·(d − 1) neighbours, and a clique grows with them until it holds everything.
    """
    if not cost.growing or cost.error is None or len(domain) < 2:
        return replace(cost, seconds=cost.usual * cost.seconds)
    merged = [min(size, GROUPS) for size in domain.sizes]
    noise, share = cost.error / rows * _spread(merged) / _spread(domain.sizes), 1.0
    for _ in range(60):
        share = (share + math.exp(-1.5 * noise * math.sqrt(share) / DEPENDENCE)) / 2
    neighbours = share * (len(domain) - 1)
    columns = min(float(len(domain)), neighbours * (CONNECTED + (1 - CONNECTED) * share**4) + 2)
    logs = math.fsum(math.log(min(size, 1.5 * size**0.8)) for size in merged) / len(domain)
    cells = min(cost.cells, len(domain) * math.exp(min(50.0, columns * logs)))
    fitting = USUAL_PASSES * (_per_cell(cells, domain) * cells + PER_TABLE * _tables(domain))
    return replace(cost, cells=int(cells), seconds=_counting(domain, rows) + fitting)


def _per_cell(cells: float, domain: Domain) -> float:
    """Seconds of a pass for a cell of a model of so many."""
    logs = math.fsum(math.log(size) for size in domain.sizes) / len(domain)
    return PER_CELL * (1 + FOLDED * min(float(len(domain)), math.log(max(cells, 1.0)) / max(logs, math.log(2))))


def _counting(domain: Domain, rows: int) -> float:
    """Seconds in which all pairs are looked at."""
    pairs = math.comb(len(domain), 2)
    return 0.1 + PER_PAIR * pairs + PER_COUNT * rows * pairs


def _tables(domain: Domain) -> int:
    """Tables that are measured, about."""
    return min(math.comb(len(domain), 2), A_COLUMN * len(domain)) + len(domain)


def _spread(sizes: Sequence[int]) -> float:
    """What the noise of all pairs is proportional to, if it is shared out in the best way."""
    parts = [math.pow(size, 2 / 3) for size in sizes]
    return math.pow((math.fsum(parts) ** 2 - math.fsum(part * part for part in parts)) / 2, 1.5)
