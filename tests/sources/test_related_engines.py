"""Related tables where they live: PostgreSQL, Spark and DuckDB give the same counts as frames."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest
from stand_in import DIALECTS, StandIn

import kagemusha as kg
from command import Run
from kagemusha.errors import DataError, KagemushaError
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import Related
from kagemusha.sources.several import open_related
from servers import PASSWORD, Postgres

TEXT = """
version = 1
[tables.patients]
key = "patient_id"
[tables.patients.columns.sex]
kind = "category"
categories = ["F", "M"]
[tables.patients.columns.born]
kind = "date"
lower = 1920-01-01
upper = 2020-12-31
bins = 5
[tables.visits]
parent = "patients"
key = "patient_id"
id = "visit_id"
order = "date"
max_rows = 6
[tables.visits.columns.date]
kind = "date"
lower = 2020-01-01
upper = 2021-12-31
bins = 8
[tables.visits.columns.stay]
kind = "integer"
lower = 0
upper = 30
bins = 5
missing = true
[tables.labs]
parent = "visits"
key = "visit_id"
max_rows = 3
orphans = "drop"
[tables.labs.columns.value]
kind = "real"
lower = 0
upper = 10
bins = 5
missing = true
"""
NAMES = ("patients", "visits", "labs")


def schema() -> Related:
    found = read_declared(TEXT)
    assert isinstance(found, Related)
    return found


def hospital(persons: int = 60, seed: int = 1) -> dict[str, pd.DataFrame]:
    """Patients with visits and labs; some stays are missing, some results oddly written, one an orphan."""
    rng = np.random.default_rng(seed)
    born = pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 30_000, persons), unit="D")
    patients = pd.DataFrame(
        {"patient_id": np.arange(persons), "sex": rng.choice(["F", "M"], persons), "born": born.date}
    )
    who = np.repeat(np.arange(persons), rng.integers(0, 7, persons))
    date = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, len(who)), unit="D")
    stay = pd.array(rng.integers(0, 31, len(who)), dtype="Int64")
    stay[::7] = None
    names = [f"V{i:04}" for i in range(len(who))]
    visits = pd.DataFrame({"patient_id": who, "visit_id": names, "date": date.date, "stay": stay})
    of = np.repeat(visits["visit_id"].to_numpy(), rng.integers(0, 3, len(visits)))
    value = [["3.25", "7e0", " 5", "", "ten"][i % 5] for i in range(len(of))]
    labs = pd.DataFrame({"visit_id": [*of[:-2], "nobody", "V0001"], "value": value})
    return {"patients": patients, "visits": visits, "labs": labs}


TYPES = {
    "patients": "patient_id bigint, sex text, born date",
    "visits": "patient_id bigint, visit_id text, date date, stay integer",
    "labs": "visit_id text, value text",
}


def rows_of(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [
        tuple(None if value is pd.NA else value for value in row)
        for row in zip(*(table[name].astype(object) for name in table), strict=True)
    ]


@pytest.fixture
def keeper(postgres: Postgres) -> Iterator[psycopg.Connection]:
    """The tables, in a schema of their own."""
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        link.execute("DROP SCHEMA IF EXISTS hospital CASCADE")
        link.execute("DROP SCHEMA IF EXISTS kagemusha CASCADE")
        link.execute("CREATE SCHEMA hospital")
        for name, table in hospital().items():
            link.execute(f"CREATE TABLE hospital.{name} ({TYPES[name]})")  # type: ignore[arg-type]
            marks = ", ".join(["%s"] * table.shape[1])
            with link.cursor() as cursor:
                cursor.executemany(f"INSERT INTO hospital.{name} VALUES ({marks})", rows_of(table))
        yield link


def same(one: Any, other: Any, declared: Related) -> None:
    for view in declared.rows:
        names = declared.view(view).domain.names
        cliques = [(), *((name,) for name in names), *list(combinations(names, 2))]
        found = zip(one.source(view).count(cliques), other.source(view).count(cliques), strict=True)
        assert all(np.array_equal(a.counts, b.counts) for a, b in found), view


def test_postgresql_counts_as_frames_do(postgres: Postgres, keeper: psycopg.Connection) -> None:
    frames = open_related(hospital(), schema())
    assert frames.source("labs").count([()])[0].counts > 0
    for source in (
        open_related(postgres.url, schema(), place="hospital"),
        open_related(f"{postgres.url}#hospital", schema()),
        open_related({name: f"{postgres.url}#hospital.{name}" for name in NAMES}, schema()),
    ):
        same(source, frames, schema())
        assert source.engine == "PostgreSQL"


def test_all_tables_are_of_one_snapshot(
    postgres: Postgres, keeper: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patient who leaves between the tables' scans is in all of them, or the visits would be nobody's."""
    from kagemusha.sources import places

    bring = places.bring

    def slowly(engine: Any, tables: Any) -> Any:
        found = bring(engine, tables)
        if tables[0].name == "patients":
            keeper.execute("DELETE FROM hospital.visits WHERE patient_id < 30")
            keeper.execute("INSERT INTO hospital.visits VALUES (777, 'V777', '2020-02-02', 1)")
        return found

    monkeypatch.setattr(places, "bring", slowly)
    same(open_related(postgres.url, schema(), place="hospital"), open_related(hospital(), schema()), schema())


def test_a_connection_ends_with_the_reading(postgres: Postgres, keeper: psycopg.Connection) -> None:
    source = open_related(postgres.url, schema(), place="hospital")
    ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'kagemusha'"
    assert keeper.execute(ours).fetchone() == (0,)
    assert source.source("patients").rows() == 60


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_every_dialect_says_the_same(dialect: str) -> None:
    import pyarrow as pa

    tables = {
        name: StandIn(pa.Table.from_pandas(table, preserve_index=False), dialect) for name, table in hospital().items()
    }
    same(open_related(tables, schema()), open_related(hospital(), schema()), schema())


def test_spark_counts_as_frames_do(spark: Any) -> None:
    frames = {
        name: spark.createDataFrame(rows_of(table), TYPES[name].replace("text", "string"))
        for name, table in hospital(30).items()
    }
    same(open_related(frames, schema()), open_related(hospital(30), schema()), schema())
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    source = open_related("spark://", schema())
    same(source, open_related(hospital(30), schema()), schema())
    assert source.name == "spark://"


def test_a_database_of_duckdb_has_schemas_too(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "h.db")) as link:
        link.execute("CREATE SCHEMA hospital")
        for name, table in hospital().items():
            link.register("given", table.astype({"labs": {}, "visits": {}}.get(name, {})))
            link.execute(f"CREATE TABLE hospital.{name} AS SELECT * FROM given")
            link.unregister("given")
    source = open_related(f"duckdb:///{tmp_path}/h.db", schema(), place="hospital")
    same(source, open_related(hospital(), schema()), schema())


def test_a_release_from_postgresql(
    postgres: Postgres, keeper: psycopg.Connection, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kagemusha.synthesizers.next_rows.DRAWN", 200)
    monkeypatch.setattr("kagemusha.synthesizers.related_fit.PARENTS", 200)
    (tmp_path / "hospital.toml").write_text(TEXT, encoding="utf-8")
    place = ("synth", postgres.url, "--table", "hospital", "--schema", "hospital.toml", "--epsilon", 2)
    done = run(*place, "--out", "doubles", "--ledger", "book.db")
    assert "synthetic-visits.csv" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    checks = kg.verify("doubles")
    assert all(check.passed for check in checks), [c for c in checks if not c.passed]
    assert not [check for check in checks if check.caution and check.what == "words"]
    (release,) = kg.open_ledger("book.db").releases()
    assert release.dataset.startswith("postgresql://")
    assert release.dataset.endswith("#hospital")
    again = run(*place, "--out", "doubles", "--ledger", "book.db", "--force")
    assert "paid for before" in again.stdout
    more = run(*place, "--key", "more", "--out", "others", "--ledger", "book.db", code=None)
    assert more.returncode
    assert "passes the cap" in more.stderr


def test_what_is_not_there_is_named(postgres: Postgres, keeper: psycopg.Connection) -> None:
    with pytest.raises(DataError, match=r"there is no table 'nowhere\.patients'"):
        open_related(postgres.url, schema(), place="nowhere")
    keeper.execute("DELETE FROM hospital.patients WHERE patient_id < 9")
    with pytest.raises(KagemushaError, match=r"name no row of patients"):
        open_related(postgres.url, schema(), place="hospital").source("visits")
    with pytest.raises(KagemushaError, match="is for databases"):
        open_related("/nowhere", schema(), place="hospital")


def test_one_long_table_comes_as_a_frame_a_file_or_a_table_of_a_database(
    postgres: Postgres, keeper: psycopg.Connection, tmp_path: Path
) -> None:
    declared = read_declared(LONG)
    assert isinstance(declared, Related)
    tables = hospital()
    frame = tables["visits"].merge(tables["patients"], on="patient_id")[["patient_id", "sex", "date"]]
    wanted = open_related(frame, declared)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    keeper.execute(
        "CREATE TABLE hospital.long AS SELECT v.patient_id, p.sex, v.date FROM hospital.visits v JOIN "
        "hospital.patients p USING (patient_id)"
    )
    for source in (
        open_related(tmp_path / "visits.csv", declared),
        open_related({"rows": frame}, declared),
        open_related(postgres.url, declared, place="hospital.long"),
    ):
        same(source, wanted, declared)
    assert wanted.source("persons").rows() == frame["patient_id"].nunique()


LONG = """
version = 1
[unit]
column = "patient_id"
persons = ["sex"]
order = "date"
max_rows = 6
[columns.sex]
kind = "category"
categories = ["F", "M"]
[columns.date]
kind = "date"
lower = 2020-01-01
upper = 2021-12-31
bins = 8
"""
