"""What can be answered in the conversation about a schema, and what an answer says."""

from __future__ import annotations

import typer

ANSWERS = {
    "y": ("yes", "yes, that is publicly known"),
    "c": ("change", "change its values or bounds"),
    "k": ("kind", "it is another kind of column"),
    "o": ("open", "leave bounds or categories open, for private discovery (it takes a share of the budget)"),
    "i": ("identifier", "an identifier: doubles get fresh ones"),
    "d": ("drop", "leave the column out of the doubles"),
    "s": ("skip", "skip, ask me later"),
    "q": ("stop", "stop here; everything is saved"),
}
"""Key, short and long words of every answer."""

RULE_ANSWERS = {
    "y": ("yes", "yes, it holds for everybody: doubles will always obey"),
    "n": ("no", "no, or not always: the guess is deleted"),
    "s": ANSWERS["s"],
    "q": ANSWERS["q"],
}


def prompt(text: str, default: str | None = None) -> str:
    """What a person types, without blanks around it."""
    return str(typer.prompt(text, default=default)).strip()


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count} {what}{'' if count == 1 else 's'}"
