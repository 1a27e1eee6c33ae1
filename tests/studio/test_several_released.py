"""A release of tables that belong together, and what its page offers: attacks and a look beside the tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pytest
from starlette.testclient import TestClient

from kagemusha.attacks.game import Rules
from kagemusha.door import verify
from kagemusha.ledger import open_ledger
from kagemusha.studio.site import Site

from .families import write_families
from .hospital import CANARY
from .test_demanded import pay_for
from .test_jobs import done
from .test_server import english_in

Ask = Callable[..., dict[str, Any]]
REF, RELEASE = "clinic/", "clinic/clinic-tables-doubles"
WHO = {"who": "Dr Ito", "source": "the law"}
TRAININGS, FEW = 3, 1


@pytest.fixture
def released(client: TestClient, site: Site, folder: Path, ask: Ask) -> Path:
    write_families(folder / "clinic", 60)
    ask("draft", t=REF, what="facts", internal=True)
    ask("schema", t=REF, answer="confirm_all", **WHO)
    outcome = done(site, pay_for(client, REF))
    assert "error" not in outcome, outcome
    return folder / RELEASE


@pytest.mark.slow
def test_an_attack_is_the_one_of_the_command(
    client: TestClient, site: Site, released: Path, folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kagemusha.studio.release_calls.TRAININGS", TRAININGS)
    monkeypatch.setattr("kagemusha.questions.Rules", partial(Rules, references=FEW, generations=FEW))
    for body in ({"kind": "attack"}, {"kind": "compare", "internal": True}, {"kind": "klingon", "internal": True}):
        assert client.post("/api/look", json={"r": RELEASE, **body}).status_code == 400, body
    ledger = folder / "clinic" / "kagemusha-ledger.db"
    before = len(open_ledger(ledger, read_only=True).releases())
    went = ask("look", r=RELEASE, kind="attack", internal=True)["go"]
    outcome = done(site, went)
    assert "error" not in outcome, outcome
    assert [one.method for one in open_ledger(ledger, read_only=True).releases()][before:] == ["attack"]
    page = client.get(went).text
    assert outcome["verdict"] in unescape(page)
    assert "INTERNAL" in page
    report = client.get(f"{went}/report")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "a person with all rows below" in report.text
    assert CANARY not in report.text + page
    typed = ["attack", str(folder / "clinic"), "--release", str(released), "--trainings", str(TRAININGS), "--json",
             "--references", str(FEW), "--generations", str(FEW)]  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-m", "kagemusha", *typed, "--out", str(folder / "a-INTERNAL.html")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (maker,) = json.loads(ran.stdout)["makers"]
    assert maker["words"] == outcome["verdict"]
    assert {one["target"] for one in maker["attacks"]} == {"random", "selective"}
    assert (folder / "a-INTERNAL.html").read_text(encoding="utf-8") == report.text


def test_the_page_says_what_is_offered(client: TestClient, released: Path) -> None:
    page = client.get("/release", params={"r": RELEASE}).text
    assert 'value="attack"' in page
    assert 'value="compare"' not in page
    assert "Methods are not compared on several tables." in page
    client.get("/language/ja")
    assert english_in(client.get("/release", params={"r": RELEASE}).text) == []
    assert released.is_dir()


@pytest.mark.slow
def test_a_file_of_duckdb_goes_all_the_way(client: TestClient, site: Site, folder: Path, ask: Ask) -> None:
    write_families(folder, 120)
    with duckdb.connect(str(folder / "base.duckdb")) as book:
        for name in ("patients", "visits"):
            book.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{folder / name}.csv')")
    before = (folder / "base.duckdb").read_bytes()
    base, release = "base.duckdb", "base-tables-doubles"
    ask("draft", t=base, what="facts", internal=True)
    assert client.get("/spend", params={"t": base, "epsilon": "1"}).status_code == 404, "nothing is confirmed yet"
    ask("schema", t=base, answer="confirm_all", **WHO)
    ask("schema", t=base, answer="rule_add", **{"in": "visits"}, rule="date >= patients.birth_date", **WHO)
    ask("schema", t=base, answer="target", column="visits.ward")
    go = pay_for(client, base)
    outcome = done(site, go)
    assert "error" not in outcome, outcome
    assert outcome["tables"] == 2
    assert all(check.passed for check in verify(folder / release))
    table = site.place.table(base)
    book_of = open_ledger(table.ledger, read_only=True)
    (record,) = book_of.releases()
    assert (record.id, record.closed) == (outcome["release"], True)
    assert "100.0 % used" in client.get("/ledger", params={"t": base}).text
    page = client.get("/release", params={"r": release})
    assert page.status_code == 200
    assert "kagemusha synth duckdb:///" in page.text
    assert "It holds." in ask("verify", r=release)["replace"]["verdict"]
    assert "# visits" in ask("sample", r=release, where="sex = 'F'", rows="20")["replace"]["sample"]
    assert "error" not in done(site, go), "the same job again"
    assert done(site, pay_for(client, base))["paid before"]
    assert len(open_ledger(table.ledger, read_only=True).releases()) == 1
    went = ask("look", r=release, kind="evaluate", internal=True)["go"]
    outcome = done(site, went)
    assert "error" not in outcome, outcome
    assert outcome["measures"]
    assert open_ledger(table.ledger, read_only=True).releases()[-1].method == "evaluate"
    assert (folder / "base.duckdb").read_bytes() == before
    for path in (folder / release).rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path
    assert not [text for text in (page.text, client.get(went).text) if CANARY in text]
