"""`schema edit`: the draft of a schema as a conversation, one column after the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from kagemusha.cli.interrupt import Stopped
from kagemusha.cli.output import plain
from kagemusha.cli.schema_answers import ANSWERS, RULE_ANSWERS, columns_counted, prompt, rules_counted
from kagemusha.cli.schema_words import tell
from kagemusha.editing import answers as edit
from kagemusha.editing.answers import MODELLED, SOURCES, Voucher, whole
from kagemusha.editing.keeping import kept
from kagemusha.editing.offers import Offer, offers
from kagemusha.editing.rules import rule_question
from kagemusha.errors import SchemaError
from kagemusha.schema import Column, Measured, Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.lint import likely_unit
from kagemusha.words.catalogue import Say, noted


class Form:
    """Asks about every column with facts that nobody has confirmed, and about every rule that is a guess."""

    def __init__(self, path: Path, who: str | None, words: Say) -> None:
        self._words = words
        self.path, self.schema = path, Schema.load(path)
        self.who, self.source = who, SOURCES[0]
        self._explained: set[str] = set()

    def run(self) -> None:
        """Ask until nothing is left or the person stops; every answer is on disk before the next question."""
        waiting = [c.name for c in self.schema if c.derived]
        guesses = [rule for rule in self.schema.constraints if rule.guess]
        if not waiting and not guesses:
            tell(self._plain("{path}: nothing is left to confirm", path=self.path))
            return
        try:
            self._ask_all(waiting, guesses)
        except (typer.Abort, Stopped):
            tell()
            tell(f"{self._words('Stopped.')} {self._left()}")
            raise typer.Exit(130) from None
        tell()
        tell(self._left())

    def _ask_all(self, waiting: list[str], guesses: list[Constraint]) -> None:
        words = self._words
        tell(
            words(
                "{columns} and {rules} to look at. The draft was made from the data, so say only what you would know "
                "without this table. Every answer is saved at once; Ctrl-C stops.",
                columns=columns_counted(len(waiting), words),
                rules=rules_counted(len(guesses), words),
            )
        )
        self.who = self.who or prompt(words("Who are you (kept in the file, shown on certificates)"))
        for at, name in enumerate(waiting, 1):
            tell()
            tell(f"[bold]{self._plain('{at} of {all}: {name}', at=at, all=len(waiting), name=name)}[/]")
            if not self._column(self.schema[name]):
                return
        for at, rule in enumerate(guesses, 1):
            tell()
            tell(f"[bold]{self._plain('Rule {at} of {all}: {rule}', at=at, all=len(guesses), rule=rule.rule)}[/]")
            if not self._rule(rule):
                return
        self._unit()
        self._offers()

    def _left(self) -> str:
        facts = len({fact.column for fact in self.schema.derived_facts()})
        guesses = sum(rule.guess for rule in self.schema.constraints)
        words = self._words
        left = [count(n, words) for n, count in ((facts, columns_counted), (guesses, rules_counted)) if n]
        saved = (
            self._plain(
                "{path}: saved, left to look at: {left}; the same command goes on.",
                path=self.path,
                left=words(" and ").join(left),
            )
            if left
            else self._plain("{path}: saved, nothing is left to confirm.", path=self.path)
        )
        lack = self._plain("What a release would still lack: {command}", command=f"kagemusha schema check {self.path}")
        return f"{saved} {lack}"

    def _plain(self, sentence: str, /, **fields: object) -> str:
        """A sentence in the reader's language, shown letter by letter."""
        return plain(self._words(sentence, **fields))

    def _choose(self, question: str, answers: dict[str, tuple[str, str]]) -> str:
        """The key of an answer.

        Each list of them is explained once, and whenever somebody asks with a question mark.
        """
        if question not in self._explained:
            self._explained.add(question)
            self._explain(answers)
        else:
            shown = " · ".join(f"[bold]{key}[/] {self._words(short)}" for key, (short, _) in answers.items())
            tell(f"{shown} · [bold]?[/] {self._words('explain')}")
        while True:
            answer = prompt(self._words(question), default="s").lower()
            said = {word: key for key, (short, _) in answers.items() for word in (key, short, self._words(short))}
            if answer in said:
                return said[answer]
            if answer == "?":
                self._explain(answers)
            else:
                wrong = self._plain("{answer} is none of the answers.", answer=answer)
                tell(f"[yellow]{wrong}[/] {self._words('Please say one of {keys}, or ?', keys=', '.join(answers))}")

    def _explain(self, answers: dict[str, tuple[str, str]]) -> None:
        for key, (_, long) in answers.items():
            tell(f"[bold]{key}[/]  {self._words(long)}", indent=2)

    def _column(self, column: Column) -> bool:
        """Ask about one column; False if the person stops."""
        while True:
            tell(plain(column.described(self._words)))
            tell(self._plain("Taken from the data: {facts}.", facts=", ".join(column.derived)))
            answers = {key: words for key, words in ANSWERS.items() if key not in "oc" or column.has_domain}
            answer = self._choose(noted("Is it so"), answers)
            if answer in ("q", "s"):
                return answer == "s"
            try:
                changed = self._changed(column, answer)
                self._keep(edit.confirmed(self.schema, changed, self._vouched(ask=answer in ("y", "c", "k"))))
            except (SchemaError, OSError, UnicodeDecodeError) as error:
                self._refused(error)
            else:
                self._saved()
                if not changed.derived:
                    return True
                column = changed

    def _changed(self, column: Column, answer: str) -> Column:
        """The column as an answer makes it; what it cannot be is a `SchemaError`."""
        if answer == "y":
            return replace(column, derived=())
        if answer == "d":
            return edit.column_dropped(column, prompt(self._words("Why"), default=self._words("not needed")))
        if answer == "i":
            return edit.column_identifier(column)
        if answer == "o":
            return edit.column_open(column)
        if answer == "k":
            column = edit.column_of_kind(column, prompt(self._words("Which kind: {kinds}", kinds=", ".join(MODELLED))))
        if not column.has_domain:
            return replace(column, derived=())
        return self._categories(column) if column.axis is None else self._bounds(column.axis)

    def _categories(self, column: Any) -> Column:
        given = prompt(self._words("All its values, separated by commas, or @FILE for a list with one per line"))
        if given.startswith("@"):
            values = [line.strip() for line in Path(given[1:]).read_text(encoding="utf-8-sig").splitlines()]
        else:
            values = [value.strip() for value in given.split(",")]
        return edit.with_values(column, values)

    def _bounds(self, column: Measured) -> Column:
        """Either the only numbers there are, or bounds and how they are cut."""
        given: dict[str, str] = {}
        words = self._words
        if "values" in column.fields:
            now = ", ".join(f"{value:g}" for value in column.points) if column.points is not None else ""
            few = prompt(
                words("The only numbers there are, separated by commas; - for any between two bounds"),
                default=now or "-",
            )
            given["few"] = "" if few == "-" else few
        if not given.get("few"):
            for field, asked in (("lower", words("Lower")), ("upper", words("Upper"))):
                now = column.given(field)
                given[field] = prompt(asked, default="" if now is None else str(now))
            bins = prompt(words("Bins; - for as many as there are values"), default=str(column.bins or "-"))
            given["bins"] = "" if bins == "-" else bins
            if "scale" in column.fields and given["bins"]:
                given["scale"] = prompt(words("Bins of equal width, or log"), default=column.given("scale") or "equal")
        special = prompt(
            words("Special values such as N or 9999, separated by commas; - for none"),
            default=", ".join(map(str, column.special)) or "-",
        )
        given["special"] = "" if special == "-" else special
        return edit.with_bounds(column, given)

    def _rule(self, rule: Constraint) -> bool:
        """Ask about one guess; False if the person stops."""
        asked = plain(rule_question(rule.rule, self.schema, self._words))
        tell(f"{asked} {self._words('This is a guess, from names of columns or from rows.')}")
        answer = self._choose(noted("Does it hold"), RULE_ANSWERS)
        if answer in ("y", "n"):
            try:
                self._keep(edit.rule_answered(self.schema, rule, self._vouched() if answer == "y" else None))
                self._saved()
            except SchemaError as error:
                self._refused(error)
        return answer != "q"

    def _unit(self) -> None:
        """Whose rows belong together, where a column seems to tell persons apart."""
        column = likely_unit(self.schema)
        if column is None:
            return
        tell()
        tell(f"[bold]{self._plain('Persons: {column}', column=column)}[/]")
        tell(
            self._plain(
                "{column} seems to tell persons apart. If a person may have several rows, the promise should be about "
                "all of them: say how many rows of a person shall count at most (few mean less noise; what is beyond "
                "is left out).",
                column=column,
            )
        )
        while True:
            most = prompt(self._words("Rows of a person at most; - if every row is another person"), default="-")
            if most == "-":
                return
            try:
                self._keep(edit.unit_answered(self.schema, column, whole(most)))
                self._saved()
                return
            except SchemaError as error:
                self._refused(error)

    def _offers(self) -> None:
        """Columns that explain others; each is asked about once."""
        asked: set[Offer] = set()
        while fresh := [offer for offer in offers(self.schema) if offer not in asked]:
            offer = fresh[0]
            asked.add(offer)
            tell()
            tell(f"[bold]{plain(self._words(' and ').join([offer.first, offer.second]))}[/]")
            tell(plain(offer.described(self._words)))
            question = noted("Is it so (y, n)") if offer.age else noted("Most days between them; - to leave it")
            answer = prompt(self._words(question), default="n" if offer.age else "-").lower()
            if answer in ("-", "n", "no"):
                continue
            try:
                most = None if offer.age else whole(answer)
                self._keep(offer.taken(self.schema, str(self._vouched()), most))
                self._saved()
            except SchemaError as error:
                self._refused(error)
                asked.discard(offer)

    def _vouched(self, ask: bool = True) -> Voucher:
        """Who, and from which source."""
        if ask:
            if "sources" not in self._explained:
                self._explained.add("sources")
                shown = "  ".join(f"[bold]{at}[/] {self._words(source)}" for at, source in enumerate(SOURCES, 1))
                tell(f"{self._words('From which public source? A number, or words of your own:')}  {shown}")
            given = prompt(self._words("Source"), default=self.source)
            self.source = SOURCES[int(given) - 1] if given in map(str, range(1, len(SOURCES) + 1)) else given
        return Voucher(self.who or "", self.source if ask else None)

    def _keep(self, schema: Schema) -> None:
        """Save the schema, with what a person had written beside it; where that cannot be, it is kept in a copy."""
        copy = kept(self.path, self.schema, schema)
        if copy is not None:
            tell(
                self._plain(
                    "The file is written anew, without comments of your own; as it was, it is kept in {copy}.",
                    copy=copy,
                )
            )
        self.schema = schema

    def _saved(self) -> None:
        tell(f"[green]{self._words('Saved.')}[/]")

    def _refused(self, error: Exception) -> None:
        unread = self._words("the list cannot be read: it must be a text file in UTF-8")
        tell(f"[red]{self._words('Not saved:')}[/] {plain(error if isinstance(error, SchemaError) else unread)}")
