"""Conditions on doubles as people write them.

`age > 60 and (sex = 'F' or ward in ('a', 'b')) and bmi is not missing`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kagemusha.errors import UsageError

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<date>\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?(?![\w-])) |
        (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w-])) |
        (?P<text>'(?:[^']|'')*') |
        (?P<quoted>"[^"]+"|`[^`]+`) |
        (?P<operator><=|>=|!=|<>|==|=|<|>|\(|\)|,|&&?|\|\|?) |
        (?P<word>[^\W\d][\w.-]*)
    )""",
    re.VERBOSE,
)
_SIGNS = {"&": "and", "&&": "and", "|": "or", "||": "or"}
"""How programmers write the words."""

_KEYWORDS = {"and", "or", "not", "in", "is", "missing", "null", "between", "true", "false"}
DEEPEST = 100
"""Parentheses and nots that may stand inside one another."""

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


@dataclass(frozen=True)
class Compare:
    """`column operator value`; never holds for a missing value."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True)
class Missing:
    """The column is missing (or, negated, present)."""

    column: str
    negated: bool = False


@dataclass(frozen=True)
class Both:
    """And."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Either:
    """Or."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """Holds wherever the part does not, for missing values too; rules need it, people do not write it."""

    part: Condition


@dataclass(frozen=True)
class Listed:
    """The values of some columns of labels stand together in one line of a list."""

    columns: tuple[str, ...]
    lines: frozenset[tuple[Any, ...]]


Condition = Compare | Missing | Both | Either | Not | Listed


def negate(condition: Condition) -> Condition:
    """The opposite, as in SQL: neither a condition nor its opposite holds for a missing value."""
    if isinstance(condition, Compare):
        return Compare(condition.column, _NEGATED[condition.operator], condition.value)
    if isinstance(condition, Missing):
        return Missing(condition.column, not condition.negated)
    if isinstance(condition, Not):
        return condition.part
    if isinstance(condition, Listed):
        return Not(condition)
    opposite = Either if isinstance(condition, Both) else Both
    return opposite(tuple(negate(part) for part in condition.parts))


def columns_of(condition: Condition) -> set[str]:
    """Every column the condition speaks of."""
    if isinstance(condition, Compare | Missing):
        return {condition.column}
    if isinstance(condition, Listed):
        return set(condition.columns)
    if isinstance(condition, Not):
        return columns_of(condition.part)
    return set().union(*(columns_of(part) for part in condition.parts))


def parse(text: str) -> Condition:
    """The condition a text says; a mistake is a UsageError that shows where it is."""
    return _Parser(text).whole()


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 200 else repr(text[:197]) + "..."


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise UsageError(f"where: cannot read {_shown(text[place:].strip())}")
            value = match.group(match.lastgroup)
            kind = match.lastgroup
            if kind == "word" and value.lower() in _KEYWORDS:
                kind, value = "keyword", value.lower()
            elif value in _SIGNS:
                kind, value = "keyword", _SIGNS[value]
            self._tokens.append((kind, value, match.start(match.lastgroup)))
            place = match.end()
        self._at = 0
        self._depth = 0

    def whole(self) -> Condition:
        condition = self._either()
        if self._at < len(self._tokens):
            self._fail("and, or, or the end")
        return condition

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at][:2] if self._at < len(self._tokens) else ("end", "")

    def _take(self, *wanted: str) -> bool:
        if self._peek()[1] in wanted and self._peek()[0] in ("keyword", "operator"):
            self._at += 1
            return True
        return False

    def _need(self, wanted: str) -> None:
        if not self._take(wanted):
            self._fail(wanted)

    def _fail(self, wanted: str) -> None:
        place = self._tokens[self._at][2] if self._at < len(self._tokens) else len(self._text)
        raise UsageError(
            f"where: expected {wanted} at {_shown(self._text[place:] or 'the end')} in {_shown(self._text)}"
        )

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Condition:
        parts = [self._single()]
        while self._take("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _single(self) -> Condition:
        negated = self._take("not")
        if not negated and not self._take("("):
            return self._comparison(self._name())
        self._depth += 1
        if self._depth > DEEPEST:
            raise UsageError(f"where: more than {DEEPEST} parentheses or nots stand inside one another")
        condition = negate(self._single()) if negated else self._either()
        if not negated:
            self._need(")")
        self._depth -= 1
        return condition

    def _name(self) -> str:
        kind, value = self._peek()
        if kind not in ("word", "quoted"):
            self._fail("a column")
        self._at += 1
        return value[1:-1] if kind == "quoted" else value

    def _comparison(self, column: str) -> Condition:
        if self._take("is"):
            negated = self._take("not")
            if not self._take("missing", "null"):
                self._fail("missing")
            return Missing(column, negated)
        if self._take("not"):
            self._need("in")
            return negate(self._among(column))
        if self._take("in"):
            return self._among(column)
        if self._take("between"):
            low = self._value()
            self._need("and")
            return Both((Compare(column, ">=", low), Compare(column, "<=", self._value())))
        kind, operator = self._peek()
        operator = {"==": "=", "<>": "!="}.get(operator, operator)
        if kind != "operator" or operator not in _NEGATED:
            self._fail("=, !=, <, <=, >, >=, in, between or is")
        self._at += 1
        return Compare(column, operator, self._value())

    def _among(self, column: str) -> Condition:
        self._need("(")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self._need(")")
        return Either(tuple(Compare(column, "=", value) for value in values))

    def _value(self) -> Any:
        kind, value = self._peek()
        if kind not in ("number", "text", "date") and value not in ("true", "false"):
            self._fail("a number, a date or a 'text'")
        self._at += 1
        if kind == "date":
            return value
        if kind == "text":
            return value[1:-1].replace("''", "'")
        if kind == "keyword":
            return value == "true"
        if value.lstrip("-").isdecimal() and len(value) < 40:
            return int(value)  # a label may have more digits than a float holds
        number = float(value)
        return int(number) if number.is_integer() and "." not in value else number
