"""The ledger: no overspending by many processes, nothing forgotten after kill -9, stored answers on retry."""

from __future__ import annotations

import multiprocessing
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spender import spend

from kagemusha.errors import CapReached, LedgerError, UsageError
from kagemusha.ledger import Book, Identity, SQLiteLedger, chain, open_ledger
from kagemusha.ledger.audit import tampered_part
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import GaussianEvent, LaplaceEvent
from kagemusha.privacy.filter import UNIT, Cost, cost_of, limit_of
from kagemusha.privacy.spend import CapRule


def request(
    key: str = "", epsilon: float = 1.0, accounting: Accounting = Accounting.ZCDP, **more: object
) -> ReleaseRequest:
    delta = 0.0 if accounting is Accounting.PURE else 1e-9
    return ReleaseRequest(
        dataset="patients",
        method="independent",
        budget=Budget(epsilon, delta),
        accounting=accounting,
        key=key,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The place of an empty ledger, in each kind of database."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    import psycopg

    url = request.getfixturevalue("postgres").url
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("DROP SCHEMA IF EXISTS kagemusha CASCADE")
    yield url


def event(sigma: float = 10.0) -> GaussianEvent:
    return GaussianEvent(what="counts of age", sigma=sigma, l2_squared=1)


def test_without_a_cap_the_first_release_sets_it(where: str) -> None:
    ledger = open_ledger(where)
    ledger.open_release(request("first"))
    with pytest.raises(CapReached, match="ledger cap"):
        ledger.open_release(request("second", epsilon=0.1))
    assert [cap.budget.epsilon for cap in ledger.caps()] == [1.0]


def test_the_same_request_is_the_same_release(where: str) -> None:
    ledger = open_ledger(where)
    assert ledger.open_release(request("a")).id == ledger.open_release(request("a")).id
    assert len(ledger.releases()) == 1


def test_closing_gives_back_what_was_never_charged(where: str) -> None:
    ledger = open_ledger(where)
    ledger.set_cap(Cap("patients", "default", Budget(1.0, 1e-9)))
    first = ledger.open_release(request("a"))
    ledger.charge(first.id, [("k", event(1000.0), Cost(500))])
    with pytest.raises(CapReached):
        ledger.open_release(request("b", epsilon=0.9))
    ledger.close_release(first.id)
    ledger.open_release(request("b", epsilon=0.9))


def test_the_first_release_fixes_how_all_add_up(where: str) -> None:
    ledger = open_ledger(where)
    ledger.set_cap(Cap("patients", "default", Budget(2.0, 1e-9)))
    assert ledger.caps()[0].rule is None
    ledger.open_release(request("a", accounting=Accounting.GDP))
    assert ledger.caps()[0].rule is CapRule.GDP
    with pytest.raises(CapReached, match="--rule renyi"):
        ledger.open_release(request("b", epsilon=0.01))  # discrete noise has no Gaussian-DP guarantee
    ledger.open_release(request("c", epsilon=0.1, accounting=Accounting.PURE))  # a pure one is dominated by one
    ledger.set_cap(Cap("patients", "default", Budget(2.0, 1e-9), CapRule.RENYI))
    ledger.open_release(request("b", epsilon=0.01))
    assert ledger.caps()[0].rule is CapRule.RENYI


def test_a_cap_holds_a_first_release_of_its_own_size_in_every_accounting() -> None:
    for accounting in (Accounting.ZCDP, Accounting.GDP):
        ledger = open_ledger()
        ledger.set_cap(Cap("patients", "default", Budget(1.0, 1e-9)))
        ledger.open_release(request("a", accounting=accounting))
        assert ledger.used(ledger.caps()[0]) == pytest.approx(1)
        with pytest.raises(CapReached):
            ledger.open_release(request("b", epsilon=0.01, accounting=accounting))


def test_pure_caps_add_up_epsilons(where: str) -> None:
    ledger = open_ledger(where)
    ledger.set_cap(Cap("patients", "default", Budget(1.0, 0.0)))
    ledger.open_release(request("a", epsilon=0.75, accounting=Accounting.PURE))
    ledger.open_release(request("b", epsilon=0.25, accounting=Accounting.PURE))
    with pytest.raises(CapReached):
        ledger.open_release(request("c", epsilon=0.01, accounting=Accounting.PURE))


def test_a_cap_without_delta_holds_nothing_but_pure_releases() -> None:
    ledger = open_ledger()
    ledger.open_release(request("a", accounting=Accounting.ZCDP))
    for epsilon in (0.01, 5.0):
        with pytest.raises(UsageError, match="pure"):
            ledger.set_cap(Cap("patients", "default", Budget(epsilon, 0.0)))
    ledger = open_ledger()
    pure = Cap("patients", "default", Budget(5.0, 0.0))
    ledger.set_cap(pure)
    with pytest.raises(CapReached, match="pure"):
        ledger.open_release(request("a", accounting=Accounting.ZCDP))
    ledger.open_release(request("b", epsilon=4.0, accounting=Accounting.PURE))
    assert ledger.used(pure) == pytest.approx(0.8)
    with pytest.raises(UsageError, match="already spent"):
        ledger.set_cap(Cap("patients", "default", Budget(3.9, 0.0)))
    ledger.set_cap(Cap("patients", "default", Budget(4.0, 0.0)))


def test_a_pure_cap_over_an_older_history_that_is_not_pure_admits_nothing(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    ledger.open_release(request("a"))
    with sqlite3.connect(tmp_path / "ledger.db") as db:  # what earlier versions let through
        db.execute("UPDATE caps SET epsilon = '5.0', delta = '0.0', rule = 'pure'")
    with pytest.raises(CapReached, match="pure"):
        ledger.open_release(request("b", epsilon=4.0, accounting=Accounting.PURE))
    assert ledger.used(ledger.caps()[0]) == float("inf")


def test_a_release_without_a_limit_takes_nothing_from_a_cap(where: str) -> None:
    ledger = open_ledger(where)
    cap = Cap("patients", "default", Budget(1.0, 1e-9))
    ledger.set_cap(cap)
    with pytest.raises(CapReached, match="allow-unprotected"):
        ledger.open_release(request("a", epsilon=float("inf")))
    ledger.allow_unprotected("patients", "default")
    ledger.open_release(request("a", epsilon=float("inf")))
    assert ledger.used(ledger.caps()[0]) == 0
    ledger.open_release(request("b"))
    assert ledger.used(ledger.caps()[0]) == pytest.approx(1)


@pytest.mark.parametrize("accounting", [Accounting.ZCDP, Accounting.GDP, Accounting.PURE])
def test_the_largest_release_fits_and_a_larger_one_is_refused_by_name(accounting: Accounting) -> None:
    ledger = open_ledger()
    record = ledger.open_release(request("a", epsilon=4600.0, accounting=accounting))
    assert record.reserved > 4000 * UNIT
    with pytest.raises(UsageError, match="epsilon must be"):
        ledger.open_release(request("b", epsilon=1e4, accounting=accounting))


def test_large_pure_steps_stay_within_what_was_reserved(where: str) -> None:
    ledger = open_ledger(where)
    record = ledger.open_release(request("a", epsilon=1000.0, accounting=Accounting.PURE))
    steps = [LaplaceEvent(what="counts", scale=1 / share, l1=1) for share in (600.0, 399.0, 0.5, 0.5)]
    for i, step in enumerate(steps):
        ledger.charge(record.id, [(str(i), step, cost_of(step, Accounting.PURE))])
    assert [s.units / UNIT for s in ledger.steps(record.id)] == pytest.approx([600, 399, 0.5, 0.5])


def test_a_cap_that_is_reached_names_the_ledger(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    ledger.open_release(request("a"))
    with pytest.raises(CapReached, match=str(tmp_path / "ledger.db")):
        ledger.open_release(request("b"))


def test_reading_changes_nothing_and_knows_what_is_no_ledger(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    before = foreign.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger"):
        SQLiteLedger(foreign, read_only=True)
    assert foreign.read_bytes() == before
    with pytest.raises(LedgerError, match="cannot be used"):
        SQLiteLedger(tmp_path / "missing.db", read_only=True)
    path = tmp_path / "a ledger?#%.db"
    writer = SQLiteLedger(path)
    writer.open_release(request("a"))
    reader = SQLiteLedger(path, read_only=True)
    assert len(reader.releases()) == 1
    with pytest.raises(LedgerError, match="readonly"):
        reader.set_cap(Cap("patients", "default", Budget(2.0, 1e-9)))
    reader.close()
    writer.close()
    before = path.read_bytes()
    assert len(SQLiteLedger(path, read_only=True).releases()) == 1
    assert {f: f.read_bytes() for f in tmp_path.glob("a*db")} == {path: before}


def test_adjacencies_do_not_mix(where: str) -> None:
    ledger = open_ledger(where)
    ledger.set_cap(Cap("patients", "default", Budget(1.0, 1e-9, Adjacency.REPLACE)))
    with pytest.raises(CapReached, match="replace"):
        ledger.open_release(request("a"))


def test_a_cap_cannot_go_below_what_is_spent(where: str) -> None:
    ledger = open_ledger(where)
    ledger.open_release(request("a"))
    with pytest.raises(UsageError, match="already spent"):
        ledger.set_cap(Cap("patients", "default", Budget(0.5, 1e-9)))
    ledger.set_cap(Cap("patients", "default", Budget(2.0, 1e-9)))


def test_steps_cannot_pass_the_reservation(where: str) -> None:
    ledger = open_ledger(where)
    record = ledger.open_release(request("a"))
    with pytest.raises(CapReached, match="nothing was read"):
        ledger.charge(record.id, [("k", event(), Cost(record.reserved + 1))])
    assert ledger.steps(record.id) == []


def test_the_first_answer_is_the_only_answer(where: str) -> None:
    ledger = open_ledger(where)
    record = ledger.open_release(request("a"))
    with pytest.raises(LedgerError, match="without a charge"):
        ledger.publish(record.id, {"k": b"early"})
    ledger.charge(record.id, [("k", event(), Cost(10))])
    assert ledger.answer(record.id, "k") is None
    assert ledger.publish(record.id, {"k": b"first"}) == {"k": b"first"}
    assert ledger.publish(record.id, {"k": b"second"}) == {"k": b"first"}
    ledger.charge(record.id, [("k", event(), Cost(10))])
    assert ledger.releases()[0].charged == 10


def test_a_closed_release_takes_no_new_steps(where: str) -> None:
    ledger = open_ledger(where)
    record = ledger.open_release(request("a"))
    ledger.charge(record.id, [("k", event(), Cost(10))])
    ledger.close_release(record.id)
    ledger.charge(record.id, [("k", event(), Cost(10))])
    with pytest.raises(LedgerError, match="closed"):
        ledger.charge(record.id, [("new", event(), Cost(1))])


def test_a_locked_ledger_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    SQLiteLedger(path).close()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerError, match="another process"):
        SQLiteLedger(path, wait_seconds=0.1).open_release(request())
    blocker.close()


def test_a_damaged_ledger_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"this is not a database at all, " * 100)
    with pytest.raises(LedgerError, match="damaged"):
        SQLiteLedger(path)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.sampled_from(list(Accounting)[:2]), st.booleans()), max_size=12))
def test_no_sequence_of_releases_passes_the_cap(asked: list[tuple[float, Accounting, bool]]) -> None:
    ledger = open_ledger()
    cap = Cap("patients", "default", Budget(2.0, 1e-9))
    ledger.set_cap(cap)
    for i, (epsilon, accounting, close) in enumerate(asked):
        try:
            record = ledger.open_release(request(str(i), epsilon=epsilon, accounting=accounting))
        except CapReached:
            continue
        ledger.charge(record.id, [("k", event(), Cost(record.reserved // 2))])
        if close:
            ledger.close_release(record.id)
    assert ledger.used(ledger.caps()[0]) <= 1


def test_eight_processes_and_forty_kills_never_pass_the_cap(where: str, tmp_path: Path) -> None:
    """Workers are killed at random moments and replaced; every line written out must have a reservation behind it."""
    epsilon, share = 0.05, 120
    out = tmp_path / "released.txt"
    one = request(epsilon=epsilon).reservation
    cap_epsilon = 0.05
    ledger = open_ledger(where)
    while (limit := limit_of(Budget(cap_epsilon, 1e-9), Accounting.ZCDP).units) < share * one:
        cap_epsilon *= 1.02
    ledger.set_cap(Cap("patients", "default", Budget(cap_epsilon, 1e-9)))
    admitted = limit // one
    sigma = (1e15 / (2 * one)) ** 0.5 * 1.001
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["spender"])

    def start() -> Any:
        worker = forks.Process(target=spend, args=(where, out, epsilon, sigma))
        worker.start()
        return worker

    workers = [start() for _ in range(8)]
    kills = at_work = 0
    chance = random.Random(1)
    deadline = time.time() + 120
    while time.time() < deadline and (kills < 40 or any(w.is_alive() for w in workers)):
        time.sleep(chance.uniform(0.005, 0.06))
        if kills < 40:  # where the cap was reached early, kills must still do no harm
            at = chance.choice([i for i, w in enumerate(workers) if w.is_alive()] or [0])
            workers[at].kill()
            workers[at].join()
            at_work += workers[at].exitcode == -signal.SIGKILL
            kills += 1
            workers[at] = start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert at_work >= 20, "too few died at work"
    records = ledger.releases()
    published = out.read_text().split()
    assert kills == 40
    assert len(records) == admitted
    assert sum(r.held for r in records) <= limit
    assert ledger.used(ledger.caps()[0]) <= 1
    assert len(set(published)) == len(published) <= admitted
    charged = {r.id for r in records if r.charged > 0}
    assert set(published) <= charged
    for record in records:
        for step in ledger.steps(record.id):
            assert step.units == cost_of(step.event, Accounting.ZCDP).units <= record.reserved


def test_checkpoints_come_back_and_go_with_the_answer(where: str) -> None:
    ledger = open_ledger(where)
    record = ledger.open_release(request("a"))
    with pytest.raises(LedgerError, match="without a charge"):
        ledger.save_checkpoint(record.id, "k", 1, b"early")
    ledger.charge(record.id, [("k", event(), Cost(10))])
    ledger.save_checkpoint(record.id, "k", 1, b"one")
    ledger.save_checkpoint(record.id, "k", 2, bytes(range(256)))
    assert ledger.checkpoint(record.id, "k") == (2, bytes(range(256)))
    ledger.publish(record.id, {"k": b"done"})
    assert ledger.checkpoint(record.id, "k") is None


def test_every_ledger_tells_the_same_history(where: str) -> None:
    """Chain, audit, reading alone and fingerprints, in each kind of database."""
    ledger = open_ledger(where)
    record = ledger.open_release(request("a", identity=Identity("one")))
    with pytest.raises(UsageError, match="has changed since"):
        ledger.open_release(request("a", identity=Identity("two")))
    ledger.charge(record.id, [("k", event(), Cost(10))])
    ledger.publish(record.id, {"k": b"answer"})
    ledger.close_release(record.id, "digest-1")
    ledger.close_release(record.id, "digest-2")
    assert ledger.releases()[0].certificate == "digest-1 digest-2"
    assert ledger.broken_at() is None
    assert tampered_part(ledger) is None
    reader = open_ledger(where, read_only=True)
    assert reader.head == ledger.head
    with pytest.raises(LedgerError, match="readonly"):
        reader.set_cap(Cap("patients", "default", Budget(2.0, 1e-9)))
    witness = [chain.Head(ledger.head.ledger, ledger.head.number + 1, "f" * 64)]
    with pytest.raises(LedgerError, match="older copy"):
        chain.require_not_older(_Rows(ledger), ledger.path, [(Path("seen.json"), witness[0])])


class _Rows:
    """A ledger's rows as the chain asks for them."""

    def __init__(self, ledger: Book) -> None:
        self._ledger = ledger

    def execute(self, query: str, values: tuple[object, ...] = ()) -> _Found:
        return _Found(self._ledger.rows(query, values))


class _Found:
    def __init__(self, rows: list[tuple[object, ...]]) -> None:
        self._rows = rows

    def fetchone(self) -> tuple[object, ...] | None:
        return self._rows[0] if self._rows else None
