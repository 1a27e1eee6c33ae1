"""Private discovery in tables that belong together: every open column of every table, for one share of the budget.

A row counts its parts, so a person moves the counts of a table by as much as its other counts, and a value that one
person alone holds passes its threshold as rarely as one of someone with that many rows (docs/proofs/related.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.release.discovery import (
    MOST_CATEGORIES,
    Finder,
    close_schema,
    each_failure,
    most_added,
    open_columns,
)
from kagemusha.release.release import Release
from kagemusha.release.share import Share
from kagemusha.schema import Domain
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import view_of
from kagemusha.sources.open_below import OpenBelow, OpenRelated, stand_ins
from kagemusha.synthesizers.discovering import FEWEST_CATEGORIES
from kagemusha.synthesizers.protocol import Synthesizer


def require_no_rules(related: Related) -> None:
    """Rules of several tables may not speak of what is still open."""
    opened = {f"{table.name}.{column.name}" for table in related for column in open_columns(table.schema)}
    names = {name.partition(".")[2] for name in opened}
    for table in related:
        for rule in table.rules:
            named = sorted(name for name in rule.columns if name in opened | names)
            if named and not rule.guess:
                raise UsageError(
                    f"tables.{table.name}: the rule {rule.rule!r} speaks of {named[0]}, so declare its categories or "
                    "bounds"
                )


def most_in_tables(related: Related, methods: Mapping[str, Synthesizer], budget: Budget) -> int:
    """How many categories of a column discovery may find, so that the models of all tables can carry them."""
    most = MOST_CATEGORIES
    while True:
        try:
            for name, method in methods.items():
                method.plan(_largest(related, related[name], most), budget)
            return most
        except ModelTooLarge:
            if most <= FEWEST_CATEGORIES:
                raise
            most //= 2


def _largest(related: Related, table: Table, categories: int) -> Domain:
    """The largest domain of what is counted of a table."""
    more = {one.name: most_added(one.schema, categories) for one in related}
    closed = stand_ins(related)
    view = view_of(closed, closed[table.name])
    grown = {here.name: more[source].get(there, 0) for source, there, here in view.context} | more[table.name]
    domain = view.schema.domain
    return Domain(domain.names, tuple(max(1, domain.size(n) + grown.get(n, 0)) for n in domain.names))


def close_related(opened: OpenRelated, release: Release, share: float, most: int) -> Related:
    """Close all tables with `share` of the budget, equally over the open columns."""
    related = opened.schema
    columns = {table.name: open_columns(table.schema) for table in related}
    every = [column for own in columns.values() for column in own]
    held = release.filter
    failure = each_failure(held.limit.delta_units - held.spent.delta_units, sum(c.as_labels is not None for c in every))
    closed = []
    for table in related:
        if not columns[table.name]:
            closed.append(table)
            continue
        finder = Finder(OpenBelow(opened, table), release, share=Share(table.name, related.rows[table.name]))
        own = share * len(columns[table.name]) / len(every)
        closed.append(replace(table, schema=close_schema(finder, own, most, failure)))
    return Related(closed, related.target)
