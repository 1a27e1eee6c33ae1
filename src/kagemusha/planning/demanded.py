"""What the tables that must be right, and the criteria of acceptance, will cost, and how near their answers will be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kagemusha.folder.required_tables import GAUSSIAN_95, LAPLACE_95
from kagemusha.privacy.accountants import ACCOUNTANTS
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.query_kinds import COUNTS, record_sensitivity
from kagemusha.queries.acceptance import MeanWithin, TablesWithin, Tested
from kagemusha.schema import Schema
from kagemusha.schema.demands import NOTHING, Criterion
from kagemusha.synthesizers.protocol import Plan, Synthesizer


def with_demands(cost: Plan, schema: Schema) -> Plan:
    """The method's own plan with what is demanded before and after it."""
    demands = schema.demands
    if not (demands.required or demands.accept):
        return cost
    first = [
        (f"required counts of {' × '.join(one.table)}", share)
        for one, share in zip(demands.required, demands.shares, strict=True)
    ]
    last = [("acceptance", demands.tested)] if demands.asked else []
    rest = 1 - sum(share for _, share in (*first, *last))
    steps = [*first, *((what, rest * share) for what, share in cost.steps), *last]
    error = None if cost.error is None else cost.error / math.sqrt(rest)
    return replace(cost, steps=steps, error=error)


def in_words(schema: Schema, synthesizer: Synthesizer, budget: Budget, rows: int | None) -> Sequence[str]:
    """A sentence for each demand: how near its answer will be, in 95 of 100 cases."""
    accountant = ACCOUNTANTS[synthesizer.accounting]
    pure = accountant.pure
    total = Filter(budget, synthesizer.accounting).total if schema.demands != NOTHING else 0.0
    moves, reach = budget.unit.sensitivity(COUNTS), LAPLACE_95 if pure else GAUSSIAN_95
    found = []
    for one, share in zip(schema.demands.required, schema.demands.shares, strict=True):
        sigma = math.sqrt(2) * moves.l1 / (share * total) if pure else math.sqrt(moves.l2_squared / (2 * share * total))
        found.append(f"{' × '.join(one.table)}: 95 of 100 counts to within {reach * sigma:,.0f} rows")
    for criterion in schema.demands.accept:
        if criterion.rules:
            found.append(f"{criterion.words}: by construction, for nothing")
            continue
        query = _stand_in(criterion, schema)
        d = budget.unit.sensitivity(record_sensitivity(query.kind, query.facts)).l1
        sigma = (math.sqrt(2) if pure else 1.0) * d
        sigma /= criterion.share * total if pure else math.sqrt(2 * criterion.share * total)
        off = reach * sigma * query.worth
        words = f"{off:.3g} / rows" if rows is None else f"{100 * off / rows:.2g} %" if criterion.tables else ""
        found.append(f"{criterion.words}: tested to within {words or f'{off / max(1, rows or 1):.2g}'}")
    return found


def _stand_in(criterion: Criterion, schema: Schema) -> Tested:
    if criterion.mean is None:
        return TablesWithin(criterion, (), ())
    return MeanWithin(criterion, schema.axis(criterion.mean).middles, 0.0)
