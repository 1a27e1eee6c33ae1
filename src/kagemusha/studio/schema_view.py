"""A schema as its page shows it: one table, or several that belong together, each with its columns and its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kagemusha.columns.registry import KINDS as COLUMN_KINDS
from kagemusha.editing.answers import MODELLED, SOURCES
from kagemusha.editing.offers import offers
from kagemusha.editing.rules import rule_question
from kagemusha.editing.tables import ALONE, parts_of, tables_of
from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.declared import Declared
from kagemusha.schema.demands import NOTHING
from kagemusha.schema.lint import likely_unit
from kagemusha.schema.related import Table as RelatedTable
from kagemusha.studio.cards import KINDS, Card, cards_of
from kagemusha.studio.place import Table
from kagemusha.studio.site import Site
from kagemusha.words.catalogue import Catalogue


@dataclass(frozen=True)
class Part:
    """One table of a schema, as its page shows it."""

    name: str
    table: RelatedTable | None
    """How it belongs to others; None where it is alone."""
    schema: Schema
    cards: Sequence[Card]
    rules: Sequence[tuple[Constraint, str]]
    """Each with the question that a guess asks."""


def schema_facts(site: Site, table: Table, say: Catalogue) -> dict[str, Any]:
    """What the page of a schema shows."""
    declared = site.drafts.load(table)
    several = {one.name: one for one in tables_of(declared)}
    parts = [_part(name, several.get(name), schema, say) for name, schema in parts_of(declared).items()]
    alone = parts_of(declared).get(ALONE)
    return {
        "parts": parts,
        "alone": alone,
        "text": site.drafts.text(table),
        "state": site.state(table),
        "kinds": {kind: say(KINDS[kind]) for kind in COLUMN_KINDS},
        "modelled": MODELLED,
        "sources": [say(source) for source in SOURCES],
        "offers": [] if alone is None else list(offers(alone)),
        "likely_unit": None if alone is None else likely_unit(alone),
        "target": declared.target,
        "targets": targets_of(declared),
        "demands": NOTHING if alone is None else alone.demands,
    }


def targets_of(declared: Declared) -> Sequence[str]:
    """Columns that people may want to predict; of several tables as table.column."""
    if tables := tables_of(declared):
        return [f"{table.name}.{column.name}" for table in tables for column in table.modelled]
    return [column.name for column in parts_of(declared)[ALONE].modelled]


def _part(name: str, table: RelatedTable | None, schema: Schema, say: Catalogue) -> Part:
    rules = [*schema.constraints, *(() if table is None else table.rules)]
    asked = [(rule, rule_question(rule.rule, schema, say) if rule.guess else "") for rule in rules]
    cards = list(cards_of(schema, say, part=name, hidden=() if table is None else table.keys))
    return Part(name, table, schema, cards, asked)
