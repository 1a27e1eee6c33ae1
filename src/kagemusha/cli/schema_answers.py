"""What can be answered in the conversation about a schema, and what an answer says."""

from __future__ import annotations

import typer

from kagemusha.words.catalogue import Say, noted

ANSWERS = {
    "y": (noted("yes"), noted("yes, that is publicly known")),
    "c": (noted("change"), noted("change its values or bounds")),
    "k": (noted("kind"), noted("it is another kind of column")),
    "o": (
        noted("open"),
        noted("leave bounds or categories open, for private discovery (it takes a share of the budget)"),
    ),
    "i": (noted("identifier"), noted("an identifier: doubles get fresh ones")),
    "d": (noted("drop"), noted("leave the column out of the doubles")),
    "s": (noted("skip"), noted("skip, ask me later")),
    "q": (noted("stop"), noted("stop here; everything is saved")),
}
"""Key, short and long words of every answer."""

RULE_ANSWERS = {
    "y": (noted("yes"), noted("yes, it holds for everybody: doubles will always obey")),
    "n": (noted("no"), noted("no, or not always: the guess is deleted")),
    "s": ANSWERS["s"],
    "q": ANSWERS["q"],
}


def prompt(text: str, default: str | None = None) -> str:
    """What a person types, without blanks around it."""
    return str(typer.prompt(text, default=default)).strip()


def columns_counted(count: int, words: Say) -> str:
    """A number of columns."""
    return words("1 column") if count == 1 else words("{n:,} columns", n=count)


def rules_counted(count: int, words: Say) -> str:
    """A number of rules."""
    return words("1 rule") if count == 1 else words("{n:,} rules", n=count)
