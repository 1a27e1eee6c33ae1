"""What can never be otherwise in a row: rules that the custodian declares, `[[constraint]]` in a schema file.

    admission <= discharge                          order of columns; also with sums: a + b <= c + 10
    ward = 'Maternity' implies pregnant = 'yes'     implications, ranges that depend on a category
    never sex = 'M' and pregnant = 'yes'            impossible combinations
    age between 0 and 120                           what always holds
    total = a + b                                   a column that follows from others, never modelled itself
    city determines country                         one value has one partner; `lines` or `list` say which

A rule is a statement about the world, so it is public and costs nothing. A comparison with a missing value does not
hold; an order or a sum with one says nothing. A rule marked `guess` was made up from names, kinds or rows: it is not
in force, and no release holds it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kagemusha.errors import SchemaError
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.schema.conditions import Condition, Listed
from kagemusha.schema.formulas import Call, Formula, Name, columns_of, linear
from kagemusha.schema.grammar import Determines as Determines
from kagemusha.schema.grammar import Order, parse_rule
from kagemusha.schema.tokens import Unreadable

MOST_LIST = 100 << 20
"""Bytes of a file of public values."""
MOST_LINES = 1_000_000


@dataclass(frozen=True)
class Logical:
    """A condition that holds for every row."""

    condition: Condition

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the condition."""
        return self.condition.columns


@dataclass(frozen=True)
class Inequality:
    """Σ factor · column ≤ bound (< if `strict`); says nothing of rows in which one of the columns has no number."""

    factors: Mapping[str, float]
    bound: float
    strict: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Those with a factor."""
        return tuple(self.factors)


@dataclass(frozen=True)
class Equation:
    """A column that follows from others."""

    column: str
    formula: Formula

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, then those it follows from."""
        return (self.column, *columns_of(self.formula))


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
            law = law_of(self.rule, self.lines)
        except (SchemaError, Unreadable) as error:
            raise SchemaError(f"constraint {self.rule!r}: {error}") from None
        object.__setattr__(self, "law", law)

    @property
    def columns(self) -> set[str]:
        """Every column the rule speaks of."""
        return set(self.law.columns)

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


def law_of(rule: str, lines: Sequence[Sequence[Any]] = ()) -> Law:
    """What a rule says; a mistake is a `SchemaError` or `Unreadable`."""
    said = parse_rule(rule)
    if isinstance(said, Determines):
        return _partners(said, lines)
    if lines:
        raise SchemaError("lines and list are for rules such as city determines country")
    return _ordered(said) if isinstance(said, Order) else Logical(said)


def _partners(said: Determines, lines: Sequence[Sequence[Any]]) -> Law:
    names = said.columns
    if len(set(names)) < len(names):
        raise SchemaError("every column may stand there once")
    if not lines:
        return said
    if any(len(line) != len(names) for line in lines):
        raise SchemaError(f"every line of the list needs {len(names)} values: {', '.join(names)}")
    partners: dict[tuple[Any, ...], Any] = {}
    for *key, partner in lines:
        if partners.setdefault(tuple(key), partner) != partner:
            raise SchemaError(f"the list gives {', '.join(map(repr, key))} two partners in {said.column}")
    return Logical(Listed(names, frozenset(tuple(line) for line in lines)))


def _ordered(said: Order) -> Law:
    """An order or an equation over columns."""
    left, right = said.left, said.right
    if said.sign == "=":
        if not isinstance(left, Name) or left.column in columns_of(right):
            raise SchemaError("write the column that follows from the others alone on the left, such as total = a + b")
        return Equation(left.column, right)
    if said.sign in (">", ">="):
        left, right = right, left
    difference = linear(Call("-", (left, right)))
    if difference is None:
        raise SchemaError("an order is between sums of columns; use a formula of a column for anything else")
    factors, constant = difference
    if not factors:
        raise SchemaError("the columns cancel out")
    return Inequality(factors, -constant, strict=said.sign in ("<", ">"))


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
