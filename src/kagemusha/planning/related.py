"""What a release of related tables asks of each table, and with how much noise, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from kagemusha.planning.forecast import pair_error
from kagemusha.privacy.budget import Budget
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import NEXT
from kagemusha.synthesizers.below import methods_of
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.related_fit import shares_of


@dataclass(frozen=True)
class TablePlan:
    """One table of a release."""

    table: str
    columns: int
    """What is counted of a row: its own columns, and those of parent and person."""
    share: float
    """Of the budget, with how its rows follow each other."""
    counts_as: int
    """As how many rows a person counts there, at most."""
    errors: tuple[float, float] | None
    """Expected mean L1 error of two-way tables, 0 to 2, if every parent has one row, and if it has `counts_as` or more.

    None where nobody said how many persons there are.
    """


def plan_tables(related: Related, synthesizer: Synthesizer, budget: Budget, persons: int | None) -> list[TablePlan]:
    """The plan of each table, persons first."""
    shares, methods = shares_of(related), methods_of(synthesizer, related)
    found = []
    for table in related:
        domain, share = related.view(table.name).domain, shares[table.name]
        rows = _counts_as(related, table)
        own = replace(budget, rows=rows)
        cost = methods[table.name].plan(domain, own)
        errors = None
        if persons is not None:
            few, many = (
                pair_error(domain, cost, own, synthesizer, count, 1 - share) for count in (persons, persons * rows)
            )
            errors = None if few is None or many is None else (few, many)
        whole = share + shares.get(f"{table.name}{NEXT}", 0.0)
        found.append(TablePlan(table.name, len(domain), whole, rows, errors))
    return found


def _counts_as(related: Related, table: Table) -> int:
    path: Sequence[Table] = (table, *related.above(table))
    return prod(step.counts_as for step in path if step.parent is not None)
