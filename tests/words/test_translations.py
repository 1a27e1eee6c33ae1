"""Every sentence of a page has a translation with the same placeholders, and none is left over."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from pathlib import Path

import pytest

import kagemusha
from kagemusha.words.catalogue import LANGUAGES, catalogue, noted, preferred
from kagemusha.words.heard import PLACE
from words_of_pages import COMMANDS, in_source, in_template, sentences_of

ROOM = Path(kagemusha.__file__).parent
OTHERS = [language for language in LANGUAGES if language != "en"]
STUDIO = sentences_of(ROOM / "studio")
PAGES = {
    "studio": STUDIO,
    "annotate": sentences_of(ROOM / "annotation" / "static"),
    "quality": sentences_of(ROOM / "quality"),
    "schema": sentences_of(ROOM / "columns")
    | sentences_of(ROOM / "editing")
    | sentences_of(ROOM / "privacy" / "budget.py"),
    "cli": sentences_of(ROOM / "cli", COMMANDS),
}


def placeholders(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_sentences_are_found_in_pages_and_modules() -> None:
    assert in_template("{{ _('Save') }} {{ _(\"{n} rows\", n=3) }} {{ __('no') }}") == {"Save", "{n} rows"}
    assert in_source('call.say("a {n}", n=1)\nX = noted("b")\nsay(variable)\nother("c")') == {"a {n}", "b"}
    assert len(STUDIO) > 250


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_of_a_page_is_translated(language: str, page: str) -> None:
    assert set(catalogue(language, page).sentences) == PAGES[page]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", OTHERS)
def test_placeholders_agree(language: str, page: str) -> None:
    for sentence, translated in catalogue(language, page).sentences.items():
        assert placeholders(sentence) == placeholders(translated), sentence
        assert translated.strip(), sentence
        assert not re.search(r"[<>]", translated.replace("<=", "")), "text, not markup"


def test_a_sentence_is_filled_in_and_english_is_its_own_key() -> None:
    assert catalogue("en", "studio")("{n} columns", n=3) == "3 columns"
    assert catalogue("xx", "studio").language == "en"
    assert catalogue("ja", "studio")("{n} columns", n=3) == "3 列"
    assert catalogue("ja", "studio")("not there {n}", n=1) == "not there 1"
    assert noted("as it is") == "as it is"


def said_in_source() -> set[str]:
    """Every text of every module, with a mark for what is filled in."""
    found = set()
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                found.add("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(re.sub(r"\{\w*\}", "\0", node.value))
    return found


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_heard_from_other_rooms_is_said_there(language: str) -> None:
    text = (ROOM / "words" / language / "heard.toml").read_text(encoding="utf-8")
    sentences, source = tomllib.loads(text), "\n".join(said_in_source())
    assert len(sentences) > 80
    for sentence, translated in sentences.items():
        assert {*placeholders(translated)} <= {*placeholders(sentence)}, sentence
        for part in PLACE.sub("\0", sentence).split("\0"):
            # an option in brackets is said at a prompt only
            assert part in re.sub(r" \(--[a-z-]+\)", "", source), sentence


def test_what_is_heard_is_translated_as_far_as_it_is_known() -> None:
    say = catalogue("ja", "studio")
    assert say.heard("names of persons") == "人の氏名"
    assert say.heard("'x.csv': no such table below this folder").startswith("'x.csv':このフォルダの下に")
    assert say.heard("a.toml: column 'age': upper = -1 is not allowed; it must be at least lower, 0") == (
        "a.toml: 列 'age':upper = -1 は使えません。使えるのは 下限 0 以上 です"
    )
    for unknown in ("nobody says this", "where: nobody says this", "", ": ", "x" * 9_000, "{0} {name}"):
        assert say.heard(unknown) == unknown
    assert catalogue("en", "studio").heard("names of persons") == "names of persons"


def test_the_language_that_a_browser_asks_for() -> None:
    assert preferred("ja,en;q=0.5") == "ja"
    assert preferred("fr-FR, ja;q=0.8") == "ja"
    assert preferred("") == preferred("de") == "en"
