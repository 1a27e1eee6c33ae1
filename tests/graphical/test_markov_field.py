from __future__ import annotations

import json
from itertools import combinations, pairwise

import numpy as np
import pytest

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.graphical import MarkovField
from kagemusha.graphical.queries import TreeQueries
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN, expand, joint, marginal, random_potentials


def field(name: str, scale: float = 1.0, total: float = 100.0) -> MarkovField:
    return MarkovField.build(DOMAIN, total, random_potentials(CLIQUE_SETS[name], scale, seed=7))


@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_every_marginal_of_every_size(name):
    model = field(name)
    _, table = joint(DOMAIN, model.potentials)
    cliques = [c for k in range(len(DOMAIN) + 1) for c in combinations(DOMAIN.names, k)]
    for clique, got in zip(cliques, model.project_many(cliques), strict=True):
        np.testing.assert_allclose(got, 100 * marginal(DOMAIN, table, clique), rtol=1e-9, atol=1e-12)


def test_axes_follow_the_names_asked_for():
    model = field("chain")
    np.testing.assert_allclose(model.project(("d", "a")), model.project(("a", "d")).T)
    np.testing.assert_allclose(model.project(("b", "a")), model.project(("a", "b")).T)


def test_an_answer_is_the_callers_own():
    model = field("chain")
    model.project(("a", "f"))[:] = -1
    assert model.project(("a", "f")).min() > 0


def test_a_marginal_that_would_not_fit_is_refused():
    model = field("chain")
    queries = TreeQueries(model.tree, model.clique_marginals, max_cells=20)
    with pytest.raises(ModelTooLarge, match="limit is 20"):
        queries.project_many([("a", "d", "f")])


@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_answers_do_not_hang_on_what_is_kept(name):
    model = field(name)
    cliques = [c for k in (2, 3) for c in combinations(DOMAIN.names, k)]
    forgetful = TreeQueries(model.tree, model.clique_marginals, max_cells=1 << 20, kept_cells=0)
    for got, kept in zip(forgetful.project_many(cliques), model.project_many(cliques), strict=True):
        np.testing.assert_allclose(100 * got, kept, rtol=1e-12)
    assert not forgetful._messages
    assert not forgetful._projections


def test_a_chain_of_a_thousand_columns():
    names = tuple(f"x{i}" for i in range(1000))
    domain = Domain(names, (2,) * 1000)
    turn = np.log([[0.999, 0.001], [0.001, 0.999]])
    model = MarkovField.build(domain, 1.0, dict.fromkeys(pairwise(names), turn))
    expected = np.linalg.matrix_power(np.exp(turn), 999) / 2
    np.testing.assert_allclose(model.project((names[0], names[-1])), expected, rtol=1e-9)


@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_log_likelihood(name):
    model = field(name)
    _, table = joint(DOMAIN, model.potentials)
    codes = np.argwhere(np.ones(DOMAIN.sizes))
    np.testing.assert_allclose(model.log_likelihood(codes), np.log(table).ravel(), rtol=1e-9)


@pytest.mark.parametrize("name", ["empty", "chain", "cycle", "disconnected", "nested"])
def test_condition_is_exact(name):
    model = field(name)
    _, table = joint(DOMAIN, model.potentials)
    cross = np.add.outer(np.arange(3), np.arange(3)) != 2
    soft = np.array([1, 0, 0.25, 1, 0])
    narrowed = model.given({("b",): np.isin(np.arange(4), [0, 3]), ("d",): soft, ("a", "f"): cross})
    allowed = expand(DOMAIN, ("b",), np.isin(np.arange(4), [0, 3]))
    allowed = allowed * expand(DOMAIN, ("d",), soft) * expand(DOMAIN, ("a", "f"), cross)
    kept = 100 * table * allowed
    assert narrowed.total == pytest.approx(kept.sum())
    for clique in combinations(DOMAIN.names, 2):
        np.testing.assert_allclose(narrowed.project(clique), marginal(DOMAIN, kept, clique), rtol=1e-9, atol=1e-12)


def test_evidence_that_rules_out_everybody_is_refused():
    with pytest.raises(UsageError, match="rules out every row"):
        field("chain").given({("a",): np.zeros(3)})


@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_saving_keeps_everything(name):
    model = field(name)
    metadata, arrays = model.to_arrays()
    again = MarkovField.from_arrays(json.loads(json.dumps(metadata)), arrays)
    assert (again.domain, again.total, again.tree) == (model.domain, model.total, model.tree)
    np.testing.assert_array_equal(again.project(("a", "d")), model.project(("a", "d")))


def test_damaged_files_are_refused():
    metadata, arrays = field("chain").to_arrays()
    with pytest.raises(ValueError, match=r"potential\.0 is missing"):
        MarkovField.from_arrays(metadata, {})
    arrays["potential.0"] = arrays["potential.0"][:1]
    with pytest.raises(ValueError, match="shape"):
        MarkovField.from_arrays(metadata, arrays)


def test_importing_the_room_does_not_import_numba():
    import subprocess
    import sys

    code = "import sys, kagemusha.graphical; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_many_columns_all_pairs():
    domain = Domain(tuple(f"x{i}" for i in range(15)), (6,) * 15)
    cliques = list(zip(domain.names, domain.names[1:], strict=False))
    model = MarkovField.build(domain, 1.0, random_potentials(cliques, 1.0, 0, domain))
    matrices = dict(zip(cliques, model.project_many(cliques), strict=True))
    chain = matrices[cliques[0]]
    for clique in cliques[1:]:
        step = matrices[clique]
        chain = chain @ (step / step.sum(axis=1, keepdims=True))
    answers = dict(
        zip(combinations(domain.names, 2), model.project_many(list(combinations(domain.names, 2))), strict=True)
    )
    np.testing.assert_allclose(answers["x0", "x14"], chain, rtol=1e-9)
