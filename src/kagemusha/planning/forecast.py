"""What a release will take, told beforehand from the schema and a public number of rows: time, memory, error.

Constants were set on half of the tables of `benchmarks/plan_vs_actual.py`, with room on top: a plan is to be kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from kagemusha.graphical.crossing import MOST_WALKED
from kagemusha.graphical.queries import KEPT_CELLS
from kagemusha.graphical.refined_sampling import MOST_ROWS as TRADED
from kagemusha.graphical.refined_sampling import MOST_TABLES, MOST_TRADES, MOST_VISITS, PASSES
from kagemusha.models.stream import CODES, FEWEST
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Filter
from kagemusha.quality.expected_error import LARGEST, MOST_CELLS, MOST_PAIRS, MOST_ROWS
from kagemusha.release.grid import BINS
from kagemusha.schema import Category, Domain, Measured, Modelled, Moment, Real, Schema
from kagemusha.sources.file import CELLS, CHUNK, LEAST
from kagemusha.sources.spool import KEEP
from kagemusha.synthesizers.noise_cost import cell_error
from kagemusha.synthesizers.protocol import Plan, Synthesizer

TYPICAL_ROWS = 50_000
"""Where nobody says how many rows there are."""

CATEGORIES = 50
"""What an open column of categories is taken to have until they are found."""

DEPENDENCE = 0.125
"""What is lost of a pair that nobody measures: the L1 distance from independence of typical columns."""

SCATTER = 0.4
"""Share of the chance differences between a table and any smooth model of it that no method can know, E|Z| times how uneven
columns are."""

STARTED = 500
"""Megabytes of a process before it does anything: what is imported."""

VISIBLE = 0.125
"""How far typical pairs are from independence, on average: those that noise would hide are not measured."""

SETTLED, SHORT = 0.045, 0.5
"""With more noise in a pair than this share of records a fit settles sooner, as the root of it; but it takes this part of its time at least."""

CONNECTED = 0.6
"""How many columns of a clique come with a neighbour of a column more, where few pairs are measured."""

LOOK = 6e-9
"""Seconds that a look at one watched table takes when rows are traded; before `TRADED` rows up to `LOOKS` passes are made."""

LOOKS = 10

UNDER_WAY = 6
"""Chunks of doubles that are drawn, decoded and written at the same time, in memory."""

COLUMN_KEPT = 0.27
"""Share of a column's raw noise that is left in pairs."""


@dataclass(frozen=True)
class Phase:
    """One part of the work."""

    name: str
    seconds: float
    """CPU seconds, at most about."""


@dataclass(frozen=True)
class Forecast:
    """What a release will take."""

    phases: Sequence[Phase]
    megabytes: float
    """Peak memory of the process."""
    error: float | None
    """Expected mean L1 error of two-way tables as a share of records, 0 to 2; None where the method cannot tell."""
    rows: int
    steps: Sequence[tuple[str, float]]
    """What the budget is spent on, discovery included."""

    @property
    def seconds(self) -> float:
        """CPU seconds of all phases."""
        return math.fsum(phase.seconds for phase in self.phases)


def closed(schema: Schema) -> Schema:
    """The schema with stand-ins for what it leaves open, as discovery would close it: its size, not its values."""
    return schema.with_columns(*(_closed(c) for c in schema if isinstance(c, Modelled) and c.open_fields))


def _closed(column: Modelled) -> Modelled:
    if isinstance(column, Category):
        return replace(column, categories=tuple(f"category {i}" for i in range(CATEGORIES)))
    assert isinstance(column, Measured)
    ends: dict[str, object] = {"lower": 0, "upper": 10_000}
    if isinstance(column, Real):
        ends = {"lower": 0.0, "upper": 1e4}
    elif isinstance(column, Moment):
        ends = {"lower": "2000-01-01", "upper": "2029-12-31"}
    given = {name: value for name, value in ends.items() if name in column.open_fields}
    return replace(column, **given, bins=getattr(column, "bins", None) or BINS)  # type: ignore[call-arg,arg-type]


def forecast(
    schema: Schema,
    synthesizer: Synthesizer,
    cost: Plan,
    budget: Budget,
    *,
    rows: int | None = None,
    discover: float | None = None,
    parquet: bool = False,
) -> Forecast:
    """Time, memory and error of a release of a closed schema (see `closed`); `cost` is the method's own plan."""
    count = rows or TYPICAL_ROWS
    domain = schema.domain
    pairs = list(combinations(domain.names, 2))
    share = discover or 0.0
    found = [("discovery of categories and bounds", share)] if share else []
    error = None if rows is None else pair_error(domain, cost, budget, synthesizer, rows, share)
    largest, cost = cost, cost if rows is None else _grown(cost, domain, rows)
    return Forecast(
        _phases(domain, len(pairs), cost, count, parquet=parquet, discover=bool(share)),
        _megabytes(domain, largest, cost, count),
        error,
        count,
        [*found, *((what, part * (1 - share)) for what, part in cost.steps)],
    )


def _grown(cost: Plan, domain: Domain, rows: int) -> Plan:
    """The plan for so many rows, of a model that grows with the pairs that noise leaves visible.

    With distances from independence as an exponential law has them, a share f of the pairs is worth its noise where
    f = exp(−1.5 · noise · √f / VISIBLE): the noise of all grows with the power 1.5 of their number. A column then has f·(d − 1)
    neighbours, and a clique grows with them until it holds everything.
    """
    if not cost.growing or cost.error is None or len(domain) < 2:
        return cost
    noise, share = cost.error / rows, 1.0
    for _ in range(60):
        share = (share + math.exp(-1.5 * noise * math.sqrt(share) / VISIBLE)) / 2
    neighbours = share * (len(domain) - 1)
    columns = min(float(len(domain)), neighbours * (CONNECTED + (1 - CONNECTED) * share**4) + 2)
    # rare codes are merged
    logs = math.fsum(math.log(min(size, 1.5 * size**0.8)) for size in domain.sizes) / len(domain)
    cells = min(cost.cells, len(domain) * math.exp(min(50.0, columns * logs)))
    part = cells / cost.cells * (min(1.0, max(SHORT, math.sqrt(SETTLED / noise))) if noise > 0 else 1.0)
    return replace(cost, cells=int(cells), seconds=cost.seconds - (1 - part) * cost.growing)


def _phases(domain: Domain, pairs: int, cost: Plan, rows: int, *, parquet: bool, discover: bool) -> list[Phase]:
    cells, judged = rows * len(domain), min(rows, MOST_ROWS)
    widest = _widest(domain)
    reading = (3e-8 if parquet else 1e-7) * cells + 5e-9 * rows * pairs
    drawing = (
        0.1
        + (1.5e-7 if parquet else 3e-7) * cells
        + 6e-3 * len(domain)
        + 2.5e-7 * widest
        + LOOK * _looks(domain, rows)
        + 4e-8 * min(MOST_WALKED, 8 * cost.cells)
    )
    looked_at = min(pairs, MOST_PAIRS) + len(domain)
    laid_out = min(MOST_CELLS, _all_cells(domain))
    judging = (
        0.2
        + 1.2e-3 * looked_at
        + 3e-7 * judged * len(domain)
        + 6e-9 * judged * pairs
        + 5e-8 * laid_out
        + 2.5e-7 * widest
    )
    return [
        Phase("starting", 2.0),
        Phase("reading and counting", 0.1 + reading * (2 if discover else 1) + (0.5 if discover else 0.0)),
        Phase("fitting", cost.seconds),
        Phase("drawing and writing doubles", drawing),
        Phase("judging them", judging),
    ]


def _megabytes(domain: Domain, largest: Plan, cost: Plan, rows: int) -> float:
    # tables are read and doubles drawn in chunks, of which a few are under way at a time; codes are kept up to `KEEP` bytes
    drawn = min(rows * len(domain), UNDER_WAY * max(CODES, FEWEST * len(domain)))
    read = min(rows, CHUNK, max(LEAST, CELLS // len(domain))) * len(domain)
    kept = min(rows * len(domain), KEEP) / 1e6
    # a table is read before its doubles are drawn
    # pairs that share no clique are worked out when rows are drawn, and tables on the way to them are kept
    asked = 8e-6 * min(KEPT_CELLS, 4 * cost.cells) + (4.5e-5 * cost.cells if cost.growing else 0.0)
    return STARTED + max(1.1e-4 * read, 2.5e-5 * drawn) + kept + 1.1e-4 * _widest(domain) + asked + largest.megabytes


def _looks(domain: Domain, rows: int) -> float:
    """How often a row is compared with another one in some table while rows are traded, at most."""
    tables = math.comb(len(domain), 2) + len(domain)
    if rows <= TRADED:
        return LOOKS * min(MOST_VISITS, rows * tables)
    once = rows * min(tables, MOST_TABLES)
    return once * min(PASSES, max(1.0, MOST_TRADES / once))


def _widest(domain: Domain) -> int:
    """Cells of the largest pair, as far as it is laid out."""
    first, second = sorted(domain.sizes)[-2:] if len(domain) > 1 else (1, domain.sizes[0])
    return min(first * second, 2 * LARGEST)


def _all_cells(domain: Domain) -> int:
    """Cells of all pairs together."""
    total = sum(domain.sizes)
    return int((total * total - sum(size * size for size in domain.sizes)) // 2)


def pair_error(
    domain: Domain, cost: Plan, budget: Budget, synthesizer: Synthesizer, rows: int, share: float = 0.0
) -> float | None:
    """Mean L1 error of two-way tables: noise where a pair is measured, at most what is lost if it is not.

    From the schema nobody can know how columns depend on each other: it is what tables of this shape had on average.
    """
    if cost.error is None or not budget.is_finite:
        return None
    noise = cost.error / rows / math.sqrt(1 - share)
    scatter = SCATTER * math.sqrt(_all_cells(domain) / max(1, math.comb(len(domain), 2)) / rows)
    lost = DEPENDENCE + scatter
    total = Filter(budget, synthesizer.accounting).total * (1 - share)
    if not total > 0:
        return None
    # columns take about a fifth of the budget, spread in the best way
    spread = math.fsum(size ** (2 / 3) for size in domain.sizes)
    column = COLUMN_KEPT * cell_error(budget.unit, 0.2 * total) / rows
    alone = [column * size * math.sqrt(spread / size ** (2 / 3)) for size in domain.sizes]
    columns = 2 * math.fsum(x / (1 + x) for x in alone) / len(domain)
    return min(2.0, lost * noise / (lost + noise) + columns) if len(domain) > 1 else min(2.0, columns)
