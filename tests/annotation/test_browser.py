"""The page in a real browser: by keyboard, two people at once, the server killed in the middle."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

from kagemusha.annotation.store import Store
from kagemusha.folder.table_file import write_table

from .people import SCHEMA, asked, table

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

CANARY = "CANARY-7f3a"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


class Server:
    """`kagemusha annotate` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        people = table(800)
        columns = {"id": [f"{CANARY}-{i}" for i in range(people.num_rows)]}
        import pyarrow as pa

        columns |= {name: people.column(name).to_pylist() for name in people.column_names}
        columns["ward"][7] = f"{CANARY}-ward"  # a value the schema does not know, in a column that is modelled
        write_table(pa.table(columns), folder / "people.csv")
        (folder / "temporary").mkdir()
        from kagemusha.schema import Drop, Schema

        Schema([Drop("id"), *SCHEMA.columns]).save(folder / "people.toml")
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self) -> str:
        """The link."""
        log = self.folder / "server.log"
        command = [
            *(sys.executable, "-c", "from kagemusha.cli import main; main()", "annotate", "people.csv"),
            *("--schema", "people.toml", "--label", "ill", "--classes", "no,yes", "--labels", "60", "--rounds", "3"),
            *("--out", "labels", "--port", str(self.port), "--shared", "0"),
        ]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "200", "TMPDIR": str(self.folder / "temporary")},
            )
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/enter\?token=\S+", log.read_text())
            if found:
                self.port = int(found[1])
                return found[0]
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.1)
        raise AssertionError(log.read_text())

    def kill(self) -> None:
        """No time to say goodbye."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.terminate()
        made.process.wait(60)


@pytest.fixture
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


def enter(browser: Any, link: str, name: str) -> Any:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(link)
    page.fill("#name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("table.record", timeout=90_000)
    return page


def label(page: Any, keys: str) -> None:
    """Press each key at a record of its own, once the one before was acknowledged."""
    for key in keys:
        page.wait_for_selector("table.record", timeout=60_000)
        page.evaluate("document.getElementById('message').textContent = ''")
        page.keyboard.press(key)
        said(page, "Kept")


def said(page: Any, begin: str) -> None:
    """Wait for a message. Not by a script: the page's policy lets nobody evaluate texts."""
    playwright.expect(page.locator("#message")).to_have_text(re.compile(f"^{begin}"), timeout=60_000)


def test_fifty_records_by_keyboard_two_people_and_a_killed_server(server: Server, browser: Any) -> None:
    link = server.start()
    ada = enter(browser, link, "Ada")
    label(ada, "12" * 8)
    ada.keyboard.press("u")
    said(ada, "Taken back")
    label(ada, "1")
    bob = enter(browser, link, "Bob")
    for _ in range(4):
        label(ada, "1")
        label(bob, "2")
    store = Store(server.folder / "labels" / "labels.db")
    before = {(s.task, s.who, s.answer) for s in store.said()}
    assert len(before) == 16 + 8

    server.kill()
    server.start()
    label(ada, "1212121212121")  # the page itself waits for the server to come back
    label(bob, "2121212121212")
    after = [(s.task, s.who, s.answer) for s in store.said()]
    assert before <= set(after)
    assert len(after) == 50
    assert len({task for task, _, _ in after}) == 50
    assert {who for _, who, _ in after} == {"Ada", "Bob"}

    # the card, as it is: text, never markup
    assert ada.locator("#card script").count() == 0
    assert ada.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "fits a phone"

    # the last labels; with them the release is written
    label(ada, "12121")
    label(bob, "21212")
    deadline = time.monotonic() + 90
    while not store.fact("released") and time.monotonic() < deadline:
        time.sleep(0.2)
    assert (server.folder / "labels" / "release" / "model.kage").exists()

    # nothing of the real rows anywhere but in the private table itself
    for page in ("/", "/settle", "/export/labels.csv", "/export/labels.json", "/export/label-studio.json"):
        answer = ada.request.get(f"http://127.0.0.1:{server.port}{page}")
        assert CANARY not in answer.text()
    for path in server.folder.rglob("*"):
        if path.is_file() and path.name != "people.csv":
            assert CANARY.encode() not in path.read_bytes(), path.name


def test_two_people_disagree_and_somebody_settles_it(tmp_path: Path, browser: Any) -> None:
    import socket
    import threading

    import uvicorn

    from kagemusha.annotation.server import create_app

    store = asked(tmp_path, 2, needed=2)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        base = f"127.0.0.1:{listening.getsockname()[1]}"
        app = create_app(store, "the-token", hosts=(base,))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            ada = enter(browser, f"http://{base}/enter?token=the-token", "Ada")
            bob = enter(browser, f"http://{base}/enter?token=the-token", "Bob")
            label(ada, "1")
            label(bob, "2")  # each began with a record of their own
            label(ada, "1")
            label(bob, "2")
            playwright.expect(ada.locator("#agreement")).to_contain_text("0 of 2 records", timeout=10_000)
            assert "Fleiss' κ = −1.00; Ada and Bob: Cohen's κ = 0.00" in ada.inner_text("#agreement")
            for width in (1280, 390):
                ada.set_viewport_size({"width": width, "height": 900})
                ada.goto(f"http://{base}/settle")
                ada.wait_for_selector("section.conflict")
                assert ada.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
            assert "Ada: no · Bob: yes" in ada.inner_text("section.conflict")
            ada.locator("section.conflict").first.get_by_role("button", name="yes").click()
            playwright.expect(ada.locator("section.conflict")).to_have_count(1)
            playwright.expect(ada.locator("main")).to_contain_text("One record waits")
        finally:
            server.should_exit = True
            thread.join(20)
    assert [(s.who, s.answer) for s in store.said() if s.final] == [("Ada", "1")]
    assert len(store.said()) == 5, "what both said stays"
