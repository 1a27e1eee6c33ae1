"""One verb for every side: tables, models and sources; any k; any order of names."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.evaluation import information_matrix, kway_errors
from kagemusha.evaluation import kway as kway_module
from kagemusha.evaluation.queries import compare_queries, query, random_queries
from kagemusha.evaluation.tables import read_table
from kagemusha.models import Model
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable, Projectable
from kagemusha.schema import Category, Schema
from kagemusha.sources import open_source
from kagemusha.synthesizers import create, fit

from .tables import make_table


@pytest.fixture(scope="module")
def model(schema: Schema) -> Model:
    return fit(create("mst"), make_table(1500, 1), Budget(5.0, 1e-9), schema=schema, simulation=1)


def test_tables_models_and_sources_all_project(real: CodedTable, model: Model, schema: Schema) -> None:
    assert isinstance(real, Projectable)
    assert isinstance(model, Projectable)
    clique = ("sex", "ward")
    assert real.project(clique).shape == model.project(clique).shape
    again = read_table(open_source(make_table(1500, 1), schema), schema)
    assert np.array_equal(again.project(clique), real.project(clique))
    assert np.array_equal(real.project(("ward", "sex")), real.project(clique).T)
    assert np.array_equal(again.project(clique), real.project(clique))


def test_a_model_can_stand_on_either_side(real: CodedTable, model: Model) -> None:
    errors = kway_errors(real, model, 2)
    assert np.allclose(errors.errors, kway_errors(model, real, 2).errors)
    assert 0 < errors.mean < 1
    assert information_matrix(model).values.shape == (4, 4)
    answers = compare_queries(real, model, [query("age > 60 and sex = 'F'", real.schema)])
    assert abs(answers.answers[0].real - np.mean((real.column("age") > 60) & (real.column("sex") == 0))) < 1e-12


def test_many_sets_are_sampled_and_the_mean_says_so(real: CodedTable, synthetic: CodedTable) -> None:
    sampled = kway_errors(real, synthetic, 2, most=4, rng=np.random.default_rng(0))
    assert sampled.sampled
    assert (len(set(sampled.cliques)), sampled.of) == (4, 6)
    everything = kway_errors(real, synthetic, 2)
    assert everything.standard_error == 0.0
    assert abs(sampled.mean - everything.mean) < 6 * sampled.standard_error
    worst = everything.worst(1)[0]
    assert worst[1] == everything.errors.max()


def test_large_sets_are_compared_over_what_occurs(
    real: CodedTable, synthetic: CodedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense = kway_errors(real, synthetic, 3).errors
    monkeypatch.setattr(kway_module, "DENSE_CELLS", 1)
    assert np.allclose(kway_errors(real, synthetic, 3).errors, dense, atol=1e-12)


def test_the_same_table_has_no_error(real: CodedTable) -> None:
    assert kway_errors(real, real, 3).mean == 0
    assert information_matrix(real).mean_absolute_difference(information_matrix(real)) == 0
    assert compare_queries(real, real, random_queries(real.schema, 20, rng=np.random.default_rng(0))).mean == 0


def test_what_cannot_be_compared_is_refused(real: CodedTable, schema: Schema) -> None:
    other = Schema([Category("colour", categories=("red", "blue"))])
    table = read_table(__import__("pandas").DataFrame({"colour": ["red", "blue"]}), other)
    with pytest.raises(SchemaError, match="different columns"):
        kway_errors(real, table, 1)
    with pytest.raises(UsageError, match="between 1 and"):
        kway_errors(real, real, 9)
    with pytest.raises(UsageError, match="no column named 'weight'"):
        real.project(("weight",))
    with pytest.raises(DataError, match="without rows"):
        read_table(make_table(5, 1).head(0), schema)
    with pytest.raises(SchemaError, match="lacks column 'ward'"):
        read_table(make_table(5, 1).drop(columns="ward"), schema)
