"""Values that nobody listed: counted, never shown, and drawn again as the model says."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.errors import UsageError
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.models.doubles import Doubles
from kagemusha.models.unlisted import redrawn
from kagemusha.privacy.budget import Budget
from kagemusha.quality.statement import quality_files
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = Schema(
    [
        Category("ward", categories=("a", "b")),
        Category("sex", categories=("F", "M"), missing=True),
        Category("grade", categories=(1, 2, 3)),
        Integer("age", lower=0, upper=3),
    ]
)


def table(rows: int = 3000, seed: int = 0) -> pa.Table:
    """A fifth of the wards are not listed, most of them of men."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    ward = np.where(rng.random(rows) < np.where(sex == "F", 0.9, 0.2), "a", "b")
    ward = np.where(rng.random(rows) < np.where(sex == "F", 0.05, 0.35), "elsewhere", ward)
    return pa.table({"ward": ward, "sex": sex, "grade": rng.integers(1, 5, rows), "age": rng.integers(0, 4, rows)})


@pytest.mark.parametrize("method", ["kage", "independent", "aim", "privbayes", "nigao", "gaussian-rows"])
def test_no_double_holds_what_nobody_declared(method):
    model = fit(create(method), table(), Budget(20.0, 1e-6), schema=SCHEMA, simulation=0)
    rows = min(2000, model.most_rows)
    for doubles in (model.sample(rows, seed=1), model.sample(min(50, rows), seed=1, where="ward != 'a'")):
        assert set(doubles["ward"].to_pylist()) <= {"a", "b"}
        assert set(doubles["sex"].to_pylist()) <= {"F", "M", None}
        assert set(doubles["grade"].to_pylist()) <= {1, 2, 3}  # numbers stay numbers
    codes = model.sample_codes(rows, rng=np.random.default_rng(0))
    assert codes[:, 0].max() < 2
    assert model.project(("ward",))[2] == 0
    assert model.project(("ward", "sex"))[2].sum() == 0
    assert set(doubles["ward"].to_pylist()) == {"b"}


def test_expected_counts_follow_what_is_drawn_again():
    rng = np.random.default_rng(3)
    domain = SCHEMA.domain
    potentials = {
        ("ward", "sex"): rng.normal(0, 1.5, domain.shape(("ward", "sex"))),
        ("ward", "grade"): rng.normal(0, 1, domain.shape(("ward", "grade"))),
        ("grade", "age"): rng.normal(0, 1, domain.shape(("grade", "age"))),
    }
    generator = MarkovGenerator(MarkovField.build(domain, 1000.0, potentials))
    doubles = Doubles(SCHEMA, generator)
    codes = doubles.codes(400_000, rng=np.random.default_rng(0))
    for clique in [("ward",), ("sex",), ("grade",), ("ward", "sex"), ("ward", "age"), ("ward", "sex", "age")]:
        axes = [domain.axis(name) for name in clique]
        flat = np.ravel_multi_index(tuple(codes[:, axes].T), domain.shape(clique))
        seen = np.bincount(flat, minlength=domain.cells(clique)) / len(codes)
        expected = doubles.project_many([clique])[0].ravel() / 1000
        # of a column exactly; of more, as far as its partner is not the whole story
        assert np.abs(seen - expected).sum() < (0.004 if len(clique) == 1 else 0.05)
    other = doubles.codes(400_000, rng=np.random.default_rng(1))
    assert not (other == codes).all()


def test_the_partner_is_the_column_that_tells_most():
    tables = {
        ("ward", "sex"): np.log([[90, 10, 1, 1], [10, 90, 1, 1], [1, 90, 1, 1.0]]),
        ("ward", "age"): np.zeros((3, 4)),
    }
    generator = MarkovGenerator(MarkovField.build(SCHEMA.domain, 1.0, tables))
    way = redrawn(generator, SCHEMA["ward"])
    assert way.partner == "sex"
    assert way.chances[:, 2].tolist() == [0, 0, 0, 0]
    assert way.chances[1, :2] == pytest.approx([0.1, 0.9])
    assert way.on_average[1] > 0.85  # what is not listed is nearly always in a row of M


def test_rules_leave_their_columns_nothing_to_draw_again():
    ruled = Schema(SCHEMA, constraints=[Constraint("ward = 'b' implies age >= 2")])
    model = fit(create("kage"), table(), Budget(20.0, 1e-6), schema=ruled, simulation=0)
    doubles = model.sample(3000, seed=0).to_pandas()
    assert set(doubles["ward"]) == {"a", "b"}
    assert (doubles[doubles["ward"] == "b"]["age"] >= 2).all()
    page = quality_files(model)["quality.html"].decode()
    assert "Every double obeys these rules, which the schema declares" in page
    assert "ward = &#39;b&#39; implies age &gt;= 2" in page


def test_a_value_that_no_double_has_cannot_be_asked_for():
    model = fit(create("independent"), table(200), Budget(20.0, 1e-6), schema=SCHEMA, simulation=0)
    with pytest.raises(UsageError, match=r"no value 'other'; it has 'a', 'b'$"):
        model.sample(5, where="ward = 'other'")


def test_whoever_declares_a_label_gets_it():
    told = SCHEMA.with_columns(Category("ward", categories=("a", "b"), other="rest"))
    model = fit(create("kage"), table(), Budget(20.0, 1e-6), schema=told, simulation=0)
    doubles = model.sample(3000, seed=0)["ward"].to_pylist()
    assert 0.15 < doubles.count("rest") / 3000 < 0.25
    assert Category("ward", categories=("a",), out_of_domain="other").labels == ("a", "other")
    assert Category("ward", categories=("a", "other")).labels == ("a", "other")


def test_the_quality_page_says_how_many_were_not_listed():
    model = fit(create("kage"), table(), Budget(20.0, 1e-6), schema=SCHEMA, simulation=0)
    files = quality_files(model)
    page = files["quality.html"].decode()
    assert "people have a value that the schema does not list" in page
    told = json.loads(files["quality.json"])["people with values that are not listed"]
    assert list(told) == ["ward", "sex", "grade"]
    assert told["grade"][0] < table()["grade"].to_pylist().count(4) < told["grade"][1]
    assert told["sex"][0] == 0
    assert page.count("does not list") == 2
    none = fit(create("kage"), table(0), Budget(1.0, 1e-6), schema=SCHEMA, simulation=0)
    assert "does not list" not in quality_files(none)["quality.html"].decode()


@pytest.mark.parametrize(
    ("said", "shown"), [({}, True), ({"out_of_domain": "redraw"}, False), ({"other": "rest"}, True)]
)
def test_who_is_on_no_discovered_list_is_a_group_of_its_own(said: dict[str, str], shown: bool) -> None:
    """Every third person holds a value too rare to be released: drawn again, the frequent ones would be overstated."""
    cells = ["often"] * 2000 + [f"rare {i}" for i in range(1000)]
    schema = Schema([Category("word", **said)])  # type: ignore[arg-type]
    model = fit(
        create("independent"), pa.table({"word": cells}), Budget(1.0, 1e-6), schema=schema, discover=0.2, simulation=0
    )
    words = Counter(model.sample(3000, seed=0)["word"].to_pylist())
    label = said.get("other", "other")
    assert set(words) == ({"often", label} if shown else {"often"})
    if shown:
        assert words[label] == pytest.approx(1000, rel=0.1)
    assert Schema.loads(model.schema.dumps()) == model.schema
