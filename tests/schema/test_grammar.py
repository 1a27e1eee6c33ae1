"""The one grammar of conditions, formulas and rules: what it reads, and what it says where it cannot."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kagemusha.errors import KagemushaError, SchemaError, UsageError
from kagemusha.schema import Integer, Schema
from kagemusha.schema.conditions import Both, Compare, Either, Not
from kagemusha.schema.constraints import Constraint, Determines, Equation, Inequality, Logical
from kagemusha.schema.formulas import Call, Name, Number
from kagemusha.schema.grammar import parse_condition, parse_formula


def test_a_hyphen_is_a_minus_in_sums_alone() -> None:
    assert parse_formula("a-b") == Call("-", (Name("a"), Name("b")))
    assert parse_condition("a-b = -2") == Compare("a-b", "=", -2)
    assert Constraint("a-b <= 3").law == Inequality({"a": 1.0, "b": -1.0}, 3.0)
    assert Constraint("a-b = 'x'").law == Logical(Compare("a-b", "=", "x"))


def test_powers_bind_from_the_right_and_differences_from_the_left() -> None:
    a, b, c = Name("a"), Name("b"), Name("c")
    assert parse_formula("a - b - c") == Call("-", (Call("-", (a, b)), c))
    assert parse_formula("a ^ b ^ c") == Call("^", (a, Call("^", (b, c))))
    assert parse_formula("-a * 2") == Call("*", (Call("-", (Number(0.0), a)), Number(2.0)))
    assert parse_formula("years - years(a, b)") == Call("-", (Name("years"), Call("years", (a, b))))


def test_or_is_weaker_than_and() -> None:
    one, two, three = (Compare(name, "=", 1) for name in "abc")
    assert parse_condition("a = 1 or b = 1 and c = 1") == Either((one, Both((two, three))))
    assert parse_condition("not (a = 1 or b = 1)") == Both((Compare("a", "!=", 1), Compare("b", "!=", 1)))


@pytest.mark.parametrize("arrow", [" implies ", "=>", " -> ", "->", " → "])
def test_every_way_to_write_an_implication(arrow: str) -> None:
    law = Logical(Either((Not(Compare("a", "=", 1)), Compare("b", "<", 2))))
    assert Constraint(f"a = 1{arrow}b < 2").law == law


def test_words_of_the_grammar_may_be_names_where_they_cannot_be_mistaken() -> None:
    assert Constraint("in <= out").law == Inequality({"in": 1.0, "out": -1.0}, -0.0)
    assert Constraint("missing determines in").law == Determines(("missing",), "in")
    assert Constraint("total = never + always").law == Equation("total", Call("+", (Name("never"), Name("always"))))


def test_a_rule_knows_moments() -> None:
    assert Constraint("seen <= 2020-01-01T10:00").law == Logical(Compare("seen", "<=", "2020-01-01T10:00"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("total = a +", "expected a column, a number or ( at 'the end'"),
        ("a <= b)", "expected + - * / ^ or the end at ')'"),
        ("ward = Maternity or x = 3", "expected a number, a date or a 'text' at 'Maternity or x = 3'"),
        ("a != b", "expected a number, a date or a 'text' at 'b'"),
        ("a = 1 implies", "expected a column at 'the end'"),
        ("a + b determines c", "expected determines at '+ b determines c'"),
        ("a = 3 ; b", "cannot read '; b'"),
    ],
)
def test_a_mistake_is_shown_at_its_place(rule: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Constraint(rule)
    assert str(caught.value) == f"constraint {rule!r}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("^".join("a" * 1000), "are nested"),
        ("-" * 1000 + "a", "are nested"),
        ("hours(" * 1000 + "a", "are nested"),
        ("+".join("a" * 1000), "more than 300 operations"),
    ],
)
def test_what_no_stack_would_hold_is_refused_in_a_line(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        parse_formula(text)
    assert len(str(caught.value)) < 250
    with pytest.raises(SchemaError, match=message):
        Constraint(text + " <= b")


def test_each_reader_has_its_own_kind_of_error() -> None:
    wrong: list[tuple[object, type[KagemushaError], str]] = [
        (parse_condition, UsageError, r"^where: expected a column at 'the end' in 'a = 1 and'$"),
        (parse_formula, SchemaError, r"^formula 'a = 1 and': expected \+ - \* / \^ or the end at '= 1 and'$"),
    ]
    for read, kind, message in wrong:
        with pytest.raises(kind, match=message):
            read("a = 1 and")  # type: ignore[operator]


CIRCLE = """
from kagemusha.errors import SchemaError
from kagemusha.schema import Date, Integer, Schema
dates = [Date(name, lower="2020-01-01", upper="2020-12-31", bins=4) for name in ("came", "left")]
stay = Integer("stay", lower=0, upper=9, formula="left - came", replaces="left")
gap = Integer("gap", lower=-9, upper=0, formula="came - left", replaces="came")
late = Integer("late", lower=0, upper=9, formula="left - 18000")
try:
    Schema([*dates, late, stay, gap])
except SchemaError as error:
    print(error)
"""


@pytest.mark.parametrize("options", [[], ["-O"]])
def test_a_circle_is_named_whatever_python_does_with_assertions(options: list[str]) -> None:
    ran = subprocess.run([sys.executable, *options, "-c", CIRCLE], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in (
        "formulas go round in a circle: left needs came needs left",
        "formulas go round in a circle: came needs left needs came",
    )


def test_a_schema_of_formulas_without_a_circle_stands() -> None:
    numbers = [Integer(name, lower=0, upper=9) for name in ("a", "b")]
    assert Schema([*numbers, Integer("c", lower=0, upper=18, formula="a + b")]).working_order == (("c", "c"),)
