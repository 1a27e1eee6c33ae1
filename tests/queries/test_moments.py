"""Moments as linear queries: exact sums of features, a proved sensitivity, charged before they are read."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import BudgetExceeded, PrivacyError
from kagemusha.ledger import open_ledger
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.marginals import Marginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.queries.moments import UNIT, CrossMoments, FirstMoments, Moments
from kagemusha.release.curator import Curator
from kagemusha.release.release import Release
from kagemusha.schema import Boolean, Category, Clique, Date, Integer, Real, Schema
from kagemusha.schema.features import STEPS, features_of

SCHEMA = Schema(
    [
        Category("c", categories=("x", "y", "z")),
        Integer("i", lower=0, upper=9),
        Real("r", lower=-1.0, upper=3.0, bins=3, missing=True),
        Date("d", lower=date(2020, 1, 1), upper=date(2020, 12, 31), bins=4, missing=True),
        Boolean("b", missing=True),
    ]
)
DOMAIN = SCHEMA.domain
FEATURES = features_of(SCHEMA)


def marginals(codes: np.ndarray, cliques: list[Clique]) -> list[Marginal]:
    found = []
    for clique in cliques:
        shape = DOMAIN.shape(clique)
        flat = np.zeros(len(codes), dtype=np.int64)
        for name in clique:
            flat = flat * DOMAIN.size(name) + codes[:, DOMAIN.axis(name)]
        counts = np.bincount(flat, minlength=DOMAIN.cells(clique)).astype(np.int64)
        found.append(Marginal(clique, counts.reshape(shape)))
    return found


def random_codes(rng: np.random.Generator, rows: int) -> np.ndarray:
    return np.column_stack([rng.integers(0, size, rows) for size in DOMAIN.sizes])


def answer(query: Moments, codes: np.ndarray) -> np.ndarray:
    return query.values(marginals(codes, list(query.cliques())))


def test_moments_are_sums_over_records() -> None:
    codes = random_codes(np.random.default_rng(0), 50)
    rows = [f.table[codes[:, axis]] / STEPS for axis, f in enumerate(FEATURES)]
    first = answer(FirstMoments(FEATURES), codes) * UNIT
    expected = [50.0]
    for feature, table in zip(FEATURES, rows, strict=True):
        expected += list(table.sum(axis=0))
        if not feature.labelled:
            expected.append((table[:, 0] ** 2).sum())
    assert np.allclose(first, expected, atol=1e-9)
    cross = answer(CrossMoments(FEATURES), codes) * UNIT
    products = [(rows[i].T @ rows[j]).ravel() for i in range(5) for j in range(i + 1, 5)]
    assert np.allclose(cross, np.concatenate(products), atol=1e-9)


def test_features_lie_between_minus_one_and_one() -> None:
    for feature in FEATURES:
        assert np.abs(feature.table).max() <= STEPS
        assert feature.largest <= STEPS**2


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(Adjacency)), st.sampled_from([FirstMoments, CrossMoments]))
def test_one_record_never_moves_the_answer_further_than_proved(
    seed: int, adjacency: Adjacency, kind: type[FirstMoments] | type[CrossMoments]
) -> None:
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, int(rng.integers(1, 20)))
    # the ends of a domain are where features are largest
    new = np.array([[rng.choice([0, size - 1, size - 1 - (size > 1)]) for size in DOMAIN.sizes]])
    kept = codes if adjacency is Adjacency.ADD_REMOVE else codes[1:]
    move = answer(kind(FEATURES), codes) - answer(kind(FEATURES), np.concatenate([kept, new]))
    assert int((move**2).sum()) <= PrivacyUnit(adjacency).sensitivity(kind(FEATURES).sensitivity).l2_squared


def test_the_bounds_are_reached() -> None:
    one = np.array([[0, 9, 0, 0, 0]])
    rest = random_codes(np.random.default_rng(1), 9)
    for query in (FirstMoments(FEATURES), CrossMoments(FEATURES)):
        move = answer(query, np.concatenate([rest, one])) - answer(query, rest)
        assert (move**2).sum() > 0.5 * query.sensitivity.added.l2_squared


class Spy:
    """A source that remembers what the ledger held when it was asked."""

    schema = SCHEMA
    domain = DOMAIN

    def __init__(self, ledger: object) -> None:
        self.ledger = ledger
        self.charged: list[int] = []

    def count(self, cliques: list[Clique]) -> list[Marginal]:
        self.charged.append(self.ledger.releases()[0].charged)  # type: ignore[attr-defined]
        return marginals(random_codes(np.random.default_rng(2), 100), list(cliques))


def make(accounting: Accounting = Accounting.GDP) -> tuple[Curator, Spy]:
    ledger = open_ledger()
    budget = Budget(1.0, 1e-6)
    spy = Spy(ledger)
    noise = SimulatedNoise(np.random.default_rng(0))
    request = ReleaseRequest(dataset="d", method="m", budget=budget, accounting=accounting)
    return Curator(spy, Release(request, Filter(budget, accounting), ledger, noise), keep=0), spy  # type: ignore[arg-type]


def test_queries_are_charged_before_they_are_read() -> None:
    curator, spy = make()
    (found,) = curator.answer([FirstMoments(FEATURES)], curator.total / 2)
    assert spy.charged[0] > 0
    assert abs(found.values[0] - 100) < 6 * found.sigma
    event = curator._release.events[0]
    assert event.is_gaussian
    assert float(event.rho or 0) == pytest.approx(curator.total / 2, rel=1e-9)


def test_nothing_is_read_when_the_budget_or_the_accounting_refuses() -> None:
    curator, spy = make()
    with pytest.raises(BudgetExceeded):
        curator.answer([CrossMoments(FEATURES)], 2 * curator.total)
    pure, other = make(Accounting.PURE)
    with pytest.raises(PrivacyError, match="gaussian"):
        pure.answer([CrossMoments(FEATURES)], 0.1)
    assert spy.charged == other.charged == []
