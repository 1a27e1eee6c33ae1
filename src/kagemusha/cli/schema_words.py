"""Columns in plain words, and lines as wide as the screen is now."""

from __future__ import annotations

import shutil

from kagemusha.schema import Column, Drop, Labelled, Measured
from kagemusha.schema.labels import text_of
from kagemusha.schema.measured import open_ends

WIDEST = 100
"""Longer lines are hard to read."""

FEW = 8
"""Values that are listed before the rest is only counted."""


def tell(text: str = "", *, indent: int = 0) -> None:
    """A paragraph with rich markup, broken between words to fit the screen; what comes from outside goes in through `plain`."""
    from rich.console import Console
    from rich.padding import Padding

    width = max(20, min(WIDEST, shutil.get_terminal_size().columns))
    console = Console(highlight=False, emoji=False, width=width)
    console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)


def in_words(column: Column) -> str:
    """What the schema says of a column, in a sentence."""
    gaps = "; values may be missing" if getattr(column, "missing", False) else ""
    if isinstance(column, Drop):
        return f"It is left out of the doubles: {column.reason}."
    if isinstance(column, Labelled):
        if column.open_fields:
            return f"It is a category whose values are not listed{gaps}."
        # what stands for values outside the list is never shown where doubles get a listed one instead
        shown = [text_of(label) for code, label in enumerate(column.labels) if code != column.unseen_code]
        return f"It is one of: {_some(shown)}{_families(column)}{gaps}."
    if not isinstance(column, Measured):
        return f"It is a {column.kind}: fresh identifiers take its place."
    what = {"integer": "a whole number", "real": "a number", "date": "a date", "datetime": "a moment"}[column.kind]
    special = f"; {', '.join(map(str, column.special))} stand for something else" if column.special else ""
    if column.points is not None:
        return f"It is one of the numbers {_some([f'{v:g}' for v in column.points])}{special}{gaps}."
    lower, upper = getattr(column, "lower", None), getattr(column, "upper", None)
    if open_ends(lower, upper, getattr(column, "edges", None)):
        return f"It is {what} whose bounds are not declared{special}{gaps}."
    growing = " that grow with the numbers" if getattr(column, "scale", None) == "log" else ""
    steps = f"{column.ordinary:,} steps" if column.ordinary != 1 else "one step"
    return f"It is {what} from {column.low if lower is None else lower} to {column.high if upper is None else upper}, in {steps}{growing}{special}{gaps}."


def _families(column: Column) -> str:
    """How codes are put together, where they are."""
    levels = getattr(column, "levels", ())
    return f", grouped by their first {' and '.join(map(str, levels))} characters" if levels else ""


def _some(values: list[str]) -> str:
    return ", ".join(values[:FEW]) + (f", … ({len(values):,} in all)" if len(values) > FEW else "")
