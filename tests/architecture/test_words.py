"""Words that a stranger of the field would stumble over do not come back into the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kagemusha

SOURCE = Path(kagemusha.__file__).parent
FILES = sorted(f for kind in ("*.py", "*.html", "*.js") for f in SOURCE.rglob(kind))

WORDS = {
    r"told": "say whose fields, which summary, known or distinguished",
    r"hang(s|ing)? on": "depend on",
    r"how-manieth": "how often before",
    r"be gone on with": "be resumed",
    r"made tables?": "constructed tables",
    r"[Oo]ne (axis|cell|row|column|number|array|marginal|score|transaction) an? "
    r"(name|code|label|pair|record|clique|row|state|attribute|family|candidate)": "one … per …",
    r"stray_code|empty_code": "outside_code, missing_or_outside_code",
    r"chance_of_so_(far|little)": "upper_tail, lower_tail",
    r"(BYTES|MICROSECONDS|FRESH|TRIES|CELLS|PRODUCTS)_AN?_[A-Z]+": "…_PER_…",
    r"Gathered|Kept\(": "Measurements, LedgerDatabase",
    r"drawn_together|unfulfilled|walls_of": "shrink_to_mean, conditional_loss, zeros_of_rules",
    r"Hump|hump_of": "modes, WrittenColumn",
    r"_?walls?(?!-|\w)": "structural zeros",
    r"A_DAY": "STEPS_PER_DAY",
}
"""What is not written, and what is written in its place."""


def stumbles(text: str) -> list[str]:
    """The words that are not written, where a text has them; line breaks do not hide them."""
    plain = re.sub(r"\s+", " ", text)
    return [
        f"{found[0]}: {instead}" for word, instead in WORDS.items() for found in re.finditer(rf"\b(?:{word})", plain)
    ]


@pytest.mark.parametrize(
    "text", ["what it told", "it hangs\n    on that", "for the how-manieth time", "BYTES_A_CELL = 8"]
)
def test_a_word_is_recognised(text: str) -> None:
    assert stumbles(text)


def test_words_that_only_look_so_pass() -> None:
    assert not stumbles("untold, changes on, BYTES_PER_CELL, empty, readable tables, Kept, because it is asked twice")


def test_the_source_is_written_in_words_that_a_stranger_reads_once() -> None:
    assert len(FILES) > 300
    found = {str(f.relative_to(SOURCE)): words for f in FILES if (words := stumbles(f.read_text(encoding="utf-8")))}
    assert not found
