"""Yesterday's ledger does not give today's noise back, and nobody else reads it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from command import Run
from kagemusha.errors import CapReached, LedgerError
from kagemusha.ledger import Cap, Identity, ReleaseRequest, SQLiteLedger
from kagemusha.ledger.audit import tampered_part
from kagemusha.ledger.chain import head_file
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import GaussianEvent
from kagemusha.privacy.filter import cost_of


def request(key: str, **more: object) -> ReleaseRequest:
    return ReleaseRequest("patients", "m", Budget(0.1, 1e-9), Accounting.ZCDP, key=key, **more)  # type: ignore[arg-type]


def release(ledger: SQLiteLedger, key: str) -> str:
    record = ledger.open_release(request(key))
    event = GaussianEvent(what="counts of a", sigma=5000.0, l2_squared=1)
    ledger.charge(record.id, [("k", event, cost_of(event, Accounting.ZCDP))])
    ledger.publish(record.id, {"k": key.encode()})
    ledger.close_release(record.id)
    return record.id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    ledger = SQLiteLedger(path)
    ledger.set_cap(Cap("patients", "default", Budget(1.0, 1e-9)))
    release(ledger, "yesterday")
    ledger.close()
    shutil.copy(path, tmp_path / "backup.db")
    shutil.copy(head_file(path), tmp_path / "backup.head")
    ledger = SQLiteLedger(path)
    release(ledger, "today")
    ledger.close()
    return path


def test_an_older_copy_is_refused(path: Path, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "backup.db", path)
    for read_only in (True, False):
        with pytest.raises(LedgerError, match="older copy"):
            SQLiteLedger(path, read_only=read_only)


def test_an_older_copy_with_its_head_is_refused_by_a_witness_elsewhere_or_a_certificate(
    path: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept-elsewhere.head"
    shutil.copy(head_file(path), kept)
    certificate = tmp_path / "certificate.json"
    certificate.write_text(json.dumps({"format": "any", "ledger": json.loads(kept.read_text())}))
    shutil.copy(tmp_path / "backup.db", path)
    shutil.copy(tmp_path / "backup.head", head_file(path))
    SQLiteLedger(path).close()  # nothing in sight knows better
    for witness in (kept, certificate):
        with pytest.raises(LedgerError, match="older copy"):
            SQLiteLedger(path, witnesses=[witness])
    SQLiteLedger(path, witnesses=[tmp_path / "backup.head", tmp_path / "nothing.head"]).close()


def test_a_ledger_that_was_lost_is_no_new_ledger(path: Path) -> None:
    path.unlink()
    with pytest.raises(LedgerError, match="has seen a ledger here"):
        SQLiteLedger(path)
    path.write_bytes(b"")
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="has seen a ledger here"):
        SQLiteLedger(path)
    path.unlink()
    other = path.with_name("other.db")
    SQLiteLedger(other).close()
    shutil.copy(other, path)
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="another ledger was here"):
        SQLiteLedger(path)


def test_losing_the_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = SQLiteLedger(path)
    ledger.set_cap(Cap("patients", "default", Budget(1.0, 1e-9)))
    release(ledger, "first")
    ledger._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    release(ledger, "second")
    bare = tmp_path / "elsewhere.db"
    shutil.copy(path, bare)  # without its log
    shutil.copy(head_file(path), head_file(bare))
    bare.chmod(0o600)
    with pytest.raises(LedgerError, match="older copy"):
        SQLiteLedger(bare)


def test_a_forked_history_is_noticed(path: Path, tmp_path: Path) -> None:
    """As many entries as the real one, but other ones."""
    fork = tmp_path / "fork.db"
    shutil.copy(tmp_path / "backup.db", fork)
    shutil.copy(tmp_path / "backup.head", head_file(fork))
    fork.chmod(0o600)
    ledger = SQLiteLedger(fork)
    release(ledger, "another today")
    assert ledger.head.number >= json.loads(head_file(path).read_text())["number"]
    with pytest.raises(LedgerError, match="older copy, or was changed"):
        SQLiteLedger(fork, witnesses=[head_file(path)])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE releases SET charged = 0", "release"),
        ("UPDATE releases SET closed = 1, charged = 0 WHERE number = 2", "release"),
        ("DELETE FROM steps WHERE release = (SELECT id FROM releases WHERE number = 2)", None),
        ("UPDATE caps SET epsilon = '9.0'", "cap"),
        ("DELETE FROM caps", "gone"),
        ("UPDATE chain SET entry = replace(entry, 'what', 'whaX') WHERE number = 3", "entry 3"),
        ("DELETE FROM chain WHERE number = 3", "entry 4"),
    ],
)
def test_changes_behind_the_back_of_the_history_show(path: Path, change: str, told: str | None) -> None:
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    book = SQLiteLedger(path, read_only=True)
    found = tampered_part(book) if book.broken_at() is None else f"entry {book.broken_at()}"
    assert (found is None) == (told is None)
    assert told is None or told in str(found)


def test_an_untouched_ledger_is_whole(path: Path) -> None:
    book = SQLiteLedger(path, read_only=True)
    assert book.broken_at() is None
    assert tampered_part(book) is None
    assert book.head.number > 6


def test_a_ledger_is_its_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        SQLiteLedger(tmp_path / "ledger.db").close()
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600
    (tmp_path / "ledger.db").chmod(0o644)
    with pytest.raises(LedgerError, match="chmod 600"):
        SQLiteLedger(tmp_path / "ledger.db")


def test_the_same_bytes_under_another_name_have_no_second_budget(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    ledger.open_release(request("a", identity=Identity("f00d")))
    twin = ReleaseRequest("copy of patients", "m", Budget(0.1, 1e-9), Accounting.ZCDP, identity=Identity("f00d"))
    with pytest.raises(CapReached, match="--dataset patients"):
        ledger.open_release(twin)
    assert len(ledger.releases()) == 1


def test_under_a_cap_reads_without_protection_need_the_owners_word(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    bare = ReleaseRequest("patients", "stat", Budget(float("inf")), Accounting.ZCDP)
    ledger.open_release(bare)  # no cap: nothing to go round
    release(ledger, "a")
    again = ReleaseRequest("patients", "stat", Budget(float("inf")), Accounting.ZCDP, key="again")
    elsewhere = ReleaseRequest("patients", "stat", Budget(float("inf")), Accounting.ZCDP, policy="other")
    for refused in (again, elsewhere):
        with pytest.raises(CapReached):
            ledger.open_release(refused)
    ledger.allow_unprotected("patients", "default")
    ledger.open_release(again)
    ledger.set_cap(Cap("patients", "default", Budget(2.0, 1e-9)))
    assert ledger.caps()[0].unprotected, "a new size does not take the word back"
    ledger.allow_unprotected("patients", "default", allowed=False)
    with pytest.raises(CapReached):
        ledger.open_release(ReleaseRequest("patients", "stat", Budget(float("inf")), Accounting.ZCDP, key="third"))


@pytest.mark.parametrize("change", ["cap", "unprotected", "looks"])
def test_a_word_of_the_owner_cannot_be_rolled_back(path: Path, tmp_path: Path, change: str) -> None:
    shutil.copy(path, tmp_path / "before.db")
    ledger = SQLiteLedger(path)
    if change == "cap":
        ledger.set_cap(Cap("patients", "default", Budget(0.5, 1e-9)))
    elif change == "unprotected":
        ledger.allow_unprotected("patients", "default")
    else:
        ledger.allow_looks("patients", "default", allowed=False)
    ledger.close()
    shutil.copy(tmp_path / "before.db", path)
    with pytest.raises(LedgerError, match="older copy"):
        SQLiteLedger(path)


@pytest.mark.parametrize("left", [None, b"", b'{"ledger": "0000", "num', b"[1]", b"\xff\xfe"])
def test_a_ledger_without_its_head_file_is_refused(path: Path, run: Run, left: bytes | None) -> None:
    head_file(path).unlink()
    if left is not None:
        head_file(path).write_bytes(left)
    for read_only in (True, False):
        with pytest.raises(LedgerError, match="--renew-head"):
            SQLiteLedger(path, read_only=read_only)
    assert "--renew-head" in run("ledger", "check", "--ledger", path, code=LedgerError.exit_code).stderr
    run("ledger", "check", "--ledger", path, "--renew-head")
    SQLiteLedger(path).close()
    run("ledger", "check", "--ledger", path)


@pytest.mark.parametrize("read_only", [True, False])
def test_pipes_are_neither_ledgers_nor_heads_nor_witnesses_and_not_waited_for(path: Path, read_only: bool) -> None:
    for name in ("pipe.db", "witness.json"):
        os.mkfifo(path.with_name(name), 0o600)
    with pytest.raises(LedgerError, match=r"pipe\.db: this is a pipe, not a file"):
        SQLiteLedger(path.with_name("pipe.db"), read_only=read_only)
    SQLiteLedger(path, read_only=read_only, witnesses=[path.with_name("witness.json")]).close()
    head_file(path).unlink()
    os.mkfifo(head_file(path), 0o600)
    with pytest.raises(LedgerError, match="--renew-head"):
        SQLiteLedger(path, read_only=read_only)


def test_an_empty_ledger_gets_a_head_file_before_anything_counts(tmp_path: Path) -> None:
    """A run that is killed right after its first charge must find the head file there."""
    path = tmp_path / "ledger.db"
    SQLiteLedger(path).close()
    assert json.loads(head_file(path).read_text())["number"] == 0
    head_file(path).unlink()
    SQLiteLedger(path).close()
    assert head_file(path).exists()


@pytest.mark.parametrize("page", [2, 3, -1])
def test_check_notices_a_damaged_page(path: Path, run: Run, page: int) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    content = bytearray(path.read_bytes())
    pages = len(content) // size
    start = (pages - 1 if page == -1 else page) * size
    content[start : start + size] = b"\x5a" * size
    path.write_bytes(bytes(content))
    run("ledger", "check", "--ledger", path, code=LedgerError.exit_code)
