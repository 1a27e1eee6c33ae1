"""The one door: charges first, reads after, answers once."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import BudgetExceeded, UsageError
from kagemusha.ledger import SQLiteLedger, open_ledger
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.marginals import Marginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.queries.scores import L1Error
from kagemusha.release.curator import Curator
from kagemusha.release.release import Release
from kagemusha.schema.domain import Clique, Domain

FILTERED = [Accounting.ZCDP, Accounting.GDP, Accounting.PURE]
DOMAIN = Domain(("a", "b"), (3, 2))
TABLE = np.array([[0, 0], [0, 1], [2, 1], [2, 1]])


class Spy:
    """A source that remembers what was asked and what the ledger held at that moment."""

    schema = None
    domain = DOMAIN

    def __init__(self, ledger: SQLiteLedger) -> None:
        self.ledger = ledger
        self.asked: list[Clique] = []
        self.charged_when_asked: list[int] = []

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        self.asked += cliques
        self.charged_when_asked.append(self.ledger.releases()[0].charged)
        result = []
        for clique in cliques:
            axes = [DOMAIN.axis(name) for name in clique]
            shape = DOMAIN.shape(clique)
            flat = np.ravel_multi_index(tuple(TABLE[:, axes].T), shape) if clique else np.zeros(len(TABLE), int)
            result.append(
                Marginal(clique, np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64))
            )
        return result

    def rows(self) -> int:
        return len(TABLE)

    def poisson(self, rate: float, *, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError

    def native_like(self) -> str:
        return "pyarrow"


def make(
    epsilon: float = 1.0,
    accounting: Accounting = Accounting.ZCDP,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    ledger: SQLiteLedger | None = None,
    seed: int = 0,
    keep: int = 0,
) -> tuple[Curator, Spy, SQLiteLedger]:
    """Nothing is kept in memory unless asked for, so that every use of the table shows as a read."""
    ledger = ledger or open_ledger()
    budget = Budget(epsilon, 0.0 if accounting is Accounting.PURE else 1e-9, adjacency)
    spy = Spy(ledger)
    noise = SimulatedNoise(np.random.default_rng(seed))
    request = ReleaseRequest(dataset="d", method="m", budget=budget, accounting=accounting)
    release = Release(request, Filter(budget, accounting), ledger, noise)
    return Curator(spy, release, keep=keep), spy, ledger  # type: ignore[arg-type]


def test_the_charge_is_durable_before_the_read() -> None:
    curator, spy, _ = make()
    curator.measure([("a",)], 0.001)
    assert spy.charged_when_asked[0] > 0


def test_nothing_is_read_when_the_budget_refuses() -> None:
    curator, spy, ledger = make()
    with pytest.raises(BudgetExceeded):
        curator.measure([("a",), ("b",)], 1.0)
    assert spy.asked == []
    assert ledger.releases()[0].charged == 0


def test_a_retry_returns_the_stored_answer_and_reads_nothing() -> None:
    curator, _, ledger = make(seed=1)
    first = curator.measure([("a",), ("a", "b")], 0.001)
    chosen = curator.choose(score(), 0.001)
    charged = ledger.releases()[0].charged
    again, spy, _ = make(ledger=ledger, seed=2)  # another seed: fresh noise would differ
    for one, two in zip(first, again.measure([("a",), ("a", "b")], 0.001), strict=True):
        assert (one.values == two.values).all()
    assert again.choose(score(), 0.001) == chosen
    assert spy.asked == []
    assert ledger.releases()[0].charged == charged


def test_asking_twice_within_a_run_pays_twice_for_fresh_noise() -> None:
    curator, spy, _ = make()
    one, two = curator.measure([("a",)], 0.001)[0], curator.measure([("a",)], 0.001)[0]
    assert (one.values != two.values).any()
    assert len(spy.asked) == 2
    assert len(curator._release.events) == 2


@pytest.mark.parametrize(("keep", "reads"), [(0, 6), (3, 5), (5, 4), (100, 3)])
def test_counts_kept_in_memory_change_reads_and_nothing_else(keep: int, reads: int) -> None:
    """Twice the same three sets of 3, 2 and 6 cells; those that fit are read once."""
    answers = []
    for room in (0, keep):
        curator, spy, ledger = make(keep=room)
        chosen = [curator.choose(score(), 0.001) for _ in range(2)]
        asked = len(spy.asked)
        answers.append((chosen, curator.measure([("a", "b")], 0.001)[0].values.tolist(), ledger.releases()[0].charged))
    assert answers[0] == answers[1]
    assert asked == reads


def score() -> L1Error:
    candidates: list[Clique] = [("a",), ("b",), ("a", "b")]
    estimates = [np.full(DOMAIN.shape(c), 4 / DOMAIN.cells(c)) for c in candidates]
    return L1Error(candidates, estimates, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, 1.0]))


def test_scores_are_the_weighted_penalised_distances() -> None:
    _, spy, _ = make()
    values = score().released(score().values(spy.count(score().cliques())), 0.0).values
    exact = []
    for clique, estimate, weight, penalty in zip(
        score().candidates, score().estimates, score().weights, score().penalties, strict=True
    ):
        counts = spy.count([clique])[0].counts
        exact.append(weight * (np.abs(counts - estimate).sum() - penalty))
    assert np.allclose(values, exact, atol=2e-3)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(Adjacency)))
def test_score_sensitivity_holds_exactly_for_random_neighbours(seed: int, adjacency: Adjacency) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    domain = Domain(("a", "b"), shape)
    counts = rng.integers(0, 50, shape)
    other = counts.copy()
    other[rng.integers(shape[0]), rng.integers(shape[1])] += 1
    if adjacency is Adjacency.REPLACE:
        cell = tuple(rng.choice(np.argwhere(other > 0)))
        other[cell] -= 1
    candidates: list[Clique] = [("a", "b"), ("a",)]
    estimates = [rng.normal(10, 20, shape), rng.normal(10, 20, shape[0])]
    scores = L1Error(candidates, estimates, rng.uniform(0.01, 5, 2), rng.uniform(0, 9, 2))

    def values(table: np.ndarray) -> np.ndarray:
        return scores.values([Marginal(("a", "b"), table), Marginal(("a",), table.sum(axis=1))])

    assert domain.cells(("a", "b")) == counts.size
    assert np.abs(values(counts) - values(other)).max() <= PrivacyUnit(adjacency).sensitivity(scores.sensitivity).each


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("accounting", FILTERED)
def test_the_noise_follows_adjacency_and_cost(adjacency: Adjacency, accounting: Accounting) -> None:
    curator, _, _ = make(100.0, accounting, adjacency)
    mechanism = "laplace" if accounting is Accounting.PURE else "gaussian"
    released = curator.measure([("a", "b")], 0.02, mechanism=mechanism)[0]
    move = {Adjacency.ADD_REMOVE: (1, 1), Adjacency.REPLACE: (2, 2)}[adjacency]
    expected = np.sqrt(2) * move[0] / 0.02 if accounting is Accounting.PURE else np.sqrt(move[1] / (2 * 0.02))
    assert released.sigma == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("accounting", FILTERED)
def test_the_whole_budget_can_be_spent_to_the_last_unit_in_any_number_of_steps(accounting: Accounting) -> None:
    mechanism = "laplace" if accounting is Accounting.PURE else "gaussian"
    for steps in (1, 2, 3, 7, 50):
        curator, _, _ = make(1.0, accounting)
        for left in range(steps, 0, -1):
            curator.measure([("a",)], curator.remaining / left, mechanism=mechanism)
        assert 0 <= curator.remaining < 1e-9 * curator.total + 1e-12


def test_rows_are_public_only_under_replace() -> None:
    assert make()[0].public_rows() is None
    assert make(adjacency=Adjacency.REPLACE)[0].public_rows() == 4


def test_unprotected_reads_are_events() -> None:
    curator, spy, _ = make()
    assert curator.unprotected("a baseline without noise") is spy
    assert curator._release.events[0].kind == "unprotected"


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan")])
def test_a_step_needs_a_positive_share(cost: float) -> None:
    with pytest.raises(UsageError, match="share"):
        make()[0].measure([("a",)], cost)


def test_a_stored_choice_is_a_name_and_not_a_place() -> None:
    """Another version may list the candidates in another order; the clique that was chosen stays chosen."""
    curator, _, ledger = make(seed=3)
    chosen = score().candidates[curator.choose(score(), 0.001)]
    key = ledger.steps(ledger.releases()[0].id)[0].key
    stored = ledger.answer(ledger.releases()[0].id, key)
    assert stored is not None
    assert tuple(json.loads(stored)) == chosen

    class Reordered(L1Error):
        """As a later version might list them, under the old name of the step."""

        record = score().record

    old = score()
    turned = Reordered(old.candidates[::-1], old.estimates[::-1], old.weights[::-1], old.penalties[::-1])
    again, spy, _ = make(ledger=ledger, seed=4)
    assert turned.candidates[again.choose(turned, 0.001)] == chosen
    assert spy.asked == []


def test_another_question_or_another_version_is_another_step(monkeypatch: pytest.MonkeyPatch) -> None:
    curator, _, ledger = make()
    curator.choose(score(), 0.001)
    again, spy, _ = make(ledger=ledger)
    other = L1Error(score().candidates[::-1], score().estimates[::-1], score().weights, score().penalties)
    again.choose(other, 0.001)
    assert spy.asked, "the same number of candidates is not the same question"
    monkeypatch.setattr("kagemusha.release.release.__version__", "99")
    later, spy, _ = make(ledger=ledger)
    later.choose(score(), 0.001)
    assert spy.asked, "an answer of another version may mean something else"


def test_events_name_their_query_and_what_its_reach_follows_from() -> None:
    curator, _, _ = make()
    curator.measure([("a", "b")], 0.001)
    curator.choose(score(), 0.001)
    kinds = [(e.query.kind, dict(e.query.facts)) for e in curator._release.events if e.query is not None]
    assert kinds == [("counts", {"columns": ("a", "b")}), ("l1-error", {"candidates": 3})]
