"""What the rules of a schema rule out on the level of codes: combinations in which no values can obey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.encoding.bins import spans
from kagemusha.encoding.cells import A_DAY
from kagemusha.encoding.rules import SLACK
from kagemusha.errors import SchemaError, UsageError
from kagemusha.models.conditions import group_of
from kagemusha.schema import Measured, Moment, Schema
from kagemusha.schema.constraints import Constraint, Determines, Inequality, Logical
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.laws import in_force, substituted

MOST_CELLS = 1 << 20
"""A rule over more combinations than this is kept by drawing alone."""


@dataclass(frozen=True, eq=False)
class Wall:
    """Combinations of codes that a rule rules out."""

    rule: str
    clique: Clique
    impossible: NDArray[np.bool_]

    def hits(self, domain: Domain, codes: IntArray) -> NDArray[np.bool_]:
        """Which rows of codes run into it."""
        return np.asarray(self.impossible[tuple(codes[:, domain.axis(name)] for name in self.clique)])


def walls_of(schema: Schema, project: Callable[[Clique], FloatArray] | None = None) -> list[Wall]:
    """The walls of all rules in force; of partners that nobody wrote down, those most likely by `project`."""
    found = []
    for rule in in_force(schema):
        wall = _wall(schema, rule, project)
        if wall is not None and wall.impossible.any():
            found.append(wall)
    return found


def _wall(schema: Schema, rule: Constraint, project: Callable[[Clique], FloatArray] | None) -> Wall | None:
    domain, law = schema.domain, rule.law
    if isinstance(law, Inequality):
        reduced = substituted(schema, law)
        if reduced is None or domain.cells(domain.canonical(reduced.factors)) > MOST_CELLS:
            return None
        if not reduced.factors:
            return None if reduced.bound >= -SLACK else _impossible(rule)
        clique = domain.canonical(reduced.factors)
        return Wall(rule.rule, clique, _beyond(schema, clique, reduced))
    if not all(name in domain for name in rule.columns):
        return None  # it speaks of a column that is worked out of others
    clique = domain.canonical(rule.columns)
    if domain.cells(clique) > MOST_CELLS:
        return None
    if isinstance(law, Logical):
        try:
            return Wall(rule.rule, clique, group_of(schema, [law.condition]).weights() <= 0)
        except UsageError as error:
            raise SchemaError(f"constraint {rule.rule!r}: {str(error).removeprefix('where: ')}") from None
    if isinstance(law, Determines) and project is not None:
        return Wall(rule.rule, clique, _other_partners(project(clique), clique.index(law.column)))
    return None


def _impossible(rule: Constraint) -> Wall:
    raise SchemaError(f"constraint {rule.rule!r}: no row can ever obey it")


def _beyond(schema: Schema, clique: Clique, law: Inequality) -> NDArray[np.bool_]:
    """Where even the values of the bins that suit the order best break it."""
    least = np.zeros(())
    for axis, name in enumerate(clique):
        column = schema[name]
        assert isinstance(column, Measured)
        low, high = bounds(column)
        ends = np.minimum(law.factors[name] * low, law.factors[name] * high)
        # without a number the order says nothing
        every = np.concatenate([ends, np.full(column.size - column.ordinary, -np.inf)])
        least = least + every.reshape([-1 if i == axis else 1 for i in range(len(clique))])
    return np.asarray(least > law.bound + (-SLACK if law.strict else SLACK))


def bounds(column: Measured) -> tuple[FloatArray, FloatArray]:
    """The first and the last number of every bin, moments in days."""
    low, end = spans(column, np.arange(column.ordinary))
    high = end - 1 if column.whole else np.nextafter(end.astype(np.float64), -np.inf)
    scale = A_DAY.get(column.unit, 1) if isinstance(column, Moment) else 1
    return low / scale, high / scale


def _other_partners(table: FloatArray, axis: int) -> NDArray[np.bool_]:
    best = np.expand_dims(table.argmax(axis=axis), axis)
    index = np.arange(table.shape[axis]).reshape([-1 if i == axis else 1 for i in range(table.ndim)])
    return np.asarray(index != best)


def hits(walls: Sequence[Wall], domain: Domain, codes: IntArray) -> NDArray[np.bool_]:
    """Which rows of codes run into any wall."""
    found = np.zeros(len(codes), dtype=np.bool_)
    for wall in walls:
        found |= wall.hits(domain, codes)
    return found
