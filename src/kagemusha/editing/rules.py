"""A guessed rule as a question, in plain words."""

from __future__ import annotations

from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint, Determines, Equation, Inequality
from kagemusha.words.catalogue import Say


def rule_question(rule: str, schema: Schema, say: Say = str.format) -> str:
    """What a guessed rule asks, in plain words of the reader's language."""
    law = Constraint(rule).law
    if isinstance(law, Determines):
        given = say(" and ").join(law.given)
        return say("Does each {given} have one {column} only?", given=given, column=law.column)
    if isinstance(law, Equation):
        first, _, then = rule.partition(" = ")
        return say("Is {first} always equal to {then}, in every row?", first=first, then=then)
    if isinstance(law, Inequality) and sorted(law.factors.values()) == [-1, 1] and law.bound == 0:
        small, large = sorted(law.factors, key=lambda name: -law.factors[name])
        moments = schema.axis(small).sort == "moment"
        if moments:
            return say("Is {small} never later than {large}?", small=small, large=large)
        return say("Is {small} never more than {large}?", small=small, large=large)
    first, implies, then = rule.partition(" implies ")
    if implies:
        return say("Wherever {first}: is it always so that {then}?", first=first, then=then)
    if rule.startswith("never "):
        return say("Can it never be that {what}?", what=rule.removeprefix("never "))
    return say("Is it always so that {rule}?", rule=rule)
