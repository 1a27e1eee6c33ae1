"""The page of a release that says what its doubles can be used for, in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence

from kagemusha.models.model import Model
from kagemusha.pages import template
from kagemusha.quality.expected_error import LEVEL, VERDICTS, ExpectedError
from kagemusha.quality.population import NotListed, PopulationTotal
from kagemusha.quality.svg import INK, picture, rect, shorten, text
from kagemusha.quality.words import (
    COMPARED,
    KNOWN_FROM,
    MEASURED,
    POPULATION,
    all_pairs,
    grades,
    groups_in_words,
    in_words,
    not_listed_in_words,
    of_100,
    shown_size,
    strays_in_words,
    what_helps,
)
from kagemusha.schema.laws import in_force
from kagemusha.words.catalogue import ENGLISH, Catalogue

MOST_DRAWN = 40
"""Columns in a map of pairs."""

VERDICT_COLOURS = {"use": "#4292c6", "use with care": "#b5d4ea", "do not use": "#eceff3"}
VERDICT_MARKS = {"use": "", "use with care": "·", "do not use": ""}


def page(
    model: Model,
    expected: ExpectedError,
    folded: Sequence[NotListed] = (),
    totals: Sequence[PopulationTotal] = (),
    say: Catalogue = ENGLISH,
) -> str:
    """The statement for people: one page without scripts or links."""
    names = model.domain.names[:MOST_DRAWN]
    keys = zip(VERDICTS, grades(say), strict=True)
    rendered: str = template("quality", "quality.html").render(
        _=say,
        dataset=model.certificate.dataset,
        rows=model.rows,
        words=in_words(expected, say),
        picture=verdict_picture(names, expected, say) if len(names) > 1 else "",
        keys=[(words, VERDICT_COLOURS[v], VERDICT_MARKS[v]) for v, words in keys],
        columns=[(one, shown_size(one, say)) for one in expected.columns],
        drawn=len(names),
        all_pairs=all_pairs(expected),
        measured=say(MEASURED),
        compared=say(COMPARED),
        pairs=[(one, shown_size(one, say)) for one in sorted(expected.pairs, key=lambda pair: pair.high)],
        groups=groups_in_words(expected, say),
        strays=strays_in_words(model.certificate, model.rows, say),
        folded=[words for one in folded if (words := not_listed_in_words(one, say))],
        rules=[rule.rule for rule in (in_force(model.schema) if model.schema.constraints else ())],
        totals=totals,
        population=say(POPULATION),
        of_100=of_100,
        helps=what_helps(model, expected, say),
        known={source: say(words) for source, words in KNOWN_FROM.items()},
        level=round(100 * LEVEL),
    )
    return rendered


def verdict_picture(names: Sequence[str], expected: ExpectedError, say: Catalogue = ENGLISH) -> str:
    """Which pairs may be used, as a map of three colours with marks."""
    verdicts = {pair.clique: pair for pair in expected.pairs}
    count = len(names)
    cell = max(9.0, min(30.0, 430 / max(1, count)))
    # room for the longest name beside the map, and for it turned by 60° below
    longest = 7.2 * max(len(shorten(name, 18)) for name in names)
    left, top = max(40.0, longest + 8), 6.0
    parts = []
    for i, row in enumerate(names):
        parts.append(
            text(left - 5, top + cell * (i + 0.5) + 3.5, shorten(row, 18), anchor="end", size=min(13, cell + 2))
        )
        under = left + cell * (i + 0.5) + 3.5
        parts.append(
            text(under, top + cell * count + 7, shorten(row, 18), anchor="end", size=min(13, cell + 2), turn=-60)
        )
        for j, other in enumerate(names):
            found = verdicts.get((row, other)) or verdicts.get((other, row))
            x, y = left + cell * j, top + cell * i
            if found is None:
                parts.append(rect(x, y, cell - 1, cell - 1, "#eef0f3"))
                continue
            ends = {"low": of_100(found.low), "high": of_100(found.high)}
            title = say("{pair}: {low} to {high} of 100 in a wrong cell", pair=f"{row} × {other}", **ends)
            parts.append(rect(x, y, cell - 1, cell - 1, VERDICT_COLOURS[found.verdict], title))
            mark = VERDICT_MARKS[found.verdict]
            parts.append(text(x + cell / 2, y + cell / 2 + 4, mark, anchor="middle", size=min(13, cell), fill=INK))
    use, care, rest = expected.counted().values()
    alt = say(
        "Map of verdicts: {use} pairs use, {care} pairs use with care, {rest} pairs do not use",
        use=use,
        care=care,
        rest=rest,
    )
    return picture(left + cell * count + 8, top + cell * count + 16 + 0.87 * longest, alt, parts)
