"""The pictures of docs/studio.md, made anew: `PYTHONPATH=src:tests python -m studio.pictures docs/images`."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright import sync_api as playwright

from .families import write_families
from .hospital import write_hospital
from .person import CHROMIUM, FLAGS, Person, Studio


def taken(page: Any, path: Path, width: int, height: int, colours: str = "light") -> None:
    """A picture of what a window of this size shows."""
    page.emulate_media(color_scheme=colours)
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(400)
    page.screenshot(path=path)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1100, "height": 900})


def main(out: Path) -> None:
    """Go the whole way once, and take pictures on it."""
    folder = Path(tempfile.mkdtemp()) / "hospital"
    folder.mkdir()
    write_hospital(folder / "stays.csv", 5000)
    studio = Studio(folder)
    try:
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(viewport={"width": 1100, "height": 900}, locale="en-GB").new_page()
            page.goto(studio.start())
            base = re.match(r"https?://[^/]+", page.url)[0]  # type: ignore[index]
            person = Person(page)
            person.follow("stays.csv", "/table")
            taken(page, out / "studio-table.png", 1100, 560)
            person.tick("I may see this table")
            person.press("Draft with facts")
            person.at("/schema")
            person.write("You (kept in the file", "Dr Ito")
            page.locator(".column[data-column=sex] .yes").click()
            person.sees("Saved.")
            page.locator(".column[data-column=age] button[data-answer=form]").click()
            page.wait_for_selector(".change")
            page.evaluate("window.scrollTo(0, 0)")
            taken(page, out / "studio-schema.png", 1600, 1400)
            page.locator(".column[data-column=age]").scroll_into_view_if_needed()
            page.set_viewport_size({"width": 390, "height": 844})
            page.locator(".column[data-column=sex]").scroll_into_view_if_needed()
            taken(page, out / "studio-schema-phone.png", 390, 844)
            page.goto(f"{base}/schema?t=stays.csv")
            person.press("Confirm all")
            person.sees("are declared by people")
            person.holds("admitted <= discharged")
            person.sees("Saved.")
            page.goto(f"{base}/plan?t=stays.csv&rows=5000")
            taken(page, out / "studio-plan.png", 1100, 1150)
            taken(page, out / "studio-plan-dark.png", 1100, 1150, "dark")
            page.goto(f"{base}/spend?t=stays.csv&epsilon=1")
            taken(page, out / "studio-pay.png", 1100, 820)
            taken(page, out / "studio-pay-phone.png", 390, 844, "dark")
            person.write("To agree, type", "spend 1")
            person.press("Pay and make the release")
            person.at("/job/")
            person.sees("left")
            taken(page, out / "studio-job.png", 1100, 420)
            person.sees("The release is there", 180)
            person.follow("Open the release", "/release")
            person.press("Verify now")
            person.sees("It holds.")
            taken(page, out / "studio-release.png", 1100, 1000)
            taken(page, out / "studio-release-dark.png", 1600, 1000, "dark")
            page.locator("text=its ledger").click()
            person.at("/ledger")
            taken(page, out / "studio-ledger.png", 1100, 480)
            page.goto(f"{base}/language/ja?back=/plan%3Ft%3Dstays.csv")
            taken(page, out / "studio-plan-ja.png", 1100, 1150)
            browser.close()
    finally:
        studio.end()


def several(out: Path) -> None:
    """Tables that belong together, on the way."""
    studio = Studio(write_families(Path(tempfile.mkdtemp()) / "hospital", 800))
    try:
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(viewport={"width": 1100, "height": 900}, locale="en-GB").new_page()
            page.goto(studio.start())
            person = Person(page)
            person.follow("All tables of this folder", "/table")
            person.tick("I may see this table")
            person.press("Draft with facts")
            person.at("/schema")
            person.write("You (kept in the file", "Dr Ito")
            person.press("Confirm the table")
            person.sees("Saved.")
            page.evaluate("window.scrollTo(0, 0)")
            taken(page, out / "studio-tables.png", 1600, 1400)
            browser.close()
    finally:
        studio.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    several(Path(sys.argv[1]))
