"""The studio in a real browser: from a table to a verified release by clicking and typing, and what pages are like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright import sync_api as playwright

from kagemusha.certificate.certificate import Certificate
from kagemusha.door import verify
from kagemusha.ledger import open_ledger
from kagemusha.schema import Schema

from .hospital import CANARY, write_hospital
from .person import CHROMIUM, FLAGS, Person, Studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
MOST_ACTIONS = 60
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}


@pytest.fixture
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    folder = tmp_path / "hospital"
    folder.mkdir()
    write_hospital(folder / "stays.csv")
    made = Studio(folder)
    yield made
    made.end()


def whole_path(person: Person, table: str, unit: bool = False) -> None:
    """From the list of tables to the page of a release."""
    person.follow(table, "/table")
    person.tick("I may see this table")
    person.press("Draft with facts")
    person.at("/schema")
    person.write("You (kept in the file", "Dr Ito")
    person.write("You know it from", "the admission form")
    person.press("Confirm all")
    person.sees("are declared by people")
    person.holds("admitted <= discharged")
    person.sees("Saved.")
    person.follow("On to the plan", "/plan")
    person.write("ε", "2")
    person.sees("recognises at most")
    person.press("On to paying")
    person.at("/spend")
    person.write("To agree, type", "spend 2")
    person.press("Pay and make the release")
    person.at("/job/")
    person.sees("The release is there", 180)
    person.follow("Open the release", "/release")
    person.press("Verify now")
    person.sees("It holds.")
    person.press("Sign")
    person.sees("It is signed")


def violations(page: Any) -> list[str]:
    """What axe finds on a page."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{page.url}: {one['id']}: {[node['target'] for node in one['nodes']][:3]}" for one in found]


def test_from_a_csv_to_a_verified_release_by_clicking_and_typing(studio: Studio, browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1100, "height": 900}, bypass_csp=True, accept_downloads=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    person = Person(page)
    page.goto(studio.start())
    whole_path(person, "stays.csv")
    assert person.actions <= MOST_ACTIONS, person.actions
    assert not wrong

    release = studio.folder / "stays-doubles"
    assert all(check.passed for check in verify(release))
    assert (release / "signature.json").exists()
    certificate = Certificate.from_json((release / "certificate.json").read_text())
    assert certificate.epsilon == pytest.approx(2.0)
    (record,) = open_ledger(studio.folder / "kagemusha-ledger.db", read_only=True).releases()
    assert record.id == certificate.release
    schema = Schema.load(studio.folder / "stays.toml")
    assert not schema.derived_facts()
    assert "Dr Ito" in (schema["ward"].confirmed or "")
    assert [rule.rule for rule in schema.constraints if not rule.guess] == ["admitted <= discharged"]
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all as one zip").click()
    download.value.save_as(tmp_path / "all.zip")
    import zipfile

    names = zipfile.ZipFile(tmp_path / "all.zip").namelist()
    assert {name.partition("/")[2] for name in names} == {path.name for path in release.iterdir()}
    assert len(person.contents) > 10
    assert not [text for text in person.contents if CANARY in text]


def test_every_page_is_accessible_light_and_dark_from_phone_to_desk(studio: Studio, browser: Any) -> None:
    # axe runs in the page, which our policy forbids to everybody else
    context = browser.new_context(viewport={"width": 1100, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(studio.start())
    person = Person(page)
    person.follow("stays.csv", "/table")
    found = look(page, ["/", "/table?t=stays.csv"])
    person.tick("I may see this table")
    person.press("Draft with facts")
    person.at("/schema")
    for button in page.get_by_role("button", name="Change", exact=True).all()[2:5]:
        button.click()
        page.wait_for_load_state("networkidle")
    for summary in page.locator("summary").all()[:4]:
        summary.click()
    found += violations(page)
    found += look(page, ["/schema?t=stays.csv"])
    page.goto(address(page, "/schema?t=stays.csv"))
    person.write("You (kept in the file", "Dr Ito")
    person.press("Confirm all")
    person.sees("are declared by people")
    found += look(page, ["/plan?t=stays.csv", "/spend?t=stays.csv&epsilon=1"])
    page.goto(address(page, "/spend?t=stays.csv&epsilon=1"))
    person.write("To agree, type", "spend 1")
    person.press("Pay and make the release")
    person.at("/job/")
    found += violations(page)
    person.sees("The release is there", 180)
    job = page.url
    page.goto(address(page, "/release?r=stays-doubles"))
    person.press("Verify now")
    person.sees("It holds.")
    person.press("Draw")
    person.sees("Download 1,000")
    found += violations(page)
    label = "/label?t=stays.csv&question=urgency&classes=low,high&epsilon=1"
    others = [label, "/ledger?t=stays.csv", "/release?r=none"]
    found += look(page, ["/job/" + job.rpartition("/")[2], "/release?r=stays-doubles", *others])
    page.goto(address(page, "/language/ja?back=/"))
    assert page.locator("html").get_attribute("lang") == "ja"
    found += look(
        page, ["/", "/schema?t=stays.csv", "/plan?t=stays.csv", "/release?r=stays-doubles", "/release?r=none"]
    )
    assert not found, "\n".join(found)


def address(page: Any, path: str) -> str:
    return re.match(r"https?://[^/]+", page.url)[0] + path  # type: ignore[index]


def look(page: Any, paths: list[str]) -> list[str]:
    """Each page at a phone's width, in between and at a desk's, light and dark: nothing is cut off, axe is content."""
    found = []
    before = page.url
    for path in paths:
        for colours in ("light", "dark"):
            page.emulate_media(color_scheme=colours)
            for width in (390, 1100, 1600):
                page.set_viewport_size({"width": width, "height": 900})
                page.goto(address(page, path))
                if not page.locator("main").count():
                    continue
                found += [f"{colours} {width}: {one}" for one in violations(page)] if width != 1100 else []
                if not page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"):
                    found.append(f"{path} is wider than {width} pixels")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1100, "height": 900})
    page.goto(before)
    return found


def test_the_schema_by_keyboard_alone(studio: Studio, browser: Any) -> None:
    page = browser.new_context(viewport={"width": 1100, "height": 900}).new_page()
    page.goto(studio.start())
    person = Person(page)
    person.follow("stays.csv", "/table")
    keys = page.keyboard
    page.get_by_label("I may see this table").focus()
    keys.press("Space")
    keys.press("Tab")
    keys.press("Enter")
    person.at("/schema")
    page.get_by_label("You (kept in the file").focus()
    keys.type("Dr Ito")
    first = page.locator(".column").first
    first.focus()
    keys.press("ArrowDown")
    playwright.expect(page.locator(".column:focus")).to_have_attribute("data-column", "name")
    keys.press("ArrowUp")
    for name, key in (("patient_id", "i"), ("name", "y"), ("sex", "y"), ("age", "o"), ("admitted", "y"),
                      ("discharged", "y"), ("ward", "d")):  # fmt: skip
        playwright.expect(page.locator(".column:focus")).to_have_attribute("data-column", name)
        keys.press(key)
    playwright.expect(page.locator(".column:focus")).to_have_attribute("data-column", "diagnosis")
    schema = Schema.load(studio.folder / "stays.toml")
    assert [schema[name].kind for name in ("patient_id", "ward")] == ["surrogate", "drop"]
    assert [fact.column for fact in schema.open_facts()] == ["age", "age"]
    keys.press("u")
    playwright.expect(page.locator(".column[data-column=ward]")).to_have_attribute("data-state", "confirm")
    page.locator(".column[data-column=age]").focus()
    keys.press("c")
    playwright.expect(page.locator(".change select[name=kind]")).to_be_focused()
    for value in ("", "0", "120"):  # the only numbers, lowest, highest
        keys.press("Tab")
        if value:
            page.keyboard.press("Control+a")
            keys.type(value)
    keys.press("Enter")
    playwright.expect(page.locator(".column[data-column=age]")).to_have_attribute("data-state", "done")
    assert Schema.load(studio.folder / "stays.toml")["age"].given("upper") == 120
