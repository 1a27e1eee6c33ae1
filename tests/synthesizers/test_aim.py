"""AIM and its siblings: options, sizes, traces, and that they learn what they should."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from family import run, table

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.graphical import tree_cells
from kagemusha.marginals import Workload
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.adaptive import Adaptive
from kagemusha.synthesizers.aim import AIM
from kagemusha.synthesizers.candidates import Candidates
from kagemusha.synthesizers.registry import create

DOMAIN = Domain(("a", "b", "c", "d", "e"), (3, 4, 2, 5, 3))
CODES = table(DOMAIN, 5000, 0)
BUDGET = Budget(3.0, 1e-6)


def two_way_error(fitted, domain: Domain = DOMAIN, codes: np.ndarray = CODES) -> float:  # type: ignore[no-untyped-def]
    errors = []
    for i, a in enumerate(domain.names):
        for j, b in list(enumerate(domain.names))[i + 1 :]:
            true = np.zeros(domain.shape((a, b)))
            np.add.at(true, (codes[:, i], codes[:, j]), 1)
            model = fitted.generator.project((a, b))
            errors.append(np.abs(true / true.sum() - model / model.sum()).sum())
    return float(np.mean(errors))


@pytest.mark.parametrize("name", ["aim", "aim-k3", "aim-noinit", "aim-lap", "aim-gdp", "kage"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_learns_the_pairs(name: str, adjacency: Adjacency) -> None:
    independent = two_way_error(run(create("independent"), DOMAIN, CODES, BUDGET).fitted)
    fitted = run(create(name), DOMAIN, CODES, Budget(3.0, 1e-6, adjacency)).fitted
    assert two_way_error(fitted) < 0.35 * independent


@pytest.mark.parametrize("name", ["aim", "aim-gdp", "mst", "kage"])
def test_error_falls_with_epsilon(name: str) -> None:
    means = []
    for epsilon in (0.01, 0.1, 1, 10, 100, 1000):
        runs = [run(create(name), DOMAIN, CODES, Budget(epsilon, 1e-9), seed).fitted for seed in range(2)]
        means.append(np.mean([two_way_error(fitted) for fitted in runs]))
    for worse, better in pairwise(means):
        assert better <= 1.1 * worse + 0.005
    assert means[-1] < 0.25 * means[0]


def test_a_star_tree_is_found_by_mst() -> None:
    rng = np.random.default_rng(0)
    domain = Domain(("x", "y", "z", "w"), (4, 4, 4, 4))
    x = rng.integers(0, 4, 4000)
    near = [np.where(rng.random(4000) < 0.9, x, rng.integers(0, 4, 4000)) for _ in range(3)]
    fitted = run(create("mst"), domain, np.stack([x, *near], 1), Budget(2.0, 1e-6)).fitted
    assert sorted(r.clique for r in fitted.trace) == [("x", "w"), ("x", "y"), ("x", "z")]


def test_every_round_is_traced() -> None:
    result = run(AIM(), DOMAIN, CODES, BUDGET)
    spent = [r.spent for r in result.fitted.trace]
    assert spent == sorted(spent)
    assert spent[-1] == pytest.approx(1)
    assert all(r.sigma > 0 and r.cells > 0 and r.selection > 0 and r.expected > 0 for r in result.fitted.trace)
    assert len(result.fitted.measurements) == len(DOMAIN) + len(result.fitted.trace)


def test_the_model_never_outgrows_its_share_of_the_limit() -> None:
    limit = 200
    synthesizer = AIM(max_megabytes=limit * 8 / 1e6)
    fitted = run(synthesizer, DOMAIN, CODES, Budget(30.0, 1e-6)).fitted
    smallest = sum(DOMAIN.sizes)
    measured = [m.clique for m in fitted.measurements]
    for i, told in enumerate(fitted.trace, start=len(DOMAIN) + 1):
        grown = tree_cells(DOMAIN, measured[:i])
        assert grown <= max(told.spent * limit, smallest) or grown == tree_cells(DOMAIN, measured[: i - 1])


def test_a_custom_workload_is_all_that_is_measured() -> None:
    allowed = {("a",), ("b",), ("a", "b"), ("c",), ("d",), ("e",)}
    fitted = run(AIM(workload=[["b", "a"]]), DOMAIN, CODES, BUDGET).fitted
    assert {m.clique for m in fitted.measurements} <= allowed


def test_weights_and_target_reach_the_score() -> None:
    weighted = AIM(workload={("a", "b"): 1.0, ("c", "d"): 7.0}).candidates(DOMAIN).weights
    assert weighted["c", "d"] == pytest.approx(14)
    assert weighted["a", "b"] == pytest.approx(2)
    repeated = AIM(workload={("a", "b"): 1.0, ("b", "a"): 2.0}).candidates(DOMAIN).weights
    assert repeated["a", "b"] == pytest.approx(6), "weights of one set under two orders add up"
    emphasised = AIM(target="e", emphasis=3.0).candidates(DOMAIN).weights
    assert emphasised["a", "e"] > emphasised["a", "b"]
    chosen = AIM(workload=Workload({("a", "b"): 2.0})).parameters()["workload"]
    assert chosen == [[["a", "b"], 2.0]]


def test_gaussian_selection_is_accounted_by_gaussian_dp() -> None:
    result = run(create("aim-gdp"), DOMAIN, CODES, BUDGET)
    assert result.budget_filter.accounting is Accounting.GDP
    assert all(event.is_gaussian for event in result.spy.charged)
    scored = [event.what for event in result.spy.charged if "candidates" in event.what]
    assert len(scored) == len(result.fitted.trace) + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 0}, "degree must be at least 1"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"noise": "cauchy"}, "noise must be"),
        ({"weights": "none"}, "weights must be"),
        ({"accounting": "gdp"}, "accounting must be"),
        ({"accounting": "pure"}, "noise must be 'laplace'"),
        ({"max_megabytes": 0}, "max_megabytes must be greater than 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        create("aim", **options)


def test_unknown_columns_are_named() -> None:
    with pytest.raises(UsageError, match="no column named 'zz'"):
        AIM(target="zz").candidates(DOMAIN)
    with pytest.raises(UsageError, match="no column named 'zz'"):
        AIM(workload=[["a", "zz"]]).candidates(DOMAIN)


@pytest.mark.parametrize("name", ["aim", "aim-gdp", "mst", "kage"])
def test_a_column_too_wide_is_named_before_anything_is_spent(name: str) -> None:
    domain = Domain(("a", "serial"), (2, 20_000_000))
    with pytest.raises(ModelTooLarge, match="serial"):
        create(name).plan(domain, BUDGET)
    with pytest.raises(ModelTooLarge, match="serial"):
        run(create(name), domain, np.zeros((1, 2), dtype=np.int64), BUDGET)


def test_a_clique_asked_for_by_name_must_fit() -> None:
    domain = Domain(("a", "b", "c"), (3000, 3000, 3000))
    with pytest.raises(ModelTooLarge, match="a, b, c"):
        AIM(workload=[["a", "b", "c"]]).plan(domain, BUDGET)
    assert AIM(degree=3).plan(domain, BUDGET).cells <= AIM().max_cells(domain)


def test_too_many_sets_are_refused() -> None:
    wide = Domain(tuple(f"c{i}" for i in range(120)), (2,) * 120)
    with pytest.raises(ModelTooLarge, match="sets of 3"):
        AIM(degree=3).plan(wide, BUDGET)


@pytest.mark.parametrize("name", ["aim", "aim-gdp", "mst", "kage", "independent"])
def test_plans_read_nothing_and_add_up(name: str) -> None:
    cost = create(name).plan(DOMAIN, BUDGET)
    assert sum(share for _, share in cost.steps) == pytest.approx(1)
    assert cost.cells > 0
    assert cost.seconds > 0
    assert cost.megabytes > 0


@pytest.mark.parametrize("name", ["aim", "aim-gdp", "mst", "kage"])
def test_stored_answers_replay_the_run_without_reading(name: str) -> None:
    first = run(create(name), DOMAIN, CODES, BUDGET, seed=1)
    again = run(create(name), DOMAIN, CODES, BUDGET, seed=2, book=first.book)
    assert not again.spy.reads
    assert again.spy.charged == list(first.budget_filter.events)
    for name_ in DOMAIN:
        np.testing.assert_array_equal(
            first.fitted.generator.project((name_,)), again.fitted.generator.project((name_,))
        )


def test_pure_composition_needs_no_delta_and_doubles_its_pace() -> None:
    found = run(AIM(noise="laplace", accounting=Accounting.PURE), DOMAIN, CODES, Budget(3.0, 0.0))
    assert found.fitted.trace[-1].spent == pytest.approx(1)
    scales = [r.sigma for r in found.fitted.trace[:-1]]
    assert {round(a / b, 6) for a, b in pairwise(scales)} <= {1.0, 2.0}
    assert sum(event.pure_epsilon or 0 for event in found.budget_filter.events) <= 3
    assert two_way_error(found.fitted) < two_way_error(run(create("independent"), DOMAIN, CODES, BUDGET).fitted)


def test_printed_weights_change_the_fit_and_nothing_before_it() -> None:
    ours, printed = (run(AIM(weights=weights), DOMAIN, CODES, BUDGET).fitted for weights in ("variance", "paper"))
    columns = len(DOMAIN)
    for a, b in zip(ours.measurements[:columns], printed.measurements[:columns], strict=True):
        np.testing.assert_array_equal(a.values, b.values)
    assert not np.allclose(ours.generator.project(("a", "b")), printed.generator.project(("a", "b")))
    assert two_way_error(printed) < 1.5 * two_way_error(ours)


def test_the_family_is_one_engine() -> None:
    assert isinstance(create("aim"), Adaptive)
    assert isinstance(create("aim-gdp"), Adaptive)
    assert create("aim-k3") == AIM(degree=3)
    assert create("aim-lap", rounds=3) == AIM(noise="laplace", rounds=3)


def test_sizes_and_weights_of_candidates_are_what_they_stand_for() -> None:
    domain = Domain(("a", "b", "c", "d"), (2, 3, 5, 7))
    workload = Workload({("a", "b"): 1.0, ("b", "c", "d"): 2.5, ("d",): 4.0})
    members = Candidates.of(domain, workload, 10**6, explicit=True)
    for clique, weight in members.weights.items():
        assert weight == sum(w * len(set(clique) & set(s)) for s, w in workload.weights.items())
    for limit in range(20, 130):
        held = Candidates.of(domain, workload, limit, explicit=False).cliques
        assert set(held) == {c for c in workload.closure() if tree_cells(domain, [c]) <= limit}


def test_of_many_columns_the_tree_stays_smaller_in_proportion() -> None:
    few, many = (Domain(tuple(f"c{i}" for i in range(d)), (4,) * d) for d in (32, 128))
    assert AIM().max_cells(few) == 10_000_000 == 4 * AIM().max_cells(many)
    assert AIM().plan(many, BUDGET).cells <= AIM().max_cells(many)
