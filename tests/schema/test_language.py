"""Conditions, formulas and rules as people write them, held against SQL, Python's own arithmetic and calendars."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from kagemusha.encoding import Encoder
from kagemusha.encoding.rules import holds, violations
from kagemusha.errors import SchemaError, UsageError
from kagemusha.schema import Boolean, Category, Date, Drop, Integer, Real, Schema
from kagemusha.schema.conditions import Both, Compare, Condition, Either, Missing, Not, negate
from kagemusha.schema.constraints import Constraint, Determines, Equation, Inequality, Logical
from kagemusha.schema.formulas import Call, Formula, Name, Number, columns_of, evaluate, invertible, linear, solve
from kagemusha.schema.grammar import DEEPEST, parse_formula
from kagemusha.schema.grammar import parse_condition as parse
from kagemusha.schema.laws import in_force, substituted

# conditions

SCHEMA = Schema(
    [
        Category("ward", categories=("a", "b", "it's"), missing=True),
        Boolean("flag", missing=True),
        Integer("x", lower=0, upper=9, missing=True),
        Real("r", values=(0.5, 1.0, 2.5), missing=True),
    ]
)
ROWS = [*product((None, "a", "b", "it's"), (None, True, False), (None, 0, 4, 9), (None, 0.5, 2.5))]
TABLE = pa.table(
    {
        name: pa.array([row[at] for row in ROWS], type=kind)
        for at, (name, kind) in enumerate(
            {"ward": pa.string(), "flag": pa.bool_(), "x": pa.int64(), "r": pa.float64()}.items()
        )
    }
)
CELLS = Encoder(SCHEMA).read(TABLE)
LEAVES = st.one_of(
    st.builds(
        "{} {} {}".format, st.just("ward"), st.sampled_from(["=", "!=", "<>"]), st.sampled_from(["'a'", "'it''s'"])
    ),
    st.builds("{} {} {}".format, st.just("x"), st.sampled_from(["<", "<=", "=", "!=", ">=", ">"]), st.integers(0, 9)),
    st.builds("{} {} {}".format, st.just("r"), st.sampled_from(["<", "<=", ">=", ">"]), st.sampled_from([0.5, 1, 2.5])),
    st.builds("x {}in ({}, {})".format, st.sampled_from(["", "not "]), st.integers(0, 9), st.integers(0, 9)),
    st.builds("x between {} and {}".format, st.integers(0, 9), st.integers(0, 9)),
    st.builds("{} is {}null".format, st.sampled_from(["ward", "flag", "x", '"r"']), st.sampled_from(["", "not "])),
    st.sampled_from(["flag = true", "flag != true", "flag = false", "ward in ('a', 'b')", "ward not in ('b')"]),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda part: st.one_of(
        st.builds("{} and {}".format, part, part),
        st.builds("{} or {}".format, part, part),
        st.builds("not ({})".format, part),
        st.builds("({})".format, part),
    ),
    max_leaves=7,
)
DATABASE = duckdb.connect()
DATABASE.register("t", TABLE)


@settings(max_examples=200, deadline=None)
@given(CONDITIONS)
def test_a_condition_means_what_it_means_in_sql(text: str) -> None:
    found = holds(SCHEMA, Logical(parse(text)), CELLS)
    wanted = DATABASE.execute(f"SELECT coalesce({text}, FALSE) FROM t").fetchall()
    assert found.tolist() == [row[0] for row in wanted], text


@settings(max_examples=100, deadline=None)
@given(CONDITIONS)
def test_the_opposite_is_that_of_sql_and_twice_is_none(text: str) -> None:
    condition = parse(text)
    found = holds(SCHEMA, Logical(negate(condition)), CELLS)
    wanted = DATABASE.execute(f"SELECT coalesce(NOT ({text}), FALSE) FROM t").fetchall()
    assert found.tolist() == [row[0] for row in wanted], text
    assert negate(negate(condition)) == condition
    complement = holds(SCHEMA, Logical(Not(condition)), CELLS)
    assert np.array_equal(complement, ~holds(SCHEMA, Logical(condition), CELLS))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "a = 1 or b = 2 and c = 3",
            Either((Compare("a", "=", 1), Both((Compare("b", "=", 2), Compare("c", "=", 3))))),
        ),
        ("not a = 1 and b = 2", Both((Compare("a", "!=", 1), Compare("b", "=", 2)))),
        ("NOT a IS MISSING", Missing("a", negated=True)),
        ('"my col" == -1.5', Compare("my col", "=", -1.5)),
        ("`a b` <> 'it''s'", Compare("a b", "!=", "it's")),
        ("a>=1e3", Compare("a", ">=", 1000)),
        ("a = 1.0", Compare("a", "=", 1.0)),
        ("d < 2020-01-31", Compare("d", "<", "2020-01-31")),
        ("d < 2020-01-31T10:00", Compare("d", "<", "2020-01-31T10:00")),
        ("a = true", Compare("a", "=", True)),
        (f"a = {2**60 + 1}", Compare("a", "=", 2**60 + 1)),
        ("a in (1)", Either((Compare("a", "=", 1),))),
        ("in_x = 1", Compare("in_x", "=", 1)),
    ],
)
def test_what_is_read(text: str, meant: Condition) -> None:
    assert parse(text) == meant
    if isinstance(meant, Compare):
        assert type(parse(text).value) is type(meant.value)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a column at 'the end'"),
        ("a", "expected =, !=, <, <=, >, >=, in, between or is"),
        ("a =", "expected a number, a date or a 'text'"),
        ("a = b", "expected a number, a date or a 'text' at 'b'"),
        ("a = 'b", "cannot read"),
        ("a = 1 b = 2", "expected and, or, or the end at 'b = 2'"),
        ("(a = 1", "expected ) at 'the end'"),
        ("a in 1", "expected ( at '1'"),
        ("a in (1", "expected )"),
        ("a between 1", "expected and"),
        ("a is 3", "expected missing"),
        ("a not 3", "expected in"),
        ("and = 3", "expected a column"),
        ("a = 3 §", "cannot read '§'"),
        ("x" * 500 + " = ", "..."),
        ("not " * (DEEPEST + 1) + "a = 1", f"more than {DEEPEST}"),
        ("(" * (DEEPEST + 1) + "a = 1" + ")" * (DEEPEST + 1), f"more than {DEEPEST}"),
    ],
)
def test_a_mistake_in_a_condition_says_where(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value).startswith("where: ")
    assert words in str(caught.value)
    assert len(str(caught.value)) < 800


def test_as_many_parentheses_as_are_allowed_are_read() -> None:
    assert parse("(" * DEEPEST + "a = 1" + ")" * DEEPEST) == Compare("a", "=", 1)
    assert parse_formula("(" * (DEEPEST - 1) + "a" + ")" * (DEEPEST - 1)) == Name("a")


# formulas

TREES = st.recursive(
    st.one_of(st.sampled_from("abc"), st.integers(0, 9).map(str), st.sampled_from(["0.5", "1e1"])),
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from([" + ", "-", " * ", "/"]), part).map("".join),
        st.builds("({})".format, part),
        st.builds("(-({}))".format, part),
        st.builds("({}) ^ 2".format, part),
        st.builds("hours({})".format, part),
    ),
    max_leaves=8,
)
VALUES = {"a": 2.0, "b": -3.5, "c": 7.0}


def hours(days: float) -> float:
    return days * 24.0


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_a_formula_is_arithmetic(text: str) -> None:
    formula = parse_formula(text)
    found = float(evaluate(formula, {name: np.array(value) for name, value in VALUES.items()}))
    try:
        wanted = eval(text.replace("^", "**"), {"hours": hours}, VALUES)
    except ZeroDivisionError:
        assert np.isnan(found)
        return
    except OverflowError:
        return
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9) or abs(wanted) > 1e300


@settings(max_examples=300, deadline=None)
@example("a * 0", [1.0, 2.0, 3.0])
@given(TREES, st.lists(st.floats(-9, 9), min_size=3, max_size=3))
def test_a_sum_is_found_where_there_is_one(text: str, values: list[float]) -> None:
    formula = parse_formula(text)
    found = linear(formula)
    assume(found is not None)
    factors, constant = found  # type: ignore[misc]
    columns = {name: np.array(value) for name, value in zip("abc", values, strict=True)}
    wanted = float(evaluate(formula, columns))
    assume(np.isfinite(wanted) and abs(wanted) < 1e9)
    total = constant + sum(factor * float(columns[name]) for name, factor in factors.items())
    assert total == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert all(factors.values()), "a column that cancels out is gone"


# most formulas cannot be turned round, and they are drawn in no time
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@example("(0 / a + b) ^ 2", 1.0, 0)
@given(TREES, st.floats(0.5, 9), st.integers(0, 9))
def test_a_formula_is_turned_round(text: str, value: float, seed: int) -> None:
    formula = parse_formula(text)
    assume(invertible(formula, "a"))
    columns = {"a": np.array([value]), "b": np.array([-3.5]), "c": np.array([7.0])}
    result = evaluate(formula, columns)
    assume(np.isfinite(result).all() and 1e-3 < abs(result[0]) < 1e6)
    found = solve(formula, "a", result, columns, np.random.default_rng(seed))
    assume(np.isfinite(found).all())  # nothing has a negative square
    again = evaluate(formula, {**columns, "a": found})
    assert again == pytest.approx(result, rel=1e-4)


DAYS = st.dates(date(1600, 1, 1), date(2400, 12, 31))


def day(moment: date) -> np.ndarray[Any, Any]:
    return np.array([float((moment - date(1970, 1, 1)).days)])


def full_years(first: date, last: date) -> int:
    return last.year - first.year - ((last.month, last.day) < (first.month, first.day))


@settings(max_examples=300, deadline=None)
@given(DAYS, DAYS)
def test_years_are_those_of_the_calendar(first: date, last: date) -> None:
    columns = {"birth": day(first), "visit": day(last)}
    assert evaluate(parse_formula("years(birth, visit)"), columns)[0] == full_years(first, last)


@settings(max_examples=300, deadline=None)
@given(DAYS.filter(lambda d: 1720 < d.year < 2280), st.integers(0, 110), st.booleans(), st.integers(0, 99))
def test_a_day_so_many_years_away_is_one(known: date, years: int, later: bool, seed: int) -> None:
    """Before or after a day, on the 29th of February too."""
    names = ("visit", "birth") if later else ("birth", "visit")
    formula = Call("years", (Name("birth"), Name("visit")))
    rng = np.random.default_rng(seed)
    found = solve(formula, names[0], np.array([float(years)]), {names[1]: day(known)}, rng)
    other = date(1970, 1, 1) + timedelta(days=int(found[0]))
    assert full_years(*((known, other) if later else (other, known))) == years


def test_every_day_that_fits_may_be_drawn() -> None:
    formula = Call("years", (Name("birth"), Name("visit")))
    known = np.broadcast_to(day(date(2024, 2, 29)), 20_000)
    found = solve(formula, "visit", np.full(20_000, 1.0), {"birth": known}, np.random.default_rng(0))
    wanted = {d for d in range(3000) if full_years(date(2024, 2, 29), date(2024, 2, 29) + timedelta(days=d)) == 1}
    assert set((found - known).astype(int).tolist()) == wanted


@pytest.mark.parametrize(
    ("text", "name", "may"),
    [("a + b", "a", True), ("a + a", "a", False), ("b", "a", False), ("2 ^ a", "a", False), ("a ^ 2", "a", True),
     ("(2 ^ a) * b", "b", True), ("years(a, b)", "b", True), ("hours(b - a) / 3", "a", True), ("3", "a", False)],
)  # fmt: skip
def test_what_can_be_turned_round(text: str, name: str, may: bool) -> None:
    assert invertible(parse_formula(text), name) is may


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2 ^ 3 ^ 2", Call("^", (Number(2), Call("^", (Number(3), Number(2)))))),
        ("a - b - c", Call("-", (Call("-", (Name("a"), Name("b"))), Name("c")))),
        ('"my col" * `b`', Call("*", (Name("my col"), Name("b")))),
        ("years", Name("years")),
    ],
)
def test_how_a_formula_is_read(text: str, meant: Formula) -> None:
    assert parse_formula(text) == meant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a column, a number or ( at 'the end'"),
        ("a +", "expected a column, a number or ("),
        ("a b", "expected + - * / ^ or the end at 'b'"),
        ("(a", "expected ) at 'the end'"),
        ("years(a)", "expected 2 argument(s) of years"),
        ("hours(a, b)", "expected 1 argument(s) of hours"),
        ("a ? b", "cannot read '? b'"),
        ("sqrt(a)", "expected + - * / ^ or the end at '(a)'"),
        ("-" * (DEEPEST + 1) + "a", f"more than {DEEPEST}"),
    ],
)
def test_a_mistake_in_a_formula_says_where(text: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_formula(text)
    assert words in str(caught.value)


# rules

X = Compare("x", ">", 3)


@pytest.mark.parametrize(
    ("rule", "law"),
    [
        ("x > 3 implies y is missing", Logical(Either((Not(X), Missing("y"))))),
        ("x > 3 => y is missing", Logical(Either((Not(X), Missing("y"))))),
        ("x > 3 → y is missing", Logical(Either((Not(X), Missing("y"))))),
        ("never x > 3", Logical(Not(X))),
        ("always x > 3", Logical(X)),
        ("x > 3", Logical(X)),
        ("x = true", Logical(Compare("x", "=", True))),
        ("w = ' implies '", Logical(Compare("w", "=", " implies "))),
        ("x <= y", Inequality({"x": 1.0, "y": -1.0}, 0.0)),
        ("x > y + 2", Inequality({"y": 1.0, "x": -1.0}, -2.0, strict=True)),
        ("2 * x + y >= 10 - z", Inequality({"x": -2.0, "y": -1.0, "z": -1.0}, -10.0)),
        ("t = a + b", Equation("t", Call("+", (Name("a"), Name("b"))))),
        ("city determines country", Determines(("city",), "country")),
        ("a, b and c determines `d d`", Determines(("a", "b", "c"), "d d")),
    ],
)
def test_what_a_rule_says(rule: str, law: object) -> None:
    constraint = Constraint(rule, guess=True, confirmed="the law")
    assert constraint.law == law
    assert Constraint.from_fields(constraint.to_fields()) == constraint


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "a rule is needed"),
        ("x > 3", "a rule is needed"),
        ({"rule": 3}, "a rule is needed"),
        ({"rule": "  "}, "a rule is needed"),
        ({"rule": "x > 1" * 3000}, "a rule is needed"),
        ({"rule": "x > 3", "gess": True}, "no field 'gess'; it must be one of rule, lines, list, guess, confirmed"),
        ({"rule": "x > 3", "guess": 1}, "guess must be true or false"),
        ({"rule": "x > 3", "confirmed": 1}, "confirmed must be a text"),
        ({"rule": "x > 3", "lines": [[1]]}, "lines and list are for rules such as city determines country"),
        ({"rule": "a determines b", "lines": "ab"}, "a list of lists"),
        ({"rule": "a determines b", "lines": [1]}, "a list of lists"),
        ({"rule": "a determines b", "lines": [["x"]]}, "needs 2 values: a, b"),
        ({"rule": "a determines b", "lines": [["x", 1], ["x", 2]]}, "'x' two partners in b"),
        ({"rule": "a determines a"}, "every column may stand there once"),
        ({"rule": "a, a determines b"}, "every column may stand there once"),
        ({"rule": "a + 1 determines b"}, "expected determines at '+ 1 determines b'"),
        ({"rule": "a + b = t"}, "alone on the left"),
        ({"rule": "t = t + a"}, "alone on the left"),
        ({"rule": "a * b <= c"}, "an order is between sums of columns"),
        ({"rule": "a - a <= b - b"}, "the columns cancel out"),
        ({"rule": "a determines b", "list": "l.csv"}, "only where the schema itself is a file"),
        ({"rule": "x >"}, "expected a"),
    ],
)
def test_a_wrong_rule_is_named(fields: Any, words: str) -> None:
    with pytest.raises(SchemaError, match="constraint") as caught:
        Constraint.from_fields(fields)
    assert words in str(caught.value)


NUMBERS = [Integer(n, lower=-9, upper=9, missing=True) for n in "abct"]
LABELS = [Category(n, categories=("x", "y")) for n in "vw"]
DATES = [Date(n, lower="2020-01-01", upper="2020-12-31") for n in ("first", "last")]
MONTHS = [Date(n, lower="2020-01-01", upper="2020-12-31", format="%Y-%m") for n in ("m", "n")]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["a <= v"], "column 'v' must be a number or a date"),
        (["a <= first"], "dates are compared with dates"),
        (["first + last <= 3"], "dates are compared with dates"),
        (["m <= first"], "same format"),
        (["v > 3"], "is a category"),
        (["v = 'z'"], "no value 'z'"),
        (["a = 'high'"], "compared with 'high'"),
        (["a determines w"], "'a' must be a category or a boolean"),
        (["note is missing"], "drop"),
    ],
)
def test_rules_that_compare_what_cannot_be_compared(rules: list[str], words: str) -> None:
    schema = Schema([*NUMBERS, *LABELS, *DATES, *MONTHS, Drop("note")], constraints=rules)
    with pytest.raises(SchemaError, match="constraint") as caught:
        in_force(schema)
    assert words in str(caught.value)
    guessed = schema.with_constraints(*(Constraint(rule, guess=True) for rule in rules))
    assert in_force(guessed) == [], "a guess is not in force"


@pytest.mark.parametrize(
    ("columns", "rules", "words"),
    [
        ((), ["t = a + z"], r"no column 'z' \(texts need '…'\)"),
        ((), ["a = b + c", "a = b - c"], "another rule says already what 'a' is"),
        ((), ["v = a + b"], "'v' is no column of numbers or dates"),
        ((), ["a = b + v"], "its formula uses 'v'"),
        ((), ["a = b + c", "t = a + b"], "its formula uses 'a', which must be"),
        ((), ["a = m - n"], "'m', whose format shows no days"),
        ((Integer("s", lower=0, upper=9, formula="a +"),), [], "column 's': formula 'a \\+'"),
        (
            (Integer("s", lower=0, upper=9, missing=True, formula="a + b", replaces="t"),),
            [],
            "stands once in the formula",
        ),
        (
            (Integer("s", lower=0, upper=9, missing=True, formula="a + a", replaces="a"),),
            [],
            "stands once in the formula",
        ),
        ((Integer("s", lower=0, upper=9, formula="a + b"),), [], "may be missing; say missing = true"),
        (
            (Date("s", lower="2020-01-01", upper="2020-02-01", formula="first + 1", replaces="first"),),
            [],
            "must be a number",
        ),
        (
            tuple(
                Integer(s, lower=0, upper=9, missing=True, formula=f"a + {o}", replaces="a") for s, o in ("pb", "qc")
            ),
            [],
            "'a' is replaced twice",
        ),
        ((Integer("s", lower=0, upper=9, missing=True, formula="a + b"),), ["s = a + c"], "has a formula and a rule"),
    ],
)
def test_what_cannot_be_worked_out_is_refused(columns: Any, rules: list[str], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema([*NUMBERS, *LABELS, *DATES, *MONTHS, *columns], constraints=rules)


def test_columns_are_worked_out_after_those_they_need() -> None:
    columns = [
        Integer("t", lower=-99, upper=99, missing=True, formula="a + b"),
        Integer("s", lower=-99, upper=99, missing=True, formula="c - a", replaces="c"),
    ]
    schema = Schema([*NUMBERS[:3], *columns])
    assert schema.domain.names == ("a", "b", "s")
    assert [c.name for c in schema.table_columns] == ["a", "b", "c", "t"]
    order = [target for target, _ in schema.working_order]
    assert sorted(order) == ["c", "t"]
    needs_c = Schema([*NUMBERS[:3], columns[1], Integer("u", lower=-99, upper=99, missing=True, formula="c * 2")])
    assert [target for target, _ in needs_c.working_order] == ["c", "u"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(-9, 9), st.booleans())
def test_an_order_means_the_same_in_terms_of_the_model(factors: list[int], bound: int, strict: bool) -> None:
    """With c and t replaced by what they are worked out of, for every row of a small grid."""
    assume(sum(map(bool, factors)) > 1)
    derived = [
        Integer("s", lower=-99, upper=99, formula="c - 2 * a + 1", replaces="c"),
        Integer("t", lower=-99, upper=99, formula="a + 3 * b - 4"),
    ]
    schema = Schema([*(Integer(n, lower=-9, upper=9) for n in "abc"), *derived])
    law = Inequality({n: float(f) for n, f in zip("abct", factors, strict=True) if f}, float(bound), strict)
    found = substituted(schema, law)
    assert found is not None
    assert set(found.factors) <= {"a", "b", "s"}
    assert found.strict == strict
    for a, b, s in product(range(-2, 3), repeat=3):
        row = {"a": a, "b": b, "s": s, "c": s + 2 * a - 1, "t": a + 3 * b - 4}
        gaps = [sum(f * row[n] for n, f in one.factors.items()) - one.bound for one in (law, found)]
        assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)


def test_an_order_over_what_is_no_sum_has_no_other_form() -> None:
    schema = Schema([*(Integer(n, lower=1, upper=9) for n in "abc"), Real("t", lower=0, upper=81, formula="a * b")])
    assert substituted(schema, Inequality({"t": 1.0, "c": -1.0}, 0.0)) is None
    kept = Inequality({"a": 1.0, "c": -1.0}, 0.0)
    assert substituted(schema, kept) == kept


def test_broken_rules_are_counted_row_by_row() -> None:
    rows = [(a, b, a + b + (a == 2)) for a, b in product((0, 1, 2, None), repeat=2) if a is not None and b is not None]
    columns = [Integer(n, lower=0, upper=9) for n in "abt"]
    schema = Schema(columns, constraints=["t = a + b", "a <= b", "a < b", "never a = 2 and b = 2"])
    frame = pa.table({n: pa.array([row[i] for row in rows]) for i, n in enumerate("abt")})
    assert violations(frame, schema) == {
        "t = a + b": sum(t != a + b for a, b, t in rows),
        "a <= b": sum(a > b for a, b, _ in rows),
        "a < b": sum(a >= b for a, b, _ in rows),
        "never a = 2 and b = 2": 1,
    }
    assert columns_of(schema.formulas["t"]) == ["a", "b"]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"])), min_size=1, max_size=4))
def test_a_list_of_partners_holds_for_its_lines_and_no_others(pairs: set[tuple[str, str]]) -> None:
    assume(len({key for key, _ in pairs}) == len(pairs))
    columns = [Category("city", categories=("a", "b")), Category("land", categories=("x", "y", "z"))]
    rule = Constraint("city determines land", lines=tuple(pairs))
    schema = Schema(columns, constraints=[rule])
    rows = [*product("ab", "xyz")]
    cells = Encoder(schema).read(pa.table({"city": [r[0] for r in rows], "land": [r[1] for r in rows]}))
    assert holds(schema, rule.law, cells).tolist() == [row in pairs for row in rows]
    assert in_force(schema) == [rule]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([Integer("city", lower=0, upper=9), Category("land", categories=("x",))], "city is compared with a list"),
        (
            [Category("city", categories=("b",)), Category("land", categories=("x",))],
            "city has no value 'a'; it has 'b'",
        ),
    ],
)
def test_a_list_of_what_a_column_cannot_hold_is_refused(columns: Any, words: str) -> None:
    schema = Schema(columns, constraints=[Constraint("city determines land", lines=(("a", "x"),))])
    with pytest.raises(SchemaError, match=words):
        in_force(schema)
