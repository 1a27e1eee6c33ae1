"""What is in a ledger, for people and machines."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from kagemusha.ledger.book import Book
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.protocol import ReleaseRecord, reserved_spend
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.filter import release_limit
from kagemusha.privacy.spend import Spend


def in_epsilon(release: ReleaseRecord, units: int) -> str:
    """What so many units of a release are worth alone, as people read it."""
    from kagemusha.privacy.budget import Budget

    if not units:
        return "ε = 0"
    budget = Budget(release.epsilon, release.delta, release.unit.relation, release.unit.rows)
    rule = Cap(release.dataset, release.policy, budget).for_release(release.accounting).rule
    worth = (
        math.inf if rule is None else rule.epsilon(reserved_spend(release.accounting, units, release.schedule), budget)
    )
    return f"ε = {worth:.3g}"


def content_of(book: Book) -> dict[str, Any]:
    """Caps and releases."""
    caps = []
    for one in book.caps():
        used = book.used(one)
        caps.append(
            {
                "dataset": one.dataset,
                "policy": one.policy,
                "epsilon": one.budget.epsilon,
                "delta": one.budget.delta,
                "adjacency": str(one.budget.unit),
                "rule": one.rule,
                "unprotected": one.unprotected,
                "looks": one.looks,
                "used": used if math.isfinite(used) else None,
                "epsilon so far": so_far if math.isfinite(so_far := book.used(one, epsilon=True)) else None,
            }
        )
    return {
        "head": book.head.to_json(),
        "caps": caps,
        "releases": [
            {
                "id": r.id,
                "dataset": r.dataset,
                "policy": r.policy,
                "method": r.method,
                "epsilon": r.epsilon,
                "delta": r.delta,
                "adjacency": str(r.unit),
                "accounting": str(r.accounting),
                "held": r.held,
                "charged": r.charged,
                "reserved": r.reserved,
                "state": "closed" if r.closed else "open",
                "opened_at": r.opened_at,
                "certificate": r.certificate,
            }
            for r in book.releases()
        ],
    }


def left_of(book: Book, cap: Cap, accounting: Accounting) -> float:
    """The largest ε of one more release that the cap holds beside all that was paid, to three digits; 0 for none."""
    mine = [r for r in book.releases() if (r.dataset, r.policy) == (cap.dataset, cap.policy)]
    held = [r for r in mine if math.isfinite(r.epsilon)]
    paid = sum((reserved_spend(r.accounting, r.held, r.schedule) for r in held), Spend())
    cap = cap.for_release(accounting)

    def fits(epsilon: float) -> bool:
        units = release_limit(replace(cap.budget, epsilon=epsilon), accounting).units
        return cap.holds(paid + reserved_spend(accounting, units))

    low, high = 0.0, cap.budget.epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return math.floor(low * 1000) / 1000
