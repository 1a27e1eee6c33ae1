"""Answers about what a release must keep: tables that must be right, and criteria by which it is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kagemusha.editing.answers import number
from kagemusha.errors import SchemaError
from kagemusha.schema import Schema
from kagemusha.schema.demands import NOTHING, SHARE, Criterion, Demands

REQUIRE, TABLES, MEAN, RULES = "require", "tables", "mean", "rules"


def with_demands(schema: Schema, demands: Demands) -> Schema:
    """The schema with these demands and no others."""
    return replace(schema, demands=demands if demands.required or demands.accept else NOTHING)


def criterion_of(what: str, columns: Sequence[str], within: str, share: str) -> Criterion:
    """A criterion as it is typed: how far apart tables may be is said per 100 doubles, a mean in its own unit."""
    budget = hundredth(share) if share else SHARE
    if what == TABLES:
        return Criterion(hundredth(within), tuple(columns), share=budget)
    if what == RULES:
        return Criterion(rules=True)
    if what != MEAN:
        raise SchemaError(f"accept: {what!r} is no criterion; it must be tables, mean or rules")
    if len(columns) != 1:
        raise SchemaError("accept: mean must be that of one column")
    near: Any = number(within)
    return Criterion(near, mean=columns[0], share=budget)


def hundredth(text: str) -> Any:
    """A number of 100 as a share, or the text as it is, which is then refused by name."""
    found = number(text)
    return found / 100 if isinstance(found, float) else found


def without_demand(schema: Schema, what: str, at: Any) -> Schema:
    """The schema without one of its demands, by its place in the list of its kind."""
    demands = schema.demands
    required, accept = list(demands.required), list(demands.accept)
    there: list[Any] = required if what == REQUIRE else accept
    if not isinstance(at, int) or not 0 <= at < len(there):
        raise SchemaError("this is no longer demanded")
    del there[at]
    return with_demands(schema, Demands(tuple(required), tuple(accept)))
