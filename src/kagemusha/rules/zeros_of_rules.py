"""What the rules of a schema rule out on the level of codes: combinations in which no values can obey."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.columns.bins import spans
from kagemusha.encoding.rules import SLACK
from kagemusha.errors import SchemaError, UsageError
from kagemusha.rules.conditions import Group, group_of
from kagemusha.rules.partners import partners
from kagemusha.rules.structural_zeros import StructuralZeros
from kagemusha.schema import Measured, Schema
from kagemusha.schema.constraints import Constraint, Determines, Inequality, Logical
from kagemusha.schema.domain import Clique
from kagemusha.schema.laws import in_force, substituted

RULE_CELLS = 1 << 20
"""A rule over more combinations than this is kept by drawing alone."""


def zeros_of_rules(schema: Schema, project: Callable[[Clique], FloatArray] | None = None) -> list[StructuralZeros]:
    """The structural zeros of all rules in force.

    Of partners that nobody wrote down, those most likely by `project`.
    """
    rules, domain = in_force(schema), schema.domain
    orders = (_order(schema, rule, rule.law) for rule in rules if isinstance(rule.law, Inequality))
    found = [zero for zero in (*_conditions(schema, rules), *orders) if zero is not None and zero.impossible.any()]
    found += _listed_only(schema, rules)
    if project is not None:
        for rule in rules:
            if isinstance(rule.law, Determines) and domain.cells(rule.columns) <= RULE_CELLS:
                found.append(partners(domain, rule.rule, rule.law, found, project))
    return found


def _listed_only(schema: Schema, rules: Sequence[Constraint]) -> list[StructuralZeros]:
    """Columns that a rule speaks of hold listed values only: what would be drawn again could break it."""
    found = {}
    for rule in rules:
        for column in (schema.modelled_column(name) for name in rule.columns if name in schema.domain):
            if column.unseen_code is not None:
                impossible = np.arange(column.size) == column.unseen_code
                found[column.name] = StructuralZeros(rule.rule, (column.name,), impossible)
    return list(found.values())


def _order(schema: Schema, rule: Constraint, law: Inequality) -> StructuralZeros | None:
    reduced = substituted(schema, law)
    if reduced is None or schema.domain.cells(reduced.factors) > RULE_CELLS:
        return None
    if not reduced.factors:
        return None if reduced.bound >= -SLACK else _impossible(rule)
    clique = schema.domain.canonical(reduced.factors)
    return StructuralZeros(rule.rule, clique, _beyond(schema, clique, reduced))


def _conditions(schema: Schema, rules: Sequence[Constraint]) -> list[StructuralZeros]:
    """Rules that cut the same bins are laid out together: each may leave a part of a bin, and both nothing."""
    tied: list[tuple[set[str], list[Constraint], Group]] = []
    for rule in rules:
        group = _group(schema, [rule])
        if group is None:
            continue
        cut = {name for name, pieces in zip(group.clique, group.pieces, strict=True) if pieces.is_cut}
        members = [rule]
        for other in [t for t in tied if t[0] & cut]:
            together = _group(schema, [*other[1], *members])
            if together is not None:
                tied.remove(other)
                cut, members, group = cut | other[0], [*other[1], *members], together
        tied.append((cut, members, group))
    return [
        StructuralZeros(" and ".join(r.rule for r in rs), group.clique, group.weights() <= 0) for _, rs, group in tied
    ]


def _group(schema: Schema, rules: Sequence[Constraint]) -> Group | None:
    """The conditions of some rules together.

    None if they are none, too large, or about columns worked out of others.
    """
    laws = [rule.law for rule in rules]
    names = {name for rule in rules for name in rule.columns}
    if not all(isinstance(law, Logical) for law in laws) or not all(name in schema.domain for name in names):
        return None
    if schema.domain.cells(names) > RULE_CELLS:
        return None
    try:
        return group_of(schema, [law.condition for law in laws if isinstance(law, Logical)])
    except UsageError as error:
        if "combinations, more than" in str(error):
            return None
        raise SchemaError(f"constraint {rules[0].rule!r}: {str(error).removeprefix('where: ')}") from None


def _impossible(rule: Constraint) -> StructuralZeros:
    raise SchemaError(f"constraint {rule.rule!r}: no row can ever obey it")


def _beyond(schema: Schema, clique: Clique, law: Inequality) -> NDArray[np.bool_]:
    """Where even the values of the bins that suit the order best break it."""
    least = np.zeros(())
    for axis, name in enumerate(clique):
        column = schema.axis(name)
        low, high = bounds(column)
        ends = np.minimum(law.factors[name] * low, law.factors[name] * high)
        # without a number the order says nothing
        every = np.concatenate([ends, np.full(column.size - column.n_values, -np.inf)])
        least = least + every.reshape([-1 if i == axis else 1 for i in range(len(clique))])
    return np.asarray(least > law.bound + (-SLACK if law.strict else SLACK))


def bounds(column: Measured) -> tuple[FloatArray, FloatArray]:
    """The first and the last number of every bin, moments in days."""
    low, end = spans(column, np.arange(column.n_values))
    high = end - 1 if column.whole else np.nextafter(end.astype(np.float64), -np.inf)
    return low / column.steps, high / column.steps
