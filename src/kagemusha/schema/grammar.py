"""How conditions, formulas and rules are written, and the one parser that reads all three.

    rule       = names "determines" name | condition "implies" condition | ("never" | "always") condition
               | sum ("<" | "<=" | "=" | ">=" | ">") sum | condition
    condition  = both ("or" both)*              both   = single ("and" single)*
    single     = "not" single | "(" condition ")" | name comparison
    comparison = "is" ["not"] "missing" | ["not"] "in" "(" values ")" | "between" value "and" value | sign value
    sum        = product (("+" | "-") product)*     product = power (("*" | "/") power)*
    power      = operand ["^" power]                operand = "-" operand | "(" sum ")" | function | name | number

In a condition a hyphen belongs to the name or the number that it touches, in a sum it is a minus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from kagemusha.errors import SchemaError, UsageError
from kagemusha.schema.conditions import NEGATED, Both, Compare, Condition, Either, Missing, Not, negate
from kagemusha.schema.formulas import FUNCTIONS, Call, Formula, Name, Number, columns_of
from kagemusha.schema.tokens import IN_CONDITIONS, IN_SUMS, Token, Unreadable, shown, tokens

_KEYWORDS = {"and", "or", "not", "in", "is", "missing", "null", "between", "true", "false"}
_ORDERS = ("<=", ">=", "<", ">", "=")
_IMPLIES = ("implies", "=>", "->", "→")

DEEPEST = 100
"""Parentheses, nots and signs that may be nested."""
MOST_OPERATIONS = 300
"""Operations of one formula: each is worked out inside the next."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Order:
    """`left sign right` over columns."""

    left: Formula
    sign: str
    right: Formula


@dataclass(frozen=True)
class Determines:
    """Each combination of `given` has one partner in `column`, which nobody has written down."""

    given: tuple[str, ...]
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Those given, then their partner."""
        return (*self.given, self.column)


def parse_condition(text: str) -> Condition:
    """The condition a text says; a mistake is a `UsageError` that shows where it is."""
    try:
        return _Parser(text, IN_CONDITIONS).condition()
    except Unreadable as error:
        raise UsageError(f"where: {error} in {shown(text)}") from None


def parse_formula(text: str) -> Formula:
    """The formula a text says; a mistake is a `SchemaError` that shows where it is."""
    try:
        return _Parser(text, IN_SUMS).formula()
    except Unreadable as error:
        raise SchemaError(f"formula {shown(text)}: {error}") from None


def parse_rule(text: str) -> Condition | Order | Determines:
    """What a rule says; a mistake is `Unreadable`."""
    fault = None
    try:
        order = _Parser(text, IN_SUMS).order()
        names = columns_of(order.left) + columns_of(order.right)
        if len(names) > 1 and not {"true", "false"} & set(names):
            return order
    except Unreadable as error:
        fault = error
    parser = _Parser(text, IN_CONDITIONS)
    try:
        return parser.rule()
    except Unreadable as error:
        raise (fault if fault is not None and parser.only_compares else error) from None


class _Parser:
    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._text, self._tokens = text, tokens(text, pattern)
        self._at = self._depth = self._operations = 0

    def condition(self) -> Condition:
        return self._last(self._either(), "and, or, or the end")

    def formula(self) -> Formula:
        return self._last(self._sum(), "+ - * / ^ or the end")

    def order(self) -> Order:
        left = self._sum()
        sign = self._take(*_ORDERS) or self._fail("+ - * / ^ < <= = >= or >")
        return Order(left, sign, self.formula())

    def rule(self) -> Condition | Determines:
        if any(token.text == "determines" for token in self._tokens[1:-2]):
            return self._determines()
        if len(self._tokens) > 2 and (first := self._take("never", "always")):
            return Not(self.condition()) if first == "never" else self.condition()
        premise = self._either()
        if self._take(*_IMPLIES):
            return Either((Not(premise), self.condition()))
        return self._last(premise, "and, or, implies, or the end")

    @property
    def only_compares(self) -> bool:
        """Whether the text has one sign of comparison and nothing that conditions alone have."""
        telling = (*_ORDERS, *_KEYWORDS, *_IMPLIES, "!=")
        signs = [t for t in self._tokens if t.said in telling or t.kind == "text"]
        return len(signs) == 1 and signs[0].said in _ORDERS

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *wanted: str) -> str:
        """The next word or sign, if it is one of these."""
        said = self._next.said if self._next.said in wanted else ""
        self._at += bool(said)
        return said

    def _need(self, wanted: str) -> str:
        return self._take(wanted) or self._fail(wanted)

    def _fail(self, wanted: str) -> NoReturn:
        raise Unreadable(f"expected {wanted} at {shown(self._text[self._next.place :].strip() or 'the end')}")

    def _last(self, found: Found, wanted: str) -> Found:
        return found if self._next.kind == "end" else self._fail(wanted)

    def _name(self, wanted: str = "a column") -> str:
        kind, text, _ = self._next
        if kind not in ("word", "quoted"):
            self._fail(wanted)
        self._at += 1
        return text[1:-1] if kind == "quoted" else text

    def _list(self, part: Callable[[], Found], *between: str) -> list[Found]:
        found = [part()]
        while self._take(*between):
            found.append(part())
        return found

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable(f"more than {DEEPEST} parentheses, nots or signs are nested")
        yield
        self._depth -= 1

    def _determines(self) -> Determines:
        given = tuple(self._list(self._name, ",", "and"))
        self._need("determines")
        return Determines(given, self._last(self._name(), "the end"))

    def _either(self) -> Condition:
        parts = self._list(self._both, "or")
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Condition:
        parts = self._list(self._single, "and")
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _single(self) -> Condition:
        if self._take("not"):
            with self._deeper():
                return negate(self._single())
        if self._take("("):
            with self._deeper():
                found = self._either()
            self._need(")")
            return found
        if self._next.said in _KEYWORDS:
            self._fail("a column")
        return self._comparison(self._name())

    def _comparison(self, column: str) -> Condition:
        if self._take("is"):
            negated = bool(self._take("not"))
            self._need("missing")
            return Missing(column, negated)
        if self._take("in"):
            return self._among(column)
        if self._take("not"):
            self._need("in")
            return negate(self._among(column))
        if self._take("between"):
            low = self._value()
            self._need("and")
            return Both((Compare(column, ">=", low), Compare(column, "<=", self._value())))
        operator = self._take(*NEGATED) or self._fail("=, !=, <, <=, >, >=, in, between or is")
        return Compare(column, operator, self._value())

    def _among(self, column: str) -> Condition:
        self._need("(")
        values = self._list(self._value, ",")
        self._need(")")
        return Either(tuple(Compare(column, "=", value) for value in values))

    def _value(self) -> Any:
        if truth := self._take("true", "false"):
            return truth == "true"
        kind, text, _ = self._next
        if kind not in ("number", "text", "date"):
            self._fail("a number, a date or a 'text'")
        self._at += 1
        if kind != "number":
            return text if kind == "date" else text[1:-1].replace("''", "'")
        if text.lstrip("-").isdecimal() and len(text) < 40:
            return int(text)  # a label may have more digits than a float holds
        number = float(text)
        return int(number) if number.is_integer() and "." not in text else number

    def _sum(self) -> Formula:
        found = self._product()
        while sign := self._take("+", "-"):
            found = self._call(sign, found, self._product())
        return found

    def _product(self) -> Formula:
        found = self._power()
        while sign := self._take("*", "/"):
            found = self._call(sign, found, self._power())
        return found

    def _power(self) -> Formula:
        base = self._operand()
        if not self._take("^"):
            return base
        with self._deeper():
            return self._call("^", base, self._power())

    def _operand(self) -> Formula:
        if self._take("-"):
            with self._deeper():
                return self._call("-", Number(0.0), self._operand())
        if self._take("("):
            with self._deeper():
                found = self._sum()
            self._need(")")
            return found
        kind, text, _ = self._next
        if kind == "number":
            self._at += 1
            return Number(float(text))
        name = self._name("a column, a number or (")
        return self._function(name) if kind == "word" and name in FUNCTIONS and self._take("(") else Name(name)

    def _function(self, name: str) -> Formula:
        with self._deeper():
            arguments = self._list(self._sum, ",")
        if not self._take(")") or len(arguments) != FUNCTIONS[name]:
            self._fail(f"{FUNCTIONS[name]} argument(s) of {name}")
        return self._call(name, *arguments)

    def _call(self, function: str, *arguments: Formula) -> Call:
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise Unreadable(f"more than {MOST_OPERATIONS} operations in one formula")
        return Call(function, arguments)
