"""What a release will take, estimated beforehand from the schema and a public number of rows: time, memory, error.

Time is two figures, since how large a model grows depends on how columns depend on each other, which no schema says:
about what tables of such a shape take, and the most that the method's own limits allow. Constants were set on the
tables marked *set* in `benchmarks/plan_vs_actual.py` and the training half of the zoo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kagemusha.folder.stream import CODES, FEWEST
from kagemusha.graphical.crossing import MOST_WALKED
from kagemusha.graphical.queries import KEPT_CELLS
from kagemusha.graphical.refined_sampling import MOST_TABLES, MOST_TRADES, MOST_VISITS, PASSES
from kagemusha.graphical.refined_sampling import TRADED_ROWS as TRADED
from kagemusha.planning.fitting import DEPENDENCE, PER_PAIR, largest, typical
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Filter
from kagemusha.quality.expected_error import EVIDENCE_CELLS, EVIDENCE_ROWS, LARGEST, MOST_PAIRS
from kagemusha.release.grid import BINS
from kagemusha.schema import Domain, Schema
from kagemusha.sources.file import CELLS, CHUNK, LEAST
from kagemusha.sources.spool import KEEP
from kagemusha.synthesizers.candidates import cell_error
from kagemusha.synthesizers.protocol import Plan, Synthesizer

TYPICAL_ROWS = 50_000
"""Where nobody says how many rows there are."""

CATEGORIES = 50
"""What an open column of categories is taken to have until they are found."""

SCATTER = 0.4
"""Share of the chance differences between a table and any smooth model of it that no method can know, E|Z| times how
uneven columns are."""

STARTED = 560
"""Megabytes of a process before it does anything: what is imported."""

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
    most = _parts(schema, largest(cost, domain, count), count, parquet=parquet, discover=bool(share))
    usual = _parts(schema, typical(cost, domain, count), count, parquet=parquet, discover=bool(share))
    usual = {name: seconds * (1 if name == FITTING else USUAL) for name, seconds in usual.items()}
    return Forecast(
        [Phase(name, min(seconds, most[name]), most[name]) for name, seconds in usual.items()],
        _megabytes(domain, cost, count),
        error,
        count,
        [*found, *((what, part * (1 - share)) for what, part in cost.steps)],
    )


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
