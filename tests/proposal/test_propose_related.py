"""Drafts of tables that belong together: from folders, databases with and without foreign keys, and one long table."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest

import kagemusha as kg
from command import Run
from kagemusha.errors import KagemushaError, UsageError
from kagemusha.proposal.related import propose_persons, propose_related
from kagemusha.schema.declared import load_declared
from kagemusha.schema.related import Related
from servers import Postgres


def hospital(persons: int = 200) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(persons), rng.integers(0, 8, persons))
    date = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, len(who)), unit="D")
    visits = {"visit_id": np.arange(len(who)) + 5000, "patient_id": who, "date": date.strftime("%Y-%m-%d")}
    of = np.repeat(np.arange(len(who)), rng.integers(0, 3, len(who)))
    return {
        "labs": pd.DataFrame({"visit_id": of + 5000, "patient_id": who[of], "value": rng.integers(0, 30, len(of))}),
        "patients": pd.DataFrame({"patient_id": np.arange(persons), "sex": rng.choice(["F", "M"], persons)}),
        "visits": pd.DataFrame({**visits, "ward": rng.choice(["a", "b"], len(who))}),
    }


def tree(related: Related) -> dict[str, tuple[str | None, str, str | None]]:
    return {table.name: (table.parent, table.key, table.id) for table in related}


WANTED = {
    "patients": (None, "patient_id", None),
    "visits": ("patients", "patient_id", "visit_id"),
    "labs": ("visits", "visit_id", None),
}


def test_a_folder_of_files(tmp_path: Path) -> None:
    for name, table in hospital().items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    found = propose_related(tmp_path)
    assert tree(found) == WANTED
    assert found["visits"].order == "date"
    assert found["visits"].max_rows == 8
    assert found["labs"].max_rows == 2
    assert found["visits"].derived == ("key", "parent", "id", "order", "max_rows")
    assert found["labs"].derived == ("key", "parent", "max_rows")
    facts = set(map(str, found.derived_facts()))
    assert {"tables.visits.max_rows", "tables.labs.parent", "ward.categories"} <= facts
    assert tree(propose_related(hospital())) == WANTED


def test_nothing_is_released_with_a_draft(tmp_path: Path, run: Run) -> None:
    (tmp_path / "tables").mkdir()
    for name, table in hospital(60).items():
        table.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    said = run("schema", "propose", "tables", "--out", "draft.toml").stdout
    assert "visits: 4 columns; each row belongs to patients by patient_id, in the order of date" in said
    with pytest.raises(KagemushaError, match="nobody confirmed them"):
        kg.fit_related(tmp_path / "tables", 1.0, schema=tmp_path / "draft.toml")
    left = run("schema", "check", "draft.toml", code=None)
    assert left.returncode == 3
    assert "tables.visits: taken from the data" in left.stdout
    text = (tmp_path / "draft.toml").read_text(encoding="utf-8")
    kept = [line.split("  # derived")[0] for line in text.splitlines() if not line.startswith("derived = ")]
    (tmp_path / "sure.toml").write_text("\n".join(kept), encoding="utf-8")
    assert "everything declared" in run("schema", "check", "sure.toml").stdout
    confirmed = load_declared(tmp_path / "sure.toml")
    assert isinstance(confirmed, Related)
    assert tree(confirmed) == WANTED
    assert not confirmed.derived_facts()


@pytest.fixture
def keyed(postgres: Postgres) -> str:
    """The hospital with foreign keys whose names say nothing."""
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        link.execute("DROP SCHEMA IF EXISTS clinic CASCADE")
        link.execute("CREATE SCHEMA clinic")
        link.execute("CREATE TABLE clinic.persons (pid bigint PRIMARY KEY, sex text)")
        link.execute("CREATE TABLE clinic.stays (who bigint REFERENCES clinic.persons, came date NOT NULL, ward text)")
        link.execute("INSERT INTO clinic.persons SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END "
                     "FROM generate_series(1, 90) i")  # fmt: skip
        link.execute("INSERT INTO clinic.stays SELECT 1 + i % 90, date '2020-01-01' + i, 'abc' FROM "
                     "generate_series(1, 300) i")  # fmt: skip
    return postgres.url


def test_a_catalogue_says_which_keys_there_are(keyed: str, run: Run) -> None:
    found = propose_related(keyed, place="clinic")
    assert tree(found) == {"persons": (None, "pid", None), "stays": ("persons", "who", None)}
    assert found["stays"].derived == ("order", "max_rows")
    assert not found["persons"].derived
    run("schema", "propose", keyed, "--table", "clinic", "--out", "clinic.toml")
    assert load_declared("clinic.toml").digest() == found.digest()
    run("schema", "propose", keyed, "--table", "clinic.stays", "--out", "stays.toml")
    assert not isinstance(load_declared("stays.toml"), Related)


def test_a_duckdb_file_has_a_catalogue_too(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "h.db")) as link:
        link.execute("CREATE TABLE persons (pid INTEGER PRIMARY KEY, sex VARCHAR)")
        link.execute("CREATE TABLE stays (who INTEGER REFERENCES persons(pid), came DATE)")
        link.execute("INSERT INTO persons SELECT i, 'F' FROM range(50) t(i)")
        link.execute("INSERT INTO stays SELECT i % 50, DATE '2020-01-01' + CAST(i AS INTEGER) FROM range(120) t(i)")
    found = propose_related(f"duckdb:///{tmp_path}/h.db")
    assert tree(found)["stays"] == ("persons", "who", None)


def test_one_long_table_is_split_by_what_never_changes(tmp_path: Path, run: Run) -> None:
    tables = hospital()
    long = tables["visits"].merge(tables["patients"], on="patient_id").drop(columns="visit_id")
    found = propose_persons(long, "patient_id")
    persons, rows = found.tables
    assert (persons.first_of, persons.schema.names) == ("rows", ("patient_id", "sex"))
    assert persons.derived == ("key", "first_of"), "one row decides whether a column is the person's"
    assert set(rows.schema.names) == {"patient_id", "date", "ward"}
    assert (rows.order, rows.max_rows) == ("date", 8)
    long.to_csv(tmp_path / "long.csv", index=False)
    run("schema", "propose", "long.csv", "--persons", "patient_id", "--out", "long.toml")
    assert load_declared("long.toml").digest() == found.digest()
    with pytest.raises(UsageError, match="there is no column 'who'"):
        propose_persons(long, "who")


def test_what_does_not_belong_together_is_named(tmp_path: Path) -> None:
    one, other = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [3, 4]})
    with pytest.raises(UsageError, match="no column of one or other is found again"):
        propose_related({"one": one, "other": other})
    with pytest.raises(UsageError, match="several tables are needed"):
        propose_related({"one": one})
