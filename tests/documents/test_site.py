"""The site: it builds without a warning and without the network, and its pages are complete."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import typer
from axe_playwright_python.sync_playwright import Axe
from playwright import sync_api as playwright

import kagemusha
from kagemusha import errors
from kagemusha.certificate.page import in_words
from kagemusha.cli.app import app
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.synthesizers.registry import BUILT_IN

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = shutil.which("chromium")
OF_EACH_SORT = ("index", "tutorials/ja/custodian", "how_it_works", "reference/cli", "algorithms/kage", "search")
"""Pages that are looked at in a browser: text, code, tables, commands, formulas, the theme's own."""

WCAG = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
STUMBLED_OVER = """adjacency; add-remove; δ; gdp; zCDP; PLD; ρ; μ; derived; clip; redraw; surrogate; unit; nats; KS;
total variation; AUROC; two-way error; interaction; its dependence was measured, its table was not; mvl-orig;
Mahalanobis; BALD; κ; held"""
"""Words that strangers had to ask about."""


class Page(HTMLParser):
    """What a built page links to, what it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.links, self.loaded, self.anchors = path, list[str](), list[str](), set[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_the_site_builds_and_its_links_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = unquote(link).partition("#")
            if ":" in target:
                continue
            place = (path.parent / target).resolve() if target else path
            if not place.exists() or (anchor and place in pages and anchor not in pages[place].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        for loaded in Page(path).loaded:
            assert "//" not in loaded, f"{path.relative_to(site)}: {loaded}"
            assert (path.parent / loaded.partition("?")[0]).exists(), loaded
    for style in (site / "_static").rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*[\"']?https?:", style.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 390)])
def test_pages_are_accessible(site: Path, scheme: str, width: int) -> None:
    """WCAG 2.2 AA as far as axe can see it: nothing to mend."""
    found = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        for path in [site / f"{name}.html" for name in OF_EACH_SORT]:
            page.goto(path.as_uri())
            seen = Axe().run(page, options=WCAG).response["violations"]
            found += [f"{path.relative_to(site)}: {one['id']}: {one['nodes'][0]['target']}" for one in seen]
        browser.close()
    assert not found


@pytest.mark.slow
def test_pages_say_which_language_they_are_in(site: Path) -> None:
    for path in site.rglob("*.html"):
        language = "ja" if path.parent.name == "ja" else "en"
        assert f'lang="{language}"' in path.read_text(encoding="utf-8").split("<head>")[0], path


@pytest.mark.slow
def test_the_reference_has_every_command_and_name(site: Path) -> None:
    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert [c for c in commands(typer.main.get_command(app)) if f"kagemusha {c}" not in text] == []
    shown = Page(site / "reference" / "python.html").anchors
    assert [n for n in kagemusha.__all__ if n != "__version__" and f"kagemusha.{n}" not in shown] == []


def commands(group: Any, path: str = "") -> Iterator[str]:
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{path}{name} ") if hasattr(command, "commands") else [f"{path}{name}"]


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def test_exit_codes_are_those_of_the_errors() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", page("reference/exit_codes"), re.M)
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.KagemushaError)]
    own = {(str(kind.exit_code), kind.__name__) for kind in kinds if "exit_code" in vars(kind)}
    assert set(rows) == own


def test_every_method_has_its_line() -> None:
    named = set(re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (`.*?) \|", page("reference/methods"), re.M))))
    assert named == set(BUILT_IN)


def test_the_glossary_explains_what_strangers_stumbled_over() -> None:
    text = page("glossary").replace("\n  ", " ")
    heads = " ; ".join(re.findall(r"^(.+)\n: ", text, re.M))
    body = heads + text
    assert [word for word in map(str.strip, STUMBLED_OVER.replace("\n", " ").split(";")) if word not in body] == []
    assert len(re.findall(r"^: ", text, re.M)) > 40


def test_what_a_board_reads_is_what_the_program_says() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| 5 \|$", page("how_to/choose_epsilon"), re.M)
    assert len(rows) == 6
    for epsilon, rate in rows:
        assert f"at most {rate} of 100" in in_words(Budget(float(epsilon)), Accounting.GDP)


def test_every_page_of_the_site_is_in_its_navigation_for_readers_on_github_too() -> None:
    """Whoever begins at the first page and follows links comes to every page."""
    seen, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            found = re.findall(r"\]\(([^)#\s:]+\.md)", path.read_text(encoding="utf-8"))
            waiting += [p for p in ((path.parent / t).resolve() for t in found) if p.is_relative_to(DOCS)]
    assert sorted(p.relative_to(DOCS) for p in DOCS.rglob("*.md") if p not in seen) == []


def told() -> Iterator[tuple[str, list[str]]]:
    """Every command that a page of docs/ shows in a block, without its comment."""
    for path in sorted(DOCS.rglob("*.md")):
        for block in re.findall(r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("kagemusha "):
                    yield path.name, shlex.split(line, comments=True)[1:]


def test_commands_on_pages_exist_and_have_the_options_that_are_shown() -> None:
    found, wrong = list(told()), []
    for page_name, words in found:
        command: Any = typer.main.get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command, words = command.commands[words[0]], words[1:]
        if hasattr(command, "commands") and "label" in command.commands:
            command = command.commands["label"]  # what `annotate` does unless it is named
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        wrong += [f"{page_name}: {command.name} {option}" for option in given - known]
    assert wrong == []
    assert len(found) > 60
