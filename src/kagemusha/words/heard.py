"""What another room says, in the reader's language: sentences of errors, remarks and work in progress.

Those rooms fill their sentences in themselves, in English. A catalogue `ja/heard.toml` lists the sentences with
placeholders; a text that one of them fits is said in its translation, with what stood in its places. Any other text
stays as it is. A test holds every sentence to one in the source.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

PLACE = re.compile(r"\{(\w+)\}")
SAID = "said"
"""A place in which another sentence stands."""

LONGEST = 1_500
"""Longer texts are not looked at."""


def heard(text: str, language: str) -> str:
    """The text in a language, if its catalogue knows how it is said; what stands before a colon may be anything."""
    if language == "en" or len(text) > LONGEST:
        return text
    for pattern, translated in _sentences(language):
        if (found := pattern.fullmatch(text)) is not None:
            return translated.format(
                **{k: heard(v, language) if k == SAID else v for k, v in found.groupdict().items()}
            )
    before, colon, after = text.partition(": ")
    said = heard(after, language) if colon else after
    return text if said == after else f"{before}: {said}"


@cache
def _sentences(language: str) -> Sequence[tuple[re.Pattern[str], str]]:
    """Each sentence as a pattern; those that say more themselves are tried first."""
    text = files("kagemusha.words").joinpath(language, "heard.toml").read_text(encoding="utf-8")
    known = sorted(tomllib.loads(text).items(), key=lambda item: -len(PLACE.sub("", item[0])))
    return [(re.compile(_pattern(sentence), re.DOTALL), translated) for sentence, translated in known]


def _pattern(sentence: str) -> str:
    parts = PLACE.split(sentence)
    return "".join(f"(?P<{part}>.*?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
