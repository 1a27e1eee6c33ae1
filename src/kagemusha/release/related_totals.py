"""Population totals of tables that belong together: the weights of persons, summed over them or over their rows.

Rows below are counted in parts, by how many rows their parent has (`sources.steps`); that number is asked along, so
what was counted as less than a row is counted as a whole one again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import UsageError
from kagemusha.queries.weighted_counts import NoisyTotals, WeightedCounts
from kagemusha.release.share import Share
from kagemusha.schema import Clique, Schema
from kagemusha.schema.related import PARTS, Related, Table
from kagemusha.schema.views import view_of


@dataclass(frozen=True, eq=False)
class Totals:
    """What was asked, and people (of the persons) or rows of people (below) in each group, with their noise."""

    clique: Clique
    values: FloatArray
    sigma: float
    """The deviation of the noise in each; where groups differ in it, the largest."""


@dataclass(frozen=True, eq=False)
class Question:
    """The totals of one table, by columns of it or of those above."""

    related: Related
    table: Table
    by: Clique

    @property
    def query(self) -> WeightedCounts:
        """What is asked: below the persons, by the number of siblings, too."""
        siblings = view_of(self.related, self.table).siblings.name
        more = self.table.parent is not None and siblings not in self.by
        return WeightedCounts(self.schema, (*self.by, *([siblings] if more else [])))

    @property
    def schema(self) -> Schema:
        """What is counted of the table."""
        return self.related.view(self.table.name)

    @property
    def share(self) -> Share:
        """Which table is asked, and as how many rows a person counts there."""
        return Share(self.table.name, self.related.rows[self.table.name])

    def totals(self, found: NoisyTotals) -> Totals:
        """Whole rows of the answer."""
        if self.table.parent is None:
            return Totals(found.clique, found.values, found.sigma)
        siblings = view_of(self.related, self.table).siblings
        whole = np.maximum(np.asarray(siblings.middles, dtype=np.float64), 1.0)
        factors = whole / np.minimum(whole, self.table.counts_as) / PARTS
        axis = found.clique.index(siblings.name)
        rows = found.values * factors.reshape([-1 if i == axis else 1 for i in range(found.values.ndim)])
        if siblings.name in self.by:
            return Totals(found.clique, rows, found.sigma * float(factors.max()))
        by = tuple(name for name in found.clique if name != siblings.name)
        return Totals(by, rows.sum(axis=axis), found.sigma * float(np.sqrt((factors**2).sum())))


def question(related: Related, by: Sequence[str], of: str | None = None) -> Question:
    """The question for columns given as table.column, or by name where one table has such; `of` names the table."""
    if related.weight is None:
        raise UsageError('the schema declares no weight; add [weight] with column = "…", a column of the persons')
    columns = [_found(related, name) for name in by]
    tables = {table.name: table for table in related}
    if of is not None and of not in tables:
        raise UsageError(f"--of {of!r}: there is no such table{did_you_mean(of, tuple(tables))}")
    lowest = tables[of] if of is not None else max((t for t, _ in columns), key=_deep(related), default=related.root)
    if _deep(related)(lowest) > 1:
        raise UsageError(
            f"totals of {lowest.name}: rows that belong to rows of rows are counted in parts that no column takes "
            f"back; ask for those of {related.root.name} or of a table right below"
        )
    view = view_of(related, lowest)
    named = {(source, there): here.name for source, there, here in view.context}
    names = []
    for table, column in columns:
        if table.name != lowest.name and (table.name, column) not in named:
            raise UsageError(f"totals of {lowest.name}: {table.name}.{column} is no column of it, nor of one above it")
        names.append(column if table.name == lowest.name else named[table.name, column])
    return Question(related, lowest, related.view(lowest.name).domain.canonical(names))


def _deep(related: Related) -> Callable[[Table], int]:
    return lambda table: len(list(related.above(table)))


def _found(related: Related, name: str) -> tuple[Table, str]:
    every = {f"{table.name}.{column.name}": (table, column.name) for table in related for column in table.modelled}
    found = [one for whole, one in every.items() if name in (whole, whole.partition(".")[2])]
    if len(found) != 1:
        raise UsageError(
            f"--by {name!r}: no modelled column of that name{did_you_mean(name, tuple(every))}"
            if not found
            else f"--by {name!r}: several tables have such a column; say which, as in {next(iter(every))}"
        )
    return found[0]
