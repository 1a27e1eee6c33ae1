"""One question of its own: charged before the table is counted, answered once, certified.

And a look without protection.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.certificate.verify import all_passed, verify
from kagemusha.errors import BudgetExceeded, CapReached, UndeclaredDomain, UsageError
from kagemusha.ledger import open_ledger
from kagemusha.ledger.cap import Cap
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import GaussianEvent, LaplaceEvent, UnprotectedEvent
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.queries.broken_rules import BrokenRules
from kagemusha.queries.weighted_counts import WeightedCounts
from kagemusha.release import asking
from kagemusha.release.asking import ask, look
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.judged import JudgedSource

SCHEMA = Schema(
    [Category("region", categories=("n", "s"), out_of_domain="clip"), Integer("w", lower=0, upper=64)],
    constraints=["region = 'n' implies w >= 10", "never region = 's' and w > 60"],
    weight="w",
)
TABLE = pa.table({"region": ["n", "s", "n", "s"], "w": [5, 64, 20, 61]})
BUDGET = Budget(1.0, 1e-9)


def seeded(seed: int) -> SimulatedNoise:
    return SimulatedNoise(np.random.default_rng(seed))


class Spy(FrameSource):
    """Remembers what its ledger held whenever it was counted."""

    def __init__(self, ledger) -> None:  # type: ignore[no-untyped-def]
        super().__init__(TABLE, SCHEMA)
        self.ledger, self.charged = ledger, []

    def count(self, cliques):  # type: ignore[no-untyped-def]
        if cliques != [()]:  # reading it once beforehand, and keeping nothing, is allowed
            self.charged.append(sum(release.charged for release in self.ledger.releases()))
        return super().count(cliques)


def test_the_charge_is_there_before_the_read() -> None:
    book = open_ledger()
    spy = Spy(book)
    ask(spy, WeightedCounts(SCHEMA, ("region",)), BUDGET, ledger=book, dataset="d")
    assert len(spy.charged) == 1
    assert spy.charged[0] > 0
    assert book.releases()[0].charged == spy.charged[0]


def test_nothing_is_read_where_the_cap_refuses() -> None:
    book = open_ledger()
    book.set_cap(Cap("d", "default", Budget(0.5, 1e-9)))
    spy = Spy(book)
    with pytest.raises(CapReached):
        ask(spy, WeightedCounts(SCHEMA, ("region",)), BUDGET, ledger=book, dataset="d")
    assert spy.charged == []


def test_nothing_is_read_where_the_filter_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking.Curator, "remaining", property(lambda self: 10.0))
    book = open_ledger()
    spy = Spy(book)
    with pytest.raises(BudgetExceeded):
        ask(spy, WeightedCounts(SCHEMA, ("region",)), BUDGET, ledger=book, dataset="d")
    assert spy.charged == []
    assert book.releases()[0].charged == 0


def test_the_same_question_again_costs_nothing() -> None:
    book = open_ledger()
    first, second = (
        ask(Spy(book), WeightedCounts(SCHEMA, ("region",)), BUDGET, ledger=book, dataset="d") for _ in range(2)
    )
    assert first.answer.values.tolist() == second.answer.values.tolist()
    assert len(book.releases()) == 1


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_noise_is_that_of_the_largest_weight(adjacency: Adjacency) -> None:
    from kagemusha.privacy.accountants import gdp_mu

    query = WeightedCounts(SCHEMA, ("region",))
    budget = Budget(1.0, 1e-9, adjacency)
    found = ask(FrameSource(TABLE, SCHEMA), query, budget)
    (event,) = found.certificate.events
    assert isinstance(event, GaussianEvent)
    times = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    assert event.l2_squared == times * query.weights.most**2
    wanted = 64 * math.sqrt(times) / gdp_mu(1.0, 1e-9)
    assert found.answer.sigma == pytest.approx(wanted, rel=1e-6)
    assert found.answer.sigma >= wanted * (1 - 1e-12)


def test_without_delta_the_noise_is_laplace() -> None:
    found = ask(FrameSource(TABLE, SCHEMA), WeightedCounts(SCHEMA, ("region",)), Budget(0.5, 0.0))
    (event,) = found.certificate.events
    assert isinstance(event, LaplaceEvent)
    assert found.answer.sigma == pytest.approx(math.sqrt(2) * 64 / 0.5, rel=1e-6)


def test_answers_lie_around_the_truth() -> None:
    query = WeightedCounts(SCHEMA, ("region",))
    source = FrameSource(TABLE, SCHEMA)
    drawn = np.array([ask(source, query, Budget(5.0, 1e-6), simulation=seeded(i)).answer.values for i in range(200)])
    sigma = ask(source, query, Budget(5.0, 1e-6), simulation=seeded(0)).answer.sigma
    off = (drawn - np.array([25, 125])) / sigma
    assert abs(off.mean()) < 4 / math.sqrt(off.size)
    assert 0.85 < off.std() < 1.15, "neither half nor twice the noise that was paid for"


@pytest.mark.parametrize("kind", ["weighted", "rules"])
def test_the_certificate_of_a_question_verifies(kind: str, tmp_path: Path) -> None:
    book = tmp_path / "ledger.db"
    if kind == "weighted":
        found = ask(FrameSource(TABLE, SCHEMA), WeightedCounts(SCHEMA, ("region",)), BUDGET, ledger=book, dataset="d")
        assert any("people of the population" in sentence for sentence in found.certificate.assumptions)
    else:
        source = JudgedSource(TABLE, SCHEMA)
        found = ask(source, BrokenRules(SCHEMA), BUDGET, declared=SCHEMA, ledger=book, dataset="d")  # type: ignore[arg-type]
    assert found.certificate.epsilon == 1.0
    assert found.certificate.schema_digest == SCHEMA.digest()
    path = tmp_path / "answer.json"
    path.write_text(found.certificate.to_json())
    checks = verify(path)
    assert all_passed(checks), [check for check in checks if not check.passed]
    # an answer that says less noise than its query needs does not pass
    wrong = found.certificate.to_json().replace('"most": ', '"most": 1').replace('"rules": ', '"rules": 1')
    path.write_text(wrong)
    assert not all_passed(verify(path))


def test_what_nobody_confirmed_is_refused() -> None:
    derived = SCHEMA.replace("w", derived=("upper",))
    with pytest.raises(UndeclaredDomain, match=r"w\.upper"):
        ask(FrameSource(TABLE, derived), WeightedCounts(derived, ()), BUDGET)
    with pytest.raises(UndeclaredDomain):
        ask(JudgedSource(TABLE, derived), BrokenRules(derived), BUDGET)  # type: ignore[arg-type]


def test_a_question_needs_a_finite_epsilon_and_a_name() -> None:
    with pytest.raises(UsageError, match="finite"):
        ask(FrameSource(TABLE, SCHEMA), WeightedCounts(SCHEMA, ()), Budget(math.inf))
    with pytest.raises(UsageError, match="needs a name"):
        ask(FrameSource(TABLE, SCHEMA), WeightedCounts(SCHEMA, ()), BUDGET, ledger=open_ledger())


def test_a_simulation_says_so() -> None:
    found = ask(FrameSource(TABLE, SCHEMA), WeightedCounts(SCHEMA, ()), BUDGET, simulation=seeded(3))
    assert not math.isfinite(found.certificate.epsilon)


def test_a_look_stands_in_the_ledger_and_needs_the_owners_word_under_a_cap() -> None:
    book = open_ledger()
    source = FrameSource(TABLE, SCHEMA)
    assert look(source, "because", ledger=book, dataset="d") is source
    (release,) = book.releases()
    assert not math.isfinite(release.epsilon)
    (step,) = book.steps(release.id)
    assert isinstance(step.event, UnprotectedEvent)
    assert step.event.reason == "because"
    look(source, "because", ledger=book, dataset="d")
    assert len(book.releases()) == 1
    capped = open_ledger()
    capped.set_cap(Cap("d", "default", Budget(1.0, 1e-9)))
    with pytest.raises(CapReached, match="allow-unprotected"):
        look(source, "because", ledger=capped, dataset="d")
    capped.allow_unprotected("d", "default")
    assert look(source, "because", ledger=capped, dataset="d") is source
