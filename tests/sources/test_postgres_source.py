"""A real PostgreSQL that grows, loses connections, restarts and forgets columns while we read.

And what it must never tell.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from command import Run
from kagemusha import fit
from kagemusha.errors import DataError, KagemushaError, LedgerError, SchemaError, UsageError
from kagemusha.ledger import open_ledger
from kagemusha.schema import Category, Domain, Drop, Integer, Schema
from kagemusha.sources import PartSource, SqlSource, open_source
from kagemusha.sources.postgres import PostgresTable
from kagemusha.sources.scans import covering, scans_for
from servers import PASSWORD, Postgres

SCHEMA = Schema([Drop("id"), Integer("n", lower=0, upper=9), Category("c", categories=("a", "b"))])
TOML = """
[columns.id]
kind = "drop"

[columns.n]
kind = "integer"
lower = 0
upper = 9

[columns.c]
kind = "category"
categories = ["a", "b"]
"""


@pytest.fixture
def people(postgres: Postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url, autocommit=True) as link:
        # sources of earlier tests keep their snapshot, and with it a lock, as long as they live
        link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        link.execute("DROP SCHEMA IF EXISTS kagemusha CASCADE")
        link.execute("DROP TABLE IF EXISTS people")
        link.execute(
            "CREATE TABLE people AS SELECT i AS id, i % 10 AS n, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS c FROM "
            "generate_series(1, 900) i"
        )
        yield link


def opened(postgres: Postgres, **more: float) -> SqlSource:
    source = open_source(postgres.url, SCHEMA, table="people", **more)
    assert isinstance(source, SqlSource)
    return source


def test_a_table_that_grows_while_we_read_is_one_table(postgres: Postgres, people: psycopg.Connection) -> None:
    source = opened(postgres)
    first = source.count([("n",)])[0].counts
    people.execute("INSERT INTO people SELECT i, 5, 'a' FROM generate_series(1, 500) i")
    people.execute("DELETE FROM people WHERE n = 1")
    pair, rows = source.count([("n", "c"), ()])
    assert np.array_equal(pair.counts.sum(axis=1), first)
    assert int(rows.counts) == 900
    assert len(source.records()[0][0]) == 900
    again = opened(postgres)
    assert again.rows() == 900 + 500 - 90
    assert again.identity() != source.identity()


def test_a_closed_source_holds_nothing_and_answers_nothing(postgres: Postgres, people: psycopg.Connection) -> None:
    with opened(postgres) as source:
        assert source.rows() == 900
    people.execute("SET lock_timeout = 200")
    people.execute("ALTER TABLE people ADD COLUMN late integer")  # waits for a lock while a source lives
    with pytest.raises(DataError, match="closed; open it again"):
        source.count([("n",)])


def test_a_column_cannot_be_dropped_while_we_read(postgres: Postgres, people: psycopg.Connection) -> None:
    source = opened(postgres)
    people.execute("SET lock_timeout = 200")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        people.execute("ALTER TABLE people DROP COLUMN c")
    assert source.rows() == 900
    source._table.close()
    people.execute("ALTER TABLE people DROP COLUMN c")
    with pytest.raises(SchemaError, match="'c'"):
        opened(postgres)


def test_nothing_can_be_written_through_a_source(postgres: Postgres, people: psycopg.Connection) -> None:
    source = opened(postgres)
    with pytest.raises(DataError, match="25006"):
        source._table.rows("DELETE FROM people RETURNING 1")
    assert people.execute("SELECT count(*) FROM people").fetchone() == (900,)


def kill_others(link: psycopg.Connection) -> None:
    link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kagemusha'")


def test_a_lost_connection_is_an_error_and_stays_one(postgres: Postgres, people: psycopg.Connection) -> None:
    source = opened(postgres)
    assert source.rows() == 900
    kill_others(people)
    for _ in range(2):
        with pytest.raises(DataError, match="connection was lost"):
            source.rows()


class Cut(PartSource):
    """A synthesizer's view of a source whose connection is cut after so many counts."""

    def __init__(self, source: SqlSource, link: psycopg.Connection, after: int) -> None:
        super().__init__(source, source.domain.names)
        self._source, self._link, self._left = source, link, after

    @property
    def schema(self) -> Schema:
        return self._source.schema

    def count(self, cliques):
        if not self._left:
            kill_others(self._link)
        self._left -= 1
        return self._source.count(cliques)


def test_a_run_that_loses_the_server_goes_on_without_paying_again(
    postgres: Postgres, people: psycopg.Connection, tmp_path: Path
) -> None:
    book = open_ledger(tmp_path / "ledger.db")
    with pytest.raises(DataError, match="goes on from what was answered"):
        fit("independent", Cut(opened(postgres), people, 1), 1.0, ledger=book)
    (record,) = book.releases()
    assert not record.closed
    assert record.charged > 0, "charged before it was read"
    model = fit("independent", opened(postgres), 1.0, ledger=book)
    (after,) = book.releases()
    assert (after.id, after.charged, after.closed) == (record.id, record.charged, True)
    assert model.sample(50).num_rows == 50
    people.execute("INSERT INTO people VALUES (0, 0, 'a')")
    with pytest.raises(UsageError, match="has changed since"):
        fit("independent", opened(postgres), 1.0, ledger=book)


def test_a_server_that_restarts_in_the_middle(postgres: Postgres, people: psycopg.Connection, tmp_path: Path) -> None:
    source = opened(postgres)
    people.close()
    postgres.stop()
    postgres.start()
    with pytest.raises(DataError, match="connection was lost"):
        fit("independent", source, 1.0, ledger=tmp_path / "ledger.db")
    assert open_ledger(tmp_path / "ledger.db").releases() == [], "nothing was spent"
    assert opened(postgres).rows() == 900


def test_a_statement_that_takes_too_long_is_stopped(postgres: Postgres, people: psycopg.Connection) -> None:
    source = opened(postgres, timeout=0.2)
    with pytest.raises(DataError, match="statement_timeout"):
        source._table.rows("SELECT pg_sleep(5)")


def test_mistakes_are_told_without_a_traceback(postgres: Postgres, people: psycopg.Connection) -> None:
    with pytest.raises(DataError, match="no table 'persons'"):
        open_source(postgres.url, SCHEMA, table="persons")
    with pytest.raises(UsageError, match=r"there are .*public\.people"):
        open_source(postgres.url, SCHEMA)
    with pytest.raises(UsageError, match="postgresql"):
        open_source("mysql://u:p@h/d", SCHEMA, table="people")
    with pytest.raises(UsageError, match="for databases"):
        open_source("people.csv", SCHEMA, table="people")
    (system,) = people.execute("SELECT system_identifier FROM pg_control_system()").fetchone() or ()
    assert opened(postgres).name == f"postgresql://{system}/postgres#public.people"


BROKEN = {
    "password": lambda url: url.replace(PASSWORD, PASSWORD + "x"),
    "host": lambda url: url.replace("@127.0.0.1", "@127.0.0.2"),
    "database": lambda url: url.replace("/postgres", "/nothing"),
    "stroke": lambda url: url.replace(":canary", "/canary"),
    "port": lambda url: url + "x:y",
    "scheme": lambda url: url.replace("postgresql", "postgrasql"),
    "query": lambda url: f"{url}?sslmode=never&password={PASSWORD}",
}


@pytest.mark.parametrize("how", BROKEN)
def test_no_error_shows_the_password(how: str, postgres: Postgres) -> None:
    with pytest.raises(KagemushaError) as caught:
        open_source(BROKEN[how](postgres.url), SCHEMA, table="people")
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_a_wrong_password_is_called_that(postgres: Postgres) -> None:
    wrong = BROKEN["password"](postgres.url)
    with pytest.raises(DataError, match="refused the login: user or password is wrong"):
        open_source(wrong, SCHEMA, table="people")
    with pytest.raises(LedgerError, match="refused the login: user or password is wrong"):
        open_ledger(wrong)
    with pytest.raises(DataError, match="cannot be reached"):
        open_source(BROKEN["host"](postgres.url), SCHEMA, table="people")


@pytest.mark.parametrize("how", ["password", "stroke", "query", "database"])
def test_no_command_shows_the_password(how: str, postgres: Postgres, run: Run, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    for arguments in (
        ("synth", BROKEN[how](postgres.url), "--table", "people", "--schema", "s.toml"),
        ("ledger", "show", "--ledger", BROKEN[how](postgres.url)),
    ):
        done = run(*arguments, code=None)
        assert done.returncode not in (0, 1)
        assert PASSWORD not in done.stdout + done.stderr


def test_a_release_from_the_server_with_its_ledger_there(
    postgres: Postgres, people: psycopg.Connection, run: Run, tmp_path: Path
) -> None:
    """The whole journey by the command line; the password is in no file, no ledger and no line of output."""
    (tmp_path / "s.toml").write_text(TOML)
    asked = ("--table", "people", "--schema", "s.toml", "--ledger", postgres.url, "--json")
    said = run("synth", postgres.url, *asked)
    again = run("synth", postgres.url, *asked, "--force")
    shown = run("ledger", "show", "--ledger", postgres.url)
    exported = run("ledger", "export", "--ledger", postgres.url)
    checked = run("ledger", "check", "--ledger", postgres.url)
    refused = run("synth", postgres.url, *asked, "--key", "two", "--out", "second", code=None)
    told = run("verify", "people-doubles", "--ledger", postgres.url)
    assert "knows this certificate" in told.stdout
    assert refused.returncode == 5
    assert "postgres#public.people" in exported.stdout
    for done in (said, again, shown, exported, checked, refused, told):
        assert PASSWORD not in done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"synthetic.csv", "model.kage", "certificate.json"} <= {path.name for path in files}
    assert not any(PASSWORD.encode() in path.read_bytes() for path in files)
    for table in ("caps", "cap_changes", "releases", "steps", "chain", "fingerprints"):
        for row in people.execute(f"SELECT t::text FROM kagemusha.{table} t").fetchall():
            assert PASSWORD not in row[0]


def test_two_sources_at_once_do_not_disturb_each_other(postgres: Postgres, people: psycopg.Connection) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(opened(postgres).rows())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [900] * 3


def test_five_hundred_columns_are_few_scans() -> None:
    domain = Domain(tuple(f"c{i}" for i in range(500)), (4,) * 500)
    pairs = [(a, b) for i, a in enumerate(domain.names) for b in domain.names[i + 1 :]]
    wanted = covering([(), *((n,) for n in domain.names), *pairs])
    assert set(wanted.values()) == set(pairs), "columns and rows are sums of pairs"
    scans = scans_for(domain, pairs, PostgresTable.dialect)
    assert len(scans) <= 125
    assert sorted(c for scan in scans for c in scan.cliques) == sorted(pairs)
