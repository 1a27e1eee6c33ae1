"""A column of the schema as a card: what is said of it, in plain words, and who says so."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kagemusha.columns.column import Column
from kagemusha.columns.registry import column_to_fields
from kagemusha.columns.words import some
from kagemusha.schema import Schema
from kagemusha.schema.lint import check
from kagemusha.words.catalogue import Catalogue, noted

FIELDS = {
    "kind": noted("kind"),
    "categories": noted("values"),
    "levels": noted("groups by first characters"),
    "ancestors": noted("groups"),
    "families": noted("groups that are open"),
    "values": noted("the only numbers"),
    "lower": noted("lowest"),
    "upper": noted("highest"),
    "bins": noted("steps"),
    "edges": noted("steps at"),
    "scale": noted("width of steps"),
    "special": noted("special values"),
    "decimals": noted("decimals"),
    "format": noted("written as"),
    "spelling": noted("spelling"),
    "missing": noted("may be missing"),
    "out_of_domain": noted("other values"),
    "other": noted("name of other values"),
    "formula": noted("worked out as"),
    "replaces": noted("takes the place of"),
    "in_table": noted("is in the table"),
    "dtype": noted("type in the output"),
    "reason": noted("reason"),
    "prefix": noted("identifiers begin with"),
}
"""Fields of the schema file, as pages call them."""

KINDS = {
    "category": noted("category"),
    "boolean": noted("yes or no"),
    "integer": noted("whole number"),
    "real": noted("number"),
    "date": noted("date"),
    "datetime": noted("date and time"),
    "time": noted("time of day"),
    "duration": noted("duration"),
    "drop": noted("left out"),
    "surrogate": noted("identifier"),
}

MOST_SHOWN = 12
"""Categories that a card lists."""


@dataclass(frozen=True)
class Fact:
    """One thing that is said of a column."""

    field: str
    value: str
    derived: bool
    """Whether it was read off the data and nobody confirmed it."""


@dataclass(frozen=True)
class Card:
    """One column."""

    at: str
    """What its parts on the page are called after."""
    part: str
    """The table that it is a column of, where several belong together."""
    name: str
    kind: str
    words: str
    facts: Sequence[Fact]
    derived: bool
    open: bool
    confirmed: str
    in_doubles: bool
    has_domain: bool
    labels: str
    """The values of a category as they are edited, one per line; empty for other kinds."""
    axis: dict[str, str] | None
    """The fields of a number or date as they are edited."""
    remarks: Sequence[str]

    @property
    def state(self) -> str:
        """confirm, open or done: what is left to do."""
        return "confirm" if self.derived else "open" if self.open else "done"


def cards_of(
    schema: Schema, say: Catalogue, only: set[str] | None = None, *, part: str = "", hidden: Collection[str] = ()
) -> Iterator[Card]:
    """The cards of a schema, or of some of its columns; of one of several tables without its keys."""
    remarks: dict[str, list[str]] = {}
    for remark in check(schema):
        if remark.level in ("warning", "note"):
            remarks.setdefault(remark.column, []).append(remark.text)
    left = {fact.column for fact in schema.open_facts()}
    for at, column in enumerate(schema):
        if column.name not in hidden and (only is None or column.name in only):
            id = f"{part}-{at}" if part else str(at)
            yield _card(id, part, column, say, column.name in left, remarks.get(column.name, ()))


def _card(at: str, part: str, column: Column, say: Catalogue, is_open: bool, remarks: Sequence[str]) -> Card:
    fields = {f: v for f, v in column_to_fields(column).items() if f not in ("kind", "derived", "confirmed")}
    derived = {*column.derived}
    facts = [Fact(say(FIELDS["kind"]), say(KINDS[column.kind]), "kind" in derived)]
    facts += [Fact(say(FIELDS.get(f, f)), _shown(v, say), f in derived) for f, v in fields.items()]
    labels, reason = column.as_labels, str(fields.get("reason", ""))
    axis = column.axis
    return Card(
        at=at,
        part=part,
        name=column.name,
        kind=column.kind,
        words=column.described(say).replace(reason or " ", say.heard(reason) or " "),
        facts=facts,
        derived=bool(derived),
        open=is_open,
        confirmed=column.confirmed or "",
        in_doubles=column.in_doubles,
        has_domain=column.has_domain,
        labels="\n".join(map(str, fields.get("categories", ()))) if labels is not None else "",
        axis=None if axis is None or not column.has_domain else _axis(axis),
        remarks=list(remarks),
    )


def _axis(column: Any) -> dict[str, str]:
    """What the form of a number or a date begins with."""
    points = column.points if "values" in column.fields else None
    named = ("lower", "upper", "bins", *(["scale"] if "scale" in column.fields else []))
    found = {field: "" if (value := column.given(field)) is None else str(value) for field in named}
    if "values" in column.fields:
        found["few"] = "" if points is None else ", ".join(f"{value:g}" for value in points)
    return {**found, "special": ", ".join(map(str, column.special))}


def _shown(value: Any, say: Catalogue) -> str:
    """A fact's value as people read it."""
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if isinstance(value, list | tuple):
        return some([str(one) for one in value]) if len(value) > MOST_SHOWN else ", ".join(map(str, value))
    return str(value)
