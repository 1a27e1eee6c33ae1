"""The tables of a ledger in SQL, how a row becomes a record."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from typing import Any

from kagemusha.errors import CapReached, UsageError
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.protocol import ReleaseRecord, ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.events import event_from_json
from kagemusha.privacy.spend import CapRule

VERSION = 3
"""Kept in the file as its user_version."""

TABLES = """
CREATE TABLE caps (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL,
    unit_rows INTEGER NOT NULL DEFAULT 1, rule TEXT, unprotected INTEGER NOT NULL DEFAULT 0,
    looks INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (dataset, policy)
);
CREATE TABLE cap_changes (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL,
    unit_rows INTEGER NOT NULL DEFAULT 1, rule TEXT, unprotected INTEGER NOT NULL DEFAULT 0,
    looks INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, policy TEXT NOT NULL,
    method TEXT NOT NULL, accounting TEXT NOT NULL, adjacency TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    reserved INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0 CHECK (charged <= reserved),
    closed INTEGER NOT NULL DEFAULT 0, opened_at TEXT NOT NULL, certificate TEXT,
    unit_rows INTEGER NOT NULL DEFAULT 1, schedule TEXT
);
CREATE TABLE steps (
    number INTEGER PRIMARY KEY, release TEXT NOT NULL REFERENCES releases(id), key TEXT NOT NULL,
    event TEXT NOT NULL, units INTEGER NOT NULL, answer BLOB,
    UNIQUE (release, key)
);
CREATE TABLE checkpoints (
    release TEXT NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, state BLOB NOT NULL,
    PRIMARY KEY (release, key), FOREIGN KEY (release, key) REFERENCES steps(release, key)
);
CREATE TABLE fingerprints (release TEXT PRIMARY KEY, fingerprint TEXT NOT NULL);
CREATE TABLE known_by (release TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (release, digest))
"""
"""`fingerprints`: which state of its table a release was made from. `known_by`: all digests of it."""


def layout() -> list[str]:
    """The statements that make the tables."""
    return TABLES.split(";\n")


RELEASE_COLUMNS = (
    "id, dataset, policy, method, accounting, adjacency, epsilon, delta, reserved, charged, closed, opened_at, "
    "certificate, unit_rows, schedule"
)

CAP_COLUMNS = "dataset, policy, epsilon, delta, adjacency, changed_at, unit_rows, rule, unprotected, looks"


REPLACED = "ON CONFLICT (dataset, policy) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in CAP_COLUMNS.split(", ")[2:]
)
"""A cap takes the place of the one before."""


def release_of(row: tuple[Any, ...]) -> ReleaseRecord:
    """The record of one row of `RELEASE_COLUMNS`."""
    (id_, dataset, policy, method, accounting, adjacency, epsilon, delta, *rest) = row
    reserved, charged, closed, at, certificate, rows, schedule = rest
    return ReleaseRecord(
        id=id_,
        dataset=dataset,
        policy=policy,
        method=method,
        accounting=Accounting(accounting),
        unit=PrivacyUnit(Adjacency(adjacency), rows),
        epsilon=float(epsilon),
        delta=float(delta),
        reserved=reserved,
        charged=charged,
        closed=bool(closed),
        opened_at=at,
        certificate=certificate,
        schedule=tuple(event_from_json(event) for event in json.loads(schedule or "[]")),
    )


def require_same_table(db: Any, request: ReleaseRequest) -> None:
    """A retry must find the table as it was: its stored answers are of that one."""
    if request.identity is None:
        return
    state = request.identity.state
    db.execute("INSERT INTO fingerprints VALUES (?, ?) ON CONFLICT DO NOTHING", (request.id, state))
    first = db.execute("SELECT fingerprint FROM fingerprints WHERE release = ?", (request.id,)).fetchone()
    if first[0] != state:
        raise UsageError(
            f"data set {request.dataset!r} has changed since release {request.id} was made of it; give another key "
            "(--key) for a release of the table as it is now, at its own price. Nothing was spent"
        )
    query = (
        "SELECT DISTINCT dataset FROM known_by JOIN releases ON releases.id = known_by.release "
        "WHERE digest = ? AND dataset != ? ORDER BY 1"
    )
    for digest in (state, *request.identity.same):
        db.execute("INSERT INTO known_by VALUES (?, ?) ON CONFLICT DO NOTHING", (request.id, digest))
        for (other,) in db.execute(query, (digest, request.dataset)):
            raise CapReached(
                f"data set {request.dataset!r}: this ledger knows the same table as {other!r}, and one table has one "
                f"budget, in whatever form: give it that name (--dataset {shlex.quote(other)}). Nothing was spent"
            )


def now() -> str:
    """The time as ledgers write it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def cap_of(row: tuple[Any, ...]) -> Cap:
    """The cap of one row of `CAP_COLUMNS`."""
    dataset, policy, epsilon, delta, adjacency, _, rows, rule, unprotected, looks = row
    budget = Budget(float(epsilon), float(delta), Adjacency(adjacency), rows)
    return Cap(dataset, policy, budget, None if rule is None else CapRule(rule), bool(unprotected), bool(looks))


def cap_row(cap: Cap, now: str) -> tuple[Any, ...]:
    """A cap as a row of `CAP_COLUMNS`."""
    budget = cap.budget
    return (
        *(cap.dataset, cap.policy, repr(budget.epsilon), repr(budget.delta), str(budget.adjacency), now),
        *(budget.rows, cap.rule, int(cap.unprotected), int(cap.looks)),
    )
