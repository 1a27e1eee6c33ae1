"""Rows below obey: rules of their own table, rules that speak of tables above, and formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from kagemusha.errors import SchemaError
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import Related

TEXT = """
version = 1
[tables.patients]
key = "p"
[tables.patients.columns.sex]
kind = "category"
categories = ["F", "M"]
[tables.patients.columns.born]
kind = "date"
lower = 1950-01-01
upper = 2020-12-31
bins = 6
[tables.visits]
parent = "patients"
key = "p"
id = "v"
order = "date"
max_rows = 5
[tables.visits.columns.date]
kind = "date"
lower = 1980-01-01
upper = 2021-12-31
bins = 8
[tables.visits.columns.ward]
kind = "category"
categories = ["delivery", "surgery"]
[tables.visits.columns.height]
kind = "real"
lower = 1.0
upper = 2.0
decimals = 2
bins = 5
[tables.visits.columns.weight]
kind = "real"
lower = 30
upper = 130
decimals = 1
bins = 5
[tables.visits.columns.bmi]
kind = "real"
lower = 7
upper = 130
decimals = 2
bins = 5
formula = "weight / height ^ 2"
[[tables.visits.constraint]]
rule = "date >= patients.born"
[[tables.visits.constraint]]
rule = "ward = 'delivery' implies patients.sex = 'F'"
[[tables.visits.constraint]]
rule = "weight >= 50 * height - 40"
[tables.labs]
parent = "visits"
key = "v"
max_rows = 3
[tables.labs.columns.taken]
kind = "date"
lower = 1980-01-01
upper = 2022-12-31
bins = 8
[[tables.labs.constraint]]
rule = "labs.taken >= visits.date"
[[tables.labs.constraint]]
rule = "taken > patients.born"
"""


def declared(text: str = TEXT) -> Related:
    found = read_declared(text)
    assert isinstance(found, Related)
    return found


def tables(persons: int = 250) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    born = rng.integers(0, 20_000, persons)
    start = np.datetime64("1950-01-01")
    sex = rng.choice(["F", "M"], persons)
    who = np.repeat(np.arange(persons), rng.integers(0, 5, persons))
    last = 26_000
    date = np.maximum(born[who] + rng.integers(0, 6_000, len(who)), 11_000)
    height = np.round(1 + rng.random(len(who)), 2)
    weight = np.round(np.clip(50 * height - 40 + rng.gamma(2, 15, len(who)), 30, 130), 1)
    ward = np.where((sex[who] == "F") & (rng.random(len(who)) < 0.5), "delivery", "surgery")
    visits = {"p": who, "v": np.arange(len(who)), "date": (start + date).astype(str), "ward": ward}
    of = np.repeat(np.arange(len(who)), rng.integers(0, 3, len(who)))
    taken = np.minimum(date[of] + rng.integers(0, 300, len(of)), last)
    return {
        "patients": pd.DataFrame({"p": np.arange(persons), "sex": sex, "born": (start + born).astype(str)}),
        "visits": pd.DataFrame({**visits, "height": height, "weight": weight, "bmi": np.round(weight / height**2, 2)}),
        "labs": pd.DataFrame({"v": of, "taken": (start + taken).astype(str)}),
    }


@pytest.fixture(scope="module")
def doubles() -> dict[str, pd.DataFrame]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kagemusha.synthesizers.next_rows.DRAWN", 400)
        patched.setattr("kagemusha.synthesizers.related_fit.PARENTS", 400)
        model = kg.fit_related(tables(), 5.0, schema=declared(), simulation=1)
    return model.sample(400, seed=1, like="pandas")


def test_no_double_breaks_a_rule(doubles: dict[str, pd.DataFrame]) -> None:
    rows = doubles["visits"].merge(doubles["patients"], on="p")
    assert len(rows) > 300
    assert (rows["date"] >= rows["born"]).all()
    assert (rows.loc[rows["ward"] == "delivery", "sex"] == "F").all()
    assert (rows["ward"] == "delivery").mean() > 0.1
    assert (rows["weight"] >= 50 * rows["height"] - 40 - 1e-9).all()
    labs = doubles["labs"].merge(rows, on="v")
    assert len(labs) > 100
    assert (labs["taken"] >= labs["date"]).all()
    assert (labs["taken"] > labs["born"]).all()


def test_a_column_that_follows_from_others_does(doubles: dict[str, pd.DataFrame]) -> None:
    visits = doubles["visits"]
    assert np.allclose(visits["bmi"], visits["weight"] / visits["height"] ** 2, atol=0.0051)


def test_hardly_any_row_is_left_out_for_a_rule(
    doubles: dict[str, pd.DataFrame],
) -> None:
    each = len(tables()["visits"]) / 250
    assert len(doubles["visits"]) > 0.85 * each * 400


def test_rules_are_written_and_read_again() -> None:
    schema = declared()
    assert declared(schema.dumps()).digest() == schema.digest()
    assert len(schema["visits"].rules) == 2
    assert len(schema["visits"].schema.constraints) == 1
    without = declared(TEXT.replace('rule = "date >= patients.born"', 'rule = "date >= patients.born"\nguess = true'))
    assert without.digest() != schema.digest()
    assert len(without.released["visits"].rules) == 1


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("date >= patients.born", "date >= patients.birth", "no column 'patients.birth' here, nor in a table above"),
        ("date >= patients.born", "date >= labs.taken", "no column 'labs.taken'"),
        ("date >= patients.born", "weight >= patients.born", "dates are compared with dates"),
        ("date >= patients.born", "height = patients.born + 1", "below the persons rules are conditions"),
        ("date >= patients.born", "date >= patients.born + 99999", "no row can obey it"),
    ],
)
def test_mistakes_are_named(old: str, new: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        kg.fit_related(tables(), 1.0, schema=declared(TEXT.replace(old, new)), simulation=1)
