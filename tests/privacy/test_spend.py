"""Costs of every kind under one cap."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from kagemusha.errors import CapReached
from kagemusha.ledger import Cap, ReleaseRequest, open_ledger
from kagemusha.privacy.accountants import PLD, RDP, Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    UnprotectedEvent,
)
from kagemusha.privacy.filter import cost_of
from kagemusha.privacy.spend import CapRule, Spend, orders_of, price_of_order, pure_as_gaussian

SAMPLED = SampledGaussianEvent(what="training", steps=1000, rate=0.01, noise=1.1)
MIXED: list[Event] = [
    *[GaussianEvent(what="kage", sigma=12.0, l2_squared=1, noise="rounded")] * 30,
    *[ExponentialEvent(what="privbayes", epsilon=0.02, candidates=9)] * 8,
    *[LaplaceEvent(what="privbayes", scale=20.0, l1=1)] * 9,
    SAMPLED,
]


def test_adding_is_the_same_as_spending_at_once() -> None:
    one, two = Spend.of(MIXED[:20]), Spend.of(MIXED[20:])
    assert one + two == Spend.of(MIXED)
    assert (one + two).renyi(5.0) == pytest.approx(sum(event.renyi(5.0) for event in MIXED))


def test_reads_without_protection_have_no_cost_that_a_number_could_hold() -> None:
    assert not Spend.of([UnprotectedEvent(what="all", reason="a baseline")])


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 20.0, 200.0])
def test_the_gaussian_that_dominates_pure_dp_does(epsilon: float) -> None:
    """Its trade-off curve lies below that of randomised response, which no ε-DP mechanism goes below."""
    mu = math.sqrt(2 * pure_as_gaussian(epsilon))
    alphas = np.concatenate([np.linspace(0, 1, 2001), np.logspace(-12, -1, 500), [1 / (1 + math.exp(epsilon))]])
    gaussian = norm.cdf(norm.isf(alphas) - mu)
    pure = np.maximum(0, np.maximum(1 - math.exp(min(epsilon, 700)) * alphas, math.exp(-epsilon) * (1 - alphas)))
    assert (gaussian <= pure + 1e-12).all()
    smaller = norm.cdf(norm.isf(alphas) - 0.98 * mu)
    assert (smaller > pure).any(), "not larger than it must be"


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-9), (10.0, 1e-5), (300.0, 1e-6)])
def test_the_orders_of_a_cap_share_out_its_delta(epsilon: float, delta: float) -> None:
    orders = orders_of(Budget(epsilon, delta))
    assert sum(weight for _, weight in orders) == pytest.approx(1)
    assert len({alpha for alpha, _ in orders}) == len(orders)
    assert all(alpha > 1 for alpha, _ in orders)
    assert any(epsilon > price_of_order(alpha, delta * weight) for alpha, weight in orders)


@pytest.mark.parametrize("rule", [CapRule.ZCDP, CapRule.GDP, CapRule.RENYI])
def test_no_rule_adds_up_to_less_than_the_truth(rule: CapRule) -> None:
    """Gaussian steps compose exactly, so Gaussian DP is the truth for them."""
    events = [GaussianEvent(what="g", sigma=9.0, l2_squared=1, noise="rounded")] * 20
    truth = CapRule.GDP.epsilon(Spend.of(events), Budget(5.0, 1e-6))
    found = rule.epsilon(Spend.of(events), Budget(5.0, 1e-6))
    assert truth <= found <= 1.25 * truth


@pytest.mark.parametrize("rule", list(CapRule))
def test_what_a_rule_cannot_hold_takes_more_than_any_cap(rule: CapRule) -> None:
    budget = Budget(50.0, 0.0 if rule is CapRule.PURE else 1e-6)
    holds = {
        CapRule.ZCDP: MIXED[:47],
        CapRule.GDP: MIXED[:47],
        CapRule.RENYI: MIXED,
        CapRule.PURE: MIXED[30:47],
    }
    assert rule.used(Spend.of(holds[rule]), budget) < 1
    if rule is not CapRule.RENYI:
        assert rule.used(Spend.of(MIXED), budget) == math.inf
        assert rule.epsilon(Spend.of(MIXED), budget) == math.inf


def test_one_cap_over_every_kind_of_release_is_near_numerical_composition() -> None:
    """The total is never below the truth and at most 1.12 times what numerical composition bounds it by."""
    upper = PLD().epsilon(MIXED, 1e-6)
    budget = Budget(round(1.15 * upper, 2), 1e-6)
    ours = CapRule.RENYI.epsilon(Spend.of(MIXED), budget)
    assert upper * 0.999 <= ours <= 1.12 * upper
    assert CapRule.RENYI.used(Spend.of(MIXED), budget) < 1


def test_one_ledger_one_cap_three_kinds_of_release() -> None:
    ledger = open_ledger()
    upper = PLD().epsilon(MIXED, 1e-6)
    cap = Cap("patients", "default", Budget(round(1.15 * upper, 2), 1e-6), CapRule.RENYI)
    ledger.set_cap(cap)
    parts = [
        (Accounting.GDP, MIXED[:30], 1e-6, ()),
        (Accounting.PURE, MIXED[30:47], 0.0, ()),
        (Accounting.SCHEDULE, [SAMPLED], 1e-6, (SAMPLED,)),
    ]
    for accounting, events, delta, schedule in parts:
        epsilon = float(sum(e.pure_epsilon or 0 for e in events)) if delta == 0 else PLD().epsilon(events, delta) * 1.01
        request = ReleaseRequest("patients", "m", Budget(epsilon * (1 + 1e-9), delta), accounting, schedule=schedule)
        record = ledger.open_release(request)
        ledger.charge(record.id, [(str(i), e, cost_of(e, accounting)) for i, e in enumerate(events)])
        ledger.close_release(record.id)
    assert 0.999 * upper / cap.budget.epsilon <= ledger.used(ledger.caps()[0]) <= 1
    with pytest.raises(CapReached):
        ledger.open_release(ReleaseRequest("patients", "m", Budget(upper, 1e-6), Accounting.GDP, key="more"))


def test_sampled_steps_cost_what_outside_accountants_say() -> None:
    """Between numerical composition from below and the Rényi accountant of dp-accounting from above."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.rdp import RdpAccountant

    theirs = RdpAccountant(range(2, 257))
    theirs.compose(SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1)), 1000))
    assert RDP().epsilon([SAMPLED], 1e-5) == pytest.approx(theirs.get_epsilon(1e-5), rel=1e-6)
    assert PLD().epsilon([SAMPLED], 1e-5) < RDP().epsilon([SAMPLED], 1e-5)


def test_everybody_in_every_sample_is_a_gaussian_mechanism() -> None:
    whole = SampledGaussianEvent(what="", steps=4, rate=1.0, noise=2.0)
    assert whole.rho == Fraction(1, 2)
    assert whole.renyi(3.0) == pytest.approx(1.5)
