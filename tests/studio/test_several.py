"""Tables that belong together: drafted behind the door, answered table by table, planned, and never shown early."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pytest
from starlette.testclient import TestClient

from kagemusha.errors import SchemaError, UsageError
from kagemusha.schema.declared import load_declared
from kagemusha.schema.related import Related
from kagemusha.studio.place import Place
from kagemusha.studio.site import Site

from .families import write_families
from .hospital import CANARY

Ask = Callable[..., dict[str, Any]]
REF = "clinic/"
WHO = {"who": "Dr Ito", "source": "the law"}


@pytest.fixture
def clinic(folder: Path) -> Path:
    return write_families(folder / "clinic", 120)


@pytest.fixture
def drafted(clinic: Path, ask: Ask) -> Path:
    ask("draft", t=REF, what="facts", internal=True)
    return clinic / "clinic-tables.toml"


def related(path: Path) -> Related:
    found = load_declared(path)
    assert isinstance(found, Related)
    return found


def test_folders_and_databases_that_hold_several_tables_are_offered(clinic: Path, site: Site) -> None:
    with duckdb.connect(str(clinic / "all.duckdb")) as book:
        for name in ("patients", "visits"):
            book.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{clinic / name}.csv')")
    assert site.place.together() == ["clinic/", "clinic/all.duckdb"]
    base = site.place.table("clinic/all.duckdb")
    assert (base.several, base.where) == (True, f"duckdb:///{clinic.resolve() / 'all.duckdb'}")
    assert site.place.held(site.place.table(REF)) == ["patients.csv", "visits.csv"]
    site.drafts.draft(base, kinds_only=False)
    assert [one.name for one in related(base.schema)] == ["patients", "visits"]


def test_a_folder_with_a_link_that_leads_out_is_none(clinic: Path, folder: Path) -> None:
    (folder.parent / "secret.csv").write_text(f"patient_id,a\n{CANARY}-P00001,{CANARY}\n")
    (clinic / "labs.csv").symlink_to(folder.parent / "secret.csv")
    place = Place(folder)
    assert "clinic/" not in place.together()
    for ref in (REF, "clinic", "../", "clinic/../../", ".studio/", "nothing/"):
        with pytest.raises(UsageError, match="no such"):
            place.table(ref)


def test_nothing_of_several_tables_is_shown_before_the_door(client: TestClient, clinic: Path, ask: Ask) -> None:
    assert clinic.is_dir()
    secrets = [CANARY, "Maternity", "2020-", "1930-"]
    texts = [client.get("/", params={}).text, client.get("/table", params={"t": REF}).text]
    for call in ("draft", "door", "schema", "form", "point", "solve", "spend", "label"):
        sent = client.post(f"/api/{call}", json={"t": REF, "answer": "confirm_all", "what": "kinds"})
        assert sent.status_code == 400, call
        texts.append(sent.text)
    ask("draft", t=REF, what="facts", internal=True)
    for text in texts:
        assert not [secret for secret in secrets if secret in text]
    page = client.get("/schema", params={"t": REF}).text
    assert "Maternity" in page
    assert CANARY not in page
    for path in clinic.rglob("*"):
        if path.suffix != ".csv" and path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path


def test_tables_are_confirmed_changed_and_dropped(drafted: Path, ask: Ask, client: TestClient) -> None:
    first = related(drafted)
    assert [(t.name, t.parent, t.order) for t in first] == [("patients", None, None), ("visits", "patients", "date")]
    visits = {"in": "visits"}
    ask("schema", t=REF, answer="table_confirm", **visits, **WHO)
    assert related(drafted)["visits"].derived == ()
    assert "Dr Ito" in (related(drafted)["visits"].schema["patient_id"].confirmed or "")
    ask("schema", t=REF, answer="table_change", **visits, order="", max_rows="7", counts_as="3", orphans="drop", **WHO)
    changed = related(drafted)["visits"]
    assert (changed.order, changed.max_rows, changed.counts_as, changed.orphans) == (None, 7, 3, "drop")
    ask("schema", t=REF, answer="undo")
    assert related(drafted)["visits"].order == "date"
    for wrong, said in (
        ({"max_rows": "many"}, "whole number"),
        ({"parent": "labs"}, "no table of that name"),
        ({"order": "ward"}, "order"),
        ({"key": "nobody"}, "no such column"),
    ):
        sent = client.post("/api/schema", json={"t": REF, "answer": "table_change", **visits, **wrong, **WHO})
        assert sent.status_code == 400
        assert said in sent.json()["error"]
    for body in ({"answer": "table_drop", "in": "patients"}, {"answer": "confirm", "in": "labs", "column": "ward"},
                 {"answer": "unit", **visits, "column": "ward"}, {"answer": "require", **visits}):  # fmt: skip
        assert client.post("/api/schema", json={"t": REF, **body, **WHO}).status_code == 400
    ask("schema", t=REF, answer="drop", **visits, column="ward", **WHO)
    assert related(drafted)["visits"].schema["ward"].kind == "drop"
    shown = unescape(ask("schema", t=REF, answer="undo")["replace"]["toml"])
    assert drafted.read_text().strip() in shown


def test_one_reason_confirms_all_and_rules_reach_across_tables(drafted: Path, ask: Ask, client: TestClient) -> None:
    assert client.get("/spend", params={"t": REF, "epsilon": "1"}).status_code == 404
    ask("schema", t=REF, answer="confirm_all", kind="category", **WHO)
    assert related(drafted).derived_facts()
    ask("schema", t=REF, answer="confirm_all", **WHO)
    assert not related(drafted).derived_facts()
    ask("schema", t=REF, answer="rule_add", **{"in": "visits"}, rule="date >= patients.birth_date", **WHO)
    ask("schema", t=REF, answer="rule_add", **{"in": "visits"}, rule="never ward = 'Surgery' and stay > 18", **WHO)
    assert [rule.rule for rule in related(drafted)["visits"].rules] == ["date >= patients.birth_date"]
    assert len(related(drafted)["visits"].schema.constraints) == 1
    ask("schema", t=REF, answer="rule_away", **{"in": "visits"}, rule="date >= patients.birth_date")
    assert related(drafted)["visits"].rules == ()
    wrong = {"t": REF, "answer": "rule_add", "in": "visits", "rule": "date >= nobody.birth_date", **WHO}
    assert "nobody" in client.post("/api/schema", json=wrong).json()["error"]


def test_a_column_to_predict_is_chosen_from_all_tables(drafted: Path, ask: Ask, client: TestClient) -> None:
    page = client.get("/schema", params={"t": REF}).text
    offered = re.search(r'value="target">.*?</form>', page, flags=re.S)
    assert offered is not None
    assert re.findall(r"<option>([^<]+)<", offered[0]) == [
        "patients.sex", "patients.birth_date", "visits.date", "visits.ward", "visits.stay"
    ]  # fmt: skip
    said = ask("schema", t=REF, answer="target", column="visits.ward")["replace"]
    assert related(drafted).target == "visits.ward"
    assert "<option selected>visits.ward</option>" in said["rules"]
    assert "target = &#34;visits.ward&#34;" in said["toml"]
    ask("schema", t=REF, answer="confirm_all", **WHO)
    ask("schema", t=REF, answer="table_change", **{"in": "visits"}, max_rows="7", **WHO)
    assert related(drafted).target == "visits.ward", "other answers leave it as it is"
    for lang, words in (("en", "no table has such a column"), ("ja", "この列を持つ表がありません")):
        for body in ({"answer": "target", "column": "visits.nobody"},
                     {"answer": "drop", "in": "visits", "column": "ward", **WHO}):  # fmt: skip
            sent = client.post("/api/schema", json={"t": REF, "lang": lang, **body})
            assert (sent.status_code, words in sent.json()["error"]) == (400, True), sent.text
    ask("schema", t=REF, answer="target", column="")
    assert related(drafted).target is None


def test_persons_and_rows_keep_what_people_predict_and_how_much_a_person_weighs(site: Site) -> None:
    from kagemusha.editing.tables import as_persons
    from kagemusha.schema import Category, Integer, Schema

    columns = [Category("id", categories=("a", "b")), Category("sex", categories=("F", "M")),
               Integer("weight", lower=0, upper=9), Category("ward", categories=("u", "v"))]  # fmt: skip
    schema = Schema(columns, target="ward", weight="weight")
    made = as_persons(schema, "id", ["sex", "weight"], "", "3")
    assert (made.target, made.weight) == ("rows.ward", schema.weight)
    with pytest.raises(SchemaError, match="weight"):
        as_persons(schema, "id", ["sex"], "", "3")


def test_the_plan_of_several_tables_and_the_page_that_pays(
    drafted: Path, ask: Ask, client: TestClient, confirmed: None
) -> None:
    ask("schema", t=REF, answer="confirm_all", **WHO)
    page = client.get("/plan", params={"t": REF, "rows": "2000"})
    assert page.status_code == 200
    points = json.loads(unescape(page.text.partition('data-points="')[2].partition('"')[0]))
    low, high = points[0], points[-1]
    assert low["wrong"] < high["wrong"], "drawn from above: more ε, fewer errors"
    assert "patients" in low["more"]
    assert "visits" in low["more"]
    assert {one["time"] for one in points} == {
        "How long it takes and how much memory is not forecast for several tables."
    }
    assert ask("point", t=REF, epsilon="1", rows="2000")["point"]["more"]
    went = ask("solve", t=REF, wanted="20", rows="20000", what="solve")["go"]
    assert "epsilon=" in went
    assert client.post("/api/solve", json={"t": REF, "wanted": "0.1", "rows": "5"}).status_code == 400
    ask("schema", t=REF, answer="open", **{"in": "visits"}, column="ward", **WHO)
    refused = client.get("/spend", params={"t": REF, "epsilon": "1"})
    assert (refused.status_code, "synth --discover` finds them" in refused.text) == (404, True)
    ask("schema", t=REF, answer="undo")
    paying = client.get("/spend", params={"t": REF, "epsilon": "1"}).text
    assert "patients, visits" in paying
    assert "one person with everything below" in paying
    assert low["time"] in paying
    alone = json.loads(unescape(client.get("/plan?t=stays.csv").text.partition('data-points="')[2].partition('"')[0]))
    assert all("MB" in one["time"] for one in alone), "of one table it is"


def test_one_long_table_becomes_persons_and_their_rows(folder: Path, ask: Ask, client: TestClient) -> None:
    lines = ["id,sex,ward", *(f"{CANARY}{at // 3},{'FM'[at // 3 % 2]},{'abc'[at % 3]}" for at in range(300))]
    (folder / "long.csv").write_text("\n".join(lines) + "\n")
    sent = {"t": "long.csv", "what": "facts", "internal": True, "persons": "id"}
    assert client.post("/api/draft", json=sent).status_code == 200
    drafted = related(folder / "long.toml")
    assert [(t.name, t.first_of) for t in drafted] == [("persons", "rows"), ("rows", None)]
    assert CANARY not in client.get("/schema?t=long.csv").text
    # or later, of a schema that is there already
    ask("draft", what="facts", internal=True)
    body = {"answer": "persons", "column": "patient_id", "persons": "sex, insurance", "order": "admitted", **WHO}
    assert client.post("/api/schema", json={"t": "stays.csv", **body, "most": "x"}).status_code == 400
    ask("schema", **body, most="12")
    made = related(folder / "stays.toml")
    assert made["persons"].schema.names == ("patient_id", "sex", "insurance")
    assert (made["rows"].order, made["rows"].max_rows) == ("admitted", 12)
    ask("schema", answer="undo")
    assert not isinstance(load_declared(folder / "stays.toml"), Related)


def test_japanese_says_it_all(drafted: Path, client: TestClient, ask: Ask) -> None:
    from .test_server import english_in

    client.get("/language/ja")
    for path in ("/schema", "/plan", "/table"):
        assert english_in(client.get(path, params={"t": REF}).text) == [], path
    ask("schema", t=REF, answer="confirm_all", **WHO)
    assert english_in(client.get("/spend", params={"t": REF, "epsilon": "1"}).text) == []
    assert drafted.is_file()


def test_a_demand_is_declared_by_form_and_shown(client: TestClient, folder: Path, ask: Ask, confirmed: None) -> None:
    from kagemusha.schema import Schema

    ask("schema", answer="require", columns="ward, sex", weight="2")
    ask("schema", answer="accept", what="tables", columns="ward, sex", within="5", share="3")
    ask("schema", answer="accept", what="mean", columns="age", within="0.5", share="")
    ask("schema", answer="accept", what="rules")
    demands = Schema.load(folder / "stays.toml").demands
    assert demands.required[0].to_fields() == {"table": ["ward", "sex"], "weight": 2.0}
    assert [one.to_fields() for one in demands.accept] == [
        {"tables": ["ward", "sex"], "within": 0.05, "share": 0.03}, {"mean": "age", "within": 0.5}, {"rules": True}
    ]  # fmt: skip
    words = ask("point", epsilon="1", rows="1500")["point"]["more"]
    assert "ward × sex: 95 of 100 counts" in words
    page = client.get("/spend?t=stays.csv&epsilon=1").text
    assert "ward × sex, measured directly" in page
    assert "the mean of age within 0.5" in page
    client.get("/language/ja")
    assert "age の平均の差が 0.5 以内" in client.get("/spend?t=stays.csv&epsilon=1").text
    for body in ({"answer": "require", "columns": "ward, nobody"}, {"answer": "require", "columns": "ward, sex"},
                 {"answer": "accept", "what": "tables", "columns": "ward", "within": "5"},
                 {"answer": "accept", "what": "mean", "columns": "ward", "within": "5"},
                 {"answer": "accept", "what": "tables", "columns": "ward, sex", "within": "lots"},
                 {"answer": "accept", "what": "klingon"}, {"answer": "demand_away", "what": "require", "at": "7"},
                 {"answer": "accept", "what": "mean", "columns": "age", "within": "1", "share": "90"}):  # fmt: skip
        assert client.post("/api/schema", json={"t": "stays.csv", **body}).status_code == 400, body
    ask("schema", answer="demand_away", what="require", at="0")
    for _ in range(3):
        ask("schema", answer="demand_away", what="accept", at="0")
    assert Schema.load(folder / "stays.toml").demands.to_fields() == {}
    assert "[[" not in (folder / "stays.toml").read_text().partition("[columns")[0]


def test_what_cannot_be_two_tables_is_said(site: Site) -> None:
    from kagemusha.editing.demands import with_demands
    from kagemusha.editing.tables import as_persons, table_dropped
    from kagemusha.schema import Category, Schema
    from kagemusha.schema.demands import Demands, RequiredTable

    schema = Schema([Category("id", categories=("a", "b")), Category("x", categories=("u", "v"))])
    demanded = with_demands(schema, Demands(required=(RequiredTable(("id", "x")),)))
    with pytest.raises(SchemaError, match="require: persons"):
        as_persons(demanded, "id", ["x"], "", "3")
    made = as_persons(schema, "id", ["x"], "", "3")
    with pytest.raises(SchemaError, match="cannot be left out"):
        table_dropped(made, "persons")
