"""The page of a certificate in another language than English.

It is no part of a release: whoever holds a folder makes it again from the certificate, after verifying that, so nobody
has to trust a translation that somebody sent. What people wrote themselves stays as they wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kagemusha.certificate import sentences
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.page import aside_of, best_true_positive_rate, facts_of
from kagemusha.pages import template
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.words.catalogue import Catalogue, catalogue, known_language

EVERY_KIND = (
    *(*sentences.DECLARED, *sentences.DISCOVERED, *sentences.TRUST, *sentences.ROW, *sentences.PERSON),
    *(*sentences.KNOWN, *sentences.ALONE, *sentences.KNOWS, *sentences.FOREIGN, *sentences.GENERATED),
    *(*sentences.FLOATING, *sentences.RELATED),
)
"""Every sentence that a certificate of some kind must carry, with its placeholders."""

RATE = (
    "Even an attacker who knows everyone else's record, and who accepts being wrong about 5 of 100 people who are not "
    "in the table, can recognise at most {n:.1f} of 100 people who are (guessing alone gives 5)."
)
UNITS = {
    (Adjacency.ADD_REMOVE, False): "whether any one person's record is in the table or not",
    (Adjacency.ADD_REMOVE, True): "whether any one person's records, up to {rows:,} of them, are in the table or not",
    (Adjacency.REPLACE, False): "what any one person's record says, in a table whose number of rows is public",
    (Adjacency.REPLACE, True): "whose records, up to {rows:,} of them, stand in the place of any one person's",
}
"""`PrivacyUnit.in_words`, with its placeholder; a test holds them together."""


def translated(certificate: Certificate, language: str) -> str:
    """The page in a language; English is the page of the release itself."""
    facts = facts_of(certificate)
    if known_language(language) == "en":
        return str(template("certificate", "certificate.html").render(facts))
    say = catalogue(language, "certificate")
    facts["sentence"] = say(RATE, n=100 * _rate(certificate)) if facts["private"] else ""
    facts["noise_word"] = say(facts["noise_word"])
    facts["totals"] = [{**total, "name": say(total["name"])} for total in facts["totals"]]
    facts["hides"] = unit_in_words(certificate.promised.unit, say)
    facts["rests_on"] = list(assumptions(certificate, say))
    return str(template("certificate", f"certificate.{language}.html").render(facts))


def unit_in_words(unit: PrivacyUnit, say: Catalogue) -> str:
    """What the promise hides."""
    return say(UNITS[unit.relation, unit.rows > 1], rows=unit.rows)


def assumptions(certificate: Certificate, say: Catalogue) -> Iterator[str]:
    """The sentences that every certificate of its kind carries, in the order in which they stand there."""
    tables = certificate.tables
    named = sentences.names_of(tables) if len(tables) > 1 else dict.fromkeys(("persons", "below", "parts"), "")
    promised = {"rows": certificate.promised.rows, "column": certificate.unit_column, "package": certificate.package}
    values: dict[str, Any] = {**promised, **named}
    known = {sentence.format(**values): sentence for sentence in EVERY_KIND}
    for sentence in certificate.assumptions:
        if sentence in certificate.required_assumptions:
            yield say(known[sentence], **values)


def _rate(certificate: Certificate) -> float:
    return best_true_positive_rate(certificate.promised, certificate.accounting, 0.05, aside=aside_of(certificate))
