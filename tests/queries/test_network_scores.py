"""Scores of Bayesian networks: what they mean, and that one record never moves them further than proved."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import UsageError
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.queries.network_scores import (
    NETWORK_SCORES,
    BinaryDistance,
    Dependence,
    Family,
    MutualInformation,
    NetworkScore,
)
from kagemusha.schema.domain import Domain


def of(kind: type[NetworkScore], table: np.ndarray) -> int:
    """The score of a table: rows are codes of the child."""
    domain = Domain(("child", "parents"), table.shape)
    score = kind(domain, [Family("child", ("parents",))])
    return int(score.values([Marginal(("child", "parents"), table.astype(np.int64))])[0])


def in_records(kind: type[NetworkScore], table: np.ndarray) -> float:
    return of(kind, table) * kind.worth


def mutual_information(table: np.ndarray) -> float:
    p = table / table.sum()
    q = np.outer(p.sum(1), p.sum(0))
    inside = p > 0
    return float((p[inside] * np.log(p[inside] / q[inside])).sum())


def test_dependence_is_the_distance_from_independence() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 40, (3, 5))
    product = np.outer(table.sum(1), table.sum(0)) / table.sum()
    assert in_records(Dependence, table) == pytest.approx(np.abs(table - product).sum() / 2, abs=1e-3)


def test_mutual_information_is_scaled_by_what_one_record_can_do() -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 40, (4, 3))
    n = int(table.sum())
    scale = (n + 1) * math.log(n + 1) - n * math.log(n)
    assert in_records(MutualInformation, table) == pytest.approx(n * mutual_information(table) / scale, abs=1e-3)


def test_binary_distance_looks_at_every_split() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 30, (2, 4))
    n = table.sum()
    best = min(
        max(0, n / 2 - table[0, list(s)].sum()) + max(0, n / 2 - np.delete(table[1], list(s)).sum())
        for size in range(5)
        for s in itertools.combinations(range(4), size)
    )
    assert of_any(BinaryDistance, table) / 2 == -best


def neighbours(rng: np.random.Generator, table: np.ndarray, adjacency: Adjacency) -> np.ndarray:
    other = table.copy()
    other[tuple(rng.integers(table.shape))] += 1
    if adjacency is Adjacency.REPLACE:
        held = np.argwhere(other > 0)
        other[tuple(held[rng.integers(len(held))])] -= 1
    return other


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(list(Adjacency)),
    st.sampled_from(list(NETWORK_SCORES.values())),
    st.sampled_from([0, 1, 2, 30, 10_000]),
)
def test_one_record_never_moves_a_score_further_than_proved(
    seed: int, adjacency: Adjacency, kind: type[NetworkScore], scale: int
) -> None:
    rng = np.random.default_rng(seed)
    shape = (2, 2 ** int(rng.integers(1, 3))) if kind is BinaryDistance else tuple(map(int, rng.integers(1, 6, 2)))
    # tables with many empty cells and one huge one are where scores move most
    table = (rng.integers(0, scale + 1, shape) * (rng.random(shape) < rng.random())).astype(np.int64)
    other = neighbours(rng, table, adjacency)
    if adjacency is Adjacency.REPLACE and other.sum() != table.sum():
        return
    names = Domain(("x", "y"), (2, 2)) if kind is BinaryDistance else Domain(("x", "y"), shape)
    bound = kind(names, [Family("x", ("y",))]).sensitivity
    move = abs(of_any(kind, table) - of_any(kind, other))
    assert move <= PrivacyUnit(adjacency).sensitivity(bound).each


def of_any(kind: type[NetworkScore], table: np.ndarray) -> int:
    parents = int(math.log2(table.shape[1])) if kind is BinaryDistance else 1
    if kind is not BinaryDistance:
        return of(kind, table)
    names = ("child", *(f"p{i}" for i in range(parents)))
    domain = Domain(names, (2,) * len(names))
    score = kind(domain, [Family("child", names[1:])])
    return int(score.values([Marginal(names, table.reshape((2,) * len(names)))])[0])


@pytest.mark.parametrize(("kind", "least"), [(Dependence, 1.99), (MutualInformation, 0.6)])
def test_the_bounds_are_nearly_reached(kind: type[NetworkScore], least: float) -> None:
    """All rows alike, then one that differs in everything: a bound much smaller would be wrong."""
    table = np.zeros((2, 2), dtype=np.int64)
    table[0, 0] = 1000
    other = table.copy()
    other[1, 1] = 1
    move = in_records(kind, other) - in_records(kind, table)
    assert move >= least


def test_large_tables_do_not_overflow() -> None:
    table = np.array([[2**33, 1], [5, 2**33]], dtype=np.int64)
    assert in_records(Dependence, table) == pytest.approx(2**33, rel=1e-6)
    n = float(table.sum())
    assert in_records(MutualInformation, table) == pytest.approx(n * math.log(2) / (1 + math.log(n)), rel=1e-3)


def test_f_is_for_binary_tables_with_few_parents() -> None:
    with pytest.raises(UsageError, match="two codes"):
        BinaryDistance(Domain(("x", "y"), (3, 2)), [Family("x", ("y",))])
    names = tuple("abcdef")
    with pytest.raises(UsageError, match="at most 4 parents"):
        BinaryDistance(Domain(names, (2,) * 6), [Family("f", names[:5])])


@pytest.mark.parametrize("kind", NETWORK_SCORES.values())
def test_every_score_carries_a_proof(kind: type[NetworkScore]) -> None:
    assert "add-remove" in kind.proof
    assert "replace" in kind.proof.lower()
