"""A process that releases until the cap is reached; forked from one that has loaded everything, so that a kill at any
moment hits its work."""

from __future__ import annotations

import os
from pathlib import Path

from kagemusha.errors import CapReached
from kagemusha.ledger import SQLiteLedger
from kagemusha.ledger.postgres import PostgresLedger
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import GaussianEvent
from kagemusha.privacy.filter import cost_of


def spend(where: str, out: Path, epsilon: float, sigma: float) -> None:
    """Release until nothing is left; write down each release once its answer is published."""
    ledger = (PostgresLedger if "://" in where else SQLiteLedger)(where, wait_seconds=60)
    step = GaussianEvent(what="counts of age", sigma=sigma, l2_squared=1)
    number = 0
    with out.open("a", buffering=1) as written:
        while True:
            key = f"{os.getpid()}-{number}"
            number += 1
            try:
                record = ledger.open_release(
                    ReleaseRequest("patients", "m", Budget(epsilon, 1e-9), Accounting.ZCDP, key=key)
                )
            except CapReached:
                return
            ledger.charge(record.id, [("k", step, cost_of(step, Accounting.ZCDP))])
            ledger.publish(record.id, {"k": key.encode()})
            written.write(record.id + "\n")
