"""What is in a ledger, for people and machines."""

from __future__ import annotations

import math
from typing import Any

from kagemusha.ledger import Book
from kagemusha.ledger.protocol import ReleaseRecord, reserved_spend


def in_epsilon(release: ReleaseRecord, units: int) -> str:
    """What so many units of a release are worth alone, as people read it."""
    from kagemusha.ledger.cap import Cap
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
                "epsilon so far": so_far if math.isfinite(so_far := book.epsilon_so_far(one)) else None,
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
