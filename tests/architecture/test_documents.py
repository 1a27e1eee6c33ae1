"""The documents: every decision is indexed and short, every room is on the map, and words are those of the field."""

from __future__ import annotations

import ast
import pkgutil
import re
import tomllib
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from kagemusha.synthesizers import kage

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DECISIONS = DOCS / "decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
INDEX = (DECISIONS / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
ONE_PAGE = 600
"""Words of one printed page, tables and code among them."""


def index_rows() -> list[list[str]]:
    rows = [line for line in INDEX.splitlines() if line.startswith("| ") and not line.startswith(("| number", "| ---"))]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def linked(text: str) -> list[str]:
    """The pages that a text links to, without anchors and without addresses of the web."""
    return [t for t in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in t]


def words(text: str) -> int:
    """Whatever has a letter or a digit between two spaces."""
    return sum(bool(re.search(r"\w", part)) for part in text.split())


def test_words_are_counted_in_tables_and_code_too() -> None:
    assert words("Two words.\n\n| a cell | 3 |\n| --- | --- |\n```\ncode = 1\n```") == 7


def test_every_decision_is_indexed_once_and_the_index_leads_somewhere() -> None:
    standing = Counter(target for number, *_ in index_rows() for target in linked(number))
    assert standing == Counter(page.name for page in PAGES)


def test_the_index_is_in_order_and_says_what_became_of_each() -> None:
    numbers = [re.sub(r"\[(\d+)\].*", r"\1", number) for number, *_ in index_rows()]
    assert numbers == sorted(set(numbers))
    for number, what, status in index_rows():
        assert what
        if linked(number):
            assert linked(number)[0].startswith(number[1:4])
            assert status.startswith("stands"), number
        else:
            assert status.startswith("folded into ["), number
            assert {DECISIONS / page for page in linked(status)} <= set(PAGES)
        for other in re.findall(r"\b\d{3}\b", re.sub(r"\(.*?\)", "", status)):
            assert other in numbers, f"{number}: {other}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_is_one_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {page.name[:3]}. "), "the title begins with the number"
    assert words(text) <= ONE_PAGE


@pytest.mark.parametrize("page", [*PAGES, DECISIONS / "README.md"], ids=lambda page: page.stem)
def test_links_of_decisions_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not [target for target in linked(text) if not (page.parent / target).exists()]
    known = {page.name[:3] for page in PAGES}
    named = {number for found in re.findall(r"\bdecisions? \[?(\d{3})\b", text) for number in [found]}
    assert named <= known, "a decision that is named stands"


def rooms() -> list[str]:
    """The folders of the package, as they are now."""
    return sorted(path.parent.name for path in (ROOT / "src" / "kagemusha").glob("*/__init__.py"))


def mapped() -> list[str]:
    """The rooms in the table of how_it_works, from top to bottom."""
    shown = (DOCS / "how_it_works.md").read_text(encoding="utf-8")
    return [line.split("`")[1] for line in shown.splitlines() if line.startswith("| `")]


def test_every_room_is_on_the_map() -> None:
    """A room may be announced before it is built; none may be missing."""
    assert len(rooms()) > 15
    assert len(mapped()) == len(set(mapped()))
    assert [room for room in rooms() if room not in mapped()] == []


def test_the_map_is_in_the_order_of_the_layers() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [c["layers"] for c in config["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    height = {name.strip().removeprefix("kagemusha."): i for i, row in enumerate(layers) for name in row.split("|")}
    known = [room for room in mapped() if room in height]
    assert len(known) > 15
    assert known == sorted(known, key=lambda room: height[room])


def numbers(module: str) -> dict[str, object]:
    """The numbers, or rows of numbers, that a module of kage gives a name."""
    tree = ast.parse(Path(str(find_spec(f"{kage.__name__}.{module}").origin)).read_text(encoding="utf-8"))  # type: ignore[union-attr]
    named = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for goal in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(goal)
        if isinstance(target, ast.Name)
    }
    found = vars(import_module(f"{kage.__name__}.{module}"))
    return {name: found[name] for name in named if isinstance(found[name], int | float | tuple)}


def stated() -> dict[str, object]:
    """The constants in the table of kage.md with their values."""
    table = (DOCS / "algorithms" / "kage.md").read_text(encoding="utf-8")
    found: dict[str, object] = {}
    for names, values in re.findall(r"^\| ([A-Z_, ]+) \| ([0-9.,;·^ ]+) \|", table, re.M):
        for name, value in zip(names.split(", "), values.split("; "), strict=True):
            each = tuple(float(x) for x in value.replace("·10^", "e").split(", "))
            found[name] = each if len(each) > 1 else each[0]
    return found


def test_kage_is_documented_with_the_constants_it_has_and_no_others() -> None:
    assert stated() == numbers("constants")
    for file in pkgutil.iter_modules(kage.__path__):
        if file.name not in ("constants", "rounds"):
            assert numbers(file.name) == {}, "constants live in one place"
    assert numbers("rounds") == {"ALL_COLUMNS": -1}, "a place, not a quantity"


NOUNS = (
    r"(?:rows?|codes?|columns?|pairs?|records?|passes|pass|arrays?|axis|points?|transactions?|tables?|bytes?|files?|"
    r"quer(?:y|ies)|lines?|states?|blocks?|runs?|scans?|matrices|cells?|numbers?|minutes?|times?|tries)"
)
DIALECT = {
    "per": rf"\b(?:one|two|three|four|several|many|each|most) (?:\w+ )?{NOUNS} an? "
    r"(?:step|pass|pair|name|clique|person|unit|layer|round|run|label|scan|algorithm|method|dialect|axis|cell)\b",
    "depends on": r"\bhang(?:s|ing)? (?:on|upon|together)\b|\bhung on\b",
    "for the n-th time": r"\bhow-manieth\b",
    "cannot be resumed": r"\bcannot be gone on\b",
    "said, shown, stated, reported": r"\btold\b(?!\*)",
    "constructed, synthetic": r"\b(?:a|the|made-up|small|wide|of|on|and|30|60|100) made "
    r"(?:tables?|trees?|columns?|ones?|hospital|grids?)\b|^(?:Made|made) (?:tables?|trees?|columns?|grids?)\b",
    "so many that": r"\bso (?:many|few)(?: \w+)? that\b",
    "alone": r"\bby itself alone\b",
    "of which": r"\bof which\b[^.]*\bof them\b",
    "structural zeros": r"\bwalls?\b",
    "resumes, continues": r"\bgoes on where\b",
}
"""Turns of phrase that a stranger of the field has to read twice, by what to write instead."""


def dialect(text: str) -> list[str]:
    """What is said in dialect, with the plain words for it."""
    flat = [
        (better, " ".join(found[0].split()))
        for better, form in DIALECT.items()
        for found in re.finditer(form, text, re.M)
    ]
    return [f"{found!r}: {better}" for better, found in flat]


@pytest.mark.parametrize(
    "sentence",
    [
        "It needs two thin matrices a layer.",
        "This hangs on the seed.",
        "Which of them it is was told before.",
        "On a made table of 30 columns",
        "drawn so often, so many that it fits",
        "a wall inside the model",
    ],
)
def test_dialect_is_recognised(sentence: str) -> None:
    assert dialect(sentence)


def test_plain_words_pass() -> None:
    assert not dialect(
        "Two matrices per layer; it depends on the seed, as stated. A tree of a person's rows made tables larger."
    )


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_are_in_plain_english(page: Path) -> None:
    assert dialect(page.read_text(encoding="utf-8")) == []
