"""Tables that belong together in a real browser: from two files to a verified release by clicking and typing."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

from kagemusha.certificate.certificate import Certificate
from kagemusha.door import verify
from kagemusha.ledger import open_ledger
from kagemusha.schema.declared import load_declared
from kagemusha.schema.related import Related

from .families import write_families
from .hospital import CANARY
from .person import CHROMIUM, FLAGS, Person, Studio
from .test_browser import MOST_ACTIONS, address, look, violations

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(write_families(tmp_path / "hospital", 600))
    yield made
    made.end()


def whole_path(person: Person, tables: str) -> None:
    """From the list of tables to the page of a release of several."""
    page = person.page
    person.follow(tables, "/table")
    person.tick("I may see this table")
    person.press("Draft with facts")
    person.at("/schema")
    person.write("You (kept in the file", "Dr Ito")
    person.write("You know it from", "the rules of the registry")
    person.press("Confirm all")
    person.sees("are declared by people")
    rule = page.locator("#rules form", has=page.locator("input[name=in][value=visits]")).first
    rule.get_by_label("A rule of your own").fill("date >= patients.birth_date")
    rule.get_by_role("button", name="Add the rule").click()
    person.actions += 3
    person.sees("Saved.")
    person.follow("On to the plan", "/plan")
    person.write("ε", "2")
    person.sees("recognises at most")
    person.press("On to paying")
    person.at("/spend")
    person.write("To agree, type", "spend 2")
    person.press("Pay and make the release")
    person.at("/job/")
    person.sees("The release is there", 300)
    person.follow("Open the release", "/release")
    person.press("Verify now")
    person.sees("It holds.")
    person.press("Sign")
    person.sees("It is signed")


def test_from_two_files_to_a_verified_release(studio: Studio, browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1100, "height": 900}, bypass_csp=True, accept_downloads=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    person = Person(page)
    page.goto(studio.start())
    whole_path(person, "All tables of this folder")
    assert person.actions <= MOST_ACTIONS, person.actions
    assert not wrong

    release = studio.folder / "hospital-tables-doubles"
    assert all(check.passed for check in verify(release))
    certificate = Certificate.from_json((release / "certificate.json").read_text())
    assert certificate.epsilon == pytest.approx(2.0)
    (record,) = open_ledger(studio.folder / "kagemusha-ledger.db", read_only=True).releases()
    assert record.id == certificate.release
    schema = load_declared(studio.folder / "hospital-tables.toml")
    assert isinstance(schema, Related)
    assert [rule.rule for rule in schema["visits"].rules] == ["date >= patients.birth_date"]
    person.write("Only doubles for whom this holds", "sex = 'F'")
    person.press("Draw")
    person.sees("# visits")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download 1,000").click()
    download.value.save_as(tmp_path / "sample.zip")
    assert zipfile.ZipFile(tmp_path / "sample.zip").namelist() == ["sample/patients.csv", "sample/visits.csv"]
    assert not [text for text in person.contents if CANARY in text]

    found = violations(page)
    pages = ["/", "/table?t=./", "/schema?t=./", "/plan?t=./", "/spend?t=./&epsilon=1", "/ledger?t=./",
             "/release?r=hospital-tables-doubles"]  # fmt: skip
    found += look(page, pages)
    page.goto(address(page, "/schema?t=./"))
    for summary in page.locator("summary:visible").all():
        summary.click()
    found += violations(page)
    page.goto(address(page, "/language/ja?back=/"))
    found += look(page, ["/schema?t=./", "/plan?t=./", "/release?r=hospital-tables-doubles"])
    assert not found, "\n".join(found)
    page.goto(address(page, "/release?r=hospital-tables-doubles"))
    person.tick("私はこの表を見てよい立場です")
    page.locator("form[data-call=look] button").click()
    person.at("/job/")
    page.locator("table").first.wait_for(timeout=180_000)
    assert not violations(page)
