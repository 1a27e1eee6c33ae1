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

from .families import PATIENTS, VISITS, families_of
from .hospital import CANARY, HEADER, rows_of
from .person import CHROMIUM, FLAGS, Person, Studio
from .test_browser import MOST_ACTIONS, whole_path
from .test_several_browser import whole_path as families_path

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


def with_families(server: Postgres, count: int) -> None:
    """A schema `clinic` with patients and their visits, linked by a foreign key."""
    engine = sa.create_engine(server.url.replace("postgresql://", "postgresql+psycopg://"))
    patients, visits = families_of(count)
    with engine.begin() as connection:
        for said in (
            "CREATE SCHEMA clinic",
            "CREATE TABLE clinic.patients (patient_id text PRIMARY KEY, name text, sex text, birth_date date)",
            "CREATE TABLE clinic.visits (patient_id text REFERENCES clinic.patients, date date, "
            "ward text, stay integer)",
        ):
            connection.execute(sa.text(said))
        for table, header, rows in (("patients", PATIENTS, patients), ("visits", VISITS, visits)):
            casts = {"birth_date": "date", "date": "date", "stay": "integer"}
            fields = ", ".join(f"CAST(:{name} AS {casts.get(name, 'text')})" for name in header)
            named = [dict(zip(header, row, strict=True)) for row in rows]
            connection.execute(sa.text(f"INSERT INTO clinic.{table} VALUES ({fields})"), named)
    engine.dispose()


def connect(person: Person, server: Postgres, name: str, table: str) -> None:
    """Save a connection."""
    person.page.locator("summary").first.click()
    person.write("A short name", name)
    person.write("Address, without a password", f"postgresql://{USER}@127.0.0.1:{server.port}/postgres")
    person.page.get_by_label("Table", exact=True).fill(table)
    person.press("Save and open")
    person.at("/table")
    person.page.goto(person.page.url.partition("/table")[0])
    person.actions += 4


def test_all_tables_of_a_schema_become_one_release(server: Postgres, tmp_path: Path) -> None:
    with_families(server, 600)
    folder = tmp_path / "desk"
    folder.mkdir()
    studio = Studio(folder, PGPASSWORD=PASSWORD)
    try:
        with playwright.sync_playwright() as driver:
            browser: Any = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(viewport={"width": 1100, "height": 900}).new_page()
            page.goto(studio.start())
            person = Person(page)
            connect(person, server, "clinic", "clinic.*")
            families_path(person, "clinic")
            browser.close()
    finally:
        studio.end()
    assert person.actions <= MOST_ACTIONS, person.actions
    release = folder / "clinic-tables-doubles"
    assert all(check.passed for check in verify(release))
    assert (release / "synthetic-visits.csv").is_file()
    assert not [text for text in person.contents if CANARY in text or PASSWORD in text]


def test_a_table_of_a_server_is_labelled_without_an_export(server: Postgres, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    folder.mkdir()
    studio = Studio(folder, PGPASSWORD=PASSWORD)
    try:
        with playwright.sync_playwright() as driver:
            browser: Any = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(viewport={"width": 1100, "height": 900}).new_page()
            page.goto(studio.start())
            person = Person(page)
            connect(person, server, "stays", "public.stays")
            base = page.url.rstrip("/")
            person.follow("stays", "/table")
            person.tick("I may see this table")
            person.press("Draft with facts")
            person.at("/schema")
            person.write("You (kept in the file", "Dr Ito")
            person.press("Confirm all")
            person.sees("are declared by people")
            page.goto(f"{base}/label?t=@stays&question=urgency&classes=low,high&labels=40&epsilon=1")
            person.write("To agree, type", "spend 1")
            person.press("Pay and open the labelling page")
            page.get_by_text("urgency").first.wait_for(timeout=120_000)
            page.fill("#name", "Dr Ito")
            page.keyboard.press("Enter")
            page.wait_for_selector("table.record", timeout=180_000)  # the rounds read the server
            assert page.get_by_text("ward").count()
            assert CANARY not in page.content()
            browser.close()
    finally:
        studio.end()
    record = open_ledger(folder / "kagemusha-ledger.db", read_only=True).releases()[0]
    assert "stays" in record.dataset
    assert not list(folder.glob("*.csv"))


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
            connect(person, server, "stays", "public.stays")
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
