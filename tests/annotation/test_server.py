"""Who gets in, what is shown, and what no route can reach."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2  # noqa: F401 - what the test client needs
import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from kagemusha.annotation.exchange import to_csv
from kagemusha.annotation.server import create_app
from kagemusha.annotation.store import Store
from kagemusha.web.access import MOST_CLIENTS, TRIES, Access, token_of

from .people import asked

HOST = "127.0.0.1:8000"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return asked(tmp_path)


@pytest.fixture
def stranger(store: Store) -> TestClient:
    return TestClient(create_app(store, "the-token", hosts=(HOST,)), base_url=f"http://{HOST}")


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    """Somebody with the link."""
    page = stranger.get("/enter?token=the-token")
    assert page.status_code == 200
    stranger.headers["x-csrf"] = page.text.split('name="csrf" content="')[1].split('"')[0]
    return stranger


def test_one_record_after_the_other(client: TestClient, store: Store) -> None:
    task = client.post("/api/next", json={"who": "Ada"}).json()["task"]
    told = client.post("/api/label", json={"who": "Ada", "task": task["id"], "answer": 1, "key": "k" * 12}).json()
    assert told["task"]["id"] != task["id"]
    assert [s.answer for s in store.said()] == ["1"]
    assert client.post("/api/undo", json={"who": "Ada"}).json()["task"]["id"] == task["id"]
    assert client.post("/api/progress", json={}).json()["labels"] == 0


def test_the_page_speaks_the_readers_language(client: TestClient) -> None:
    page = client.get("/", headers={"accept-language": "ja,en;q=0.5"}).text
    assert '<html lang="ja">' in page
    assert "判断できない" in page
    assert "ラベルは失われません" in page, "what the script says is there, too"
    assert "Cannot tell" not in page.split("data-words")[0] + page.split('">', 1)[1].split("<header>")[1]
    assert client.get("/language/ja", follow_redirects=False).headers["location"] == "/"
    assert '<html lang="ja">' in client.get("/settle").text, "chosen once, it stays"
    assert client.get("/language/en?back=//elsewhere", follow_redirects=False).headers["location"] == "/"
    assert client.get("/language/xx").status_code == 404


PATHS = ["/", "/settle", "/export/labels.csv", "/export/labels.json", "/export/label-studio.json"]
CALLS = ["next", "label", "skip", "undo", "settle", "progress", "conflicts"]


@pytest.mark.parametrize("path", PATHS)
def test_pages_need_the_link(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 403
    stranger.cookies.set("kagemusha-8000", "made.up")
    assert stranger.get(path).status_code == 403


@pytest.mark.parametrize("call", CALLS)
def test_calls_need_cookie_and_secret(client: TestClient, call: str) -> None:
    secret = client.headers.pop("x-csrf")
    assert client.post(f"/api/{call}", json={"who": "Ada"}).status_code == 403, "no secret: another site's form"
    client.headers["x-csrf"] = secret
    client.cookies.clear()
    assert client.post(f"/api/{call}", json={"who": "Ada"}).status_code == 403, "no cookie"
    assert client.get(f"/api/{call}").status_code == 405


def test_wrong_tokens_are_heard_only_so_often(stranger: TestClient) -> None:
    codes = [stranger.get(f"/enter?token=wrong{i}").status_code for i in range(TRIES + 2)]
    assert codes == [403] * TRIES + [429] * 2
    assert stranger.get("/enter?token=the-token").status_code == 200, "nobody locks the right token out"


def test_wrong_tokens_of_one_client_are_not_held_against_another() -> None:
    access = Access("the-token")
    assert [access.admits(f"wrong{i}", "10.0.0.1") for i in range(TRIES + 1)] == [False] * TRIES + [None]
    assert access.admits("wrong", "10.0.0.2") is False
    assert access.admits("the-token", "10.0.0.1") is True
    for i in range(3 * MOST_CLIENTS):
        access.admits("wrong", f"client {i}")
    assert len(access._wrong) <= MOST_CLIENTS


def somebody(app: object) -> TestClient:
    """Another browser with the link."""
    client = TestClient(app, base_url=f"http://{HOST}")  # type: ignore[arg-type]
    page = client.get("/enter?token=the-token")
    client.headers["x-csrf"] = page.text.split('name="csrf" content="')[1].split('"')[0]
    return client


def test_a_name_belongs_to_the_browser_that_used_it_first(client: TestClient, store: Store) -> None:
    task = client.post("/api/next", json={"who": "Ada"}).json()["task"]
    client.post("/api/label", json={"who": "Ada", "task": task["id"], "answer": 1, "key": "k" * 12})
    other = somebody(client.app)
    said = {"who": " Ada ", "task": task["id"], "answer": 0, "key": "j" * 12}
    for call in ("next", "label", "skip", "undo", "settle"):
        refused = other.post(f"/api/{call}", json=said)
        assert refused.status_code == 409, call
        assert "somebody else" in refused.json()["error"]
    assert [(s.who, s.answer) for s in store.said()] == [("Ada", "1")]
    assert other.post("/api/next", json={"who": "Bob"}).status_code == 200
    # the same browser keeps its names when it opens the link again, and after a restart of the server
    assert client.get("/enter?token=the-token").status_code == 200
    again = TestClient(create_app(store, "the-token", hosts=(HOST,)), base_url=f"http://{HOST}")
    again.cookies, again.headers["x-csrf"] = client.cookies, client.headers["x-csrf"]
    assert again.post("/api/undo", json={"who": "Ada"}).json()["task"]["id"] == task["id"]


def test_deep_nesting_is_one_line(client: TestClient) -> None:
    for text in (b"[" * 2000 + b"]" * 2000, b'{"who":' * 500 + b"1" + b"}" * 500):
        answer = client.post("/api/next", content=text)
        assert answer.status_code == 400
        assert answer.json()["error"]


def test_a_body_that_breaks_off_is_no_error_of_ours(client: TestClient) -> None:
    """The server would print a traceback of what leaves the app."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    headers = {"host": HOST, "cookie": cookie, "x-csrf": client.headers["x-csrf"]}
    scope = {
        "type": "http", "method": "POST", "path": "/api/next", "query_string": b"", "root_path": "",
        "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    assert [message["status"] for message in sent if "status" in message] == [400]


def test_another_host_name_is_refused(stranger: TestClient) -> None:
    assert stranger.get("/enter?token=the-token", headers={"host": "evil.example"}).status_code == 421


def test_headers_forbid_what_is_not_ours(client: TestClient) -> None:
    headers = client.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["cache-control"] == "no-store"
    cookie = TestClient(client.app, base_url=f"http://{HOST}", follow_redirects=False).get("/enter?token=the-token")
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in cookie.headers["set-cookie"].split(";")}


def test_every_sign_in_has_another_session() -> None:
    access = Access("t")
    assert access.cookie() != access.cookie()
    one = access.session(access.cookie())
    assert one is not None
    assert access.sent_by_our_page(one, access.csrf(one))
    assert not access.sent_by_our_page("other", access.csrf(one))
    assert Access("u").session(access.cookie()) is None


def test_what_owners_write_is_shown_as_text(store: Store) -> None:
    facts = store.fact("project")
    store.keep(project={**facts, "question": "<img src=x onerror=alert(1)>", "guideline": "<script>alert(2)</script>"})
    client = TestClient(create_app(store, "t", hosts=(HOST,)), base_url=f"http://{HOST}")
    page = client.get("/enter?token=t").text
    assert "<img" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(2)" in page


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("next", {"who": ""}),
        ("next", {}),
        ("label", {"who": "Ada", "task": "1", "answer": 1, "key": "k" * 12}),
        ("label", {"who": "Ada", "task": 1, "answer": 2, "key": "k" * 12}),
        ("label", {"who": "Ada", "task": 1, "answer": True, "key": "k" * 12}),
        ("label", {"who": "Ada", "task": 1, "answer": "maybe", "key": "k" * 12}),
        ("label", {"who": "Ada", "task": 1, "answer": 1, "key": "k"}),
        ("undo", {"who": "nobody"}),
    ],
)
def test_mistakes_are_one_line(client: TestClient, call: str, body: dict[str, object]) -> None:
    answer = client.post(f"/api/{call}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_bodies_are_small_json_objects(client: TestClient) -> None:
    assert client.post("/api/next", content=b"[1]").status_code == 400
    assert client.post("/api/next", content=b"{").status_code == 400
    assert client.post("/api/next", json={"who": "x" * 9000}).status_code == 413


def test_a_body_that_announces_no_length_is_cut_too(client: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 1000

    assert client.post("/api/next", content=endless()).status_code == 413


def test_strange_characters_are_wrong_and_nothing_else(client: TestClient) -> None:
    secret = client.headers.pop("x-csrf")
    assert (
        client.post("/api/next", json={"who": "Ada"}, headers={"x-csrf": "\xe9".encode("latin-1")}).status_code == 403
    )
    assert client.post("/api/next", json={"who": "Ada"}, headers={"x-csrf": secret}).status_code == 200
    assert client.get("/enter?token=%F0%9F%98%80%FF").status_code == 403
    client.cookies.clear()
    assert client.get("/", headers={"cookie": "kagemusha-8000=\xe9.\xe9".encode("latin-1")}).status_code == 403


def test_everybody_sees_the_same_progress_and_it_is_counted_once_a_second(client: TestClient, store: Store) -> None:
    before = client.post("/api/progress", json={}).json()
    store.label(1, "Ada", "1", "key-000001")
    assert client.post("/api/progress", json={}).json() == before
    time.sleep(1.1)
    assert client.post("/api/progress", json={}).json()["labels"] == 1


@pytest.mark.parametrize(
    "path", ["/static/../store.py", "/static/annotate.html", "/static/%2e%2e/token", "/labels.db", "/token"]
)
def test_no_file_of_the_project_can_be_fetched(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_csv_is_safe_for_spreadsheets(store: Store) -> None:
    store.label(1, "=HYPERLINK()", "1", "key-000001")
    rows = list(csv.reader(io.StringIO(to_csv(store))))
    assert rows[1][2] == "'=HYPERLINK()"
    assert rows[1][-1] == "'=1+1"
    assert rows[1][-2] == "0"


def test_the_token_is_made_once_and_private(tmp_path: Path) -> None:
    assert token_of(tmp_path) == token_of(tmp_path)
    assert len(token_of(tmp_path)) >= 32
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
