"""The rules of a ledger: caps, releases and answers, in whatever database keeps them."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from kagemusha.errors import CapReached, LedgerError, UsageError
from kagemusha.ledger import chain
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.database import Database, LedgerDatabase
from kagemusha.ledger.protocol import ReleaseRecord, ReleaseRequest, StepRecord, reserved_spend
from kagemusha.ledger.refusals import looks_forbidden, needs_a_word, no_room_for_thresholds, no_such_policy
from kagemusha.ledger.tables import (
    CAP_COLUMNS,
    RELEASE_COLUMNS,
    REPLACED,
    cap_of,
    cap_row,
    now,
    release_of,
    require_same_table,
)
from kagemusha.privacy.accountants import ACCOUNTANTS
from kagemusha.privacy.events import Event, event_from_json
from kagemusha.privacy.filter import Cost
from kagemusha.privacy.spend import Spend


class Book(LedgerDatabase):
    """A ledger over a database that speaks SQL."""

    # caps

    def set_cap(self, cap: Cap) -> None:
        """Set or change a cap; refuses one below what is already held. Without a rule it keeps the one it has."""
        with self._transaction() as db:
            held = [r for r in self._releases_of(cap.dataset, cap.policy) if math.isfinite(r.epsilon) and r.held]
            for other in {r.unit for r in held} - {cap.budget.unit}:
                raise UsageError(
                    f"cap of {cap.dataset!r}: earlier releases used {other} adjacency; one policy keeps the same one"
                )
            before = self._cap(db, cap.dataset, cap.policy)
            if before is not None:
                cap = replace(cap, unprotected=before.unprotected, looks=before.looks)
                if cap.rule is None and held:
                    cap = replace(cap, rule=before.rule)
            spend = self._spend(held)
            if not cap.holds(spend):
                raise UsageError(
                    f"cap of {cap.dataset!r} (policy {cap.policy!r}) is below what is already spent: "
                    f"{cap.in_words(spend)}"
                )
            self._write_cap(db, cap)
        self._save_head()

    def _write_cap(self, db: Database, cap: Cap) -> None:
        row = cap_row(cap, now())
        for table in ("caps", "cap_changes"):
            instead = REPLACED if table == "caps" else ""
            db.execute(f"INSERT INTO {table} ({CAP_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {instead}", row)
        chain.append(db, "cap", cap=list(row))

    def allow_unprotected(self, dataset: str, policy: str, *, allowed: bool = True) -> None:
        """The owner's word on reads without protection under a cap: baselines, simulations, unconfirmed schemas."""
        with self._transaction() as db:
            self._write_cap(db, replace(self._require_cap(db, dataset, policy), unprotected=allowed))
        self._save_head()

    def allow_looks(self, dataset: str, policy: str, *, allowed: bool = True) -> None:
        """The owner's word on looks at the table whose results stay inside: `evaluate`, `compare`, `attack`."""
        with self._transaction() as db:
            self._write_cap(db, replace(self._require_cap(db, dataset, policy), looks=allowed))
        self._save_head()

    def _require_cap(self, db: Database, dataset: str, policy: str) -> Cap:
        cap = self._cap(db, dataset, policy)
        if cap is None:
            raise UsageError(f"data set {dataset!r} (policy {policy!r}) has no cap, so nothing forbids such reads")
        return cap

    def caps(self) -> list[Cap]:
        """All caps."""
        return [cap_of(row) for row in self.rows(f"SELECT {CAP_COLUMNS} FROM caps ORDER BY 1, 2")]

    # releases

    def open_release(self, request: ReleaseRequest) -> ReleaseRecord:
        """Reserve the request's budget under the cap, or return the release as it already stands.

        A data set without a cap gets the first release's budget as its cap: a second release then needs a
        deliberate decision to raise it.
        """
        with self._transaction() as db:
            require_same_table(db, request)
            known = self._find(db, request.id)
            if known is not None:
                return known
            self._admit(db, request)
            budget = request.budget
            row = (
                *(request.id, request.dataset, request.policy, request.method, str(request.accounting)),
                *(str(budget.adjacency), repr(budget.epsilon), repr(budget.delta), request.reservation, now()),
                *(budget.rows, json.dumps([event.to_json() for event in request.schedule])),
            )
            db.execute(
                f"INSERT INTO releases ({RELEASE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, NULL, ?, ?)", row
            )
            chain.append(db, "release", release=list(row))
            record = self._find(db, request.id)
            assert record is not None
        self._save_head()
        return record

    def _admit(self, db: Database, request: ReleaseRequest) -> None:
        """Whether the cap holds this release beside all others; the first one fixes how they add up."""
        cap = self._cap(db, request.dataset, request.policy)
        if not request.budget.is_finite:
            self._require_allowed(db, request, cap)
            return  # no number could account for it; the certificate says ε = ∞
        spend = request.spend
        if cap is None:
            self._require_no_other_policy(db, request)
            made = (request.dataset, request.policy, request.budget, request.accounting, spend)
            self._write_cap(db, Cap.made_of(*made))
            return
        self._require_unit(request, cap)
        if cap.rule is None:
            cap = cap.for_release(request.accounting)
            self._write_cap(db, cap)
        after = self._spend(self._releases_of(request.dataset, request.policy)) + spend
        if not cap.holds(after):
            raise CapReached(cap.refusal(after, self._here))

    def _require_allowed(self, db: Database, request: ReleaseRequest, cap: Cap | None) -> None:
        """Under a cap, a read without protection needs the owner's word: it would go round the cap."""
        if request.inside:
            self._require_looks_allowed(request)
        elif cap is None:
            self._require_no_other_policy(db, request)
        elif not cap.unprotected:
            raise needs_a_word(request, self._here)

    def _require_looks_allowed(self, request: ReleaseRequest) -> None:
        """A look draws from no cap, so the word of any policy's owner counts."""
        forbidden = [cap for cap in self.caps() if cap.dataset == request.dataset and not cap.looks]
        for cap in forbidden:
            raise looks_forbidden(request, cap, self._here)

    def _require_unit(self, request: ReleaseRequest, cap: Cap) -> None:
        if request.budget.unit != cap.budget.unit:
            raise CapReached(
                f"data set {request.dataset!r} is capped under {cap.budget.unit} adjacency; a release under "
                f"{request.budget.unit} cannot be added to it (policy {request.policy!r})"
            )

    def _require_no_other_policy(self, db: Database, request: ReleaseRequest) -> None:
        """Only a data set without any cap gets one by itself: a policy of another name would pass the cap it has."""
        query = "SELECT policy FROM caps WHERE dataset = ? ORDER BY 1"
        known = [policy for (policy,) in db.execute(query, (request.dataset,))]
        if known:
            raise no_such_policy(request, known, self._here)

    @property
    def _here(self) -> str:
        """How a command names this ledger."""
        return "" if self.in_memory else f" --ledger {shlex.quote(self.path)}"

    def _releases_of(self, dataset: str, policy: str) -> list[ReleaseRecord]:
        query = f"SELECT {RELEASE_COLUMNS} FROM releases WHERE dataset = ? AND policy = ?"
        return [release_of(row) for row in self.rows(query, (dataset, policy))]

    def _spend(self, records: Iterable[ReleaseRecord]) -> Spend:
        """What these releases take together, without those of ε = ∞, for which no number would do."""
        finite = [record for record in records if math.isfinite(record.epsilon) and record.held]
        return sum((self._spend_of(record) for record in finite), Spend())

    def _spend_of(self, record: ReleaseRecord) -> Spend:
        accountant = ACCOUNTANTS[record.accounting]
        if record.closed and (accountant.pure or accountant.declared):
            return Spend.of(step.event for step in self.steps(record.id))
        thresholds = self.rows(
            "SELECT event FROM steps WHERE release = ? AND event LIKE '%\"threshold\"%'", (record.id,)
        )
        aside = sum((event_from_json(json.loads(text)).delta for (text,) in thresholds), Fraction(0))
        return reserved_spend(record.accounting, record.held, record.schedule) + Spend(aside=aside)

    def used(self, cap: Cap, *, epsilon: bool = False) -> float:
        """How much of a cap is taken, see `Cap.used`; or what ε that is, at the cap's δ."""
        return (cap.epsilon if epsilon else cap.used)(self._spend(self._releases_of(cap.dataset, cap.policy)))

    def charge(self, release: str, steps: Sequence[tuple[str, Event, Cost]]) -> None:
        """Charge steps to a release's reservation, all or none; a step already charged costs nothing again."""
        with self._transaction() as db:
            record = self._find(db, release)
            if record is None:
                raise LedgerError(f"ledger {self.path}: no release {release}; nothing can be charged to it")
            known = {key for (key,) in db.execute("SELECT key FROM steps WHERE release = ?", (release,))}
            new = [(key, event, cost) for key, event, cost in steps if key not in known]
            if not new:
                return
            if record.closed:
                raise LedgerError(f"ledger {self.path}: release {release} is closed; a new step needs a new key")
            total = record.charged + sum(cost.units for _, _, cost in new)
            if total > record.reserved:
                raise CapReached(f"release {release}: its steps would pass what it reserved; nothing was read")
            self._check_aside(db, record, sum((event.delta for _, event, _ in new), Fraction(0)))
            db.execute("UPDATE releases SET charged = ? WHERE id = ?", (total, release))
            written = [(key, event.to_json(), cost.units) for key, event, cost in new]
            rows = [(release, key, json.dumps(event), units) for key, event, units in written]
            db.executemany("INSERT INTO steps (release, key, event, units) VALUES (?, ?, ?, ?)", rows)
            chain.append(db, "charge", release=release, steps=written)

    def _check_aside(self, db: Database, record: ReleaseRecord, delta: Fraction) -> None:
        cap = self._cap(db, record.dataset, record.policy)
        if not delta or cap is None or not math.isfinite(record.epsilon):
            return
        spend = self._spend(self._releases_of(record.dataset, record.policy))
        if not cap.holds(spend + Spend(aside=delta)):
            raise no_room_for_thresholds(record.id, float(delta), cap)

    def answer(self, release: str, key: str) -> bytes | None:
        """The stored answer of a step, if it was published."""
        rows = self.rows("SELECT answer FROM steps WHERE release = ? AND key = ?", (release, key))
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def publish(self, release: str, answers: Mapping[str, bytes]) -> dict[str, bytes]:
        """Store answers of charged steps and return what is stored: the first answer ever given to each."""
        with self._transaction() as db:
            stored: dict[str, bytes] = {}
            for key, answer in answers.items():
                db.execute(
                    "UPDATE steps SET answer = ? WHERE release = ? AND key = ? AND answer IS NULL",
                    (answer, release, key),
                )
                row = db.execute("SELECT answer FROM steps WHERE release = ? AND key = ?", (release, key)).fetchone()
                if row is None:
                    raise LedgerError(f"ledger {self.path}: an answer without a charge was refused")
                db.execute("DELETE FROM checkpoints WHERE release = ? AND key = ?", (release, key))
                stored[key] = bytes(row[0])
            digests = {key: hashlib.sha256(answer).hexdigest() for key, answer in stored.items()}
            chain.append(db, "answers", release=release, answers=digests)
            return stored

    def save_checkpoint(self, release: str, key: str, number: int, state: bytes) -> None:
        """Keep how far a charged step has come, in place of an earlier checkpoint."""
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM steps WHERE release = ? AND key = ?", (release, key)).fetchone() is None:
                raise LedgerError(f"ledger {self.path}: a checkpoint without a charge was refused")
            db.execute(
                "INSERT INTO checkpoints (release, key, number, state) VALUES (?, ?, ?, ?) ON CONFLICT (release, key) "
                "DO UPDATE SET number = excluded.number, state = excluded.state",
                (release, key, number, state),
            )

    def checkpoint(self, release: str, key: str) -> tuple[int, bytes] | None:
        """The last checkpoint of a step."""
        rows = self.rows("SELECT number, state FROM checkpoints WHERE release = ? AND key = ?", (release, key))
        return (int(rows[0][0]), bytes(rows[0][1])) if rows else None

    def close_release(self, release: str, certificate: str | None = None) -> None:
        """Give back what was never charged; a release may go out under several certificates, all are remembered."""
        with self._transaction() as db:
            db.execute("UPDATE releases SET closed = 1 WHERE id = ?", (release,))
            chain.append(db, "close", release=release, certificate=certificate)
            if certificate is not None:
                db.execute(
                    "UPDATE releases SET certificate = trim(coalesce(certificate, '') || ' ' || ?) WHERE id = ?",
                    (certificate, release),
                )
        self._save_head()

    def releases(self) -> list[ReleaseRecord]:
        """All releases, oldest first."""
        return [release_of(row) for row in self.rows(f"SELECT {RELEASE_COLUMNS} FROM releases ORDER BY number")]

    def steps(self, release: str) -> list[StepRecord]:
        """All charged steps of a release, in order."""
        asked = "SELECT release, key, event, units, answer IS NOT NULL FROM steps WHERE release = ? ORDER BY number"
        rows = self.rows(asked, (release,))
        return [StepRecord(r, k, event_from_json(json.loads(e)), u, bool(a)) for r, k, e, u, a in rows]

    def _find(self, db: Database, release: str) -> ReleaseRecord | None:
        row = db.execute(f"SELECT {RELEASE_COLUMNS} FROM releases WHERE id = ?", (release,)).fetchone()
        return None if row is None else release_of(row)

    def _cap(self, db: Database, dataset: str, policy: str) -> Cap | None:
        query = f"SELECT {CAP_COLUMNS} FROM caps WHERE dataset = ? AND policy = ?"
        row = db.execute(query, (dataset, policy)).fetchone()
        return None if row is None else cap_of(row)
