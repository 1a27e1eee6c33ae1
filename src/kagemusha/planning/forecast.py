"""What a release will take, estimated beforehand from the schema and a public number of rows: time, memory, error.

Time is two figures, since how large a model grows depends on how columns depend on each other, which no schema says:
about what tables of such a shape take, and the most that the method's own limits allow. Constants were set on the
tables marked *set* in `benchmarks/plan_vs_actual.py` and the training half of the zoo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kagemusha.folder.stream import CODES, FEWEST
from kagemusha.graphical.crossing import MOST_WALKED
from kagemusha.graphical.queries import KEPT_CELLS
from kagemusha.graphical.refined_sampling import MOST_TABLES, MOST_TRADES, MOST_VISITS, PASSES
from kagemusha.graphical.refined_sampling import TRADED_ROWS as TRADED
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Filter
from kagemusha.quality.expected_error import EVIDENCE_CELLS, EVIDENCE_ROWS, LARGEST, MOST_PAIRS
from kagemusha.release.grid import BINS
from kagemusha.schema import Domain, Schema
from kagemusha.sources.file import CELLS, CHUNK, LEAST
from kagemusha.sources.spool import KEEP
from kagemusha.synthesizers.candidates import cell_error
from kagemusha.synthesizers.kage.constants import LADDER
from kagemusha.synthesizers.kage.constants import PASSES as FIT_PASSES
from kagemusha.synthesizers.protocol import Plan, Synthesizer

TYPICAL_ROWS = 50_000
"""Where nobody says how many rows there are."""

CATEGORIES = 50
"""What an open column of categories is taken to have until they are found."""

DEPENDENCE = 0.125
"""What is lost of a pair that nobody measures: the L1 distance from independence of typical columns. Pairs that noise
would hide are not measured, so it decides how large a model usually grows, too."""

SCATTER = 0.4
"""Share of the chance differences between a table and any smooth model of it that no method can know, E|Z| times how
uneven columns are."""

STARTED = 560
"""Megabytes of a process before it does anything: what is imported."""

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

USUAL_PASSES = 170
"""Passes of all fits together until they agree."""

PER_PAIR, PER_COUNT = 4e-4, 2e-8
"""Seconds for a pair of columns that is looked at, and for a row of it."""

A_RULE, AROUND = 1.0, 9e-7
"""Seconds for rules: for their being laid out, and for a cell of the model that is fitted again around them."""

FEW, MANY = 2e-9, 3e-8
"""Seconds for a look at one watched table when rows are traded, at most: up to `TRADED` rows, which settle before all
`LOOKS` passes are made, and beyond."""

LOOKS = 10

APART = 50
"""Among so many pairs one is worked out across the cells of the whole model, since its columns share no clique."""

UNDER_WAY = 6
"""Chunks of doubles that are drawn, decoded and written at the same time, in memory."""

USUAL = 0.5
"""Share of the most that parts of the work other than fitting usually take."""

COLUMN_KEPT = 0.27
"""Share of a column's raw noise that is left in pairs."""

FITTING = "counting and fitting"


@dataclass(frozen=True)
class Phase:
    """One part of the work."""

    name: str
    seconds: float
    """CPU seconds, about: half of the tables of such a shape take less."""
    at_most: float
    """CPU seconds that no table should pass: what a method's own limits allow."""


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
        """CPU seconds of all phases, about."""
        return math.fsum(phase.seconds for phase in self.phases)

    @property
    def at_most(self) -> float:
        """CPU seconds of all phases, at most."""
        return math.fsum(phase.at_most for phase in self.phases)


def closed(schema: Schema) -> Schema:
    """The schema with stand-ins for what it leaves open, as discovery would close it: its size, not its values."""
    return schema.with_columns(*(c.typical(CATEGORIES, BINS) for c in schema.with_codes if c.open_fields))


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
    share = discover or 0.0
    found = [("discovery of categories and bounds", share)] if share else []
    error = None if rows is None else pair_error(domain, cost, budget, synthesizer, rows, share)
    most = _parts(schema, _largest(cost, domain, count), count, parquet=parquet, discover=bool(share))
    usual = _parts(schema, _typical(cost, domain, count), count, parquet=parquet, discover=bool(share))
    usual = {name: seconds * (1 if name == FITTING else USUAL) for name, seconds in usual.items()}
    return Forecast(
        [Phase(name, min(seconds, most[name]), most[name]) for name, seconds in usual.items()],
        _megabytes(domain, cost, count),
        error,
        count,
        [*found, *((what, part * (1 - share)) for what, part in cost.steps)],
    )


def _largest(cost: Plan, domain: Domain, rows: int) -> Plan:
    """The plan where the model grows to its largest size, and every fit makes as many passes as it may."""
    if not cost.growing:
        return cost
    cells = LADDER[-1] * cost.cells
    grown = sum(LADDER[:-1]) * FIT_PASSES[0] / 2  # while a model without room for everything grows
    others = 3 * FIT_PASSES[0] + 2 * grown  # the first fit, and columns once more after the last one
    walked = others * cells + max(FIT_PASSES[1] * cells, FIT_PASSES[2])
    passes = others + FIT_PASSES[1] + len(LADDER) * FIT_PASSES[0]
    return replace(
        cost,
        seconds=_counting(domain, rows) + _per_cell(cost.cells, domain) * walked + PER_TABLE * passes * _tables(domain),
    )


def _typical(cost: Plan, domain: Domain, rows: int) -> Plan:
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


def _parts(schema: Schema, cost: Plan, rows: int, *, parquet: bool, discover: bool) -> dict[str, float]:
    """Seconds of every part: of cells of the table, of rows and pairs, and of cells of the model."""
    domain, rules = schema.domain, sum(not rule.guess for rule in schema.constraints)
    pairs = math.comb(len(domain), 2)
    cells, judged = rows * len(domain), min(rows, EVIDENCE_ROWS)
    widest = _widest(domain)
    across = min(MOST_WALKED / 2, cost.cells * pairs / APART)
    reading = (4e-8 if parquet else 1.2e-7) * cells * (1 + 0.5 * bool(schema.formulas))
    fitting = cost.seconds + (A_RULE + AROUND * cost.cells if rules else 0.0)
    drawing = (
        (1.5e-7 if parquet else 2.5e-7) * cells
        + 1e-7 * rows * rules
        + 2e-3 * len(domain)
        + 2e-7 * widest
        + _trading(domain, rows)
        + 2.5e-8 * across
    )
    judging = (
        (1e-7 if parquet else 2e-7) * judged * len(domain)
        + 2.5e-8 * judged * pairs
        + PER_PAIR * (min(pairs, MOST_PAIRS) + len(domain))
        + 5e-8 * min(EVIDENCE_CELLS, _all_cells(domain))
        + 2.5e-7 * widest
        + 4.5e-8 * across
    )
    return {
        "starting": 1.6,
        "reading": 0.7 + reading * (2 if discover else 1) + (0.5 if discover else 0.0),
        FITTING: fitting,
        "drawing and writing doubles": 0.8 + drawing,
        "judging them": 0.1 + judging,
    }


def _megabytes(domain: Domain, cost: Plan, rows: int) -> float:
    # tables are read and doubles drawn in chunks, of which a few are under way at a time; codes are kept up to `KEEP`
    # bytes
    drawn = min(rows * len(domain), UNDER_WAY * max(CODES, FEWEST * len(domain)))
    read = min(rows, CHUNK, max(LEAST, CELLS // len(domain))) * len(domain)
    kept = min(rows * len(domain), KEEP) / 1e6
    # a table is read before its doubles are drawn
    # pairs that share no clique are worked out when rows are drawn, and tables on the way to them are kept
    asked = 8e-6 * min(KEPT_CELLS, 4 * cost.cells) + (4.5e-5 * cost.cells if cost.growing else 0.0)
    return STARTED + max(1.1e-4 * read, 2.5e-5 * drawn) + kept + 1.25e-4 * _widest(domain) + asked + cost.megabytes


def _trading(domain: Domain, rows: int) -> float:
    """Seconds in which rows are compared with others in the tables that are watched, and traded."""
    tables = math.comb(len(domain), 2) + len(domain)
    if rows <= TRADED:
        return FEW * LOOKS * min(MOST_VISITS, rows * tables)
    once = rows * min(tables, MOST_TABLES)
    return MANY * once * min(PASSES, max(1.0, MOST_TRADES / once))


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
