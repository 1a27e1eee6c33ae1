"""Criteria of acceptance: what is counted against a brute-force twin, what follows from it, and two worlds."""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from exact import answer_over
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.privacy.query_kinds import ACCEPTANCE_UNITS as UNITS
from kagemusha.queries.acceptance import (
    BROKEN,
    KEPT,
    OPEN,
    SURE,
    Excess,
    LargestError,
    MeanWithin,
    TablesWithin,
    whole_shares,
)
from kagemusha.queries.query import Query
from kagemusha.schema import Integer, Schema
from kagemusha.schema.demands import Criterion
from kagemusha.sources import CodesSource

RNG = np.random.default_rng(4)
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]
SIZES = {"a": 3, "b": 4, "c": 2}
COLUMNS = [RNG.integers(0, size, 300) for size in SIZES.values()]


SCHEMA = Schema([Integer(name, lower=0, upper=size - 1) for name, size in SIZES.items()])


def answer_of(query: Query[object], columns: list[np.ndarray]) -> np.ndarray:
    return answer_over(query, CodesSource(SCHEMA, columns))


def shares(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    tables = [rng.random([SIZES[name] for name in pair]) for pair in PAIRS]
    return [table / table.sum() for table in tables]


def real_shares(pair: tuple[str, ...], rows: slice = slice(None)) -> np.ndarray:
    axes = [list(SIZES).index(name) for name in pair]
    found = np.zeros([SIZES[name] for name in pair])
    for row in zip(*(COLUMNS[axis][rows] for axis in axes), strict=True):
        found[row] += 1
    return found / found.sum()


def test_the_excess_of_tables_is_that_of_the_worst_one() -> None:
    query = TablesWithin(Criterion(0.1, tables=("a", "b", "c")), PAIRS, shares())
    off = [0.5 * np.abs(real_shares(p) - s).sum() for p, s in zip(PAIRS, shares(), strict=True)]
    (value,) = answer_of(query, COLUMNS)
    about, noise = query.distance(Excess(int(value), 0.0), 300)
    assert about == pytest.approx(max(off), abs=1e-4)
    assert noise == 0.0
    assert value == pytest.approx(2 * 300 * UNITS * (max(off) - 0.1), rel=1e-4)


def test_the_excess_of_a_mean_leaves_out_who_has_no_value() -> None:
    """The last two codes of b are no values: a special one and a gap."""
    query = MeanWithin(Criterion(3.0, mean="b"), np.array([10.0, 30.0]), 17.0)
    there = COLUMNS[1] < 2
    mean = np.array([10.0, 30.0])[COLUMNS[1][there]].mean()
    (value,) = answer_of(query, COLUMNS)
    about, _ = query.distance(Excess(int(value), 0.0), int(there.sum()))
    assert about == pytest.approx(abs(mean - 17.0), abs=1e-3)


def test_the_largest_error_orders_releases_as_their_worst_tables_do() -> None:
    candidates = [shares(seed) for seed in range(4)] + [[real_shares(pair) for pair in PAIRS]]
    query = LargestError([f"r{i}" for i in range(5)], PAIRS, candidates)
    worst = [max(np.abs(real_shares(p) - s).sum() for p, s in zip(PAIRS, own, strict=True)) for own in candidates]
    found = answer_of(query, COLUMNS) / UNITS / 300
    assert found == pytest.approx(-np.array(worst), abs=1e-4)
    assert int(np.argmax(found)) == 4


@pytest.mark.parametrize("cells", [1, 2, 7, 1000, 40_000])
def test_whole_shares_sum_exactly(cells: int) -> None:
    given = np.random.default_rng(cells).random(cells) ** 8
    found = whole_shares(given)
    assert found.sum() == UNITS
    assert found.min() >= 0
    assert np.abs(found / UNITS - given / given.sum()).max() <= 1 / UNITS


def test_the_worst_neighbours_reach_the_bounds() -> None:
    """Nothing smaller would do: a table of one cell against doubles in another one, values at the two ends."""
    corner = np.zeros((3, 4))
    corner[2, 3] = 1.0
    tables = TablesWithin(Criterion(0.25, tables=("a", "b")), [("a", "b")], [corner])
    mean = MeanWithin(Criterion(3.0, mean="a"), np.array([0.0, 1.0, 12.0]), 0.0)
    for query, code, relation in product((tables, mean), range(3), Adjacency):
        moves = PrivacyUnit(relation).sensitivity(query.sensitivity)
        before = [np.zeros(5, dtype=np.int64) for _ in SIZES]
        kept = 4 if relation is Adjacency.REPLACE else 5
        after = [np.append(c[:kept], min(code, size - 1)) for c, size in zip(before, SIZES.values(), strict=True)]
        step = abs(int((answer_of(query, after) - answer_of(query, before))[0]))
        assert step <= moves.l1
    top = [np.append(c, size - 1) for c, size in zip(before, SIZES.values(), strict=True)]
    assert abs(int((answer_of(mean, top) - answer_of(mean, before))[0])) == UNITS - UNITS // 4
    fell = abs(int((answer_of(tables, top) - answer_of(tables, before))[0]))
    assert fell == UNITS // 2, "2W where the distance cannot grow"


@pytest.mark.parametrize(("value", "answer"), [(-300, KEPT), (-100, OPEN), (0, OPEN), (100, OPEN), (300, BROKEN)])
def test_an_answer_is_given_where_noise_allows_it(value: int, answer: str) -> None:
    assert Excess(value, 100.0).answer == answer


@pytest.mark.parametrize("laplace", [False, True])
def test_wrong_answers_are_rare(laplace: bool) -> None:
    """At the edge of the demand, where most go wrong, no more than 5 of 100 are."""
    noise = SimulatedNoise(np.random.default_rng(8))
    drawn = noise.discrete_laplace(1000.0, 20_000) if laplace else noise.rounded_gaussian(1000.0, 20_000)
    sigma = 1000.0 * (math.sqrt(2) if laplace else 1.0)
    kept = np.mean([Excess(1 + int(x), sigma).answer == KEPT for x in drawn])
    broken = np.mean([Excess(int(x), sigma).answer == BROKEN for x in drawn])
    assert max(kept, broken) <= 0.055
    assert min(kept, broken) >= 0.04, "and not never"
    assert Excess(-1646, 1000.0).answer == KEPT
    assert SURE == 1.645


def told_apart(answers: list[np.ndarray], cut: float) -> float:
    """The μ of Gaussian DP that two worlds' answers prove at a threshold fixed beforehand: both rates at their worst.

    Wrong in 1 of 1,000 cases (Hoeffding).
    """
    low, high = sorted(answers, key=lambda found: float(found.mean()))
    margin = math.sqrt(math.log(2 / 0.001) / (2 * len(low)))
    wrong, missed = (low > cut).mean() + margin, (high <= cut).mean() + margin
    return -NormalDist().inv_cdf(wrong) - NormalDist().inv_cdf(missed)


def worlds(query: Query[object], relation: Adjacency, rho: float, factor: float) -> float:
    """How well two neighbours are told apart that are as far apart as the query allows, nearly."""
    moves = PrivacyUnit(relation).sensitivity(query.sensitivity)
    sigma = factor * math.sqrt(moves.l2_squared / (2 * rho))
    rest = [np.zeros(9, dtype=np.int64) for _ in SIZES]
    mine = [np.append(column, size - 1) for column, size in zip(rest, SIZES.values(), strict=True)]
    other = rest if relation is Adjacency.ADD_REMOVE else [np.append(column, 0) for column in rest]
    noise = SimulatedNoise(np.random.default_rng(17))
    exact = [int(answer_of(query, table)[0]) for table in (mine, other)]
    answers = [value + noise.rounded_gaussian(sigma, 1_000_000) for value in exact]
    return told_apart(answers, sum(exact) / 2)


CORNER = np.zeros((3, 4))
CORNER[0, 0] = 1.0
"""Doubles as the others are: whoever is elsewhere moves the excess by nearly all that is allowed."""

WORST = [
    (TablesWithin(Criterion(0.01, tables=("a", "b")), [("a", "b")], [CORNER]), Adjacency.ADD_REMOVE),
    (TablesWithin(Criterion(0.01, tables=("a", "b")), [("a", "b")], [CORNER]), Adjacency.REPLACE),
    (MeanWithin(Criterion(0.01, mean="a"), np.arange(3.0), 0.0), Adjacency.ADD_REMOVE),
    (MeanWithin(Criterion(0.01, mean="a"), np.arange(3.0), 0.0), Adjacency.REPLACE),
]


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(("query", "relation"), WORST, ids=lambda x: str(getattr(x, "kind", x)))
def test_two_worlds_are_told_apart_as_far_as_promised_and_no_further(
    query: Query[object], relation: Adjacency, epsilon: float
) -> None:
    """A mutant with four fifths of the noise is caught."""
    rho = Filter(Budget(epsilon, 1e-9, relation), Accounting.GDP).total
    promised = math.sqrt(2 * rho)
    honest = worlds(query, relation, rho, 1.0)
    assert 0.85 * promised <= honest <= promised
    assert worlds(query, relation, rho, 0.8) > promised
