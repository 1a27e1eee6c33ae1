"""What the measures say about tables whose answer is known; sensible values where a definition breaks down."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pandas as pd
import pytest

from kagemusha.cli.evaluate import evaluate as command
from kagemusha.errors import UsageError
from kagemusha.evaluation import classify, regress
from kagemusha.evaluation.discriminator import discriminate
from kagemusha.evaluation.distances import column_distances, kolmogorov_smirnov, unseen, wasserstein
from kagemusha.evaluation.evaluate import evaluate
from kagemusha.evaluation.learners import NAMES, USUAL
from kagemusha.evaluation.missingness import compare_missingness
from kagemusha.evaluation.ml_utility import utility
from kagemusha.evaluation.mutual_information import compare_information
from kagemusha.evaluation.summary import figures, sentences, verdict
from kagemusha.evaluation.tables import read_table
from kagemusha.extras import need
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Integer, Schema

from .tables import make_table


def test_lost_dependence_of_gaps_is_seen(real: CodedTable, schema: Schema) -> None:
    frame = make_table(1500, 1)
    shuffled = frame.assign(bmi=frame["bmi"].sample(frac=1, random_state=0).to_numpy())
    found = compare_missingness(real, read_table(shuffled, schema), schema)
    worst = found.worst
    assert worst is not None
    assert (worst.column, worst.on) == ("bmi", "age")
    assert found.rates["bmi"][0] == pytest.approx(found.rates["bmi"][1])
    assert worst.real > 0.1 > worst.synthetic
    assert found.pattern_distance is not None


def test_learning_beats_the_floor_and_comes_near_real_rows(real: CodedTable, synthetic: CodedTable) -> None:
    found = utility(real, synthetic, "ward", models=["tree", "logistic"])
    for name in ("tree", "logistic"):
        assert found.floor["accuracy"] < found.synthetic[name]["accuracy"]
        assert found.synthetic[name]["accuracy"] < found.real[name]["accuracy"] + 0.05
    assert found.floor["auroc"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "svm", "xgboost", "logistic", "adaboost", "gbm"])
def test_every_learner_learns(real: CodedTable, synthetic: CodedTable, name: str) -> None:
    assert classify(synthetic, real, "sex", models=[name])[name]["auroc"] > 0.7
    assert regress(real, real, "bmi", models=[name])[name]["r2"] > 0.05


def test_a_constant_target_gives_values_not_nan() -> None:
    schema = Schema([Category("a", categories=("x", "y")), Category("b", categories=("u", "v"))])
    rng = np.random.default_rng(0)
    mixed = read_table(pd.DataFrame({"a": rng.choice(["x", "y"], 60), "b": rng.choice(["u", "v"], 60)}), schema)
    constant = read_table(pd.DataFrame({"a": ["x"] * 60, "b": rng.choice(["u", "v"], 60)}), schema)
    scores = classify(constant, mixed, "a", models=["tree"])["tree"]
    assert scores["auroc"] == 0.5
    assert scores["accuracy"] == pytest.approx(np.mean(mixed.column("a") == 0))
    assert classify(mixed, constant, "a", models=["tree"])["tree"]["auroc"] == 0.5


def test_odd_tables_give_finite_headlines() -> None:
    schema = Schema(
        [
            Category("constant", categories=("x", "y")),
            Integer("age", lower=0, upper=9, missing=True),
            Category("kind", categories=("a", "b", "c", "d")),
        ]
    )
    real = pd.DataFrame({"constant": ["x"] * 40, "age": [None] * 40, "kind": ["a", "b"] * 20})
    doubles = pd.DataFrame({"constant": ["x"] * 30, "age": [3] * 30, "kind": ["c"] * 30})
    found = evaluate(real, doubles, schema, targets=["kind"], models=["tree"])
    numbers = [e.mean for e in found.kway.values()]
    numbers += [found.information.mean_absolute_difference, found.information.kept or 0.0, found.queries.mean]
    numbers += [d.wasserstein or 0.0 for d in found.columns] + [d.kolmogorov_smirnov or 0.0 for d in found.columns]
    assert all(math.isfinite(number) for number in numbers)
    text = verdict(found) + " ".join(f.value for f in figures(found)) + " ".join(sentences(found))
    assert "nan" not in text.lower()
    assert "NaN" not in __import__("json").dumps(found.to_json())
    assert unseen(found.real, found.synthetic)["kind"] == (2, 1)


def test_distances_with_one_empty_side_are_the_worst_possible() -> None:
    empty, full = np.zeros(4), np.array([1.0, 0, 0, 3])
    assert kolmogorov_smirnov(empty, full) == 1.0
    assert wasserstein(empty, full, np.array([0.0, 2, 5, 9])) == 9.0
    assert kolmogorov_smirnov(empty, empty) == wasserstein(empty, empty, np.arange(4)) == 0.0


def test_a_single_column_can_be_evaluated() -> None:
    schema = Schema([Category("only", categories=("x", "y"))])
    found = evaluate(pd.DataFrame({"only": ["x", "y"] * 9}), pd.DataFrame({"only": ["x"] * 9}), schema, learning=False)
    assert found.kway[1].mean == pytest.approx(1.0)
    assert column_distances(found.real, found.synthetic, schema)[0].total_variation == pytest.approx(0.5)


def test_a_discriminator_knows_twins_from_strangers(real: CodedTable, schema: Schema) -> None:
    twins = discriminate(real, read_table(make_table(1500, 9), schema))
    assert twins is not None
    assert twins.auroc < 0.6
    strangers = discriminate(real, read_table(make_table(1500, 3).assign(age=5), schema))
    assert strangers is not None
    assert strangers.auroc > 0.9
    assert discriminate(real, read_table(make_table(5, 3), schema)) is None


def test_dependence_that_is_only_chance_is_not_called_kept() -> None:
    codes = tuple(str(i) for i in range(20))
    schema = Schema([Category("a", categories=codes), Category("b", categories=codes)])
    rng = np.random.default_rng(0)

    def table(rows: int, related: float) -> CodedTable:
        a = rng.integers(20, size=rows)
        b = np.where(rng.random(rows) < related, a, rng.integers(20, size=rows))
        return read_table(pd.DataFrame({"a": a.astype(str), "b": b.astype(str)}), schema)

    real = table(4000, 0.3)
    lost, twin = compare_information(real, table(400, 0.0)), compare_information(real, table(4000, 0.3))
    assert lost.synthetic.pairs().sum() > lost.real.pairs().sum()  # 361 / 800 nats by chance alone
    assert lost.kept is not None
    assert lost.kept < 0.25
    assert twin.kept == pytest.approx(1, abs=0.15)


def test_mistakes_are_named(real: CodedTable, synthetic: CodedTable) -> None:
    with pytest.raises(UsageError, match="no column named 'income'"):
        utility(real, synthetic, "income")
    with pytest.raises(UsageError, match="'forest' is not one of"):
        classify(real, real, "sex", models=["forest"])
    with pytest.raises(UsageError, match="holds labels"):
        regress(real, real, "sex", models=["tree"])
    with pytest.raises(UsageError, match=r"pip install 'kagemusha\[eval\]'"):
        need("no_such_library.part")


def test_what_is_trained_by_default_is_fast_and_the_help_names_it() -> None:
    assert set(USUAL) < set(NAMES)
    assert not {"svm", "gbm", "adaboost"} & set(USUAL)
    shown = " ".join(
        str(word)
        for parameter in inspect.signature(command).parameters.values()
        for word in [parameter.annotation]
        if parameter.name == "learner"
    )
    assert all(name in shown.partition("by default")[2] for name in USUAL)
