"""The same way in the browser for a table of a PostgreSQL server, whose password nobody types into a page."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from playwright import sync_api as playwright

from kagemusha.door import verify
from kagemusha.ledger import open_ledger
from servers import PASSWORD, USER, Postgres

from .hospital import CANARY, HEADER, rows_of
from .person import CHROMIUM, FLAGS, Person, Studio
from .test_browser import MOST_ACTIONS, whole_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Postgres]:
    made = Postgres()
    engine = sa.create_engine(made.url.replace("postgresql://", "postgresql+psycopg://"))
    types = {"age": "integer", "admitted": "date", "discharged": "date", "weight": "numeric"}
    with engine.begin() as connection:
        columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in HEADER)
        connection.execute(sa.text(f"CREATE TABLE stays ({columns})"))
        rows = [{n: v or None for n, v in zip(HEADER, row, strict=True)} for row in rows_of(1500)]
        cast = ", ".join(f"CAST(:{name} AS {types.get(name, 'text')})" for name in HEADER)
        connection.execute(sa.text(f"INSERT INTO stays VALUES ({cast})"), rows)
    engine.dispose()
    yield made
    made.remove()


def test_from_a_table_of_a_server_to_a_verified_release(server: Postgres, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    folder.mkdir()
    studio = Studio(folder, PGPASSWORD=PASSWORD)
    try:
        with playwright.sync_playwright() as driver:
            browser: Any = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(viewport={"width": 1100, "height": 900}).new_page()
            page.goto(studio.start())
            person = Person(page)
            page.locator("summary").click()
            person.write("A short name", "stays")
            person.write("Address, without a password", f"postgresql://{USER}@127.0.0.1:{server.port}/postgres")
            page.get_by_label("Table", exact=True).fill("public.stays")
            person.press("Save and open")
            person.at("/table")
            page.goto(page.url.partition("/table")[0])
            person.actions += 4
            whole_path(person, "stays")
            person.tick("I may see this table")
            page.locator("form[data-call=look] button").click()
            person.at("/job/")
            person.sees("Not to be handed out", 180)
            browser.close()
    finally:
        studio.end()
    assert person.actions <= MOST_ACTIONS, person.actions
    assert all(check.passed for check in verify(folder / "stays-doubles"))
    record, look = open_ledger(folder / "kagemusha-ledger.db", read_only=True).releases()
    assert record.closed
    assert (look.method, look.dataset) == ("evaluate", record.dataset)
    assert not [text for text in person.contents if CANARY in text or PASSWORD in text]
    for path in folder.rglob("*"):
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes(), path
    with (folder / "stays-doubles" / "synthetic.csv").open(newline="") as file:
        doubles = list(csv.DictReader(file))
    assert len(doubles) > 1000
    assert all(row["admitted"] <= row["discharged"] for row in doubles)
