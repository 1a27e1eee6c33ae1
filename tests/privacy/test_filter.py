"""The filter refuses before a read, and its integers never lose a unit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagemusha.errors import BudgetExceeded, PrivacyError, UsageError
from kagemusha.privacy.accountants import ZCDP, Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.calibrate import calibrate
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    UnprotectedEvent,
    event_from_json,
)
from kagemusha.privacy.filter import UNIT, UNLIMITED, Filter, cost_of
from kagemusha.privacy.query_kinds import COUNTS


def gaussian(sigma: float) -> GaussianEvent:
    return GaussianEvent(what="counts of age", sigma=sigma, l2_squared=1)


@given(st.floats(0.01, 100), st.lists(st.floats(0.05, 1e4), max_size=40))
def test_whatever_is_asked_the_sum_of_admitted_costs_stays_within_the_limit(
    epsilon: float, sigmas: list[float]
) -> None:
    budget_filter = Filter(Budget(epsilon, 1e-9), Accounting.ZCDP)
    exact = Fraction(0)
    for sigma in sigmas:
        try:
            budget_filter.charge([gaussian(sigma)])
        except BudgetExceeded:
            continue
        exact += gaussian(sigma).rho
    assert exact * UNIT <= budget_filter.spent.units <= budget_filter.limit.units
    assert ZCDP().epsilon(budget_filter.events, 1e-9) <= epsilon * (1 + 1e-9)


def test_a_group_is_charged_whole_or_not_at_all() -> None:
    budget_filter = Filter(Budget(1.0, 1e-9), Accounting.ZCDP)
    with pytest.raises(BudgetExceeded, match="nothing was read"):
        budget_filter.charge([gaussian(100.0), gaussian(0.1)])
    assert budget_filter.spent.units == 0
    assert budget_filter.events == ()


def test_each_accounting_holds_only_what_it_can_prove() -> None:
    budget = Budget(1.0, 1e-9)
    with pytest.raises(PrivacyError, match="gdp"):
        Filter(budget, Accounting.GDP).charge([ExponentialEvent(what="", epsilon=0.01, candidates=2)])
    with pytest.raises(PrivacyError, match="gdp"):
        Filter(budget, Accounting.GDP).charge([gaussian(100.0)])  # discrete noise is not exactly Gaussian DP
    with pytest.raises(PrivacyError, match="pure"):
        Filter(Budget(1.0, 0.0), Accounting.PURE).charge([gaussian(100.0)])
    with pytest.raises(UsageError, match="delta"):
        Filter(Budget(1.0, 0.0), Accounting.ZCDP)


def test_delta_of_thresholds_needs_a_share_of_its_own() -> None:
    event = ThresholdEvent(what="", sigma=1000.0, l2_squared=1, threshold=7000, failure=1e-11)
    with pytest.raises(BudgetExceeded):
        Filter(Budget(1.0, 1e-9), Accounting.ZCDP).charge([event])
    Filter(Budget(1.0, 1e-9), Accounting.ZCDP, delta_share=0.5).charge([event])


@pytest.mark.parametrize(
    ("epsilon", "delta", "adjacency", "field"),
    [
        (0.0, 1e-9, "add-remove", "epsilon"),
        (-1.0, 1e-9, "add-remove", "epsilon"),
        (float("nan"), 1e-9, "add-remove", "epsilon"),
        (1.0, 1.0, "add-remove", "delta"),
        (1.0, -1e-9, "add-remove", "delta"),
        (1.0, 1e-40, "add-remove", "delta"),
        (1.0, 1e-9, "swap", "adjacency"),
    ],
)
def test_a_wrong_budget_names_the_field(epsilon: float, delta: float, adjacency: str, field: str) -> None:
    with pytest.raises(UsageError, match=field):
        Budget(epsilon, delta, adjacency)  # type: ignore[arg-type]


@pytest.mark.parametrize("accounting", [Accounting.ZCDP, Accounting.GDP, Accounting.PURE])
def test_an_epsilon_too_large_to_be_counted_is_refused_with_the_range(accounting: Accounting) -> None:
    for epsilon in (1000.0, 4000.0):
        assert 0 < Filter(Budget(epsilon, 1e-9), accounting).limit.units < UNLIMITED
    for epsilon in (1e4, 1e6, 1e308):
        with pytest.raises(UsageError, match=r"epsilon must be .* at most \d{4} for " + accounting):
            Filter(Budget(epsilon, 1e-9), accounting)
    with pytest.raises(UsageError) as refused:
        Filter(Budget(1e4, 1e-9), accounting)
    largest = int(str(refused.value).split("at most ")[1].split()[0])
    assert Filter(Budget(float(largest), 1e-9), accounting).limit.units < UNLIMITED
    assert Filter(Budget(float("inf"), 1e-9), accounting).limit.units == UNLIMITED


def test_calibration_finds_the_smallest_noise_that_fits() -> None:
    budget = Budget(1.0, 1e-9)
    sigma = calibrate(lambda s: [gaussian(s)] * 5, budget, ZCDP())
    assert ZCDP().epsilon([gaussian(sigma)] * 5, 1e-9) <= 1.0
    assert ZCDP().epsilon([gaussian(sigma * 0.9999)] * 5, 1e-9) > 1.0


EVENTS: list[Event] = [
    gaussian(3.7),
    GaussianEvent(what="a", sigma=0.1, l2_squared=2, noise="rounded"),
    LaplaceEvent(what="b", scale=2.5, l1=2),
    ExponentialEvent(what="c", epsilon=0.3, candidates=45),
    ThresholdEvent(what="d", sigma=3.0, l2_squared=1, threshold=30, failure=1e-10),
    UnprotectedEvent(what="e", reason="a baseline"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_events_survive_the_journey_through_json(event: Event) -> None:
    import json

    assert event_from_json(json.loads(json.dumps(event.to_json()))) == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_costs_are_rounded_up(event: Event) -> None:
    cost = cost_of(event, Accounting.ZCDP)
    if event.rho is not None:
        assert event.rho * UNIT <= cost.units < event.rho * UNIT + 1


def test_adjacency_changes_the_price() -> None:
    one, two = (PrivacyUnit(adjacency).sensitivity(COUNTS) for adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE))
    assert (one.l1, one.l2_squared, two.l1, two.l2_squared) == (1, 1, 2, 2)
