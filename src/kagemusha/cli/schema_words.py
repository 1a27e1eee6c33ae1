"""Columns in plain words, and lines as wide as the screen is now."""

from __future__ import annotations

import shutil

from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint, Determines, Equation, Inequality

WIDEST = 100
"""Longer lines are hard to read."""


def tell(text: str = "", *, indent: int = 0) -> None:
    """A paragraph with rich markup, broken between words to fit the screen.

    What comes from outside goes in through `plain`.
    """
    from rich.console import Console
    from rich.padding import Padding

    width = max(20, min(WIDEST, shutil.get_terminal_size().columns))
    console = Console(highlight=False, emoji=False, width=width)
    console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)


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
