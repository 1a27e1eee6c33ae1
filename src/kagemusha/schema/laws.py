"""The rules in force, held against the columns they speak of: what makes no sense is a `SchemaError`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kagemusha.errors import SchemaError, UsageError
from kagemusha.schema.conditions import Both, Compare, Condition, Either, Listed, Missing, Not
from kagemusha.schema.constraints import Constraint, Determines, Inequality, Logical
from kagemusha.schema.formulas import linear
from kagemusha.schema.schema import Schema
from kagemusha.schema.truth import listed_codes


def in_force(schema: Schema) -> list[Constraint]:
    """The rules that nobody has marked as a guess, each checked."""
    rules = [rule for rule in schema.constraints if not rule.guess]
    for rule in rules:
        check_rule(schema, rule)
    return rules


def check_rule(schema: Schema, rule: Constraint) -> None:
    """A `SchemaError` if a rule compares what cannot be compared."""
    law = rule.law
    try:
        for name in sorted(rule.columns):
            schema.modelled_column(name)
        if isinstance(law, Logical):
            for test in tests_of(law.condition):
                _check_test(schema, test)
        elif isinstance(law, Inequality):
            _check_order(schema, law)
        elif isinstance(law, Determines):
            for name in (*law.given, law.column):
                if schema[name].as_labels is None:
                    raise SchemaError(f"column {name!r} must be a category or a boolean")
    except (SchemaError, UsageError) as error:
        raise SchemaError(f"constraint {rule.rule!r}: {str(error).removeprefix('where: ')}") from None


def tests_of(condition: Condition) -> Iterator[Compare | Missing | Listed]:
    """Every single test in a condition."""
    if isinstance(condition, Both | Either):
        for part in condition.parts:
            yield from tests_of(part)
    elif isinstance(condition, Not):
        yield from tests_of(condition.part)
    else:
        yield condition


def _check_test(schema: Schema, test: Compare | Missing | Listed) -> None:
    if isinstance(test, Listed):
        listed_codes([schema[name] for name in test.columns], test)
    elif isinstance(test, Compare):
        schema.modelled_column(test.column).check_comparison(test.operator, test.value)


def _check_order(schema: Schema, law: Inequality) -> None:
    moments, shown = 0.0, {}
    for name, factor in law.factors.items():
        column = schema.axis(name)
        if column.sort == "moment":
            moments += factor
            shown[column.resolution] = column.shows_days
    if abs(moments) > 1e-12:
        raise SchemaError("dates are compared with dates; write their difference, such as discharge - admission <= 365")
    if len(shown) > 1 and not all(shown.values()):
        raise SchemaError("dates that show no days are compared with dates of the same format only")


def substituted(schema: Schema, law: Inequality) -> Inequality | None:
    """The same order in terms of modelled columns; None if a column in it follows from others by no sum.

    With stay = discharge − admission modelled in place of discharge, admission ≤ discharge becomes 0 ≤ stay.
    """
    factors: dict[str, float] = dict(law.factors)
    bound = law.bound
    for target, name in reversed(schema.working_order):
        factor = factors.pop(target, 0.0)
        if not factor:
            continue
        solved = _solved(schema, target, name)
        if solved is None:
            return None
        others, constant = solved
        bound -= factor * constant
        for other, share in others.items():
            factors[other] = factors.get(other, 0.0) + factor * share
    return replace(law, factors={n: f for n, f in factors.items() if abs(f) > 1e-12}, bound=bound)


def _solved(schema: Schema, target: str, name: str) -> tuple[Mapping[str, float], float] | None:
    """The target as a sum of other columns."""
    found = linear(schema.formulas[name])
    if found is None:
        return None
    factors, constant = found
    if name == target:
        return factors, constant
    own = factors[target]
    others = {other: -factor / own for other, factor in factors.items() if other != target}
    return {**others, name: 1 / own}, -constant / own
