"""Kage's parts against brute force: sensitivities, grouping, choice, solver, and the expanded model."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from family import run, table

from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical.lbfgs import lbfgs
from kagemusha.marginals import Marginal, nearest_counts
from kagemusha.privacy.budget import Budget
from kagemusha.queries.interactions import GroupedError, Interaction
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.kage.beliefs import shrink_to_mean
from kagemusha.synthesizers.kage.choice import Candidates, choose
from kagemusha.synthesizers.kage.constants import MARGIN, ROW
from kagemusha.synthesizers.kage.grouping import merge, merge_neighbours, merge_rare
from kagemusha.synthesizers.registry import create


def _answers(query: Interaction) -> list[np.ndarray]:
    """What one record adds to the answer, for every record there is."""
    shape = tuple(len(g) for g in query.groups)
    units = []
    for cell in product(*map(range, shape)):
        counts = np.zeros(shape, dtype=np.int64)
        counts[cell] = 1
        units.append(query.values([Marginal(query.clique, counts)]))
    return units


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (4, 5), (2, 3, 2), (3, 3, 4)])
def test_sensitivity_of_an_interaction_is_the_largest_change_there_is(shape: tuple[int, ...]) -> None:
    query = Interaction(tuple("abc"[: len(shape)]), tuple(np.arange(n) for n in shape))
    units = _answers(query)
    assert max(int((u**2).sum()) for u in units) == query.sensitivity.added.l2_squared
    exchanged = max(int(((u - v) ** 2).sum()) for u in units for v in units)
    assert exchanged == query.sensitivity.exchanged.l2_squared


def test_an_interaction_holds_nothing_of_its_margins() -> None:
    rng = np.random.default_rng(0)
    query = Interaction(("a", "b"), (np.array([0, 1, 1, 2]), np.arange(3)))
    counts = rng.integers(0, 50, (4, 3))
    answer = query.values([Marginal(("a", "b"), counts)]).reshape(query.shape)
    assert not answer.sum(axis=0).any()
    assert not answer.sum(axis=1).any()
    # what a row or a column of groups holds on its own leaves no trace; one more record in one cell does
    rows, columns = np.array([5, 0, 9]), np.array([0, 7, 2])
    margins = np.zeros((4, 3), dtype=np.int64)
    margins[[0, 1, 3]] = rows[:, None] + columns  # one code of each group of "a" carries it
    assert (query.values([Marginal(("a", "b"), counts + margins)]) == answer.ravel()).all()
    counts[0, 0] += 1
    assert (query.values([Marginal(("a", "b"), counts)]) != answer.ravel()).any()


def test_grouping_never_enlarges_the_sensitivity_of_an_error() -> None:
    groups = (np.array([0, 0, 1]), np.array([0, 1, 1]))
    score = GroupedError([("a", "b")], [groups], [np.full((2, 2), 1.3)])
    base = np.random.default_rng(0).integers(0, 9, (3, 3))
    before = score.values([Marginal(("a", "b"), base)])[0]
    for cell in product(range(3), range(3)):
        more = base.copy()
        more[cell] += 1
        change = abs(int(score.values([Marginal(("a", "b"), more)])[0] - before))
        assert change <= score.sensitivity.added.each


def test_rare_codes_share_the_last_group() -> None:
    assert merge_rare(np.array([9.0, 1, 8, 2]), 5.0).tolist() == [0, 2, 1, 2]
    assert merge_rare(np.array([9.0, 1, 8]), 5.0).tolist() == [0, 1, 2], "one rare code has nobody to join"
    assert merge_rare(np.array([1.0, 1, 2]), 5.0).tolist() == [0, 0, 0]
    rare = merge(np.array([7.0, 7, 7, 7]), 5.0, 0, most=3)
    assert rare.tolist() == [0, 1, 2, 2], "equals are distinguished by place"
    assert merge(np.array([1.0, 9, 7]), 5.0, 0, most=1).tolist() == [0, 0, 0]


def test_the_simplex_projection_is_the_nearest_table() -> None:
    values = np.array([5.0, -3.0, 1.0, 0.5])
    found = nearest_counts(values, 4.0)
    assert found.sum() == pytest.approx(4)
    assert (found >= 0).all()
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(4), 2000) * 4:
        assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12


def test_lbfgs_finds_the_minimum_of_a_badly_scaled_bowl() -> None:
    scale = 10.0 ** np.arange(6)
    centre = np.arange(6.0)

    def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float((scale * (x - centre) ** 2).sum() / 2), scale * (x - centre)

    np.testing.assert_allclose(lbfgs(bowl, np.zeros(6), max_calls=500, progress=1e-15), centre, atol=1e-7)


PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]


def believed(strength: list[float], *, scale: float = 1000.0, noise: float = 10.0, **more: object) -> Candidates:
    """Three columns, each pair of which has this strength; columns are known well."""
    ones = np.ones(len(strength))
    given = {
        "cliques": PAIRS[: len(strength)],
        "signal": scale * np.array(strength),
        "unknown": scale * np.array(strength),
        "strength": np.array(strength),
        "weights": ones,
        "columns": 0 * ones,
        "importance": ones,
        "floor": 0 * ones,
        "rest": 0 * ones,
        "noise": noise,
        "before": 0.5,
        "alone": 1.0,
    }
    return Candidates(**{**given, **more})  # type: ignore[arg-type]


def test_worthless_pairs_are_left_out_and_strong_ones_taken() -> None:
    choice = choose(believed([0.8, 0.8, 0.01]), lambda _: lambda _: True, [100])
    assert set(choice.taken) == {0, 1}
    assert sum(choice.shares) + choice.columns == pytest.approx(1)
    nothing = choose(believed([0.8, 0.8, 0.01], scale=1.0, noise=1e9), lambda _: lambda _: True, [100])
    assert nothing.taken == ()
    assert nothing.columns == 1.0


def test_a_pair_without_room_is_measured_only_where_that_takes_off_the_margin() -> None:
    def room(limit: int):
        return lambda pair: limit > 100 or pair == ("a", "b")

    pairs = believed([0.3, 0.3, 0.3])
    within = choose(pairs, room, [100], outside=False)
    assert within.taken == (0,)
    assert within.inside
    beyond = choose(pairs, room, [100])
    assert set(beyond.taken) == {0, 1, 2}
    assert not beyond.inside
    assert beyond.predicted < (1 - MARGIN) * within.predicted
    known = believed([0.3, 0.3, 0.3], alone=20 * within.predicted)
    assert choose(known, room, [100]).inside, "what columns lose is larger"
    larger = choose(pairs, room, [100, 400])
    assert set(larger.taken) == {0, 1, 2}, "a larger model takes most of the error off"
    assert larger.cells == 400
    assert larger.inside


def test_a_larger_model_must_be_worth_it() -> None:
    def room(limit: int):
        return lambda pair: limit > 100 or pair != ("a", "c")

    assert choose(believed([0.3, 0.3, 0.2]), room, [100, 400], outside=False).cells == 400
    assert choose(believed([0.3, 0.3, 0.2], alone=1e5), room, [100, 400], outside=False).cells == 100, "less than WORTH"


def test_the_search_goes_on_while_something_fits_now_and_then() -> None:
    """Four columns: it ends after five in a row that the model has no room for, not after five in all."""
    cliques = [*combinations("abcd", 2), *combinations("abcd", 3)]
    errors = 1000.0 - 10 * np.arange(10)
    given = believed([0.0] * 10, cliques=cliques, unknown=errors, noise=0.1)
    now_and_then = {cliques[i] for i in (2, 5, 8)}
    assert choose(given, lambda _: now_and_then.__contains__, [100], outside=False).taken == (2, 5, 8)
    late = {cliques[i] for i in (0, 6)}
    assert choose(given, lambda _: late.__contains__, [100], outside=False).taken == (0,)


def test_rows_are_not_traded_towards_triples() -> None:
    both = believed([0.3, 0.0], cliques=[("a", "b"), ("a", "b", "c")], unknown=np.array([300.0, 300.0]))
    assert set(choose(both, lambda _: lambda clique: True, [100]).taken) == {0, 1}
    assert choose(both, lambda _: lambda clique: len(clique) == 2, [100]).taken == (0,)


def test_what_was_measured_stays_and_what_it_leaves_unknown_is_not_discounted_again() -> None:
    pairs = believed([0.8, 0.8, 0.5], unknown=np.array([0.0, 0.0, 400.0]), noise=1.0)
    choice = choose(pairs, lambda _: lambda _: True, [100], start=[0, 1])
    assert choice.taken == (0, 1, 2), "what the model of both says of the third is in `unknown` already"
    strong = believed([0.9, 0.9, 0.5], noise=100.0)
    first = choose(strong, lambda _: lambda _: True, [100], paths=True)
    assert set(first.taken) == {0, 1}, "a path is trusted in full until a model says more"
    assert set(choose(strong, lambda _: lambda _: True, [100]).taken) == {0, 1, 2}


def test_the_predicted_error_is_that_of_the_split_it_tells() -> None:
    """Brute force over the prefixes of the one order there is.

    No other number of pairs or share of columns is better.
    """
    pairs = believed([0.5, 0.05, 0.02], noise=20.0)
    choice = choose(pairs, lambda _: lambda _: True, [100])
    found = min(
        pairs.predicted(taken, left, share)
        for taken, left in (
            ([], pairs.signal),
            ([0], pairs.signal * [0, 1, 1]),
            ([0, 1], pairs.signal * [0, 0, 1]),
            ([0, 1, 2], 0 * pairs.signal),
        )
        for share in (0.0, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
        if taken or share == 1.0
        if share < 1.0 or not taken
    )
    assert 0.98 * found <= choice.predicted <= found * 1.0001, "it tries more shares than these"


def test_neighbours_share_a_group_and_spikes_stay_alone() -> None:
    counts = np.array([1.0, 2, 50, 3, 3, 3, 3, 60, 70, 1, 0, 0])
    assert merge_neighbours(counts, 5.0, 12).tolist() == [0, 0, 1, 2, 2, 3, 3, 4, 5, 6, 6, 6]
    assert merge_neighbours(np.full(10, 10.0), 25.0, 9).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3], (
        "the last has no order"
    )
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 30))
        counts = rng.exponential(1, n) * rng.choice([0, 1, 10], n)
        ordered, most = int(rng.integers(0, n + 1)), rng.choice([None, 1, 2, 5])
        group = merge(counts, float(rng.choice([0, 0.1, 1, 10, 100])), ordered, most=most)
        assert sorted(set(group.tolist())) == list(range(group.max() + 1))
        assert len(group) == n
        if most is None and ordered > 2:
            assert set(np.diff(group[:ordered]).tolist()) <= {0, 1}
        elif most is not None:
            assert group.max() < most


def test_neighbours_share_a_group_at_a_part_of_the_threshold() -> None:
    counts = np.full(40, 10.0)
    assert merge(counts, 20.0, 40).tolist() == merge_neighbours(counts, ROW * 20.0, 40).tolist()
    assert merge(counts, 80.0, 40).max() + 1 == 10


def test_scores_that_are_all_noise_shrink_to_their_mean() -> None:
    noisy = np.random.default_rng(0).normal(50, 10, 200)
    assert shrink_to_mean(noisy, 10.0).std() < 4
    assert shrink_to_mean(noisy, 0.1).std() > 9


def test_merged_codes_come_back_in_proportion() -> None:
    domain = Domain(("country", "sex"), (40, 2))
    rng = np.random.default_rng(0)
    country = np.where(rng.random(20_000) < 0.9, 0, rng.integers(1, 40, 20_000))
    codes = np.stack([country, (rng.random(20_000) < np.where(country == 0, 0.7, 0.4)).astype(np.int64)], 1)
    generator = run(create("kage"), domain, codes, Budget(0.2, 1e-9)).fitted.generator
    assert isinstance(generator, MarkovGenerator)
    assert generator.hidden == ("country (group)",)
    assert generator.domain == domain
    sample = generator.sample(20_000, rng=rng)
    assert sample.shape == (20_000, 2)
    seen = np.bincount(sample[:, 0], minlength=40)
    np.testing.assert_allclose(seen, generator.project(("country",)) * 20_000 / generator.total, atol=2)
    meta, arrays = generator.to_arrays()
    again = MarkovGenerator.from_arrays(meta, arrays)
    np.testing.assert_allclose(again.project(("country", "sex")), generator.project(("country", "sex")))


def test_one_column_gets_the_whole_budget() -> None:
    domain = Domain(("a",), (4,))
    result = run(create("kage"), domain, table(domain, 1000, 0), Budget(1.0, 1e-9))
    assert sum(float(e.rho or 0) for e in result.spy.charged) == pytest.approx(result.budget_filter.total, rel=1e-6)


@pytest.mark.parametrize("max_cells", [1_000, 5_000, 40_000])
def test_the_limit_holds_for_the_model_over_all_codes_too(max_cells: int) -> None:
    """Wide columns whose codes are all equally frequent: nothing but the limit says which are rare."""
    domain = Domain(("a", "b", "c"), (500, 400, 3))
    codes = np.stack([np.arange(6_000) % n for n in domain.sizes], 1)
    generator = run(create("kage", max_cells=max_cells), domain, codes, Budget(1000.0, 1e-9)).fitted.generator
    assert isinstance(generator, MarkovGenerator)
    assert generator.field.tree.cells <= max_cells
    assert generator.domain == domain
