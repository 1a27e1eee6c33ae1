"""A guessed rule as a question, in plain words."""

from __future__ import annotations

from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint, Determines, Equation, Inequality


def rule_question(rule: str, schema: Schema) -> str:
    """What a guessed rule asks, in plain words."""
    law = Constraint(rule).law
    if isinstance(law, Determines):
        return f"Does each {' and '.join(law.given)} have one {law.column} only?"
    if isinstance(law, Equation):
        return f"Is {rule.replace(' = ', ' always equal to ', 1)}, in every row?"
    if isinstance(law, Inequality) and sorted(law.factors.values()) == [-1, 1] and law.bound == 0:
        small, large = sorted(law.factors, key=lambda name: -law.factors[name])
        moments = schema.axis(small).sort == "moment"
        return f"Is {small} never {'later' if moments else 'more'} than {large}?"
    first, implies, then = rule.partition(" implies ")
    if implies:
        return f"Wherever {first}: is it always so that {then}?"
    if rule.startswith("never "):
        return f"Can it never be that {rule.removeprefix('never ')}?"
    return f"Is it always so that {rule}?"
