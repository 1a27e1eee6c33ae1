"""Whole persons as neighbours: no query's answer moves further than its reach and the unit say."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.errors import UsageError
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import Adjacency, PrivacyUnit, RecordSensitivity, Sensitivity
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.queries.interactions import GroupedError, Interaction
from kagemusha.queries.moments import CrossMoments, FirstMoments
from kagemusha.queries.network_scores import NETWORK_SCORES, Family
from kagemusha.queries.query import Counts, Query
from kagemusha.queries.scores import L1Error
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.features import features_of

SCHEMA = Schema(
    [
        Category("a", categories=("x", "y"), out_of_domain="clip"),
        Category("b", categories=("u", "v"), out_of_domain="clip"),
        Integer("c", lower=0, upper=3, missing=True),
    ]
)
BINARY = Schema(SCHEMA.columns[:2])
DOMAIN = SCHEMA.domain
RNG = np.random.default_rng(0)
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]
ESTIMATES = [RNG.normal(3, 4, DOMAIN.shape(pair)) for pair in PAIRS]
GROUPS = (np.array([0, 1]), np.array([0, 0, 1, 1, 2]))

QUERIES: list[Query[object]] = [
    Counts(DOMAIN, ("a", "c")),
    Interaction(("a", "c"), GROUPS),
    Interaction(("a", "b"), (np.arange(2), np.arange(2))),
    L1Error(PAIRS, ESTIMATES, weights=np.array([1.0, 0.4, 2.5]), penalties=np.array([0.0, 1.5, 2.0])),
    GroupedError([("a", "c")], [GROUPS], [RNG.normal(3, 4, (2, 3))]),
    FirstMoments(features_of(SCHEMA)),
    CrossMoments(features_of(SCHEMA)),
    *(kind(DOMAIN, [Family("a", ("b",)), Family("b", ("a",))]) for kind in list(NETWORK_SCORES.values())[:2]),
    NETWORK_SCORES["f"](BINARY.domain, [Family("a", ("b",))]),
]


def answer(query: Query[object], codes: np.ndarray) -> np.ndarray:
    marginals = []
    for clique in query.cliques():
        counts = np.zeros(DOMAIN.shape(clique), dtype=np.int64)
        np.add.at(counts, tuple(codes[:, [DOMAIN.axis(n) for n in clique]].T), 1 if clique else len(codes))
        marginals.append(Marginal(clique, counts))
    return query.values(marginals).astype(object)


def person(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Some rows of one person, most of them the same row: that is where answers move most."""
    one = rng.integers(0, DOMAIN.sizes, (1, len(DOMAIN)))
    many = rng.integers(0, DOMAIN.sizes, (rows, len(DOMAIN)))
    return np.where(rng.random((rows, 1)) < 0.7, one, many)


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
def test_a_whole_person_never_moves_an_answer_further_than_the_unit_says(
    query: Query[object], relation: Adjacency, rows: int
) -> None:
    moves = PrivacyUnit(relation, rows).sensitivity(query.sensitivity)
    rng = np.random.default_rng(7)
    farthest = 0.0
    for _ in range(150):
        rest = rng.integers(0, DOMAIN.sizes, (int(rng.integers(0, 30)), len(DOMAIN)))
        swap = relation is Adjacency.REPLACE
        mine = person(rng, rows if swap and rows == 1 else int(rng.integers(1, rows + 1)))
        others = person(rng, rows if rows == 1 else int(rng.integers(1, rows + 1))) if swap else rest[:0]
        step = answer(query, np.vstack([rest, mine])) - answer(query, np.vstack([rest, others]))
        assert np.abs(step).sum() <= moves.l1
        assert (step**2).sum() <= moves.l2_squared
        assert np.abs(step).max() <= moves.each
        farthest = max(farthest, (step**2).sum() / moves.l2_squared)
    if query.kind in ("counts", "interaction"):
        assert farthest > 0.4, "a bound nobody comes near would hide a wrong factor"


def test_the_number_of_rows_is_public_for_exchanged_single_rows_alone() -> None:
    public = {(r, k) for r in Adjacency for k in (1, 2) if PrivacyUnit(r, k).rows_are_public}
    assert public == {(Adjacency.REPLACE, 1)}


def test_exchanged_persons_may_have_different_numbers_of_rows() -> None:
    rows = RecordSensitivity(Sensitivity(1, 1, 1), Sensitivity(0, 0, 0))
    assert PrivacyUnit(Adjacency.REPLACE, 1).sensitivity(rows).l1 == 0
    assert PrivacyUnit(Adjacency.REPLACE, 4).sensitivity(rows).l1 == 4


def test_a_unit_scales_norms() -> None:
    three = PrivacyUnit(Adjacency.ADD_REMOVE, 3).sensitivity(COUNTS)
    assert (three.l1, three.l2_squared, three.each) == (3, 9, 3)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, 10**9])
def test_an_impossible_number_of_rows_is_named(rows: object) -> None:
    with pytest.raises(UsageError, match="max_rows"):
        PrivacyUnit(Adjacency.ADD_REMOVE, rows)  # type: ignore[arg-type]
