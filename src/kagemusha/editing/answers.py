"""Answers about one column, one rule, or whose rows belong together: a schema and an answer make the next schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from kagemusha.columns.registry import KINDS
from kagemusha.errors import SchemaError
from kagemusha.schema import Column, Drop, Measured, Modelled, Schema, Surrogate
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.unit import EACH_ROW, Unit
from kagemusha.words.catalogue import noted

MODELLED = tuple(kind for kind, column in KINDS.items() if issubclass(column, Modelled))

SOURCES = (
    noted("general knowledge"),
    noted("a code list or standard"),
    noted("the form it was typed into"),
    noted("the law"),
    noted("a published table"),
)
"""Public sources that are offered; words of one's own will do, too."""


@dataclass(frozen=True)
class Voucher:
    """Who answers, and from which public source."""

    who: str
    source: str | None = None

    def __str__(self) -> str:
        return f"{self.who}, {date.today().isoformat()}" + ("" if self.source is None else f", from {self.source}")


def whole(text: str) -> Any:
    """A whole number, or the text as it is, which the column then refuses by name."""
    try:
        return int(text)
    except ValueError:
        return text


def number(text: str) -> Any:
    """A number, or the text as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def special_value(text: str) -> str | int | float:
    """A special value as it is meant: a whole number, another number, or a text."""
    found: str | int | float = whole(text)
    return found if isinstance(found, int) else number(text)


def listed(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def column_open(column: Column) -> Column:
    """The column with bounds or categories left open, for private discovery."""
    # who does not know the values does not vouch for the special ones among them either
    return replace(column.kind_only(), derived=tuple(f for f in column.derived if f == "special"))


def column_dropped(column: Column, why: str) -> Column:
    """The column left out of the doubles."""
    return Drop(column.name, reason=why)


def column_identifier(column: Column) -> Column:
    """The column as one of identifiers: doubles get fresh ones."""
    return Surrogate(column.name)


def column_of_kind(column: Column, kind: str) -> Column:
    """A column of another kind of that name, with nothing said yet but whether values may be missing."""
    if kind not in MODELLED:
        raise SchemaError(f"{kind!r} is no kind of column; say one of {', '.join(MODELLED)}")
    gaps: Any = {"missing": column.may_lack}
    return KINDS[kind](column.name, **gaps)


def with_values(column: Any, values: Sequence[str]) -> Column:
    """A column of labels with these values and no others."""
    fresh = replace(column, categories=tuple(v for v in values if v), levels=(), ancestors=(), derived=())
    changed: Column = replace(fresh, levels=column.levels)
    return changed


def reader_of(column: Measured) -> Callable[[str], Any]:
    """How a bound of this column is read from what a person types."""
    readers: dict[type, Callable[[str], Any]] = {int: whole, float: number, str: str}
    return readers[column.asked_as]


def with_bounds(column: Measured, given: Mapping[str, str]) -> Column:
    """A column on an axis with what was typed, field by field.

    `few` lists the only numbers there are; else `lower`, `upper`, `bins` (empty for as many as there are values) and
    `scale` say it. `special` lists special values. A field that is not given stays as it is.
    """
    fields: dict[str, Any] = {"edges": None, "derived": ()}
    read = reader_of(column)
    if "values" in column.fields and "few" in given:
        fields |= {"values": None, "scale": None}
        if given["few"]:
            fields |= {"values": tuple(read(v) for v in listed(given["few"]))}
            fields |= {"lower": None, "upper": None, "bins": None}
    if fields.get("values") is None:
        fields |= {field: read(given[field]) for field in ("lower", "upper") if field in given}
        if "bins" in given:
            fields["bins"] = whole(given["bins"]) if given["bins"] else None
        if "scale" in column.fields and "scale" in given and fields.get("bins", column.bins) is not None:
            fields["scale"] = None if given["scale"] in ("", "equal") else given["scale"]
    if "special" in given:
        fields["special"] = tuple(map(special_value, listed(given["special"])))
    return replace(column, **fields)


def confirmed(schema: Schema, column: Column, voucher: Voucher) -> Schema:
    """The schema with this column, for which somebody vouches."""
    return schema.with_columns(replace(column, confirmed=str(voucher)))


def rule_answered(schema: Schema, rule: Constraint, voucher: Voucher | None) -> Schema:
    """The schema with a guess that holds, in its place, since somebody vouches for it; or without it."""
    said = [] if voucher is None else [replace(rule, guess=False, confirmed=str(voucher))]
    return schema.with_constraints(
        *(one for other in schema.constraints for one in (said if other is rule else [other]))
    )


def with_rule(schema: Schema, text: str, voucher: Voucher) -> Schema:
    """The schema with one rule more, in somebody's own words."""
    return schema.with_constraints(*schema.constraints, Constraint(text.strip(), confirmed=str(voucher)))


def unit_answered(schema: Schema, column: str | None, most: Any) -> Schema:
    """The schema with whose rows belong together, and how many of a person's count; None: every row is a person."""
    return schema.with_unit(EACH_ROW if column is None else Unit(column, most))
