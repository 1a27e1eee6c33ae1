"""The language in which the command line speaks: what was asked for, or else that of the surroundings."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Annotated

import typer

from kagemusha.certificate.certificate import Certificate
from kagemusha.words.catalogue import LANGUAGES, Catalogue, Say, catalogue, known_language

LanguageOption = Annotated[
    str | None,
    typer.Option(
        "--language",
        envvar="KAGEMUSHA_LANGUAGE",
        show_envvar=True,
        help="Language of what is said: en or ja; by default that of the terminal (LANG). Errors and help are English.",
        show_default=False,
    ),
]


_asked: ContextVar[str | None] = ContextVar("language", default=None)


def ask_for(language: str | None) -> None:
    """Speak this language for the rest of the command; one that nobody knows is refused."""
    _asked.set(None if language is None else known_language(language))


def speech() -> Catalogue:
    """The sentences of the command line in the language that was asked for, or else in that of the surroundings."""
    return catalogue(_asked.get() or surrounding(), "cli", "schema")


def about(certificate: Certificate, words: Say) -> str:
    """Whom a promise is about."""
    return words("It is about one row.") if certificate.of_whom == "row" else words("It is about one person.")


def surrounding() -> str:
    """The language of the terminal; English where there is no catalogue."""
    found = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    language = found.partition(".")[0].partition("_")[0].lower()
    return language if language in LANGUAGES else "en"
