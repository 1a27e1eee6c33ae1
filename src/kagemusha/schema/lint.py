"""What a person should still look at in a schema, in plain words."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from kagemusha.columns.measured import MANY_BINS
from kagemusha.schema.constraints import Inequality
from kagemusha.schema.schema import Schema

COARSE_WEIGHT = 0.1
"""Bins of weights wider than this share of the largest one are said to be wide."""

_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")

_HEADLESS = (
    "the name is a number. If the file has no header line, its first record was taken for the names, and one person's "
    "values would be published with the schema: give the file a header"
)


@dataclass(frozen=True)
class Remark:
    """One remark.

    `derived` breaks end-to-end privacy, `open` needs discovery, `warning` costs quality, `note` explains.
    """

    column: str
    level: Literal["derived", "open", "warning", "note"]
    text: str

    def __str__(self) -> str:
        return f"{self.column}: {self.text}"


def check(schema: Schema) -> list[Remark]:
    """Everything in the schema that is still taken from the data, left open, or unwise."""
    findings: list[Remark] = []
    for column in schema:
        if column.derived:
            findings.append(Remark(column.name, "derived", _derived_text(column.derived)))
    left: dict[str, list[str]] = {}
    for fact in schema.open_facts():
        left.setdefault(fact.column, []).append(fact.field)
    findings += [Remark(name, "open", f"{NOT_DECLARED}{', '.join(fields)}") for name, fields in left.items()]
    findings += _unit_findings(schema)
    findings += _weight_findings(schema)
    if not schema.open_facts():
        findings += _order_texts(schema)
    guesses = [rule.rule for rule in schema.constraints if rule.guess]
    if guesses:
        rules = ", ".join(guesses)
        text = f"guessed, not in force ({rules}): take away `guess` from those that hold, delete the rest"
        findings.append(Remark("rules", "warning", text))
    for column in schema.modelled:
        if _NUMBER.fullmatch(column.name):
            findings.append(Remark(column.name, "warning", _HEADLESS))
        if not column.open_fields:
            findings += [Remark(column.name, "warning", text) for text in column.advice]
    return findings


_IDENTIFIER = re.compile(
    r"(?i)(^|[_\W])(id|nr|no|number|mrn|ssn|key|uuid|pid|patient|person|subject|case|nummer|numéro|número)$|ID$|Id$"
    r"|(患者|個人|被保険者|職員|社員|会員|カルテ|症例|受付|診察券|世帯|顧客)(番号|ID|No\.?|コード|ＩＤ)$|(^|[_\W])番号$"
)


_NAMES = re.compile(
    r"(?i)(^|[_\W])((first|last|sur|family|given|middle|full|patient|person)[ _-]?)?names?$|surname|Name$"
    r"|氏名|シメイ|しめい|ナマエ|なまえ|姓名|名前|お名前|患者名|フリガナ|ふりがな|カナ氏名|(^|[_\W])(氏|姓|名|セイ|メイ)$|성명|이름"
    r"|(^|[_\W])((vor|nach|familien|zu)?namen?|pr[eé]nom|nom(bre)?s?|apellidos?|cognome|nome|sobrenome|achternaam"
    r"|voornaam|naam|imi[eę]|nazwisko|фамилия|имя|отчество|фио|име|efternamn|förnamn|etternavn|efternavn|fornavn|sukunimi"
    r"|etunimi|jméno|příjmení|(vezeték|kereszt)?név|(pre)?nume|soyadı?|όνομα|επώνυμο|прізвище|ім.я)$"
)


def looks_like_names(name: str) -> bool:
    """Whether a column's name says that it holds names of persons."""
    return _NAMES.search(unicodedata.normalize("NFKC", name)) is not None


def looks_like_identifier(name: str) -> bool:
    """Whether a column's name says that it tells persons apart."""
    return _IDENTIFIER.search(name) is not None


def _unit_findings(schema: Schema) -> list[Remark]:
    """Where a column seems to name persons and nobody has said whether they have several rows."""
    column = likely_unit(schema)
    if column is None:
        return []
    text = (
        "it seems to tell persons apart, and no [unit] is declared: the promise is then about single rows. If a "
        "person may "
        'have several, add [unit] with column = "{}" and max_rows; if not, nothing is to be done'
    )
    return [Remark(column, "warning", text.format(column))]


def likely_unit(schema: Schema) -> str | None:
    """The column that seems to tell persons apart, where no unit is declared."""
    if schema.unit:
        return None
    coded = {c.name for c in schema.with_codes}
    named = [c for c in schema if c.name not in coded and looks_like_identifier(c.name)]
    # the draft says so where values were seen to repeat
    named.sort(key=lambda c: "several rows" not in c.described())
    return named[0].name if named else None


def _weight_findings(schema: Schema) -> list[Remark]:
    """What survey weights mean, and where their bins are too wide to be summed."""
    steps = schema.weights
    if schema.weight is None or steps is None:
        return []
    name = schema.weight.column
    column = schema.axis(name)
    found = [
        Remark(
            name,
            "note",
            f"it is the survey weight: a record stands for up to {column.high:,.6g} people of the population, and "
            "larger weights count as that. Weighted counts get noise for that bound, so a lower one, of trimmed "
            "weights, makes them better. Protected is who is in the sample and what they said, not the population",
        )
    ]
    middles = steps.values[: column.n_values]
    ends = [*column.starts[1:], column.high]
    coarse = [
        end - start
        for start, end in zip(column.starts, ends, strict=True)
        if column.points is None and not column.grows
    ]
    if coarse and max(coarse) > COARSE_WEIGHT * max(float(middles.max()), 1e-12) and column.n_values < MANY_BINS:
        text = (
            f"a weight is summed as the middle of its bin, and the widest bin is {max(coarse):,.4g} of "
            f"{column.high:,.6g}: more bins, "
            'scale = "log" or values = […] keep totals truer'
        )
        found.append(Remark(name, "warning", text))
    return found


TAKEN = "taken from the data and confirmed by nobody: "
NOT_DECLARED = "not declared: "
"""What findings of one level begin with; `check` says it once."""

DERIVED = (
    "While a field is listed under `derived` the release is not private end to end: write what is publicly known "
    "instead, and remove the field from `derived` (`kagemusha schema edit` asks for one after the other)"
)
OPEN = "What is not declared: declare it, or give private discovery a share of the budget (`synth --discover 0.05`)"
"""What `check` says once, below the columns concerned."""


def _derived_text(fields: tuple[str, ...]) -> str:
    return f"{TAKEN}{', '.join(fields)}"


def _order_texts(schema: Schema) -> list[Remark]:
    """Orders of dates that no difference explains.

    Doubles obey, but how far apart the dates are is lost in the bins.
    """
    found = []
    for rule in schema.constraints:
        law = rule.law
        if rule.guess or not isinstance(law, Inequality) or len(law.factors) != 2:
            continue
        first, second = sorted(law.factors, key=lambda name: -law.factors[name])
        columns = (schema[first], schema[second])
        if all((a := c.axis) is not None and a.sort == "moment" and c.name in schema.domain for c in columns):
            text = (
                f"doubles will obey {rule.rule!r}, but how far apart the two are is known to a bin only: declare a "
                f"column "
                f'with formula = "{second} - {first}" and replaces = "{second}" to keep their difference'
            )
            found.append(Remark(second, "warning", text))
    return found
