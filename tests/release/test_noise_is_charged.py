"""The noise that is drawn is the noise that is paid for: law, scale and size of every draw, verb by verb.

Scales are worked out here from cost and sensitivity by hand. Noise that is off by any factor fails, however good the
results look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from kagemusha.errors import PrivacyError
from kagemusha.ledger import open_ledger
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.marginals import Marginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.events import ThresholdEvent
from kagemusha.privacy.filter import Filter
from kagemusha.queries.interactions import Interaction
from kagemusha.queries.moments import CrossMoments, FirstMoments
from kagemusha.queries.scores import L1Error
from kagemusha.release.curator import Curator
from kagemusha.release.discovery import DELTA_SHARE, Finder
from kagemusha.release.release import Release
from kagemusha.schema import Category, Schema
from kagemusha.schema.domain import Clique
from kagemusha.schema.features import STEPS, features_of
from kagemusha.sources.open_table import OpenTable, ValueCounts

SCHEMA = Schema(
    [
        Category("a", categories=("x", "other"), out_of_domain="clip"),
        Category("b", categories=("u", "v", "other"), out_of_domain="clip"),
    ]
)
DOMAIN = SCHEMA.domain
CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 2], [1, 0]])
COST = 0.01
ADJACENCIES = [Adjacency.ADD_REMOVE, Adjacency.REPLACE]
LAWS = {Accounting.ZCDP: "discrete", Accounting.GDP: "rounded"}


@dataclass
class Recorder:
    """Noise that says what it was asked for and is always `value`."""

    value: int = 0
    drawn: list[tuple[str, float, int]] = field(default_factory=list)
    simulated: bool = False

    def _draw(self, law: str, scale: float, size: int) -> np.ndarray:
        self.drawn.append((law, scale, size))
        return np.full(size, self.value, dtype=np.int64)

    def discrete_gaussian(self, sigma: float, size: int) -> np.ndarray:
        return self._draw("discrete", sigma, size)

    def rounded_gaussian(self, sigma: float, size: int) -> np.ndarray:
        return self._draw("rounded", sigma, size)

    def discrete_laplace(self, scale: float, size: int) -> np.ndarray:
        return self._draw("laplace", scale, size)

    def noisy_max(self, scores: np.ndarray, scale: float) -> int:
        self.drawn.append(("max", scale, len(scores)))
        return int(np.argmax(scores))


class Table:
    schema, domain = SCHEMA, DOMAIN

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        found = []
        for clique in cliques:
            shape = DOMAIN.shape(clique)
            flat = np.zeros(len(CODES), int)
            if clique:
                flat = np.ravel_multi_index(tuple(CODES[:, [DOMAIN.axis(n) for n in clique]].T), shape)
            counts = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)
            found.append(Marginal(clique, counts))
        return found


def curator(accounting: Accounting, adjacency: Adjacency, value: int = 0) -> tuple[Curator, Recorder]:
    budget = Budget(5.0, 0.0 if accounting is Accounting.PURE else 1e-9, adjacency)
    ledger, noise = open_ledger(), Recorder(value)
    request = ReleaseRequest(dataset="d", method="m", budget=budget, accounting=accounting)
    release = Release(request, Filter(budget, accounting), ledger, noise)  # type: ignore[arg-type]
    return Curator(Table(), release), noise  # type: ignore[arg-type]


def sigma(squared: float) -> float:
    return math.sqrt(squared / (2 * COST))


def assert_drawn(noise: Recorder, expected: list[tuple[str, float, int]]) -> None:
    assert [(law, size) for law, _, size in noise.drawn] == [(law, size) for law, _, size in expected]
    for (_, scale, _), (_, wanted, _) in zip(noise.drawn, expected, strict=True):
        assert wanted <= scale < wanted * 1.0001  # costs are rounded down a little, so noise is never smaller


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("accounting", LAWS)
def test_counts(accounting: Accounting, adjacency: Adjacency) -> None:
    door, noise = curator(accounting, adjacency, value=7)
    found = door.measure([("a",), ("a", "b")], COST)
    wanted = sigma(1 if adjacency is Adjacency.ADD_REMOVE else 2)
    assert_drawn(noise, [(LAWS[accounting], wanted, 2), (LAWS[accounting], wanted, 6)])
    assert found[0].values.tolist() == [2 + 7, 3 + 7]
    assert [m.sigma for m in found] == [scale for _, scale, _ in noise.drawn]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_laplace_counts(adjacency: Adjacency) -> None:
    step = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    door, noise = curator(Accounting.PURE, adjacency)
    door.measure([("b",)], COST, mechanism="laplace")
    assert_drawn(noise, [("laplace", step / COST, 3)])
    door, noise = curator(Accounting.ZCDP, adjacency)
    door.measure([("b",)], COST, mechanism="laplace")
    assert_drawn(noise, [("laplace", step / math.sqrt(2 * COST), 3)])  # ε-DP is ε²/2-zCDP


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("accounting", LAWS)
def test_interactions(accounting: Accounting, adjacency: Adjacency) -> None:
    door, noise = curator(accounting, adjacency)
    door.answer([Interaction(("a", "b"), (np.arange(2), np.arange(3)))], [COST])
    one = (2 * 1) * (3 * 2)
    # replace: the squared distance of two records' parts, largest where they differ in the first column alone
    two = 2 * (one + 2 * 3 * 2)
    assert_drawn(noise, [(LAWS[accounting], sigma(one if adjacency is Adjacency.ADD_REMOVE else two), 6)])


def unit_of(query: L1Error) -> float:
    return query.released(np.ones(1, dtype=np.int64), 1.0).sigma


def score(weights: Sequence[float] = (1.0, 1.0)) -> L1Error:
    return L1Error([("a",), ("b",)], [np.zeros(2), np.zeros(3)], weights=np.array(weights), penalties=np.zeros(2))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("accounting", [*LAWS, Accounting.PURE])
def test_choices(accounting: Accounting, adjacency: Adjacency) -> None:
    door, noise = curator(accounting, adjacency)
    if accounting is Accounting.GDP:  # it has no exponential mechanism
        with pytest.raises(PrivacyError, match="cannot hold a step of kind 'exponential'"):
            door.choose(score(), COST)
        assert not noise.drawn
        return
    door.choose(score(), COST)
    epsilon = COST if accounting is Accounting.PURE else math.sqrt(8 * COST)  # bounded range: ε²/8-zCDP
    moves = PrivacyUnit(adjacency).sensitivity(score().sensitivity).each
    assert moves * unit_of(score()) == (1 if adjacency is Adjacency.ADD_REMOVE else 2)
    assert_drawn(noise, [("max", 2 * moves / epsilon, 2)])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("accounting", LAWS)
def test_noisy_scores(accounting: Accounting, adjacency: Adjacency) -> None:
    door, noise = curator(accounting, adjacency)
    (found,) = door.answer([score()], COST)
    values, width = found.values, found.sigma
    step = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    assert width == pytest.approx(sigma(2 * step**2), rel=1e-4)  # two scores move at once
    assert_drawn(noise, [(LAWS[accounting], sigma(2 * step**2) / unit_of(score()), 2)])
    assert values.tolist() == [5.0, 5.0]


def test_sums() -> None:
    features = features_of(SCHEMA)
    door, noise = curator(Accounting.GDP, Adjacency.ADD_REMOVE)
    door.answer([FirstMoments(features)], COST)
    door.answer([CrossMoments(features)], COST)
    codes = sum(DOMAIN.sizes)
    pair = math.prod(DOMAIN.sizes)
    # one record: itself and one label of each column; one label pair
    expected = [("rounded", STEPS**2 * sigma(3), 1 + codes), ("rounded", STEPS**2 * sigma(1), pair)]
    assert_drawn(noise, expected)


class Ward(OpenTable):
    schema = Schema([Category("ward")])

    def __init__(self, count: int) -> None:
        self.count = count

    def count_values(self, name: str) -> ValueCounts:
        return ValueCounts.of([("many", 10**6), ("few", self.count)])

    def with_schema(self, schema: Schema) -> None:  # type: ignore[override]
        raise AssertionError("nothing but values is needed")


def test_values_are_found_at_the_threshold_that_was_charged_and_not_below() -> None:
    budget, failure = Budget(1.0, 1e-6), 1e-9

    def found(count: int, value: int) -> tuple[list[str], ThresholdEvent, Recorder]:
        ledger, noise = open_ledger(), Recorder(value)
        request = ReleaseRequest("d", "m", budget, Accounting.ZCDP, delta_share=DELTA_SHARE)
        account = Filter(budget, Accounting.ZCDP, delta_share=DELTA_SHARE)
        finder = Finder(Ward(count), Release(request, account, ledger, noise))  # type: ignore[arg-type]
        labels = finder.find_values("ward", COST, failure)
        (event,) = account.events
        assert isinstance(event, ThresholdEvent)
        return labels, event, noise

    _, event, noise = found(1, 0)
    assert_drawn(noise, [("discrete", sigma(1), 2)])
    assert event.threshold >= 1 + 5.99 * event.sigma  # a lone record passes with probability below 10⁻⁹
    assert found(event.threshold, 0)[0] == ["few", "many"]
    assert found(event.threshold - 1, 0)[0] == ["many"]
    assert found(event.threshold - 3, 2)[0] == ["many"]
    assert found(event.threshold - 2, 2)[0] == ["few", "many"]
