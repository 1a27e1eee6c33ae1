"""What an ε would mean, from the schema alone: error of pairs, what an attacker could do, over many ε at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.certificate.page import best_true_positive_rate
from kagemusha.planning.forecast import closed, forecast
from kagemusha.planning.related import plan_tables
from kagemusha.planning.wanted import STAND_IN_ROWS, STAND_INS, Solved, made_up, pairs_of, solve_epsilon
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.quality.projectable import CodedTable, compared
from kagemusha.schema import Schema
from kagemusha.schema.related import Related
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import DEFAULT, create
from kagemusha.synthesizers.suited import suited

RATE = 0.05
"""How often an attacker accepts to be wrong about people who are not in the table."""

EPSILONS = (
    *(0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5),
    *(2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0),
)
"""Those that are offered."""


@dataclass(frozen=True)
class Point:
    """One ε and what follows from it."""

    epsilon: float
    error: float | None
    """Expected mean L1 error of two-way tables; see `Forecast.error`."""
    recognised: float
    """The largest share of the people in the table that any attacker can recognise, at a false-positive rate `RATE`."""
    seconds: float | None
    """Of computing, about; None where nobody knows, as for tables that belong together, and so are the next two."""
    at_most: float | None
    """Of computing, at most."""
    megabytes: float | None


def outlook(
    schema: Schema, rows: int, *, epsilons: Sequence[float] = EPSILONS, discover: float | None = None
) -> list[Point]:
    """A point for each ε, for the method that suits the schema; reads no table."""
    open_facts = bool(schema.open_facts())
    complete = closed(schema) if open_facts else schema
    synthesizer = create(suited(schema).method)
    points = []
    for epsilon in epsilons:
        budget = Budget(epsilon, rows=schema.unit.max_rows)
        cost = synthesizer.plan(complete.domain, budget)
        share = discover if open_facts else None
        seen = forecast(complete, synthesizer, cost, budget, rows=rows, discover=share)
        rate = best_true_positive_rate(budget, synthesizer.accounting, RATE)
        points.append(Point(epsilon, seen.error, rate, seen.seconds, seen.at_most, seen.megabytes))
    return points


def related_outlook(related: Related, persons: int, *, epsilons: Sequence[float] = EPSILONS) -> list[Point]:
    """The same for tables that belong together: the mean of their expected errors, each between its two ends."""
    synthesizer = create(DEFAULT)
    points = []
    for epsilon in epsilons:
        budget = Budget(epsilon)
        ends = [one.errors for one in plan_tables(related, synthesizer, budget, persons) if one.errors is not None]
        error = None if not ends else sum(sum(pair) / 2 for pair in ends) / len(ends)
        rate = best_true_positive_rate(budget, synthesizer.accounting, RATE)
        points.append(Point(epsilon, error, rate, None, None, None))
    return points


def related_epsilon(related: Related, persons: int, wanted: float) -> float | None:
    """The least ε of those that are offered with which the expected error is no more than wanted."""
    points = related_outlook(related, persons)
    return next((one.epsilon for one in points if one.error is not None and one.error <= wanted), None)


def tried_pairs(
    schema: Schema, epsilon: float, rows: int, pairs: Sequence[str] = (), *, progress: Progress = silent
) -> list[tuple[str, float]]:
    """The error of each pair at one ε, the worst first, on tables made up from the schema; no private row is read.

    Which pairs a real table makes hard depends on how its columns depend on each other, which nobody knows beforehand:
    this is what the method did to tables that such a schema might belong to.
    """
    rng, count = np.random.default_rng(0), min(rows, STAND_IN_ROWS)
    synthesizer, budget = create(suited(schema).method), Budget(epsilon, rows=schema.unit.max_rows)
    chosen = pairs_of(schema.domain, pairs)
    total = dict.fromkeys(chosen, 0.0)
    for at in range(STAND_INS):
        progress("trying it on tables made up from the schema", at / STAND_INS)
        table = CodedTable.of_codes(schema, made_up(schema, count, rng=rng))
        model = fit(synthesizer, CodesSource(schema, table.columns), budget, simulation=at)
        doubles = CodedTable.of_codes(schema, model.sample_codes(count, rng=np.random.default_rng(at)))
        for pair, real, synthetic in compared(table, doubles, chosen):
            total[pair] += float(np.abs(real - synthetic).sum()) / STAND_INS
    return [(" × ".join(pair), total[pair]) for pair in sorted(chosen, key=lambda pair: -total[pair])]


def solved(schema: Path, wanted: float, pairs: Sequence[str], rows: int, *, progress: Progress = silent) -> Solved:
    """Which ε brings a wanted error of pairs, tried out on tables made up from its schema, see `solve_epsilon`."""
    declared = Schema.load(schema)
    complete = closed(declared) if declared.open_facts() else declared
    rng = np.random.default_rng(0)
    progress("making a stand-in", 0.0)
    codes = [made_up(complete, min(rows, STAND_IN_ROWS), rng=rng) for _ in range(STAND_INS)]
    budget = Budget(1.0, rows=declared.unit.max_rows)
    chosen = pairs_of(complete.domain, pairs)
    return solve_epsilon(create(suited(declared).method), complete, codes, budget, wanted, chosen, progress=progress)
