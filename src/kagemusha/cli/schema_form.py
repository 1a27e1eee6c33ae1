"""`schema edit`: the draft of a schema as a conversation, one column after the other."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import typer

from kagemusha.cli.output import plain, say
from kagemusha.errors import SchemaError
from kagemusha.schema import Category, Column, Drop, Labelled, Measured, Modelled, Schema, Surrogate
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.labels import text_of
from kagemusha.schema.measured import open_ends

ANSWERS = {
    "y": "yes, that is publicly known",
    "c": "change it",
    "o": "leave bounds or categories open, for private discovery",
    "i": "an identifier: doubles get fresh ones",
    "d": "drop the column",
    "s": "skip, ask me later",
    "q": "save and stop",
}

SOURCES = "a code list or standard, the form it was typed into, the law, a published table, general knowledge"


class Form:
    """Asks about every column with facts that nobody has confirmed, and about every rule that is a guess."""

    def __init__(self, path: Path, who: str | None) -> None:
        self.path, self.schema = path, Schema.load(path)
        self.who, self.source = who, "general knowledge"

    def run(self) -> None:
        """Ask until nothing is left or the person stops; every answer is on disk before the next question."""
        waiting = [c.name for c in self.schema if c.derived]
        guesses = [rule for rule in self.schema.constraints if rule.guess]
        if not waiting and not guesses:
            say(f"{plain(self.path)}: nothing is left to confirm")
            return
        say(
            f"{len(waiting)} columns and {len(guesses)} rules to look at. Write only what you would know without this table."
        )
        self.who = self.who or typer.prompt("Who are you (kept in the file, shown on certificates)")
        for at, name in enumerate(waiting, 1):
            say("")
            say(f"[bold]{at} of {len(waiting)}: {plain(name)}[/]")
            if not self._column(self.schema[name]):
                break
        else:
            for rule in guesses:
                if not self._rule(rule):
                    break
        left = len(self.schema.derived_facts())
        end = f"{left} facts are left" if left else "nothing is left to confirm"
        say(f"{plain(self.path)}: saved, {end}. Then: kagemusha schema check {plain(self.path)}")

    def _column(self, column: Column) -> bool:
        """Ask about one column; False if the person stops."""
        while True:
            say(plain(in_words(column)))
            say(f"The draft takes this from the data: {', '.join(column.derived)}.")
            choices = [key for key in ANSWERS if not (key == "o" and not isinstance(column, Category | Measured))]
            for key in choices:
                say(f"  {key}  {ANSWERS[key]}")
            answer = typer.prompt("Is it so", default="s", show_default=False).strip().lower()[:1]
            if answer == "q":
                return False
            if answer == "s":
                return True
            if answer in choices:
                changed = self._changed(column, answer)
                if changed is not None:
                    self._keep(changed)
                    return True
            else:
                say(f"Please answer with one of {', '.join(choices)}.")

    def _changed(self, column: Column, answer: str) -> Column | None:
        if answer == "y":
            return replace(column, derived=(), confirmed=self._vouched())
        if answer == "d":
            return Drop(column.name, reason=typer.prompt("Why", default="not needed"), confirmed=self._vouched(False))
        if answer == "i":
            return Surrogate(column.name, confirmed=self._vouched(False))
        if answer == "o" and isinstance(column, Modelled):
            return replace(column.kind_only(), derived=(), confirmed=self._vouched(False))
        if isinstance(column, Category):
            return self._categories(column)
        return self._bounds(column) if isinstance(column, Measured) else self._vouch_only(column)

    def _vouch_only(self, column: Column) -> Column:
        say("There is nothing to change but the kind; edit the file for that.")
        return column

    def _categories(self, column: Category) -> Column | None:
        given = typer.prompt("All its values, separated by commas, or @FILE for a list with one a line")
        try:
            if given.startswith("@"):
                values = [line.strip() for line in Path(given[1:]).read_text(encoding="utf-8-sig").splitlines()]
            else:
                values = [value.strip() for value in given.split(",")]
            fresh = replace(column, categories=tuple(v for v in values if v), levels=(), ancestors=(), derived=())
            return replace(fresh, levels=column.levels, confirmed=self._vouched())
        except (SchemaError, OSError, ValueError) as error:
            say(f"[red]{plain(error)}[/]")
            return None

    def _bounds(self, column: Measured) -> Column | None:
        fields: dict[str, Any] = {"values": None} if hasattr(column, "values") else {}
        for field in ("lower", "upper"):
            now = getattr(column, field)
            fields[field] = self._number(column, typer.prompt(field, default="" if now is None else str(now)))
        special = typer.prompt("Special values, separated by commas", default=", ".join(map(str, column.special)))
        fields["special"] = tuple(self._special(value.strip()) for value in special.split(",") if value.strip())
        try:
            return replace(column, derived=(), confirmed=self._vouched(), **{**fields, "edges": None})
        except (SchemaError, TypeError) as error:
            say(f"[red]{plain(error)}[/]")
            return None

    @staticmethod
    def _number(column: Measured, text: str) -> Any:
        if column.kind in ("date", "datetime"):
            return text
        try:
            return int(text) if column.kind == "integer" else float(text)
        except ValueError:
            return text

    @staticmethod
    def _special(text: str) -> str | int | float:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    def _rule(self, rule: Constraint) -> bool:
        say("")
        say(f"Does this always hold: [bold]{plain(rule.rule)}[/]? It was guessed from the names alone.")
        answer = typer.prompt("y yes, n no, s skip, q stop", default="s", show_default=False).strip().lower()[:1]
        if answer in ("y", "n"):
            rest = [other for other in self.schema.constraints if other is not rule]
            if answer == "y":
                rest.append(replace(rule, guess=False, confirmed=self._vouched()))
            try:
                self.schema = self.schema.with_constraints(*rest)
                self.schema.save(self.path)
            except SchemaError as error:
                say(f"[red]{plain(error)}[/]")
        return bool(answer != "q")

    def _vouched(self, ask: bool = True) -> str:
        """Who, when, and from which source."""
        if ask:
            self.source = typer.prompt(f"From which public source ({SOURCES})", default=self.source)
        return f"{self.who}, {date.today().isoformat()}" + (f", from {self.source}" if ask else "")

    def _keep(self, column: Column) -> None:
        self.schema = self.schema.with_columns(column)
        self.schema.save(self.path)


def in_words(column: Column) -> str:
    """What the schema says of a column, in a sentence."""
    gaps = "; values may be missing" if getattr(column, "missing", False) else ""
    if isinstance(column, Drop):
        return f"It is left out of the doubles: {column.reason}."
    if isinstance(column, Labelled):
        if column.open_fields:
            return f"It is a category whose values are not listed{gaps}."
        labels = [text_of(label) for label in column.labels]
        shown = ", ".join(labels[:8]) + (f", … ({len(labels):,} in all)" if len(labels) > 8 else "")
        return f"It is one of: {shown}{gaps}."
    if not isinstance(column, Measured):
        return f"It is a {column.kind}: fresh identifiers take its place."
    what = {"integer": "a whole number", "real": "a number", "date": "a date", "datetime": "a moment"}[column.kind]
    special = f"; {', '.join(map(str, column.special))} stand for something else" if column.special else ""
    if column.points is not None:
        return f"It is one of the numbers {', '.join(f'{v:g}' for v in column.points)}{special}{gaps}."
    lower, upper = getattr(column, "lower", None), getattr(column, "upper", None)
    if open_ends(lower, upper, getattr(column, "edges", None)):
        return f"It is {what} whose bounds are not declared{special}{gaps}."
    return f"It is {what} from {lower} to {upper}, in {column.ordinary:,} steps{special}{gaps}."
