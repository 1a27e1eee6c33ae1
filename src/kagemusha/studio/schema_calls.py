"""Answers about a schema, as the page gives them: each is on disk before the page hears of it, and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from kagemusha.columns.column import Column
from kagemusha.editing import answers as edit
from kagemusha.editing.answers import Voucher, listed, number, whole
from kagemusha.editing.demands import criterion_of, with_demands, without_demand
from kagemusha.editing.offers import offers
from kagemusha.editing.tables import (
    as_persons,
    parts_of,
    rule_added,
    rule_removed,
    table_changed,
    table_confirmed,
    table_dropped,
    tables_of,
    with_part,
)
from kagemusha.errors import SchemaError, UsageError
from kagemusha.rules.contradictions import require_consistent
from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.declared import Declared
from kagemusha.schema.demands import RequiredTable
from kagemusha.schema.related import Related
from kagemusha.studio.calls import MOST_TEXT, Call
from kagemusha.studio.drafts import Drafts
from kagemusha.studio.place import Table

Of = TypeVar("Of", Schema, Related)
AXIS = ("few", "lower", "upper", "bins", "scale", "special")


def answer(call: Call, drafts: Drafts, table: Table) -> set[str] | None:
    """Carry out one answer; returns the columns that look otherwise now, or None for all of them.

    Where several tables belong together, `in` names the one that is spoken of.
    """
    what = call.text("answer")
    if what == "undo":
        if not drafts.undo(table):
            raise UsageError(call.say("there is nothing to take back"))
        return None
    if what not in {*ANSWERS, *OF_SEVERAL, "persons"}:
        raise UsageError(call.say("{what} is no answer", what=repr(what[:40])))
    declared = drafts.load(table)
    if what == "persons":
        drafts.keep(table, _persons(call, drafts.alone(table)))
        return None
    if isinstance(declared, Related):
        drafts.keep(table, _of_several(call, what, declared))
        return None
    return _of_one(call, what, declared, drafts, table)


def _of_one(call: Call, what: str, schema: Schema, drafts: Drafts, table: Table) -> set[str] | None:
    if what not in ANSWERS:
        raise UsageError(call.say("this is about tables that belong together"))
    changed = ANSWERS[what](call, schema)
    drafts.keep(table, changed)
    touched = {c.name for c, old in zip(changed, schema, strict=False) if c != old}
    same = changed.names == schema.names and len(touched) <= 1 and changed.constraints == schema.constraints
    return touched if same and (changed.unit, changed.demands) == (schema.unit, schema.demands) else None


def _of_several(call: Call, what: str, related: Related) -> Declared:
    if what in OF_ALL:
        return OF_ALL[what](call, related)
    name = call.text("in")
    if name not in {table.name for table in related}:
        raise UsageError(call.say("there is no table {name}", name=repr(name[:80])))
    if what in OF_SEVERAL:
        return OF_SEVERAL[what](call, related, name)
    if what in OF_ONE:
        raise UsageError(call.say("this is for one table; tables that belong together do not have it so far"))
    return with_part(related, name, ANSWERS[what](call, related[name].schema))


def _confirm_everywhere(call: Call, related: Related) -> Declared:
    """Columns of all tables, and how the tables belong together, for one reason."""
    changed: Declared = related
    vouched, kind, search = voucher(call), call.text("kind"), call.text("search")
    for name, schema in parts_of(related).items():
        if any(_found(schema, kind, search)):
            changed = with_part(changed, name, _confirm_all(call, schema))
    for table in tables_of(changed) if not (kind or search) else ():
        if table.derived:
            changed = table_confirmed(changed, table.name, vouched)  # type: ignore[arg-type]
    if changed is related:
        raise UsageError(call.say("no column of this kind is left to confirm"))
    return changed


def _persons(call: Call, schema: Schema) -> Related:
    """One long table as persons and their rows."""
    voucher(call)
    key, names = call.text("column"), listed(call.text("persons", most=MOST_TEXT))
    if key not in schema.names:
        raise UsageError(call.say("there is no column {name}", name=repr(key[:80])))
    return as_persons(schema, key, names, call.text("order"), call.text("most"))


def voucher(call: Call, *, sourced: bool = True) -> Voucher:
    """Who answers, from which source: both must be said."""
    who = call.needed("who", call.say("say who you are first: it is kept in the schema and shown on certificates"))
    source = call.needed("source", call.say("say from which public source you know it")) if sourced else None
    if len(who) > 100 or not who.isprintable():
        raise UsageError(call.say("who you are must be a short text in one line"))
    return Voucher(who, source)


def _column(call: Call, schema: Schema) -> Column:
    name = call.text("column")
    if name not in schema.names:
        raise UsageError(call.say("there is no column {name}", name=repr(name[:80])))
    return schema[name]


def _confirm(call: Call, schema: Schema) -> Schema:
    return edit.confirmed(schema, replace(_column(call, schema), derived=()), voucher(call))


def _drop(call: Call, schema: Schema) -> Schema:
    why = call.text("why") or "not needed"
    return edit.confirmed(schema, edit.column_dropped(_column(call, schema), why), voucher(call, sourced=False))


def _identifier(call: Call, schema: Schema) -> Schema:
    return edit.confirmed(schema, edit.column_identifier(_column(call, schema)), voucher(call, sourced=False))


def _open(call: Call, schema: Schema) -> Schema:
    return edit.confirmed(schema, edit.column_open(_column(call, schema)), voucher(call, sourced=False))


def _change(call: Call, schema: Schema) -> Schema:
    column = _column(call, schema)
    kind = call.text("kind", column.kind)
    if kind != column.kind:
        column = edit.column_of_kind(column, kind)
    changed = replace(column, derived=())
    if column.has_domain and column.axis is not None:
        given = {field: call.text(field) for field in AXIS if field in call.body}
        changed = edit.with_bounds(column.axis, given)
    elif column.has_domain:
        text = call.text("categories", most=MOST_TEXT)
        values = [line.strip() for line in text.splitlines()] if "\n" in text else listed(text)
        changed = edit.with_values(column, values)
    return edit.confirmed(schema, changed, voucher(call))


def _confirm_all(call: Call, schema: Schema) -> Schema:
    """Every column that is still to be confirmed, of one kind or of those that a search shows, for one reason."""
    vouched, found = voucher(call), list(_found(schema, call.text("kind"), call.text("search")))
    if not found:
        raise UsageError(call.say("no column of this kind is left to confirm"))
    return schema.with_columns(*(replace(c, derived=(), confirmed=str(vouched)) for c in found))


def _found(schema: Schema, kind: str, search: str) -> Iterator[Column]:
    """Columns that are still to be confirmed."""
    sought = search.casefold()
    return (c for c in schema if c.derived and (not kind or c.kind == kind) and sought in c.name.casefold())


def _rule(call: Call, schema: Schema) -> Constraint:
    text = call.text("rule", most=5000)
    found = [rule for rule in schema.constraints if rule.rule == text]
    if not found:
        raise UsageError(call.say("there is no such rule"))
    return found[0]


def _rule_holds(call: Call, schema: Schema) -> Schema:
    return _consistent(edit.rule_answered(schema, _rule(call, schema), voucher(call)))


def _rule_away(call: Call, schema: Schema) -> Schema:
    return edit.rule_answered(schema, _rule(call, schema), None)


def _rule_add(call: Call, schema: Schema) -> Schema:
    text = call.needed("rule", call.say("write a rule, such as admission <= discharge"))
    return _consistent(edit.with_rule(schema, text, voucher(call)))


def _consistent(schema: Schema) -> Schema:
    """The same schema, unless its rules contradict each other."""
    if not schema.open_facts() and not schema.derived_facts():
        require_consistent(schema)
    return schema


def _unit(call: Call, schema: Schema) -> Schema:
    column, most = call.text("column"), call.text("most")
    if not column:
        return edit.unit_answered(schema, None, 1)
    return edit.unit_answered(schema, column, whole(most))


def _offer(call: Call, schema: Schema) -> Schema:
    first, second = call.text("first"), call.text("second")
    for offer in offers(schema):
        if (offer.first, offer.second) == (first, second):
            most = None if offer.age is not None else whole(call.text("most"))
            return offer.taken(schema, str(voucher(call)), most)
    raise SchemaError(call.say("this is no longer offered"))


def _target(call: Call, declared: Of) -> Of:
    return declared.with_target(call.text("column") or None)


def _require(call: Call, schema: Schema) -> Schema:
    """One table more that must be right."""
    weight = call.text("weight")
    table = RequiredTable(tuple(listed(call.text("columns", most=MOST_TEXT))), number(weight) if weight else 1.0)
    return with_demands(schema, replace(schema.demands, required=(*schema.demands.required, table)))


def _accept(call: Call, schema: Schema) -> Schema:
    """One criterion more."""
    criterion = criterion_of(call.text("what"), listed(call.text("columns", most=MOST_TEXT)),
                             call.text("within"), call.text("share"))  # fmt: skip
    return with_demands(schema, replace(schema.demands, accept=(*schema.demands.accept, criterion)))


def _demand_away(call: Call, schema: Schema) -> Schema:
    """Without one of them, by its place in the list of its kind."""
    return without_demand(schema, call.text("what"), whole(call.text("at")))


def _table_confirm(call: Call, related: Related, name: str) -> Related:
    return table_confirmed(related, name, voucher(call))


def _table_change(call: Call, related: Related, name: str) -> Related:
    given = {field: call.text(field) for field in TABLE_FIELDS if field in call.body}
    return table_changed(related, name, given, voucher(call))


def _table_drop(call: Call, related: Related, name: str) -> Related:
    return table_dropped(related, name)


def _table_rule(call: Call, related: Related, name: str) -> Related:
    text = call.needed("rule", call.say("write a rule, such as admission <= discharge"))
    return rule_added(related, name, text, voucher(call))


def _table_rule_away(call: Call, related: Related, name: str) -> Related:
    return rule_removed(related, name, call.text("rule", most=5000))


ANSWERS: Mapping[str, Callable[[Call, Schema], Schema]] = {
    "confirm": _confirm,
    "change": _change,
    "drop": _drop,
    "identifier": _identifier,
    "open": _open,
    "confirm_all": _confirm_all,
    "rule_holds": _rule_holds,
    "rule_away": _rule_away,
    "rule_add": _rule_add,
    "unit": _unit,
    "offer": _offer,
    "target": _target,
    "require": _require,
    "accept": _accept,
    "demand_away": _demand_away,
}
"""What can be answered about one table."""

OF_ALL: Mapping[str, Callable[[Call, Related], Declared]] = {"confirm_all": _confirm_everywhere, "target": _target}
"""What can be answered about all of several tables at once."""

OF_ONE = frozenset({"unit", "offer", "require", "accept", "demand_away"})
"""What tables that belong together do not have."""

TABLE_FIELDS = ("key", "parent", "order", "id", "max_rows", "counts_as", "orphans")

OF_SEVERAL: Mapping[str, Callable[[Call, Related, str], Related]] = {
    "table_confirm": _table_confirm,
    "table_change": _table_change,
    "table_drop": _table_drop,
    "rule_add": _table_rule,
    "rule_away": _table_rule_away,
}
"""What can be answered about one of several tables."""
