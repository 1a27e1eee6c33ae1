"""Conditional sampling is exact.

Every row fulfils the condition, and the distribution is the model's conditional one.
"""

from __future__ import annotations

from datetime import date
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.models import Model
from kagemusha.privacy.budget import Budget
from kagemusha.rules.conditions import read_where
from kagemusha.schema import Boolean, Category, Date, Integer, Real, Schema
from kagemusha.schema.conditions import Compare
from kagemusha.schema.domain import Domain
from kagemusha.schema.grammar import parse_condition as parse
from kagemusha.synthesizers import create, fit

SCHEMA = Schema(
    [
        Category("sex", categories=("F", "M"), missing=True),
        Integer("age", lower=0, upper=99, bins=5),
        Real("bmi", lower=10.0, upper=60.0, bins=5, missing=True),
        Category("ward", categories=("a", "b", "c")),
        Date("seen", lower=date(2020, 1, 1), upper=date(2024, 12, 31), bins=4, format="%d/%m/%Y"),
        Category("stage", categories=(1, 2, 3), out_of_domain="clip"),
        Boolean("alive"),
    ]
)


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(0)
    rows = 4000
    sex = rng.choice(["F", "M"], rows)
    frame = pd.DataFrame(
        {
            "sex": np.where(rng.random(rows) < 0.1, None, sex),
            "age": rng.integers(0, 100, rows),
            "bmi": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(28, 6, rows)),
            "ward": np.where(sex == "F", "a", rng.choice(["b", "c"], rows)),
            "seen": pd.to_datetime(rng.integers(0, 1800, rows), unit="D", origin="2020-01-02").strftime("%d/%m/%Y"),
            "stage": rng.integers(1, 4, rows),
            "alive": rng.random(rows) < 0.7,
        }
    )
    return fit(create("aim"), frame, Budget(20.0, 1e-6), schema=SCHEMA, simulation=1)


CONDITIONS = {
    "age > 60 and sex = 'F'": lambda d: (d.age > 60) & (d.sex == "F"),
    "age >= 60": lambda d: d.age >= 60,
    "age = 37": lambda d: d.age == 37,
    "age != 37 and age between 30 and 44": lambda d: (d.age != 37) & (d.age >= 30) & (d.age <= 44),
    "age < 23.5 or age > 97": lambda d: (d.age < 23.5) | (d.age > 97),
    "bmi < 18.5 or (ward = 'b' and bmi > 41.25)": lambda d: (d.bmi < 18.5) | ((d.ward == "b") & (d.bmi > 41.25)),
    "not (sex = 'F' or age <= 50)": lambda d: d.sex.notna() & (d.sex != "F") & (d.age > 50),
    "sex is missing": lambda d: d.sex.isna(),
    "bmi is not missing and sex in ('F', 'M')": lambda d: d.bmi.notna() & d.sex.notna(),
    "ward not in ('a')": lambda d: d.ward != "a",
    "seen >= '2023-05-17'": lambda d: pd.to_datetime(d.seen, format="%d/%m/%Y") >= "2023-05-17",
    "seen < '17/05/2021' and stage > 1": lambda d: (
        (pd.to_datetime(d.seen, format="%d/%m/%Y") < "2021-05-17") & (d.stage > 1)
    ),
    "alive = true and stage = 2": lambda d: d.alive & (d.stage == 2),
    '"age" > 90': lambda d: d.age > 90,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_row_fulfils_the_condition(model: Model, condition: str) -> None:
    double = model.sample(400, where=condition, rng=np.random.default_rng(1))
    assert len(double) == 400
    assert CONDITIONS[condition](double).all()


@pytest.mark.parametrize(
    "condition", ["age > 67 and sex = 'F'", "bmi < 18.5 or (ward = 'b' and age > 41)", "seen > '2022-03-03'"]
)
def test_the_rows_follow_the_conditional_distribution_of_the_model(model: Model, condition: str) -> None:
    """Against rejection from a large unconditional sample."""
    plain = model.sample(200_000, rng=np.random.default_rng(2))
    holds = (
        CONDITIONS.get(condition)
        or {
            "age > 67 and sex = 'F'": lambda d: (d.age > 67) & (d.sex == "F"),
            "bmi < 18.5 or (ward = 'b' and age > 41)": lambda d: (d.bmi < 18.5) | ((d.ward == "b") & (d.age > 41)),
            "seen > '2022-03-03'": lambda d: pd.to_datetime(d.seen, format="%d/%m/%Y") > "2022-03-03",
        }[condition]
    )
    kept = plain[holds(plain)]
    exact = model.sample(40_000, where=condition, rng=np.random.default_rng(3))
    for column in ("age", "ward", "stage", "alive"):
        one = kept[column].value_counts(normalize=True)
        two = exact[column].value_counts(normalize=True)
        distance = one.sub(two, fill_value=0).abs().sum()
        noise = np.sqrt(len(one) / len(kept)) + np.sqrt(len(two) / len(exact))
        assert distance < 1.2 * noise, f"{column}: {distance:.4f} against {noise:.4f}"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("agee > 3", "agee"),
        ("age >", "a number"),
        ("age > 'x'", "number"),
        ("sex = 'X'", "no value"),
        ("sex > 'F'", "category"),
        ("bmi = 20.5", "range"),
        ("seen > 'soon'", "date"),
        ("age > 3 age", "and, or"),
        ("(age > 3", ")"),
        ("age > 200", "no double"),
        ("", "a column"),
        ("age ~ 3", "cannot read"),
        ("sex is 3", "missing"),
    ],
)
def test_a_mistake_says_what_and_where(model: Model, condition: str, words: str) -> None:
    with pytest.raises(UsageError, match="where") as caught:
        model.sample(5, where=condition or " ")
    assert words in str(caught.value)


REALS = {
    "x > 30.3": lambda x: x > 30.3,
    "x >= 30.3": lambda x: x >= 30.3,
    "x <= 30.3": lambda x: x <= 30.3,
    "x < 30.3": lambda x: x < 30.3,
    "not x <= 30": lambda x: x > 30,
    "x < 60": lambda x: x < 60,
    "x > 59.9": lambda x: x > 59.9,
    "x >= 60": lambda x: x >= 60,
    "x <= 10": lambda x: x <= 10,
}


@pytest.mark.parametrize("condition", REALS)
def test_the_ends_of_a_range_of_rounded_numbers_are_kept_to_the_last_digit(condition: str) -> None:
    schema = Schema([Real("x", lower=10, upper=60, bins=5, decimals=1)])
    table = pd.DataFrame({"x": np.linspace(10, 60, 501).round(1)})
    model = fit(create("independent"), table, Budget(20.0, 1e-6), schema=schema, simulation=1)
    drawn = model.sample(20_000, where=condition, rng=np.random.default_rng(1))["x"].to_numpy()
    assert REALS[condition](drawn).all()
    assert np.array_equal(drawn, drawn.round(1))


def test_parentheses_change_nothing(model: Model) -> None:
    plain, nested = (
        model.sample(200, where=w, rng=np.random.default_rng(3))
        for w in ("sex = 'F' and age > 50 and bmi < 40", "(sex = 'F' and (age > 50)) and bmi < 40")
    )
    assert plain.equals(nested)


def test_a_condition_beyond_all_numbers_is_a_mistake(model: Model) -> None:
    with pytest.raises(UsageError, match="must be finite"):
        model.sample(5, where="age < 1e999")


def test_a_condition_that_ties_too_much_together_is_refused_with_the_size() -> None:
    names = [f"c{i}" for i in range(12)]
    field = MarkovField.build(Domain(tuple(names), (40,) * 12), 100.0, {p: np.zeros((40, 40)) for p in pairwise(names)})
    generator = MarkovGenerator(field)
    tied = {pair: np.ones((40, 40)) for pair in combinations(names, 2)}
    with pytest.raises(ModelTooLarge):
        generator.sample(5, rng=np.random.default_rng(0), where=tied)


def test_a_normal_model_does_not_search_for_ever() -> None:
    schema = Schema([Real(name, lower=-10, upper=10, bins=20) for name in "abc"])
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 3)), columns=list("abc"))
    model = fit(create("gaussian"), table, Budget(20.0, 1e-6), schema=schema, simulation=1)
    with pytest.raises(UsageError, match="fulfil this condition"):
        model.sample(5, where="a > 3 and b > 3 and c > 3")


def test_whole_labels_are_told_apart_to_the_last_digit() -> None:
    near = tuple(2**53 - 6 + i for i in range(6))  # beyond, a schema may not declare neighbours (decision 050)
    schema = Schema([Category("id", categories=near, out_of_domain="clip")])
    for label in near:
        (group,) = read_where(f"id = {label}", schema)
        assert group.weights().tolist() == [float(one == label) for one in near]
    (group,) = read_where(f"id > {near[2]} and id not in ({near[4]})", schema)
    assert group.weights().tolist() == [0, 0, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ("age>1 & sex=='F'", "age > 1 and sex = 'F'"),
        ("age>1&&sex=='F'", "age > 1 and sex = 'F'"),
        ("(age > 1) & (sex == 'F') | (stage==2)", "age > 1 and sex = 'F' or stage = 2"),
        ("sex = 'F' || stage=2 & age<9", "sex = 'F' or stage = 2 and age < 9"),
    ],
)
def test_signs_of_programmers_are_words(signs: str, words: str) -> None:
    assert parse(signs) == parse(words)


def test_signs_inside_texts_stay_as_they_are() -> None:
    assert parse("ward = 'a & b'") == Compare("ward", "=", "a & b")
    for half in ("age > 1 &", "& age > 1", "age > 1 &&& sex = 'F'", "age > 1 ||| sex = 'F'"):
        with pytest.raises(UsageError, match="expected a column"):
            parse(half)


@pytest.mark.parametrize("opening", ["(", "not ", "not ("])
def test_a_condition_nested_too_deeply_is_refused_in_one_line(opening):
    text = opening * 5000 + "age > 60" + ")" * (5000 * opening.count("("))
    with pytest.raises(UsageError, match="more than 100 parentheses, nots") as caught:
        read_where(text, SCHEMA)
    assert len(str(caught.value)) < 200
    assert read_where("(" * 100 + "age > 60" + ")" * 100, SCHEMA)[0].clique == ("age",)


def test_a_label_is_found_as_it_is_in_a_table():
    for text in ("stage = 1", "stage = 1.0", "stage = '1'", "stage = true"):
        assert np.array_equal(read_where(text, SCHEMA)[0].weights(), [1, 0, 0])


def test_dates_need_no_quotation_marks() -> None:
    assert parse("seen > 2021-06-01 and age < 3") == parse("seen > '2021-06-01' and age < 3")
    assert parse("seen between 2021-06-01 and 2021-06-30T12:00") == parse(
        "seen between '2021-06-01' and '2021-06-30T12:00'"
    )
    with pytest.raises(UsageError, match="cannot read '2021-06-011'"):
        parse("seen > 2021-06-011")


def test_a_column_that_is_worked_out_is_told_from_one_that_is_not_there() -> None:
    dates = [Date(name, lower="2020-01-01", upper="2020-12-31", bins=4) for name in ("came", "left")]
    stay = Integer("stay", lower=0, upper=9, formula="left - came", replaces="left")
    schema = Schema([*dates, stay])
    with pytest.raises(UsageError, match="left is worked out for each double when stay is known: speak of stay"):
        read_where("left > 2020-06-01", schema)
    with pytest.raises(UsageError, match="no column named 'gone'"):
        read_where("gone > 3", schema)
