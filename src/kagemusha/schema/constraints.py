"""What can never be otherwise in a row: rules that the custodian declares, `[[constraint]]` in a schema file.

    admission <= discharge                          order of columns; also with sums: a + b <= c + 10
    ward = 'Maternity' implies pregnant = 'yes'     implications, ranges that depend on a category
    never sex = 'M' and pregnant = 'yes'            impossible combinations
    age between 0 and 120                           what always holds
    total = a + b                                   a column that follows from others, never modelled itself
    city determines country                         one value has one partner; `lines` or `list` say which

A rule is a statement about the world, so it is public and costs nothing. A comparison with a missing value does not
hold; an order or a sum with one says nothing. A rule marked `guess` was made up from names and kinds: it is not in
force.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kagemusha.errors import SchemaError, UsageError
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.schema import conditions, formulas
from kagemusha.schema.conditions import Condition, Either, Listed, Not
from kagemusha.schema.formulas import Formula, Name

MOST_LIST = 100 << 20
"""Bytes of a file of public values."""
MOST_LINES = 1_000_000
_IMPLIES = re.compile(r"\s(?:implies)\s|=>|->|→")
_COMPARES = re.compile(r"<=|>=|==|=|<|>")
_DETERMINES = re.compile(r"(?P<given>.+?)\s+determines\s+(?P<column>.+)")


@dataclass(frozen=True)
class Logical:
    """A condition that holds for every row."""

    condition: Condition


@dataclass(frozen=True)
class Inequality:
    """Σ factor · column ≤ bound (< if `strict`); says nothing of rows in which one of the columns has no number."""

    factors: Mapping[str, float]
    bound: float
    strict: bool = False


@dataclass(frozen=True)
class Equation:
    """A column that follows from others."""

    column: str
    formula: Formula


@dataclass(frozen=True)
class Determines:
    """Each combination of `given` has one partner in `column`, which nobody has written down."""

    given: tuple[str, ...]
    column: str


Law = Logical | Inequality | Equation | Determines


@dataclass(frozen=True)
class Constraint:
    """One `[[constraint]]` of a schema file, as it was written."""

    rule: str
    lines: tuple[tuple[Any, ...], ...] = ()
    """For `determines`: combinations of values that occur, the columns in the order of the rule."""
    guess: bool = False
    confirmed: str | None = None
    """Who vouches for the rule, and from which source."""
    law: Law = field(init=False, compare=False, repr=False)

    FIELDS = ("rule", "lines", "list", "guess", "confirmed")

    def __post_init__(self) -> None:
        if not isinstance(self.rule, str) or not self.rule.strip() or len(self.rule) > 10_000:
            raise SchemaError('constraint: a rule is needed, such as rule = "admission <= discharge"')
        if not isinstance(self.guess, bool):
            raise SchemaError(f"constraint {self.rule!r}: guess must be true or false")
        if self.confirmed is not None and not isinstance(self.confirmed, str):
            raise SchemaError(f"constraint {self.rule!r}: confirmed must be a text: who, and from which source")
        object.__setattr__(self, "lines", tuple(tuple(line) for line in self.lines))
        try:
            law = parse_rule(self.rule, self.lines)
        except (SchemaError, UsageError) as error:
            reason = re.sub(r"^(where|formula [^:]*): ", "", str(error))
            raise SchemaError(f"constraint {self.rule!r}: {reason}") from None
        object.__setattr__(self, "law", law)

    @property
    def columns(self) -> set[str]:
        """Every column the rule speaks of."""
        return columns_of(self.law)

    @classmethod
    def from_fields(cls, table: Any, folder: Path | None = None) -> Constraint:
        """The constraint a table of fields describes; `list` is a CSV file beside the schema."""
        if not isinstance(table, Mapping) or "rule" not in table:
            raise SchemaError(
                'constraint: a rule is needed, such as [[constraint]] with rule = "admission <= discharge"'
            )
        given = dict(table)
        for name in given:
            if name not in cls.FIELDS:
                raise SchemaError(
                    f"constraint {given['rule']!r}: there is no field {name!r}; it must be one of "
                    f"{', '.join(cls.FIELDS)}"
                )
        file = given.pop("list", None)
        if file is not None:
            given["lines"] = read_list(file, folder, f"constraint {given['rule']!r}")
        lines = given.get("lines", ())
        if not isinstance(lines, list | tuple) or not all(isinstance(line, list | tuple) for line in lines):
            raise SchemaError(f"constraint {given['rule']!r}: lines must be a list of lists of values")
        return cls(**{**given, "lines": tuple(tuple(line) for line in lines)})

    def to_fields(self) -> dict[str, Any]:
        """The fields that describe it, defaults left out."""
        found: dict[str, Any] = {"rule": self.rule}
        if self.lines:
            found["lines"] = [list(line) for line in self.lines]
        if self.guess:
            found["guess"] = True
        if self.confirmed is not None:
            found["confirmed"] = self.confirmed
        return found


def columns_of(law: Law) -> set[str]:
    """Every column a law speaks of."""
    if isinstance(law, Logical):
        return conditions.columns_of(law.condition)
    if isinstance(law, Inequality):
        return set(law.factors)
    if isinstance(law, Equation):
        return {law.column, *formulas.columns_of(law.formula)}
    return {*law.given, law.column}


def parse_rule(text: str, lines: Sequence[Sequence[Any]] = ()) -> Law:
    """What a rule says; a mistake is a `SchemaError` or `UsageError` that shows where it is."""
    plain = text.strip()
    if found := _DETERMINES.fullmatch(_unquoted(plain)):
        given, column = plain[: found.end("given")], plain[found.start("column") :]
        return _determines(given, column, lines)
    if lines:
        raise SchemaError("lines and list are for rules such as city determines country")
    if found := _IMPLIES.search(_unquoted(plain)):
        premise, conclusion = (conditions.parse(part) for part in (plain[: found.start()], plain[found.end() :]))
        return Logical(Either((Not(premise), conclusion)))
    word, _, rest = plain.partition(" ")
    if word.lower() == "never" and rest:
        return Logical(Not(conditions.parse(rest)))
    if word.lower() == "always" and rest:
        return Logical(conditions.parse(rest))
    return _comparison(plain) or Logical(conditions.parse(plain))


def _unquoted(text: str) -> str:
    """The text with everything between quotation marks blanked out, places kept."""
    return re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`", lambda m: "\0" * len(m[0]), text)


def _determines(given: str, column: str, lines: Sequence[Sequence[Any]]) -> Law:
    names = tuple(_name(part) for part in re.split(r"\s*,\s*|\s+and\s+", given.strip()))
    target = _name(column)
    if target in names or len(set(names)) < len(names):
        raise SchemaError("every column may stand there once")
    if not lines:
        return Determines(names, target)
    if any(len(line) != len(names) + 1 for line in lines):
        raise SchemaError(f"every line of the list needs {len(names) + 1} values: {', '.join([*names, target])}")
    partners: dict[tuple[Any, ...], Any] = {}
    for *key, partner in lines:
        if partners.setdefault(tuple(key), partner) != partner:
            raise SchemaError(f"the list gives {', '.join(map(repr, key))} two partners in {target}")
    return Logical(Listed((*names, target), frozenset(tuple(line) for line in lines)))


def _name(text: str) -> str:
    found = formulas.parse(text)
    if not isinstance(found, Name):
        raise SchemaError(f"expected the name of a column at {text!r}")
    return found.column


def _comparison(text: str) -> Law | None:
    """An order, a sum or an equation over columns; None if the rule compares one column with constants."""
    signs = list(_COMPARES.finditer(_unquoted(text)))
    if len(signs) != 1 or re.search(r"['!]|\s(and|or|in|is|between)\s", text):
        return None
    sign, sides = signs[0][0], (text[: signs[0].start()], text[signs[0].end() :])
    left, right = (formulas.parse(side) for side in sides)
    names = [*formulas.columns_of(left), *formulas.columns_of(right)]
    if len(names) < 2 or {"true", "false"} & set(names):
        return None
    if sign in ("=", "=="):
        if not isinstance(left, Name) or left.column in formulas.columns_of(right):
            raise SchemaError("write the column that follows from the others alone on the left, such as total = a + b")
        return Equation(left.column, right)
    if sign in (">", ">="):
        left, right = right, left
    difference = formulas.linear(formulas.Call("-", (left, right)))
    if difference is None:
        raise SchemaError("an order is between sums of columns; use a formula of a column for anything else")
    factors, constant = difference
    if not factors:
        raise SchemaError("the columns cancel out")
    return Inequality(factors, -constant, strict=sign in ("<", ">"))


def read_list(name: Any, folder: Path | None, where: str) -> list[list[str]]:
    """The lines of a CSV file of public values that lies beside the schema file.

    A first line of names is not expected.
    """
    if not isinstance(name, str) or not name:
        raise SchemaError(f"{where}: the list must be the name of a file")
    if folder is None:
        raise SchemaError(f"{where}: {name!r} can be read only where the schema itself is a file")
    path = folder / name
    try:
        text = read_regular(path, MOST_LIST, follow=True).decode("utf-8-sig")
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except (OSError, StrangeFileError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it {error}"
        raise SchemaError(f"{where}: {path} cannot be read: {why}") from None
    except (ValueError, csv.Error):
        why = "it is no CSV in UTF-8"
        raise SchemaError(f"{where}: {path} cannot be read: {why}") from None
    if not lines or len(lines) > MOST_LINES:
        raise SchemaError(f"{where}: {path} has {len(lines):,} lines; 1 to {MOST_LINES:,} are read")
    return lines
