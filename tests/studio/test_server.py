"""Who gets in, what is shown before it is paid for, what no route can reach, and that money is spent once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from kagemusha.errors import UsageError
from kagemusha.schema import Schema
from kagemusha.studio.place import Place
from kagemusha.studio.server import create_app
from kagemusha.studio.site import Site
from kagemusha.studio.start import require_loopback
from kagemusha.web.access import Access, cookie_name, new_token

from .conftest import HOST, LINK, signed_in
from .hospital import CANARY, WARDS

Ask = Callable[..., dict[str, Any]]
PAGES = [
    "/", "/table?t=stays.csv", "/schema?t=stays.csv", "/plan?t=stays.csv", "/spend?t=stays.csv&epsilon=1",
    "/job/" + "0" * 24, "/job/" + "0" * 24 + "/report", "/release?r=x", "/release/file?r=x&name=model.kage",
    "/release/zip?r=x", "/release/sample?r=x", "/ledger?t=stays.csv", "/label?t=stays.csv",
]  # fmt: skip
CALLS = ["connect", "draft", "door", "schema", "form", "point", "solve", "cap", "spend", "job", "again", "sample",
         "sign", "verify", "look", "label", "stop"]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_pages_need_the_link(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 403
    stranger.cookies.set(cookie_name((HOST,)), "made.up")
    assert stranger.get(path).status_code == 403


@pytest.mark.parametrize("call", CALLS)
def test_calls_need_cookie_and_secret(client: TestClient, call: str) -> None:
    secret = client.headers.pop("x-csrf")
    assert client.post(f"/api/{call}", json={}).status_code == 403, "no secret: another site's form"
    client.headers["x-csrf"] = secret
    client.cookies.clear()
    assert client.post(f"/api/{call}", json={}).status_code == 403, "no cookie"
    assert client.get(f"/api/{call}").status_code == 405


def test_every_route_is_among_those_that_are_tried(site: Site) -> None:
    routes = {route.path for route in create_app(site, hosts=(HOST,)).routes}  # type: ignore[attr-defined]
    tried = {path.partition("?")[0].replace("0" * 24, "{id}") for path in PAGES} | {f"/api/{call}" for call in CALLS}
    assert routes - tried == {"/enter", "/language/{to}", "/static/{name}", "/favicon.ico"}


def test_the_link_is_good_once_and_its_file_is_private(stranger: TestClient, site: Site) -> None:
    assert stranger.get("/enter?token=wrong").status_code == 403
    signed_in(stranger)
    assert stranger.get(f"/enter?token={LINK}").status_code == 200, "the same browser is sent to the page"
    other = TestClient(stranger.app, base_url=f"http://{HOST}")
    assert other.get(f"/enter?token={LINK}").status_code == 403
    path = site.place.hidden / "link"
    assert new_token(site.place.hidden, "link") != new_token(site.place.hidden, "link")
    assert path.stat().st_mode & 0o777 == 0o600
    assert site.place.hidden.stat().st_mode & 0o777 == 0o700


def test_a_hundred_threads_with_one_link_and_one_gets_in() -> None:
    access, admitted = Access("secret", link="once"), []
    threads = [threading.Thread(target=lambda: admitted.append(access.admits("once"))) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert admitted.count(True) == 1


def test_cookies_of_two_ports_do_not_meet(site: Site) -> None:
    client = TestClient(create_app(site, hosts=(HOST,)), base_url=f"http://{HOST}", follow_redirects=False)
    kept = client.get(f"/enter?token={LINK}").headers["set-cookie"]
    assert kept.startswith("kagemusha-8000=")
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in kept.split(";")}
    assert cookie_name(("127.0.0.1:8001",)) != cookie_name((HOST,))


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:8001", "localhost:8000.evil.example", "0.0.0.0:8000", "[::1]:8000"]
)
def test_another_host_name_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421
    assert client.post("/api/spend", json={}, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_it_listens_on_this_computer_alone(host: str) -> None:
    with pytest.raises(UsageError, match="ssh -L"):
        require_loopback(host)


def test_headers_forbid_what_is_not_ours(client: TestClient) -> None:
    for path in ("/", "/static/studio.js", "/enter?token=x", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


def test_pages_hold_no_script_and_no_style_of_their_own() -> None:
    pages = sorted((Path(__file__).parents[2] / "src/kagemusha/studio/pages").glob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"\son[a-z]+=|\sstyle=|<style|<script(?! src=\"/static/)|https?://", text), page.name


OUTSIDE = ["../secret.csv", "/etc/passwd", "..\\secret.csv", "link.csv", "linked/secret.csv", "a\0b.csv", "", ".",
           ".studio/secret", ".studio", "%2e%2e/secret.csv", "stays.csv/../../secret.csv", "~/x.csv", "@nobody",
           "x" * 5000]  # fmt: skip


@pytest.mark.parametrize("ref", OUTSIDE, ids=range(len(OUTSIDE)))
def test_nothing_outside_the_folder_exists(client: TestClient, folder: Path, ref: str) -> None:
    (folder.parent / "secret.csv").write_text(f"a\n{CANARY}\n")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "linked").symlink_to(folder.parent, target_is_directory=True)
    for path in ("/table", "/schema", "/plan", "/ledger"):
        answer = client.get(path, params={"t": ref})
        assert answer.status_code == 404, path
        assert CANARY not in answer.text
    for path in ("/release", "/release/zip", "/release/file"):
        assert client.get(path, params={"r": ref, "name": "../../secret.csv"}).status_code == 404
    for call in ("draft", "door", "point", "cap", "schema"):
        assert client.post(f"/api/{call}", json={"t": ref, "internal": True, "what": "facts"}).status_code == 400
    assert "secret.csv" not in client.get("/").text
    assert "link.csv" not in client.get("/").text


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/.studio/secret", "/static/base.html"]
)
def test_no_file_of_ours_can_be_fetched(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_bodies_are_small_flat_json_objects(client: TestClient) -> None:
    assert client.post("/api/schema", content=b"[1]").status_code == 400
    assert client.post("/api/schema", content=b"{").status_code == 400
    assert client.post("/api/schema", content=b"[" * 3000).status_code == 400
    assert client.post("/api/schema", content=b"x" * 900_000).status_code == 413
    for value in (1, None, [], {}, True, "x" * 2000):
        assert client.post("/api/draft", json={"t": value}).status_code == 400
        assert client.post("/api/job", json={"id": value}).status_code == 400


def test_no_value_of_the_table_is_shown_before_it_is_paid_for(client: TestClient, folder: Path, ask: Ask) -> None:
    """With a draft of kinds alone, no page and no call shows a value; bounds and categories are values."""
    secrets = [CANARY, *WARDS, "statutory", "2023-"]
    texts = [client.get("/table?t=stays.csv").text, json.dumps(ask("draft", what="kinds"))]
    texts += [client.get(page).text for page in PAGES]
    for answer in ("confirm_all", "undo", "nonsense"):
        texts.append(client.post("/api/schema", json={"t": "stays.csv", "answer": answer}).text)
    texts.append(json.dumps(ask("schema", answer="confirm_all", who="Dr Ito", source="general knowledge")))
    texts += [client.get(page).text for page in PAGES]
    texts += [client.post(f"/api/{call}", json={"t": "stays.csv", "column": "ward"}).text for call in CALLS[:-1]]
    for text in texts:
        assert not [secret for secret in secrets if secret in text]
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "stays.csv":
            assert CANARY.encode() not in path.read_bytes(), path


def test_facts_read_off_the_data_are_behind_the_door(client: TestClient, site: Site, ask: Ask) -> None:
    refused = client.post("/api/draft", json={"t": "stays.csv", "what": "facts"})
    assert "INTERNAL" in refused.json()["error"]
    ask("draft", what="facts", internal=True)
    assert WARDS[0] in client.get("/schema?t=stays.csv").text
    assert CANARY not in client.get("/schema?t=stays.csv").text, "names and identifiers are never listed in a draft"
    # another session, or the server started again: the door is closed once more
    again = Site(site.place, Access("secret", cookie=cookie_name((HOST,)), link="another"), site.jobs)
    other = signed_in(TestClient(create_app(again, hosts=(HOST,)), base_url=f"http://{HOST}"), "another")
    page = other.get("/schema?t=stays.csv").text
    assert WARDS[0] not in page
    assert "INTERNAL" in page
    assert "outlook" not in other.get("/plan?t=stays.csv").text, "sizes of categories are facts, too"
    for call in ("schema", "form", "point", "solve"):
        answer = other.post(f"/api/{call}", json={"t": "stays.csv", "answer": "confirm", "column": "ward"})
        assert answer.status_code == 400
        assert WARDS[0] not in answer.text
    assert other.post("/api/door", json={"t": "stays.csv"}).status_code == 400
    assert other.post("/api/door", json={"t": "stays.csv", "internal": True}).status_code == 200
    assert WARDS[0] in other.get("/schema?t=stays.csv").text


def shown(client: TestClient, **more: str) -> dict[str, str]:
    """The fields of the form that pays."""
    page = client.get("/spend", params={"t": "stays.csv", "epsilon": "1", **more})
    assert page.status_code == 200, page.text
    form = page.text.partition('data-call="spend"')[2]
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


def pay(client: TestClient, fields: dict[str, str], typed: str = "spend 1") -> Any:
    return client.post("/api/spend", json={"t": "stays.csv", **fields, "typed": typed})


def test_nothing_is_paid_with_facts_off_the_data(client: TestClient, ask: Ask) -> None:
    ask("draft", what="facts", internal=True)
    page = client.get("/spend?t=stays.csv&epsilon=1")
    assert page.status_code == 404
    assert "confirm them first" in page.text


@pytest.mark.usefixtures("confirmed")
def test_paying_needs_the_nonce_of_what_was_shown(client: TestClient, site: Site, ask: Ask) -> None:
    fields = shown(client)
    for changed in (
        {**fields, "nonce": "0" * 64}, {**fields, "epsilon": "2"}, {**fields, "rows": "7"}, {**fields, "key": "b"},
        {**fields, "cap": "9"}, {**fields, "folder": "elsewhere"},
    ):  # fmt: skip
        assert pay(client, changed, typed=f"spend {changed['epsilon']}").status_code == 409
    for typed in ("", "spend", "spend 2", "yes"):
        assert pay(client, fields, typed).status_code == 400
    for folder in ("../out", "/tmp/out", ".studio", "a/b", "x" * 99):
        assert pay(client, {**fields, "folder": folder}).status_code == 400
    other = Access("secret", link="x")
    session = other.session(other.cookie())
    assert session is not None
    assert pay(client, {**fields, "nonce": other.nonce(session, "anything")}).status_code == 409
    ask("schema", answer="drop", column="weight", who="Dr Ito")
    assert pay(client, fields).status_code == 409, "the schema is not the one that was shown"
    assert site.jobs.all() == []


@pytest.mark.usefixtures("confirmed")
def test_an_order_is_kept_once_however_often_it_is_sent(client: TestClient, site: Site) -> None:
    fields = shown(client)
    went = {pay(client, fields).json()["go"] for _ in range(5)}
    assert went == {pay(client, shown(client)).json()["go"]}, "the back button shows the page anew: the same order"
    (job,) = site.jobs.all()
    assert job.state == "waiting"
    assert job.fields["epsilon"] == 1.0


@pytest.mark.usefixtures("confirmed")
def test_fifty_clients_at_once_pay_once(client: TestClient, site: Site) -> None:
    fields, codes = shown(client), []

    def one() -> None:
        mine = TestClient(client.app, base_url=f"http://{HOST}")
        mine.cookies, mine.headers["x-csrf"] = client.cookies, client.headers["x-csrf"]
        codes.append(mine.get("/schema?t=stays.csv").status_code)
        codes.append(pay(mine, fields).status_code)
        codes.append(mine.post("/api/point", json={"t": "stays.csv", "epsilon": 1}).status_code)

    threads = [threading.Thread(target=one) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [200] * 150
    assert len(site.jobs.all()) == 1


def test_a_password_is_never_kept(client: TestClient, site: Site, ask: Ask) -> None:
    for address in (f"postgresql://u:{CANARY}@h/d", f"postgresql://u@h/d?password={CANARY}", "file:///etc/passwd"):
        answer = client.post("/api/connect", json={"name": "a", "address": address, "table": "t"})
        assert answer.status_code == 400
        assert CANARY not in answer.text
    assert ask("connect", name="ward", address="postgresql://ana@db/health", table="public.stays")["go"] == (
        "/table?t=@ward"
    )
    assert (site.place.hidden / "connections.json").stat().st_mode & 0o777 == 0o600
    assert "ana" not in client.get("/").text


def test_the_language_leads_back_to_our_own_pages(client: TestClient) -> None:
    plain = TestClient(client.app, base_url=f"http://{HOST}", follow_redirects=False)
    plain.cookies = client.cookies
    for back in ("//evil.example", "https://evil.example", "/\\evil.example", "/x\r\nset-cookie: a=b"):
        assert plain.get("/language/ja", params={"back": back}).headers["location"] == "/"
    assert plain.get("/language/ja", params={"back": "/plan?t=stays.csv"}).headers["location"] == "/plan?t=stays.csv"
    assert plain.get("/language/xx").status_code == 404


def english_in(page: str) -> list[str]:
    """Sentences left in English between the marks of a page; files, commands and people's own words are as they are."""
    text = re.sub(r"<(pre|code|script|title)\b.*?</\1>", "", page, flags=re.S)
    return [one.strip() for one in re.findall(r">([^<>]*)<", text) if re.search(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}", one)]


def test_japanese_pages_are_in_japanese_whatever_room_speaks(client: TestClient, ask: Ask, folder: Path) -> None:
    client.get("/language/ja")
    ask("draft", what="facts", internal=True)
    schema = client.get("/schema?t=stays.csv").text
    assert "人の氏名" in schema
    assert "人を見分ける列のようです" in schema
    assert "admitted &lt;= discharged" in schema
    assert english_in(schema) == []
    wrong: list[dict[str, Any]] = [
        {"answer": "change", "column": "age", "lower": "9", "upper": "1", "who": "Ito"},
        {"answer": "rule", "rule": "agee > 3", "who": "Ito"},
        {"answer": "unit", "column": "sex", "most": "0", "who": "Ito"},
        {"answer": "klingon"},
    ]
    for body in wrong:
        said = client.post("/api/schema", json={"t": "stays.csv", "lang": "ja", **body})
        assert said.status_code == 400
        assert re.search(r"[\u3040-\u30ff]", said.json()["error"]), said.json()
    for path in ("/table?t=none.csv", "/release?r=none", "/plan?t=stays.csv&rows=-3", "/job/none", "/table?t=@none"):
        page = client.get(path)
        assert page.status_code == 404
        assert english_in(page.text) == [], path
    ask("schema", answer="confirm_all", who="Ito", source="law")
    for path in (
        "/",
        "/schema?t=stays.csv",
        "/plan?t=stays.csv",
        "/spend?t=stays.csv&epsilon=1",
        "/ledger?t=stays.csv",
    ):
        assert english_in(client.get(path).text) == [], path


def test_what_owners_write_is_shown_as_text(client: TestClient, folder: Path, ask: Ask) -> None:
    evil = '<img src=x onerror="alert(1)">'
    (folder / "evil.csv").write_text(f'"{evil.replace(chr(34), chr(34) * 2)}",b\n1,2\n3,4\n')
    client.post("/api/draft", json={"t": "evil.csv", "what": "facts", "internal": True})
    for path in ("/table?t=evil.csv", "/schema?t=evil.csv"):
        assert "<img" not in client.get(path).text
    assert "&lt;img" in client.get("/schema?t=evil.csv").text


def test_the_hidden_folder_may_be_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "f").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "f" / ".studio")
    with pytest.raises(UsageError, match="is a link"):
        Place(tmp_path / "f")


@pytest.mark.usefixtures("confirmed")
def test_the_file_beside_the_form_is_the_file(client: TestClient, folder: Path, ask: Ask) -> None:
    answer = ask("schema", answer="change", column="age", lower="0", upper="120", bins="", who="Dr Ito", source="law")
    text = (folder / "stays.toml").read_text()
    from html import unescape

    assert text.strip() in unescape(answer["replace"]["toml"])
    assert Schema.load(folder / "stays.toml")["age"].given("upper") == 120
    ask("schema", answer="undo")
    assert Schema.load(folder / "stays.toml")["age"].given("upper") != 120


def test_files_as_people_have_them(client: TestClient, folder: Path) -> None:
    lines = ["年齢,病棟,メモ", *(f"{20 + at % 50},{'内科' if at % 3 else '外科'},{CANARY}{at}" for at in range(200))]
    (folder / "入院.csv").write_bytes("\r\n".join(lines).encode("cp932"))
    page = client.get("/table", params={"t": "入院.csv"}).text
    assert "病棟" in page
    assert CANARY not in page
    assert "外科" not in page
    drafted = client.post("/api/draft", json={"t": "入院.csv", "what": "facts", "internal": True})
    assert drafted.status_code == 200
    page = client.get(drafted.json()["go"]).text
    assert "外科" in page
    assert CANARY not in page
    (folder / "broken.csv").write_bytes(b"\0\0\0\0" * 9)
    assert client.get("/table?t=broken.csv").status_code == 404
    assert client.get("/").status_code == 200


@pytest.mark.usefixtures("confirmed")
def test_what_a_person_wrote_into_the_file_stays(folder: Path, ask: Ask) -> None:
    path = folder / "stays.toml"
    path.write_text(path.read_text().replace("[columns.age]", "# as the registry has it\n[columns.age]"))
    ask("schema", answer="drop", column="weight", who="Dr Ito")
    assert "# as the registry has it" in path.read_text()
    assert Schema.load(path)["weight"].kind == "drop"
    ask("schema", answer="undo")
    assert "# as the registry has it" in path.read_text()


def test_three_hundred_columns_are_bearable(client: TestClient, folder: Path) -> None:
    """All of a kind at once, for one reason; and an answer about one column sends back that column."""
    names = [f"column_{at}" for at in range(300)]
    lines = [",".join(names), *(",".join(str((at * row) % 7) for at in range(300)) for row in range(40))]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n")

    def answer(**body: Any) -> dict[str, Any]:
        sent = client.post("/api/schema", json={"t": "wide.csv", "who": "Dr Ito", "source": "the law", **body})
        assert sent.status_code == 200, sent.text
        return dict(sent.json())

    client.post("/api/draft", json={"t": "wide.csv", "what": "facts", "internal": True})
    one = answer(answer="confirm", column="column_8")
    assert {part for part in one["replace"] if part.startswith("card")} == {"card-8"}
    answer(answer="confirm_all", search="column_1")
    schema = Schema.load(folder / "wide.toml")
    left = {fact.column for fact in schema.derived_facts()}
    assert left == {name for name in names if "column_1" not in name and name != "column_8"}
    answer(answer="confirm_all", kind=schema["column_2"].kind)
    assert not Schema.load(folder / "wide.toml").derived_facts()
    for _ in range(3):
        answer(answer="undo")
    assert len({fact.column for fact in Schema.load(folder / "wide.toml").derived_facts()}) == 300


@pytest.mark.usefixtures("confirmed")
def test_two_tabs_lose_no_answer(client: TestClient, folder: Path) -> None:
    names = ["sex", "age", "ward", "diagnosis", "weight", "insurance"]

    def one(name: str) -> None:
        mine = TestClient(client.app, base_url=f"http://{HOST}")
        mine.cookies, mine.headers["x-csrf"] = client.cookies, client.headers["x-csrf"]
        mine.post("/api/schema", json={"t": "stays.csv", "answer": "drop", "column": name, "who": "Dr Ito"})

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {Schema.load(folder / "stays.toml")[name].kind for name in names} == {"drop"}


@pytest.mark.usefixtures("confirmed")
def test_rules_units_and_targets(client: TestClient, folder: Path, ask: Ask) -> None:
    who = {"who": "Dr Ito", "source": "the law"}
    (guess,) = Schema.load(folder / "stays.toml").constraints
    ask("schema", answer="rule_holds", rule=guess.rule, **who)
    ask("schema", answer="offer", first="admitted", second="discharged", most="90", **who)
    ask("schema", answer="rule_add", rule="never sex = 'M' and ward = 'Maternity'", **who)
    ask("schema", answer="unit", column="patient_id", most="3")
    ask("schema", answer="target", column="ward")
    schema = Schema.load(folder / "stays.toml")
    assert (schema.unit.column, schema.unit.max_rows, schema.target) == ("patient_id", 3, "ward")
    assert len(schema.constraints) == 2
    assert schema["admitted_to_discharged"].given("upper") == 90
    for wrong in (
        {"answer": "rule_add", "rule": "never nonsense >"}, {"answer": "rule_add", "rule": ""},
        {"answer": "rule_add", "rule": "age > 200"}, {"answer": "unit", "column": "patient_id", "most": "many"},
        {"answer": "target", "column": "nobody"}, {"answer": "change", "column": "age", "lower": "9", "upper": "1"},
        {"answer": "change", "column": "age", "kind": "drop"}, {"answer": "confirm", "column": "nobody"},
        {"answer": "rule_holds", "rule": "never"}, {"answer": "offer", "first": "a", "second": "b"},
    ):  # fmt: skip
        assert client.post("/api/schema", json={"t": "stays.csv", **who, **wrong}).status_code == 400, wrong
    for wrong in ({"who": ""}, {"source": ""}, {"who": "x" * 101}, {"who": "a\nb"}):
        body = {"t": "stays.csv", "answer": "confirm", "column": "age", **who, **wrong}
        assert client.post("/api/schema", json=body).status_code == 400, wrong
    assert Schema.load(folder / "stays.toml") == schema
    ask("schema", answer="unit", column="")
    assert not Schema.load(folder / "stays.toml").unit


def test_a_studio_that_nobody_visits_stops(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kagemusha", "studio", str(folder), "--idle", "0.02"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "works once" in done.stdout
    assert not (folder / ".studio" / "link").exists()
    refused = subprocess.run(
        [sys.executable, "-m", "kagemusha", "studio", str(folder), "--host", "0.0.0.0"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert refused.returncode != 0
    assert "ssh -L" in refused.stderr
