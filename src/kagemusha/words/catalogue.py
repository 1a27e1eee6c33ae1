"""One function says every sentence of a page, in English or in another language that has a catalogue.

The English sentence is the key. A catalogue is a TOML file per page of a language, `ja/studio.toml`: one line per
sentence, with the same placeholders. A test compares them with what the source says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from kagemusha.errors import UsageError
from kagemusha.words.heard import heard

LANGUAGES = {"en": "English", "ja": "日本語"}
"""Names of the languages, as their readers write them."""


Say = Callable[..., str]
"""A sentence and its fields in the reader's language; `str.format` says it as it stands in the source, in English."""


@dataclass(frozen=True)
class Catalogue:
    """The sentences of a language."""

    language: str
    sentences: Mapping[str, str]

    def __call__(self, sentence: str, /, **fields: object) -> str:
        """The sentence in this language, or as it is where nobody translated it, with its placeholders filled."""
        text = self.sentences.get(sentence, sentence)
        return text.format(**fields) if fields else text

    def heard(self, text: str) -> str:
        """What another room has said in English, in this language if that is known."""
        return heard(text, self.language)


@cache
def catalogue(language: str, *pages: str) -> Catalogue:
    """The sentences of pages; a language that nobody knows is English."""
    if language not in LANGUAGES or language == "en":
        return Catalogue("en", {})
    there = (files("kagemusha.words").joinpath(language, f"{page}.toml") for page in pages)
    return Catalogue(language, {k: v for one in there for k, v in tomllib.loads(one.read_text("utf-8")).items()})


def known_language(language: str) -> str:
    """The language, if there is one of that name."""
    if language not in LANGUAGES:
        raise UsageError(f"--language must be one of {', '.join(LANGUAGES)}, got {language!r}")
    return language


def preferred(header: str) -> str:
    """The first language of an Accept-Language header that there is; English if there is none."""
    wanted = (part.partition(";")[0].strip().partition("-")[0].lower() for part in header.split(","))
    return next((language for language in wanted if language in LANGUAGES), "en")


def noted(sentence: str) -> str:
    """The sentence itself: marks one that is said later, so that the test of catalogues finds it."""
    return sentence
