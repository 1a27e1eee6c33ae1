"""What only a server can do to a ledger: hold its lock, go away, come back, refuse a login."""

from __future__ import annotations

import psycopg
import pytest

from kagemusha.errors import LedgerError, UsageError
from kagemusha.files import address_shown
from kagemusha.ledger import Cap, open_ledger
from kagemusha.ledger.postgres import LOCK, PostgresLedger
from kagemusha.privacy.budget import Budget
from servers import PASSWORD, Postgres

CAP = Cap("patients", "default", Budget(1.0, 1e-9))


@pytest.fixture(autouse=True)
def empty(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("DROP SCHEMA IF EXISTS kagemusha CASCADE")


def test_a_locked_ledger_says_so(postgres: Postgres) -> None:
    ledger = PostgresLedger(postgres.url, wait_seconds=0.2)
    with psycopg.connect(postgres.url) as other:
        other.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
        with pytest.raises(LedgerError, match="another process holds it"):
            ledger.set_cap(CAP)
    ledger.set_cap(CAP)
    assert len(ledger.caps()) == 1


def test_a_connection_that_was_lost_between_two_changes_is_made_anew(postgres: Postgres) -> None:
    ledger = PostgresLedger(postgres.url)
    ledger.set_cap(CAP)
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() AND usename IS NOT "
            "NULL"
        )
    with pytest.raises(LedgerError, match="goes on from what was answered"):
        ledger.caps()
    assert len(ledger.caps()) == 1


def test_a_server_that_restarts_has_forgotten_nothing(postgres: Postgres) -> None:
    ledger = PostgresLedger(postgres.url)
    ledger.set_cap(CAP)
    head = ledger.head
    postgres.stop()
    with pytest.raises(LedgerError, match="cannot be reached"):
        ledger.caps()
    with pytest.raises(LedgerError, match="cannot be reached"):
        ledger.set_cap(CAP)
    postgres.start()
    assert ledger.head == head
    assert PostgresLedger(postgres.url).caps()[0].budget == CAP.budget


def test_there_must_be_a_ledger_to_look_at(postgres: Postgres) -> None:
    with pytest.raises(LedgerError, match="no ledger in this database"):
        open_ledger(postgres.url, read_only=True)


def test_a_ledger_of_another_version_is_refused(postgres: Postgres) -> None:
    PostgresLedger(postgres.url).close()
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("UPDATE kagemusha.about SET version = 99")
    with pytest.raises(LedgerError, match="version 99"):
        PostgresLedger(postgres.url)


@pytest.mark.parametrize(
    "broken",
    [
        lambda url: url.replace(PASSWORD, PASSWORD + "x"),
        lambda url: url.replace("@127", "@no-such-host-127"),
        lambda url: url.replace("postgresql://", "mysql://"),
        lambda url: url.replace(":canary", "/canary"),
        lambda url: f"{url}?password={PASSWORD}&sslmode=no-such-mode",
    ],
)
def test_no_message_shows_the_password(postgres: Postgres, broken) -> None:
    with pytest.raises((LedgerError, UsageError)) as caught:
        open_ledger(broken(postgres.url))
    error: BaseException | None = caught.value
    while error is not None:
        assert PASSWORD not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://u:p@h:5/d?password=p", "postgresql://h:5/d"),
        ("postgresql+psycopg://u:p%40@h/d", "postgresql://h/d"),
        ("postgresql://u:p/q@h/d", "postgresql://h/d"),
        ("postgresql://u:p@q@h/d", "postgresql://h/d"),
        ("postgresql:///d?host=/tmp&password=p", "postgresql:///d"),
        ("postgresql://u:secret", "postgresql://(address not shown)"),
        ("postgresql://a:1,b:2/d", "postgresql://a:1,b:2/d"),
        ("duckdb:///folder/my.db", "duckdb://(address not shown)"),
    ],
)
def test_what_is_shown_of_an_address(url: str, seen: str) -> None:
    assert address_shown(url) == seen
