"""Answers about a schema, as the page gives them: each is on disk before the page hears of it, and can be undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kagemusha.columns.column import Column
from kagemusha.editing import answers as edit
from kagemusha.editing.answers import Voucher, listed, whole
from kagemusha.editing.offers import offers
from kagemusha.errors import SchemaError, UsageError
from kagemusha.rules.contradictions import require_consistent
from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.studio.calls import MOST_TEXT, Call
from kagemusha.studio.drafts import Drafts
from kagemusha.studio.place import Table

AXIS = ("few", "lower", "upper", "bins", "scale", "special")


def answer(call: Call, drafts: Drafts, table: Table) -> set[str] | None:
    """Carry out one answer; returns the columns that look otherwise now, or None for all of them."""
    what = call.text("answer")
    if what == "undo":
        if not drafts.undo(table):
            raise UsageError(call.say("there is nothing to take back"))
        return None
    if what not in ANSWERS:
        raise UsageError(call.say("{what} is no answer", what=repr(what[:40])))
    schema = drafts.load(table)
    changed = ANSWERS[what](call, schema)
    drafts.keep(table, changed)
    touched = {c.name for c, old in zip(changed, schema, strict=False) if c != old}
    same = changed.names == schema.names and len(touched) <= 1
    return touched if same and changed.constraints == schema.constraints and changed.unit == schema.unit else None


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
    kind, search, vouched = call.text("kind"), call.text("search").casefold(), voucher(call)
    found = [
        c for c in schema
        if c.derived and (not kind or c.kind == kind) and (not search or search in c.name.casefold())
    ]  # fmt: skip
    if not found:
        raise UsageError(call.say("no column of this kind is left to confirm"))
    return schema.with_columns(*(replace(c, derived=(), confirmed=str(vouched)) for c in found))


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


def _target(call: Call, schema: Schema) -> Schema:
    return schema.with_target(call.text("column") or None)


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
}
"""What can be answered."""
