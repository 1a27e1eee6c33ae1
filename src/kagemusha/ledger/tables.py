"""The tables of a ledger in SQL, and how a row becomes a record."""

from __future__ import annotations

import sqlite3
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.ledger.protocol import ReleaseRecord, ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.adjacency import Adjacency

TABLES = """
CREATE TABLE IF NOT EXISTS caps (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL,
    PRIMARY KEY (dataset, policy)
);
CREATE TABLE IF NOT EXISTS cap_changes (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS releases (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, policy TEXT NOT NULL,
    method TEXT NOT NULL, accounting TEXT NOT NULL, adjacency TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    reserved INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0 CHECK (charged <= reserved),
    closed INTEGER NOT NULL DEFAULT 0, opened_at TEXT NOT NULL, certificate TEXT
);
CREATE TABLE IF NOT EXISTS steps (
    number INTEGER PRIMARY KEY, release TEXT NOT NULL REFERENCES releases(id), key TEXT NOT NULL,
    event TEXT NOT NULL, units INTEGER NOT NULL, answer BLOB,
    UNIQUE (release, key)
);
"""
FINGERPRINTS = "CREATE TABLE IF NOT EXISTS fingerprints (release TEXT PRIMARY KEY, fingerprint TEXT NOT NULL)"
"""Which state of its table a release was made from. Made on first use, so that older ledgers go on."""

RELEASE_COLUMNS = (
    "id, dataset, policy, method, accounting, adjacency, epsilon, delta, reserved, charged, closed, opened_at, "
    "certificate"
)


def release_of(row: tuple[Any, ...]) -> ReleaseRecord:
    """The record of one row of `RELEASE_COLUMNS`."""
    (id_, dataset, policy, method, accounting, adjacency, epsilon, delta, reserved, charged, closed, at, cert) = row
    return ReleaseRecord(
        id=id_,
        dataset=dataset,
        policy=policy,
        method=method,
        accounting=Accounting(accounting),
        adjacency=Adjacency(adjacency),
        epsilon=float(epsilon),
        delta=float(delta),
        reserved=reserved,
        charged=charged,
        closed=bool(closed),
        opened_at=at,
        certificate=cert,
    )


def require_same_table(db: sqlite3.Connection, request: ReleaseRequest) -> None:
    """A retry must find the table as it was: its stored answers are of that one."""
    if request.fingerprint is None:
        return
    db.execute(FINGERPRINTS)
    db.execute("INSERT OR IGNORE INTO fingerprints VALUES (?, ?)", (request.id, request.fingerprint))
    first = db.execute("SELECT fingerprint FROM fingerprints WHERE release = ?", (request.id,)).fetchone()
    if first != (request.fingerprint,):
        raise UsageError(
            f"data set {request.dataset!r} has changed since release {request.id} was made of it; give another key "
            "(--key) for a release of the table as it is now, at its own price. Nothing was spent"
        )
