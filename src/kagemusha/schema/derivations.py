"""Columns that are worked out of others: how, in which order, and that this can be turned round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kagemusha.columns.column import Column
from kagemusha.errors import SchemaError
from kagemusha.schema.constraints import Constraint, Equation
from kagemusha.schema.formulas import Formula, columns_of, invertible
from kagemusha.schema.grammar import parse_formula


def formulas(columns: Iterable[Column], constraints: Iterable[Constraint]) -> dict[str, Formula]:
    """The columns with a formula, their own or one that a rule in force gives them."""
    by_name = {column.name: column for column in columns}
    found: dict[str, Formula] = {}
    for rule in constraints:
        if isinstance(rule.law, Equation) and not rule.guess:
            if rule.law.column in found:
                raise SchemaError(f"constraint {rule.rule!r}: another rule says already what {rule.law.column!r} is")
            if by_name[rule.law.column].axis is None:
                raise SchemaError(f"constraint {rule.rule!r}: {rule.law.column!r} is no column of numbers or dates")
            found[rule.law.column] = rule.law.formula
    for axis in by_name.values():
        column = axis.axis
        if column is not None and column.formula is not None:
            if column.name in found:
                raise SchemaError(f"column {column.name!r} has a formula and a rule that says what it is")
            try:
                found[column.name] = parse_formula(column.formula)
            except SchemaError as error:
                raise SchemaError(f"column {column.name!r}: {error}") from None
    return found


def working_order(found: Mapping[str, Formula], replaced: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """(column to be worked out, column whose formula says it), each after those it needs."""
    waiting = {replaced.get(name, name): name for name in found}
    order: list[tuple[str, str]] = []
    while waiting:
        ready = [
            (target, name)
            for target, name in waiting.items()
            if not any(used in waiting for used in columns_of(found[name]) if used != target)
        ]
        if not ready:
            raise SchemaError(f"formulas go round in a circle: {' needs '.join(_circle(waiting, found))}")
        order += ready
        for target, _ in ready:
            del waiting[target]
    return tuple(order)


def _circle(waiting: Mapping[str, str], found: Mapping[str, Formula]) -> list[str]:
    """Columns of which each is worked out of the next, from one of them back to itself."""
    way = [next(iter(waiting))]
    while way.count(way[-1]) == 1:
        way.append(next(n for n in columns_of(found[waiting[way[-1]]]) if n in waiting and n != way[-1]))
    return way[way.index(way[-1]) :]


def check(columns: Mapping[str, Column], found: Mapping[str, Formula], replaced: Mapping[str, str]) -> None:
    """A `SchemaError` for a formula that cannot be worked out, or turned round where it must be."""
    for name, formula in found.items():
        used = columns_of(formula)
        for other in used:
            axis = columns[other].axis if other in columns else None
            if axis is None or other in found:
                raise SchemaError(
                    f"column {name!r}: its formula uses {other!r}, which must be a column of numbers or dates of the "
                    "table without a formula of its own"
                )
            if not axis.shows_days:
                raise SchemaError(f"column {name!r}: its formula uses {other!r}, whose format shows no days")
        if name in replaced:
            _check_replaced(columns, name, formula, replaced)
        target = columns[replaced.get(name, name)]
        for other in sorted({*used, name} - {target.name}):
            if columns[other].may_lack and not target.may_lack:
                raise SchemaError(
                    f"column {target.name!r}: it is worked out of {other!r}, which may be missing; say missing = true"
                )


def _check_replaced(columns: Mapping[str, Column], name: str, formula: Formula, replaced: Mapping[str, str]) -> None:
    target = replaced[name]
    if (axis := columns[name].axis) is not None and axis.sort == "moment":
        raise SchemaError(f"column {name!r}: what is modelled in place of a column must be a number")
    if not invertible(formula, target):
        raise SchemaError(f"column {name!r}: replaces = {target!r} must be a column that stands once in the formula")
    if sum(other == target for other in replaced.values()) > 1:
        raise SchemaError(f"column {target!r} is replaced twice")
