"""Jobs: what they leave behind, what a failed one says, and looks beside the table, which the ledger knows of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kagemusha.door import verify
from kagemusha.ledger import open_ledger
from kagemusha.studio.jobs import OUTCOME, Jobs
from kagemusha.studio.site import Site
from kagemusha.studio.worker import work

from .hospital import CANARY
from .test_server import pay, shown

Ask = Callable[..., dict[str, Any]]


def done(site: Site, go: str) -> dict[str, Any]:
    """A job, worked on here and now."""
    place = site.jobs.folder / go.rpartition("/")[2]
    outcome = work(place)
    (place / OUTCOME).write_text(json.dumps(outcome, default=str))
    return outcome


@pytest.fixture
def released(client: TestClient, site: Site, confirmed: None) -> Path:
    outcome = done(site, pay(client, shown(client)).json()["go"])
    assert "error" not in outcome
    return site.place.folder / "stays-doubles"


def test_a_release_and_everything_its_page_does(client: TestClient, site: Site, released: Path, ask: Ask) -> None:
    page = client.get("/release?r=stays-doubles").text
    assert "--epsilon 1 --out stays-doubles" in page
    assert CANARY not in page
    assert "It holds." in ask("verify", r="stays-doubles")["replace"]["verdict"]
    assert "people" in ask("sample", r="stays-doubles", where="age > 60", rows="50")["replace"]["sample"]
    kept = client.get("/release/sample?r=stays-doubles&rows=50&where=age > 60")
    assert len(kept.text.splitlines()) == 51
    assert kept.headers["content-disposition"] == 'attachment; filename="sample.csv"'
    wrong = client.post("/api/sample", json={"r": "stays-doubles", "where": "nothing > 3"})
    assert wrong.status_code == 400
    for name, policy in (("certificate.html", "sandbox"), ("quality.html", "sandbox"), ("model.kage", "script-src")):
        answer = client.get("/release/file", params={"r": "stays-doubles", "name": name})
        assert answer.status_code == 200
        assert policy in answer.headers["content-security-policy"]
        assert len(answer.headers.get_list("content-security-policy")) == 1
    assert client.post("/api/sign", json={"r": "stays-doubles", "who": ""}).status_code == 400
    assert "Signed" in ask("sign", r="stays-doubles", who="Hospital")["said"]
    assert (site.place.hidden / "signing.key").stat().st_mode & 0o777 == 0o600
    assert "100.0 % used" in client.get("/ledger?t=stays.csv").text
    assert "ε = 0" in client.get("/plan?t=stays.csv").text


def test_pages_of_a_release_are_said_in_the_readers_language(
    client: TestClient, site: Site, released: Path, ask: Ask
) -> None:
    ref = {"r": site.place.relative(released)}
    for name, words in (("certificate.html", "証明書"), ("quality.html", "ダブル")):
        english = client.get("/release/file", params={**ref, "name": name})
        assert english.content == (released / name).read_bytes()
        client.get("/language/ja")
        japanese = client.get("/release/file", params={**ref, "name": name})
        assert japanese.headers["content-security-policy"] == english.headers["content-security-policy"]
        assert words in japanese.text
        client.get("/language/en")


def test_the_same_order_again_is_drawn_anew_and_costs_nothing(
    client: TestClient, site: Site, released: Path, ask: Ask
) -> None:
    fields = shown(client)
    assert fields["folder"] == "stays-doubles-2"
    assert done(site, pay(client, fields).json()["go"])["paid before"]
    fields = shown(client, key="another")
    outcome = done(site, pay(client, fields).json()["go"])
    assert "cap" in outcome["error"]
    assert "Nothing was spent" in outcome["error"]
    (record,) = open_ledger(site.place.folder / "kagemusha-ledger.db", read_only=True).releases()
    assert record.closed
    # its owner raises the cap, deliberately; the job is tried again
    assert client.post("/api/cap", json={"t": "stays.csv", "epsilon": "2", "typed": "cap 3"}).status_code == 400
    ask("cap", epsilon="2", typed="cap 2")
    job = next(job for job in site.jobs.all() if job.state == "failed")
    went = ask("again", id=job.id)["go"]
    assert "error" not in done(site, went)


@pytest.mark.slow
def test_looks_beside_the_table_are_marked_and_recorded(
    client: TestClient, site: Site, released: Path, ask: Ask
) -> None:
    refused = client.post("/api/look", json={"r": "stays-doubles", "kind": "evaluate"})
    assert refused.status_code == 400
    went = ask("look", r="stays-doubles", kind="evaluate", internal=True)["go"]
    outcome = done(site, went)
    assert outcome["verdict"]
    page = client.get(went).text
    assert "INTERNAL" in page
    assert "sandbox" in client.get(f"{went}/report").headers["content-security-policy"]
    looks = [r.method for r in open_ledger(site.place.folder / "kagemusha-ledger.db", read_only=True).releases()]
    assert "evaluate" in looks
    assert "INTERNAL" not in client.get("/release/zip?r=stays-doubles").text
    assert not [name for name in released.iterdir() if "INTERNAL" in name.name]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["compare", "attack"])
def test_comparisons_and_attacks(
    client: TestClient, site: Site, released: Path, ask: Ask, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kagemusha.studio.release_calls.TRAININGS", 8)
    went = ask("look", r="stays-doubles", kind=kind, internal=True)["go"]
    outcome = done(site, went)
    assert "error" not in outcome, outcome
    assert outcome.get("verdict") or outcome["lines"]
    assert client.get(went).status_code == 200


@pytest.mark.usefixtures("confirmed")
def test_errors_of_pairs_are_tried_on_made_up_tables(client: TestClient, site: Site, ask: Ask) -> None:
    went = ask("solve", what="try", epsilon="1", rows="500", pairs=["sex,ward", "age,ward"])["go"]
    outcome = done(site, went)
    assert {pair for pair, _ in outcome["pairs"]} == {"sex × ward", "age × ward"}
    assert all(0 < error < 2 for _, error in outcome["pairs"])
    assert "sex × ward" in client.get(went).text
    assert client.post("/api/solve", json={"t": "stays.csv", "pairs": ["x"], "wanted": 5}).status_code == 400
    assert not (site.place.folder / "kagemusha-ledger.db").exists()


@pytest.mark.parametrize("share", [0.2, 0.6, 0.75, 1.0])
def test_a_run_that_ends_in_the_middle_is_taken_up_and_paid_once(
    client: TestClient, site: Site, confirmed: None, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill, but at a moment of our choice; 1.0 is after the last file and before anybody said so."""
    go = pay(client, shown(client)).json()["go"]

    def ending(_: Path) -> Any:
        def listener(what: str, done: float) -> None:
            if done >= share:
                raise KeyboardInterrupt

        return listener

    if share < 1:
        with monkeypatch.context() as patched:
            patched.setattr("kagemusha.studio.worker.noting", ending)
            with pytest.raises(KeyboardInterrupt):
                work(site.jobs.folder / go.rpartition("/")[2])
    else:
        assert "error" not in work(site.jobs.folder / go.rpartition("/")[2])
    outcome = done(site, go)
    assert "error" not in outcome, outcome
    (record,) = open_ledger(site.place.folder / "kagemusha-ledger.db", read_only=True).releases()
    assert record.closed
    assert outcome["release"] == record.id
    assert all(check.passed for check in verify(site.place.folder / "stays-doubles"))


def test_a_job_that_is_not_there(client: TestClient) -> None:
    for id in ("", "x", "0" * 24, "../" * 8):
        assert client.post("/api/job", json={"id": id}).status_code == 400


def test_a_mistake_of_ours_quotes_no_value(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path / "jobs")
    job = jobs.submit("a" * 24, "evaluate", {"where": CANARY})
    outcome = work(tmp_path / "jobs" / job.id)
    assert "mistake of the program" in outcome["error"]
    assert CANARY not in outcome["error"]
