"""The front door takes what people try, and says in a line what it does not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kagemusha as kg
from kagemusha.certificate.certificate import Certificate
from kagemusha.errors import DataError, SchemaError, UsageError, VerifyError
from kagemusha.synthesizers.aim import AIM

SCHEMA = kg.Schema(
    [
        kg.Category("sex", categories=("F", "M")),
        kg.Integer("age", lower=0, upper=99, bins=5),
        kg.Real("bmi", lower=10, upper=60, bins=4, missing=True),
    ]
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    bmi = np.where(rng.random(500) < 0.1, np.nan, rng.normal(27, 5, 500))
    return pd.DataFrame({"sex": rng.choice(["F", "M"], 500), "age": rng.integers(0, 100, 500), "bmi": bmi})


@pytest.fixture(scope="module")
def model(people: pd.DataFrame) -> kg.Model:
    return kg.fit("independent", people, 1.0, schema=SCHEMA)


@pytest.mark.parametrize("budget", [2, 2.0, np.float32(2), np.int64(2), kg.Budget(2, 1e-9)])
def test_a_budget_is_a_number_or_a_budget(people: pd.DataFrame, budget: object) -> None:
    found = kg.fit("independent", people, budget, schema=SCHEMA).certificate  # type: ignore[arg-type]
    assert found.promised == kg.Budget(2.0, 1e-9, "add-remove")  # type: ignore[arg-type]
    assert found.epsilon == 2.0


@pytest.mark.parametrize("budget", [True, "1", None, {"epsilon": 1}])
def test_other_budgets_are_refused(people: pd.DataFrame, budget: object) -> None:
    with pytest.raises(UsageError, match="the budget must be a number"):
        kg.fit("independent", people, budget, schema=SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="epsilon must be greater than 0"):
        kg.fit("independent", people, 0, schema=SCHEMA)


def test_a_method_is_a_name_a_synthesizer_or_its_class(people: pd.DataFrame) -> None:
    for method, degree in (("aim", 2), ("aim-k3", 3), (kg.create("aim", degree=1), 1), (AIM, 2)):
        found = kg.fit(method, people, 5, schema=SCHEMA, simulation=1).certificate  # type: ignore[arg-type]
        assert (found.method, found.parameters["degree"]) == ("aim", degree)
    with pytest.raises(UsageError, match="did you mean 'kage'"):
        kg.fit("kag", people, 1, schema=SCHEMA)
    with pytest.raises(UsageError, match="method must be a name such as 'kage'"):
        kg.fit(people, SCHEMA, 1)  # type: ignore[arg-type]


def test_a_schema_is_a_schema_or_its_file(people: pd.DataFrame, tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "people.toml")
    for path in (tmp_path / "people.toml", str(tmp_path / "people.toml")):
        assert kg.fit("independent", people, 1, schema=path).schema == SCHEMA
        assert kg.open_source(people, path).schema == SCHEMA
    with pytest.raises(SchemaError, match=r"none\.toml"):
        kg.fit("independent", people, 1, schema=tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="needs a schema"):
        kg.synthesize(people)


def test_doubles_come_in_the_library_of_the_table(people: pd.DataFrame) -> None:
    doubles = kg.synthesize(people, epsilon=1, schema=SCHEMA, method="independent")
    assert isinstance(doubles, pd.DataFrame)
    assert list(doubles) == ["sex", "age", "bmi"]
    fewer = kg.synthesize(pl.from_pandas(people), 1, schema=SCHEMA, method="independent", rows=7)
    assert isinstance(fewer, pl.DataFrame)
    assert len(fewer) == 7


def test_a_release_takes_no_seed_and_says_why(people: pd.DataFrame, tmp_path: Path) -> None:
    for call in (kg.fit, lambda method, *rest, **more: kg.synthesize(*rest, method=method, **more)):
        with pytest.raises(UsageError, match=r"whoever knows the seed can remove the noise.*simulation="):
            call("independent", people, 1, schema=SCHEMA, seed=3, ledger=tmp_path / "book.db", dataset="people")
    assert not list(tmp_path.iterdir()), "something was opened or paid for"
    tried = kg.fit("independent", people, 1, schema=SCHEMA, simulation=3)
    assert math.isinf(tried.certificate.epsilon)


def test_sampling_takes_a_seed(model: kg.Model) -> None:
    assert model.sample(100, seed=3).equals(model.sample(100, seed=3))
    assert model.sample(100, seed=3).equals(model.sample(100, rng=np.random.default_rng(3)))
    assert not model.sample(100, seed=3).equals(model.sample(100, seed=4))
    assert not model.sample(100).equals(model.sample(100))
    for seed in (-1, 1.5, True, "3"):
        with pytest.raises(UsageError, match="seed must be a whole number of at least 0"):
            model.sample(10, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not both"):
        model.sample(10, seed=3, rng=np.random.default_rng(3))


def test_a_published_release_is_verified_loaded_and_known_to_the_ledger(people: pd.DataFrame, tmp_path: Path) -> None:
    ledger = tmp_path / "book.db"
    model = kg.fit("independent", people, 1, schema=SCHEMA, ledger=ledger, dataset="people")
    certificate = kg.publish(model, tmp_path / "out", rows=50, file_kind="parquet", ledger=ledger)
    assert len(pd.read_parquet(tmp_path / "out" / "synthetic.parquet")) == 50
    assert all(check.passed for check in kg.verify(tmp_path / "out"))
    known = (kg.open_ledger(ledger).releases()[0].certificate or "").split()
    assert len(known) == 2, "the certificate before the quality pages, and the one with them"
    assert known[-1] == certificate.digest()
    loaded = kg.load(tmp_path / "out")
    assert loaded.certificate == certificate
    assert loaded.sample(20, seed=1).equals(kg.load(tmp_path / "out" / "model.kage").sample(20, seed=1))
    with pytest.raises(UsageError, match="already exists"):
        kg.publish(model, tmp_path / "out")
    with pytest.raises(UsageError, match="'csv' or 'parquet'"):
        kg.publish(model, tmp_path / "new", file_kind="xlsx")


def test_what_is_no_release_is_not_loaded(model: kg.Model, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds model\.kage"):
        kg.load(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        kg.load(tmp_path / "nothing.kage")
    kg.publish(model, tmp_path / "out")
    other = replace(model, ceilings={("sex",): 1.0})
    other.save(tmp_path / "out" / "model.kage")
    with pytest.raises(VerifyError, match="not the one the certificate was written for"):
        kg.load(tmp_path / "out")


HOSTILE = "<script>alert('x')</script>" * 40


def test_what_is_shown_is_short_and_escaped(model: kg.Model) -> None:
    certificate = replace(model.certificate, dataset=HOSTILE, method=HOSTILE)
    shown = replace(model, certificate=certificate)
    expected = kg.expected_error(model)
    for thing in (model, shown, model.certificate, certificate, expected):
        assert len(repr(thing)) <= 200
        assert "\n" not in repr(thing)
        assert "<script" not in thing._repr_html_()
    assert "independent" in repr(model)
    assert "ε = 1, δ = 1e-09, add-remove" in repr(model)
    assert "3 columns" in repr(model)
    assert "&lt;script&gt;" in certificate._repr_html_()
    assert "bmi" in model._repr_html_()
    assert "3 pairs" in repr(expected)
    assert "sex × age" in expected._repr_html_()


def test_a_broken_promise_is_shown_as_one(people: pd.DataFrame) -> None:
    tried: Certificate = kg.fit("independent", people, 1, schema=SCHEMA, simulation=3).certificate
    assert "ε = ∞" in repr(tried)
    assert "seed" in tried._repr_html_()


def test_what_is_no_schema_and_no_condition_is_named(people: pd.DataFrame, tmp_path: Path) -> None:
    table = people
    for wrong in ({"age": "integer"}, 3):
        with pytest.raises(UsageError, match=r"schema must be a Schema or the path of a schema file, got (dict|int)"):
            kg.synthesize(table, 1.0, schema=wrong)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"propose\(table\), drafts one"):
        kg.synthesize(table, 1.0)
    model = kg.fit("independent", table, 1.0, schema=SCHEMA, simulation=1)
    for wrong in (lambda row: True, {"age": 60}):
        with pytest.raises(UsageError, match="where must be a condition in words"):
            model.sample(5, where=wrong)  # type: ignore[arg-type]
    kg.publish(model, tmp_path / "release")
    with pytest.raises(UsageError, match="or replace it with") as refused:
        kg.publish(model, tmp_path / "release")
    assert "--" not in str(refused.value)
    assert "(--force)" in refused.value.at_a_prompt
    with pytest.raises(UsageError, match=r"^delta must be at most"):
        kg.fit("independent", table, kg.Budget(1, 0.5), schema=SCHEMA)
