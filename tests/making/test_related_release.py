"""A release of related tables: made once, and what its folder, its certificate and its doubles hold to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from command import Run
from kagemusha.certificate.certificate import Certificate, canonical, with_digest
from kagemusha.certificate.page import render
from kagemusha.errors import KagemushaError, UsageError
from kagemusha.files import sha256
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import PARTS

TEXT = """
version = 1
[tables.patients]
key = "patient_id"
[tables.patients.columns.sex]
kind = "category"
categories = ["F", "M"]
[tables.patients.columns.age]
kind = "integer"
lower = 0
upper = 99
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
[tables.visits.columns.ward]
kind = "category"
categories = ["a", "b", "c"]
[tables.drugs]
parent = "patients"
key = "patient_id"
max_rows = 3
[tables.drugs.columns.drug]
kind = "category"
categories = ["x", "y"]
[tables.labs]
parent = "visits"
key = "visit_id"
max_rows = 3
[tables.labs.columns.value]
kind = "integer"
lower = 0
upper = 9
bins = 5
"""


DRUGS = "[tables.drugs]" + TEXT.split("[tables.drugs]")[1].split("[tables.labs]")[0]


def hospital(persons: int = 400, seed: int = 1) -> dict[str, pd.DataFrame]:
    """Patients whose ward stays mostly the same, with drugs and labs."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], persons)
    patients = pd.DataFrame({"patient_id": np.arange(persons), "sex": sex, "age": rng.integers(0, 100, persons)})
    who = np.repeat(np.arange(persons), rng.integers(0, 7, persons))
    days = pd.to_timedelta(rng.integers(0, 700, len(who)), unit="D")
    own = rng.choice(list("abc"), persons)[who]
    ward = np.where(rng.random(len(who)) < 0.9, own, rng.choice(list("abc"), len(who)))
    date = (pd.Timestamp("2020-01-01") + days).date
    visits = pd.DataFrame({"patient_id": who, "visit_id": np.arange(len(who)) + 7000, "date": date, "ward": ward})
    takes = np.repeat(np.arange(persons), rng.integers(0, 3, persons))
    drugs = pd.DataFrame({"patient_id": takes, "drug": np.where(sex[takes] == "F", "x", "y")})
    of = np.repeat(visits["visit_id"].to_numpy(), rng.integers(0, 3, len(visits)))
    labs = pd.DataFrame({"visit_id": of, "value": rng.integers(0, 10, len(of))})
    return {"patients": patients, "visits": visits, "drugs": drugs, "labs": labs}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables, the schema, the ledger and one release at ε = 20."""
    folder = tmp_path_factory.mktemp("related")
    (folder / "schema.toml").write_text(TEXT, encoding="utf-8")
    (folder / "tables").mkdir()
    for name, table in hospital().items():
        table.to_csv(folder / "tables" / f"{name}.csv", index=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kagemusha.synthesizers.next_rows.DRAWN", 800)
        patched.setattr("kagemusha.synthesizers.related_fit.PARENTS", 800)
        kg.release_related(
            folder / "tables",
            folder / "doubles",
            20.0,
            schema=folder / "schema.toml",
            ledger=folder / "ledger.db",
            cap=20.0,
        )
    return folder


@pytest.fixture(scope="module")
def doubles(place: Path) -> dict[str, pd.DataFrame]:
    return {path.stem.removeprefix("synthetic-"): pd.read_csv(path) for path in (place / "doubles").glob("*.csv")}


def test_the_release_holds(place: Path) -> None:
    checks = kg.verify(place / "doubles")
    assert all(check.passed for check in checks), [c for c in checks if not c.passed]
    named = [check.what for check in checks]
    for view in ("patients", "visits", "visits-next", "labs", "labs-next", "drugs", "drugs-next"):
        assert f"{view}: numbers inside the model" in named


def test_the_release_says_what_it_can_be_used_for(place: Path) -> None:
    judged = json.loads((place / "doubles" / "quality.json").read_text(encoding="utf-8"))
    assert {"columns", "pairs inside a row"} < set(judged["tables"]["visits"])
    assert "Some doubles, row after row" in (place / "doubles" / "quality.html").read_text(encoding="utf-8")


def test_every_event_says_which_table_it_asked_and_as_what_a_person_counts(place: Path) -> None:
    certificate = Certificate.from_json((place / "doubles" / "certificate.json").read_text(encoding="utf-8"))
    seen = {(event.query.table, event.query.rows) for event in certificate.events if event.query}
    assert dict(seen) == certificate.tables
    assert certificate.tables["labs"] == 25 * PARTS
    assert certificate.epsilon == 20.0
    assert any("'visits', 'drugs', 'labs'" in sentence for sentence in certificate.assumptions)
    page = (place / "doubles" / "certificate.html").read_text(encoding="utf-8")
    assert "with everything that belongs to them in all tables, however many rows that is" in page
    assert "of which at most" not in page


def test_keys_fit_and_are_new(doubles: dict[str, pd.DataFrame]) -> None:
    patients, visits = doubles["patients"], doubles["visits"]
    assert patients["patient_id"].is_unique
    assert visits["visit_id"].is_unique
    assert set(visits["patient_id"]) <= set(patients["patient_id"])
    assert set(doubles["labs"]["visit_id"]) <= set(visits["visit_id"])
    assert set(doubles["drugs"]["patient_id"]) <= set(patients["patient_id"])
    assert patients["patient_id"].iloc[0] == "P000001"


def test_columns_and_order_are_those_of_the_tables(doubles: dict[str, pd.DataFrame]) -> None:
    assert list(doubles["visits"].columns) == ["patient_id", "visit_id", "date", "ward"]
    assert list(doubles["labs"].columns) == ["visit_id", "value"]
    rising = doubles["visits"].groupby("patient_id")["date"].apply(lambda days: days.is_monotonic_increasing)
    assert rising.all()
    assert doubles["visits"].groupby("patient_id").size().max() <= 6


def test_who_belongs_together_is_kept(doubles: dict[str, pd.DataFrame]) -> None:
    both = doubles["drugs"].merge(doubles["patients"], on="patient_id")
    assert (both["drug"] == np.where(both["sex"] == "F", "x", "y")).mean() > 0.85, "person × child"
    ward = doubles["visits"].sort_values(["patient_id", "date"], kind="stable")
    same = (ward["ward"] == ward["ward"].shift()) & (ward["patient_id"] == ward["patient_id"].shift())
    together = ward["patient_id"] == ward["patient_id"].shift()
    assert same.sum() / together.sum() > 0.6, "child × next child: a third would be chance, about 0.87 is true"
    numbers = doubles["visits"].groupby("patient_id").size()
    assert abs(numbers.sum() / len(doubles["patients"]) - 3) < 0.4


def test_more_doubles_cost_nothing_and_may_be_conditioned(place: Path) -> None:
    model = kg.load_related(place / "doubles")
    one, two = (model.sample(50, seed=3, where="sex = 'F'", like="pandas") for _ in range(2))
    assert (one["patients"]["sex"] == "F").all()
    assert len(one["patients"]) == 50
    assert all(one[name].equals(two[name]) for name in one)


def forged(place: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """What `verify` says of a release whose certificate was changed, with a digest that fits."""
    folder = tmp_path / "forged"
    shutil.copytree(place / "doubles", folder)
    body = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    change(body)
    del body["digest"]
    (folder / "certificate.json").write_text(with_digest(canonical(body))[0], encoding="utf-8")
    return [check.what for check in kg.verify(folder) if not check.passed]


def queries(body: dict[str, Any], table: str) -> list[dict[str, Any]]:
    return [event["query"] for event in body["events"] if event["query"]["table"] == table]


def test_a_forger_cannot_count_a_person_as_less(place: Path, tmp_path: Path) -> None:
    def as_one_row(body: dict[str, Any]) -> None:
        body["method"]["parameters"]["tables"]["visits"] = PARTS
        for query in queries(body, "visits"):
            query["rows"] = PARTS

    failed = forged(place, tmp_path, as_one_row)
    assert {"sensitivities", "unit"} <= set(failed)


def test_an_event_cannot_be_of_another_table(place: Path, tmp_path: Path) -> None:
    def of_persons(body: dict[str, Any]) -> None:
        for query in queries(body, "labs"):
            query["table"] = "drugs"

    assert "sensitivities" in forged(place, tmp_path, of_persons)


def test_a_sentence_left_out_is_missed(place: Path, tmp_path: Path) -> None:
    def silent(body: dict[str, Any]) -> None:
        body["assumptions"] = [s for s in body["assumptions"] if "The promise covers one person" not in s]

    assert "assumptions" in forged(place, tmp_path, silent)


def test_tables_put_in_the_place_of_others_are_noticed(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(place / "doubles", folder)
    shutil.copy(place / "tables" / "visits.csv", folder / "synthetic-visits.csv")
    assert "synthetic-visits.csv" in [c.what for c in kg.verify(folder) if not c.passed]
    (folder / "synthetic-drugs.csv").unlink()
    assert "synthetic-drugs.csv" in [c.what for c in kg.verify(folder) if not c.passed]


def test_a_key_that_names_two_rows_is_noticed(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "twice"
    shutil.copytree(place / "doubles", folder)
    table = folder / "synthetic-patients.csv"
    table.write_text(table.read_text() + table.read_text().splitlines()[1] + "\n")
    stated = Certificate.from_json((folder / "certificate.json").read_text(encoding="utf-8"))
    hashes = {path.name: sha256(path) for path in folder.iterdir() if not path.name.startswith("certificate")}
    bound = stated.with_outputs(hashes)
    (folder / "certificate.json").write_text(bound.to_json(), encoding="utf-8")
    (folder / "certificate.html").write_text(render(bound), encoding="utf-8")
    (failed,) = (check for check in kg.verify(folder) if not check.passed)
    assert (failed.what, failed.detail) == ("keys of the tables", "1 rows have the name of another row")


def test_the_same_release_by_command_pays_nothing(place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kagemusha.synthesizers.next_rows.DRAWN", 800)
    monkeypatch.setattr("kagemusha.synthesizers.related_fit.PARENTS", 800)
    done = run(
        *("synth", place / "tables", "--schema", place / "schema.toml", "--epsilon", 20, "--out", place / "doubles"),
        *("--ledger", place / "ledger.db", "--force"),
    )
    assert "synthetic-visits.csv" in done.stdout
    assert "one person with all rows below" in done.stdout
    assert len(kg.open_ledger(place / "ledger.db").releases()) == 1
    with pytest.raises(KagemushaError, match="passes the cap"):
        kg.fit_related(place / "tables", 1.0, schema=place / "schema.toml", ledger=place / "ledger.db")


def test_commands_on_the_release(place: Path, run: Run, tmp_path: Path) -> None:
    assert "intact" in run("verify", place / "doubles").stdout
    asked = ("verify", place / "doubles", "--quality-page", tmp_path / "q.html", "--language", "ja")
    assert "come in English so far" in run(*asked, code=None).stderr
    run("sample", place / "doubles", "--rows", 30, "--where", "sex = 'F'", "--out", tmp_path / "more")
    more = {path.stem: pd.read_csv(path) for path in (tmp_path / "more").glob("*.csv")}
    assert set(more) == {"patients", "visits", "drugs", "labs"}
    assert len(more["patients"]) == 30
    assert set(more["patients"]["sex"]) == {"F"}
    found = json.loads(run("evaluate", place / "tables", place / "doubles", "--json").stdout)
    assert set(found["tables"]) == {"visits", "drugs", "labs"}
    assert found["tables"]["visits"]["gaps"] < 1
    planned = json.loads(run("plan", place / "schema.toml", "--rows", 400, "--json").stdout)
    assert [table["counts_as"] for table in planned["tables"]] == [1, 5, 5, 25]
    assert sum(table["share"] for table in planned["tables"]) == pytest.approx(1)
    for table in planned["tables"]:
        few, many = table["errors"]
        assert 0 < many <= few < 2
    shown = run("plan", place / "schema.toml").stdout
    assert "persons with everything below" in shown
    refused = run("plan", place / "schema.toml", "--error", "0.1", code=None)
    assert "are for one table" in refused.stderr


def test_replace_adjacency_makes_the_number_of_persons_public_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kagemusha.synthesizers.next_rows.DRAWN", 200)
    monkeypatch.setattr("kagemusha.synthesizers.related_fit.PARENTS", 200)
    tables = {name: table for name, table in hospital(120).items() if name in ("patients", "drugs")}
    schema = read_declared(TEXT.split("[tables.visits]")[0] + DRUGS)
    model = kg.fit_related(tables, kg.Budget(3.0, 1e-6, "replace"), schema=schema, simulation=1)  # type: ignore[arg-type]
    assert model.rows == 120
    events = [event for event in model.certificate.events if event.query and event.query.table == "drugs"]
    counts = next(event for event in events if event.query and event.query.kind == "counts")
    assert counts.l2_squared == 2 * (5 * PARTS) ** 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"budget": 0}, "epsilon must be greater than 0"),
        ({"tables": {"patients": None}}, "there is no table 'visits'"),
        ({"tables": 5}, "a dict of frames, a folder or an address"),
        ({"tables": "postgresql://u@127.0.0.1:1/d"}, "the server cannot be reached"),
        ({"tables": "mysql://u@h/d"}, "a table is a file, or in postgresql"),
        ({"tables": "/nowhere"}, "no file for the table 'patients'"),
    ],
)
def test_mistakes_are_named_before_anything_is_spent(place: Path, how: dict[str, Any], why: str) -> None:
    asked = {"tables": place / "tables", "budget": 1.0, "schema": place / "schema.toml", **how}
    with pytest.raises(KagemushaError, match=why):
        kg.fit_related(**asked)


def test_what_related_tables_do_not_have_is_refused(place: Path) -> None:
    from kagemusha.making.order import Order
    from kagemusha.making.related import planned_related
    from kagemusha.privacy.budget import Budget
    from kagemusha.schema.related import Related

    schema = kg.load_related(place / "doubles").schema
    assert isinstance(schema, Related)
    for given, why in (
        ({"discover": 0.1}, "has nothing to find"),
        ({"allow_derived": True}, "allow_derived"),
        ({"method": "mst"}, "method 'mst' does not model related tables"),
    ):
        with pytest.raises(UsageError, match=why):
            planned_related(Order(table=place / "tables", budget=Budget(1.0), **given), schema)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [0, None])
def test_tables_without_rows_are_tables_too(rows: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kagemusha.synthesizers.next_rows.DRAWN", 100)
    monkeypatch.setattr("kagemusha.synthesizers.related_fit.PARENTS", 100)
    tables = hospital(60)
    given = {"patients": tables["patients"].iloc[:rows], "drugs": tables["drugs"].iloc[:0]}
    model = kg.fit_related(given, 1.0, schema=read_declared(TEXT.split("[tables.visits]")[0] + DRUGS), simulation=3)  # type: ignore[arg-type]
    doubles = model.sample(20, seed=1, like="polars")
    assert len(doubles["patients"]) == 20
    assert set(doubles["drugs"]["patient_id"]) <= set(doubles["patients"]["patient_id"])


def test_columns_that_are_left_out_stop_nothing(tmp_path: Path) -> None:
    """A name is declared, left out, and asked of no table of doubles: not when they are judged, not when compared."""
    from kagemusha.questions import evaluate_tables

    rng = np.random.default_rng(0)
    patients = pd.DataFrame(
        {"patient_id": [f"p{at}" for at in range(200)], "name": "x", "sex": rng.choice(["F", "M"], 200)}
    )
    visits = pd.DataFrame({"patient_id": rng.choice(patients.patient_id, 400), "ward": rng.choice(["a", "b"], 400)})
    (tmp_path / "real").mkdir()
    for name, table in (("patients", patients), ("visits", visits)):
        table.to_csv(tmp_path / "real" / f"{name}.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        'version = 1\n[tables.patients]\nkey = "patient_id"\n[tables.patients.columns.name]\nkind = "drop"\n'
        'reason = "a name"\n[tables.patients.columns.sex]\nkind = "category"\ncategories = ["F", "M"]\n'
        '[tables.visits]\nparent = "patients"\nkey = "patient_id"\nmax_rows = 6\n'
        '[tables.visits.columns.ward]\nkind = "category"\n'
        'categories = ["a", "b"]\n'
    )
    out = tmp_path / "doubles"
    kg.release_related(
        tmp_path / "real", out, 1.0, schema=tmp_path / "schema.toml", ledger=tmp_path / "l.db", dataset="d"
    )
    assert (out / "quality.html").is_file()
    assert all(check.passed for check in kg.verify(out))
    assert list(pd.read_csv(out / "synthetic-patients.csv").columns) == ["patient_id", "sex"]
    assert evaluate_tables(tmp_path / "real", out).persons < 1
