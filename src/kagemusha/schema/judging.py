"""A table as its rules see it: for each rule a column that says which rows break it, and nothing else."""

from __future__ import annotations

from kagemusha.columns.boolean import Boolean
from kagemusha.columns.column import Column
from kagemusha.columns.drop import Drop
from kagemusha.errors import UsageError
from kagemusha.schema.constraints import Constraint, Determines
from kagemusha.schema.laws import in_force
from kagemusha.schema.schema import Schema


def rules_in_force(schema: Schema) -> list[Constraint]:
    """The rules that are no guesses, each text once; a `UsageError` if there is none."""
    rules = {rule.rule: rule for rule in in_force(schema)}
    if not rules:
        raise UsageError("the schema has no rule in force: there is nothing to count")
    return list(rules.values())


def broken(rule: Constraint) -> str:
    """The name of the column that says whether a row breaks a rule."""
    return f"breaks: {rule.rule}"


def judged_schema(schema: Schema) -> Schema:
    """What is declared about the judged table.

    `a determines b` without a list is no question about single rows: the columns it speaks of stay as they are.
    """
    columns: dict[str, Column] = {}
    for rule in rules_in_force(schema):
        if isinstance(rule.law, Determines):
            columns |= {name: schema[name] for name in (*rule.law.given, rule.law.column)}
        else:
            # what is taken from the data shows in whoever breaks the rule
            derived = ("kind",) if any(schema[name].derived for name in rule.columns) else ()
            columns[broken(rule)] = Boolean(broken(rule), derived=derived)
    unit = schema.unit
    if unit.column is not None and unit.column not in columns:
        columns[unit.column] = Drop(unit.column)
    return Schema(columns.values(), unit)
