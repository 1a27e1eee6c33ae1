"""Columns that explain others, offered in the conversation about a schema.

How long between two dates, and age instead of a birth date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kagemusha.schema import Integer, Schema
from kagemusha.schema.constraints import Inequality
from kagemusha.words.catalogue import Say

BIRTH = re.compile(r"(?i)birth|dob|born")
AGE = re.compile(r"(?i)(^|[_\W])age($|[_\W])")
SINGLE = 64
"""Up to so many days each is a code of its own; beyond, steps grow with the number of days."""


@dataclass(frozen=True)
class Offer:
    """A formula that keeps what two dates have to do with each other."""

    first: str
    second: str
    age: str | None = None
    """The column of ages that takes the place of a birth date; None for the days between two dates."""

    def described(self, say: Say = str.format) -> str:
        """What is offered, and why."""
        names = {"first": self.first, "second": self.second}
        if self.age is not None:
            return say(
                "{first}, {second} and {age} belong together: is {age} the full years from {first} to {second}? Then "
                "doubles get an {age} first and a {first} that agrees with it.",
                age=self.age,
                **names,
            )
        return say(
            "{first} is never after {second}. Doubles obey, but how many days lie between the two would be known to a "
            "bin only. If you say the most days that there can be, the days themselves are modelled and kept.",
            **names,
        )

    def taken(self, schema: Schema, confirmed: str, most: int | None = None) -> Schema:
        """The schema with the column that explains."""
        if self.age is not None:
            return schema.replace(
                self.age,
                formula=f"years({_name(self.first)}, {_name(self.second)})",
                replaces=self.first,
                in_table=True,
                derived=(),
                confirmed=confirmed,
            )
        name = f"{self.first}_to_{self.second}"
        while name in schema.names:
            name += "_"
        long = most is not None and most > SINGLE
        days = Integer(
            name,
            lower=0,
            upper=most,
            bins=SINGLE if long else None,
            scale="log" if long else None,
            formula=f"{_name(self.second)} - {_name(self.first)}",
            replaces=self.second,
            confirmed=confirmed,
        )
        return schema.with_columns(days)


def offers(schema: Schema) -> Iterator[Offer]:
    """What confirmed orders of two dates suggest; dates that a formula explains already are left alone."""
    explained = {*schema.replaced.values(), *schema.formulas}
    ages = [
        c.name
        for c in schema.measured.values()
        if c.few_whole and AGE.search(c.name) and not c.formula and not c.special
    ]
    found = []
    for rule in schema.constraints:
        law = rule.law
        if rule.guess or not isinstance(law, Inequality) or len(law.factors) != 2:
            continue
        first, second = sorted(law.factors, key=lambda name: -law.factors[name])
        both = (schema[first].axis, schema[second].axis)
        if sorted(law.factors.values()) != [-1, 1] or not all(
            c is not None and c.resolution == "D" and c.name not in explained and not c.derived for c in both
        ):
            continue
        if not BIRTH.search(first):
            found.append(Offer(first, second))
        elif len(ages) == 1 and not schema[ages[0]].may_lack:
            found.append(Offer(first, second, ages[0]))
    # days between two visits first: the later date then follows, and an age is counted to the earlier one
    yield from sorted(found, key=lambda offer: offer.age is not None)


def _name(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`"
