"""Every sentence of a page has a translation with the same placeholders, and none is left over."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import kagemusha
from kagemusha.words.catalogue import LANGUAGES, catalogue, noted, preferred
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


def test_the_language_that_a_browser_asks_for() -> None:
    assert preferred("ja,en;q=0.5") == "ja"
    assert preferred("fr-FR, ja;q=0.8") == "ja"
    assert preferred("") == preferred("de") == "en"
