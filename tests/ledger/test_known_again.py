"""One table, one budget: whatever the working directory, the address of a server, or the form of a file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psycopg
import pyarrow.csv
import pyarrow.parquet
import pytest

import kagemusha as kg
from command import Run
from kagemusha.errors import CapReached, UsageError
from kagemusha.ledger import default_ledger, open_ledger
from servers import PASSWORD, USER, Postgres

SCHEMA = """version = 1
[columns.sex]
kind = "category"
categories = ["F", "M"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
[columns.height]
kind = "real"
lower = 0
upper = 300
bins = 5
missing = true
[columns.born]
kind = "date"
lower = 1900-01-01
upper = 2024-12-31
bins = 5
"""
ROWS = [
    f"{'FM'[i % 2]},{i % 100},{'' if i % 9 == 0 else 150 + i / 4},19{10 + i % 80}-0{1 + i % 9}-11" for i in range(200)
]
HEADER = "sex,age,height,born"


def lines(rows: list[str], end: str = "\n", header: str = HEADER) -> bytes:
    return "".join(f"{row}{end}" for row in [header, *rows]).encode()


def reordered(path: Path) -> Path:
    rows = list(ROWS)
    random.Random(3).shuffle(rows)
    path.write_bytes(lines(rows))
    return path


def other_columns_first(path: Path) -> Path:
    path.write_bytes(
        lines([",".join(reversed(r.split(","))) for r in ROWS], header=",".join(reversed(HEADER.split(","))))
    )
    return path


def with_line_feeds(path: Path) -> Path:
    path.write_bytes(lines(ROWS, "\r\n"))
    return path


def without_the_last_end(path: Path) -> Path:
    path.write_bytes(lines(ROWS).rstrip(b"\n"))
    return path


def spelled_otherwise(path: Path) -> Path:
    """As another program writes the same numbers."""
    rows = [r.split(",") for r in ROWS]
    path.write_bytes(lines([f'"{a}",{float(b)},{c and float(c)},{d}' for a, b, c, d in rows]))
    return path


def parquet(path: Path) -> Path:
    table = pyarrow.csv.read_csv(path.with_name("people.csv"))
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def parquet_reordered(path: Path) -> Path:
    table = pyarrow.csv.read_csv(path.with_name("people.csv")).sort_by([("born", "descending"), ("age", "ascending")])
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


FORMS: list[Callable[[Path], Path]] = [
    reordered, other_columns_first, with_line_feeds, without_the_last_end, spelled_otherwise, parquet,
        parquet_reordered,
]  # fmt: skip


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "people.csv").write_bytes(lines(ROWS))
    return tmp_path


def fit(folder: Path, table: object, **more: object) -> kg.Model:
    return kg.fit("independent", table, 1.0, schema=folder / "s.toml", ledger=folder / "l.db", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_same_rows_in_another_form_meet_the_same_cap(people: Path, form: Callable[[Path], Path]) -> None:
    fit(people, people / "people.csv")
    other = form(people / "other.csv")
    with pytest.raises(CapReached, match=r"the same table as .*--dataset .*people\.csv"):
        fit(people, other)
    with pytest.raises(CapReached, match="passes the cap"):
        fit(people, other, dataset=str(people / "people.csv"), key="again")
    assert len(open_ledger(people / "l.db").releases()) == 1


def test_the_same_rows_in_a_database_or_in_parts_meet_the_same_cap(people: Path) -> None:
    fit(people, people / "people.csv")
    with duckdb.connect(str(people / "p.duckdb")) as db:
        db.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{people}/people.csv')")
    (people / "parts").mkdir()
    for at in (0, 1):
        (people / "parts" / f"{at}.csv").write_bytes(lines(ROWS[at::2]))
    for other, place in ((f"duckdb:///{people}/p.duckdb", "t"), (people / "parts" / "*.csv", None)):
        source = kg.open_source(str(other), people / "s.toml", table=place)
        with pytest.raises(CapReached, match="the same table as"):
            fit(people, source)


@pytest.mark.parametrize(
    "change", [lambda r: r[:-1], lambda r: [*r, r[0]], lambda r: [r[1].replace(",1,", ",2,"), *r[1:]]]
)
def test_other_rows_are_another_table(people: Path, change: Callable[[list[str]], list[str]]) -> None:
    """A row more, less or changed is not known again: the ledger says what it cannot know."""
    fit(people, people / "people.csv")
    (people / "other.csv").write_bytes(lines(change(ROWS)))
    fit(people, people / "other.csv")


def test_the_digest_stays_in_the_ledger(people: Path, run: Run) -> None:
    run("synth", "people.csv", "-s", "s.toml", "-m", "independent", "--out", "out")
    book = open_ledger(people / "kagemusha-ledger.db", read_only=True)
    digests = [digest for (digest,) in book.rows("SELECT digest FROM known_by")]
    assert len(digests) == 2
    shown = run("ledger", "export").stdout + run("ledger", "show", "--json").stdout
    written = b"".join(path.read_bytes() for path in (people / "out").iterdir())
    assert not any(digest in shown or digest.encode() in written for digest in digests)


# where a ledger lies if nobody says


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ("people.csv", "."), ("parts/*.csv", "parts"), ("p*/2024/*.csv", "."), ("parts/**/*.csv", "parts"),
        ("duckdb:///parts/p.db", "parts"), ("duckdb:///parts/p.db#main.t", "parts"), ("a name", "."), (None, "."),
        ("full", "full"), ("parts", "."),
    ],
)  # fmt: skip
def test_a_ledger_lies_beside_its_data(people: Path, monkeypatch: pytest.MonkeyPatch, data: str, where: str) -> None:
    monkeypatch.chdir(people)
    (people / "parts").mkdir()  # of pictures, perhaps
    (people / "full").mkdir()
    (people / "full" / "people.csv").write_bytes(lines(ROWS))
    assert default_ledger(data).resolve() == (people / where / "kagemusha-ledger.db").resolve()


def test_another_directory_is_no_fresh_budget(people: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(people / "p.duckdb")) as db:
        db.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{people}/people.csv')")
    (people / "parts").mkdir()
    (people / "parts" / "1.csv").write_bytes(lines(ROWS[:-1]))
    for number, data in enumerate(([f"duckdb:///{people}/p.duckdb", "--table", "t"], [f"{people}/parts/*.csv"])):
        for at in ("one", "two"):
            (people / at).mkdir(exist_ok=True)
            monkeypatch.chdir(people / at)
            line = ("synth", *data, "-s", people / "s.toml", "-m", "independent", "--out", f"out{number}", "--key", at)
            refused = run(*line, code=0 if at == "one" else CapReached.exit_code)
        assert "passes the cap" in refused.stderr
        assert not list(people.glob("o*/kagemusha-ledger.db"))


def test_a_wildcard_in_a_folders_name_is_no_fresh_budget(people: Path, run: Run) -> None:
    (people / "parts" / "2024").mkdir(parents=True)
    (people / "people.csv").rename(people / "parts" / "2024" / "people.csv")
    line = ("-s", people / "s.toml", "-m", "independent", "--out", people / "out", "--force")
    run("synth", people / "parts" / "2024" / "people.csv", *line)
    for pattern in ("parts/*/people.csv", "p*/2024/*.csv", "parts/**/*.csv"):
        refused = run("synth", people / pattern, *line, "--key", "again", code=UsageError.exit_code)
        assert f"--ledger {people}/parts/2024/kagemusha-ledger.db" in refused.stderr
    named = ("--ledger", people / "parts" / "2024" / "kagemusha-ledger.db")
    refused = run("synth", people / "parts/*/people.csv", *line, *named, "--key", "again", code=CapReached.exit_code)
    assert "this ledger knows" in refused.stderr


def test_a_file_of_a_pattern_is_no_fresh_budget(people: Path, run: Run) -> None:
    (people / "parts" / "2024").mkdir(parents=True)
    (people / "people.csv").rename(people / "parts" / "2024" / "people.csv")
    line = ("-s", people / "s.toml", "-m", "independent", "--out", people / "out", "--force")
    run("synth", people / "parts" / "*" / "people.csv", *line)
    file = people / "parts" / "2024" / "people.csv"
    refused = run("synth", file, *line, "--key", "again", code=UsageError.exit_code)
    assert f"--ledger {people}/parts/kagemusha-ledger.db" in refused.stderr
    other = people / "parts" / "2024" / "others.csv"  # not of the pattern: nobody has released it
    other.write_bytes(lines(ROWS[:50]))
    run("synth", other, *line)


@pytest.mark.parametrize("address", ["postgresql://me:secret@db.example/health", "spark://"])
def test_a_server_needs_a_ledger_to_be_named(people: Path, run: Run, address: str) -> None:
    line = ("synth", address, "--table", "t", "-s", "s.toml", "-m", "independent")
    told = run(*line, code=UsageError.exit_code).stderr
    assert "--ledger /" in told
    assert "export KAGEMUSHA_LEDGER=/" in told
    assert "secret" not in told
    assert not list(people.glob("*.db"))


# addresses of one server


@pytest.fixture
def served(postgres: Postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("DROP TABLE IF EXISTS known")
        link.execute("CREATE TABLE known (sex text, age int, height float8, born date)")
        link.execute("INSERT INTO known SELECT 'F', i % 100, i, '1950-01-01' FROM generate_series(1, 200) i")
        yield link
        link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        link.execute("DROP TABLE IF EXISTS known, renamed")


ADDRESSES = [
    "postgresql://{u}:{p}@localhost:{port}/postgres",
    "postgresql://{u}:{p}@127.0.0.1:{port}/%70ostgres",
    "postgresql://{u}:{p}@/postgres?host=127.0.0.1&port={port}",
    "postgresql://{u}:{p}@/postgres?host={socket}&port={port}",
    "postgresql+psycopg://{u}:{p}@127.0.0.1:{port}/postgres",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("change", ["nothing", "a row", "a name"])
def test_another_address_is_no_fresh_budget(
    people: Path, postgres: Postgres, served: psycopg.Connection, address: str, change: str
) -> None:
    first = kg.open_source(postgres.url, people / "s.toml", table="known")
    fit(people, first)
    first.close()  # type: ignore[attr-defined]
    table = "known"
    if change != "nothing":
        served.execute("INSERT INTO known VALUES ('M', 1, 1, '1960-01-01')")
    if change == "a name":
        served.execute("ALTER TABLE known RENAME TO renamed")
        table = "renamed"
    url = address.format(u=USER, p=PASSWORD, port=postgres.port, socket=postgres.folder)
    again = kg.open_source(url, people / "s.toml", table=table)
    with pytest.raises(CapReached, match="the same table as" if change == "a name" else "passes the cap"):
        fit(people, again, key="again")
    again.close()  # type: ignore[attr-defined]
    assert len(open_ledger(people / "l.db").releases()) == 1


def test_who_may_not_ask_the_server_must_name_the_table(
    people: Path, postgres: Postgres, served: psycopg.Connection
) -> None:
    served.execute("DROP ROLE IF EXISTS narrow")
    served.execute(f"CREATE ROLE narrow LOGIN PASSWORD '{PASSWORD}'")
    served.execute("GRANT SELECT ON known TO narrow")
    url = f"postgresql://narrow:{PASSWORD}@127.0.0.1:{postgres.port}/postgres"
    usual = kg.open_source(url, people / "s.toml", table="known")
    assert usual.name is not None, "everybody may ask, unless somebody took that away"
    usual.close()  # type: ignore[attr-defined]
    served.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    try:
        source = kg.open_source(url, people / "s.toml", table="known")
        with pytest.raises(UsageError, match=r"dataset=.*pg_control_system"):
            fit(people, source)
        assert not (people / "l.db").exists()
        fit(people, source, dataset="known")
        source.close()  # type: ignore[attr-defined]
    finally:
        served.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
        served.execute("DROP OWNED BY narrow; DROP ROLE narrow")


RELATED = """
version = 1
[tables.persons]
key = "who"
[tables.persons.columns.who]
kind = "surrogate"
[tables.persons.columns.sex]
kind = "category"
categories = ["f", "m"]
[tables.visits]
parent = "persons"
max_rows = 2
key = "who"
[tables.visits.columns.who]
kind = "surrogate"
[tables.visits.columns.ward]
kind = "category"
categories = ["a", "b"]
"""


@pytest.mark.parametrize("where", ["beside the files", "above the folder"])
def test_a_table_of_several_is_no_fresh_budget(people: Path, run: Run, where: str) -> None:
    (people / "r.toml").write_text(RELATED)
    (people / "v.toml").write_text(
        'version = 1\n[columns.who]\nkind = "drop"\n[columns.ward]\nkind = "category"\ncategories = ["a", "b"]\n'
    )
    (people / "both").mkdir()
    (people / "both" / "persons.csv").write_text("who,sex\n" + "".join(f"p{i},f\n" for i in range(40)))
    (people / "both" / "visits.csv").write_text("who,ward\n" + "".join(f"p{i},{'ab'[i % 2]}\n" for i in range(40)))
    above = ("--ledger", people / "kagemusha-ledger.db") if where == "above the folder" else ()
    run("synth", people / "both", "-s", people / "r.toml", "--out", people / "out", *above)
    line = ("-s", people / "v.toml", "-m", "independent", "--out", people / "visits")
    code = UsageError.exit_code if above else CapReached.exit_code
    refused = run("synth", people / "both" / "visits.csv", *line, code=code)
    assert ("it may have been released before" if above else "this ledger knows the same table") in refused.stderr
