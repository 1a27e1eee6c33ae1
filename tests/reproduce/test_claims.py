"""One rule for every claim: it holds, it does not, or the runs cannot tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kagemusha.attacks.intervals import Estimate
from kagemusha.reproduce.claims import (
    FAILS,
    HOLDS,
    OPEN,
    Interval,
    alike,
    apart,
    claim_table,
    every,
    exact,
    from_json,
    interval,
    larger,
    level_of_each,
    paired,
    smaller,
    to_json,
    unpaired,
    untried,
)


def verdict(low: float, high: float, margin: float = 0.0) -> tuple[str, str, str]:
    found = Interval((low + high) / 2, low, high, 9)
    three = (larger("", "", "", found, margin=margin), smaller("", "", "", found, margin=margin))
    return three[0].verdict, three[1].verdict, alike("", "", "", found, margin=0.1).verdict


def test_the_interval_decides() -> None:
    assert verdict(0.01, 0.05) == (HOLDS, FAILS, HOLDS)
    assert verdict(-0.05, -0.01) == (FAILS, HOLDS, HOLDS)
    assert verdict(-0.05, 0.05) == (OPEN, OPEN, HOLDS)
    assert verdict(0.05, 0.15, margin=0.1) == (OPEN, OPEN, OPEN)
    assert verdict(0.2, 0.3, margin=0.1) == (HOLDS, FAILS, FAILS)


def test_one_training_never_tells() -> None:
    for found in (interval([5.0]), paired([5.0], [1.0]), unpaired([5.0], [1.0])):
        assert found.low == -math.inf
        assert larger("", "", "", found).verdict == OPEN
        assert alike("", "", "", found, margin=100).verdict == OPEN
    assert apart(Estimate(0.9, 0.89, 0.91), Estimate(0.5, 0.49, 0.51), 1).high == math.inf


def test_intervals_have_their_level() -> None:
    """Of 2,000 samples of five about 95 % hold the truth, paired or not."""
    rng = np.random.default_rng(0)
    held = [0, 0]
    for _ in range(2000):
        base = rng.normal(0, 5, 5)
        first, second = base + rng.normal(1, 1, 5), base + rng.normal(0, 1, 5)
        found = paired(first, second)
        held[0] += found.low <= 1 <= found.high
        other = unpaired(rng.normal(1, 1, 5), rng.normal(0, 2, 9))
        held[1] += other.low <= 1 <= other.high
    assert all(0.935 <= n / 2000 <= 0.965 for n in held)


def test_differences_of_shares_are_newcombes() -> None:
    """His example: 56/70 less 48/80 is .2000 with the interval .0524 to .3339 (method 10)."""
    found = apart(Estimate(56 / 70, 0.6918, 0.8769), Estimate(48 / 80, 0.4904, 0.7003), 70)
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=2e-3)


def test_a_claim_of_parts_fails_with_one_and_holds_with_all() -> None:
    good, bad, unclear = exact("", "", "", True), exact("", "", "", False), untried("", "", "")
    assert every("", "", [good, good]).verdict == HOLDS
    assert every("", "", [good, unclear, bad]).verdict == FAILS
    assert every("", "", [good, unclear]).verdict == every("", "", []).verdict == OPEN
    assert level_of_each(5) == pytest.approx(0.99)


def test_claims_come_back_from_their_file() -> None:
    claims = [
        larger("Table 1", "a | b", "0.1", interval([0.1, 0.2, 0.3])),
        larger("Table 1", "c", "0.1", interval([0.1])),
        exact("§2", "d", "", True, ours=True),
        every("§3", "e", [exact("", "", "", False)]),
    ]
    assert from_json(to_json(claims)) == claims
    page = claim_table(claims)
    assert page.count("\n") == 5
    assert "a \\| b" in page
    assert "| exact | holds |" in page
    assert "| 1 parts | **does not hold** |" in page
