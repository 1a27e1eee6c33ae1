"""The publishable quality statement of a release: expected error and verdicts, as JSON and as a page.

Everything in it follows from what was released, so it may lie beside the doubles; it never reads the real table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kagemusha.errors import DataError
from kagemusha.files import read_regular
from kagemusha.folder.loading import load_release
from kagemusha.folder.required_tables import published_tables
from kagemusha.models.model import Model
from kagemusha.pages import template
from kagemusha.progress import Progress, silent
from kagemusha.quality.expected_error import CARE, LEVEL, USE, VERDICTS, ErrorInterval, ExpectedError, expected_error
from kagemusha.quality.population import NotListed, PopulationTotal, not_listed, population_totals
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
from kagemusha.words.catalogue import Say, catalogue, known_language

FORMAT = "kagemusha-quality/1"
NAME, PAGE = "quality.json", "quality.html"

MOST_DRAWN = 40
"""Columns in a map of pairs."""

VERDICT_COLOURS = {"use": "#4292c6", "use with care": "#b5d4ea", "do not use": "#eceff3"}
VERDICT_MARKS = {"use": "", "use with care": "·", "do not use": ""}


def quality_files(model: Model, *, rows: int | None = None, progress: Progress = silent) -> dict[str, bytes]:
    """File name → content of the quality statement; the same model gives the same bytes."""
    expected, folded, totals = _found(model, rows, progress)
    strays = strays_in_words(model.certificate, model.rows)
    return {
        NAME: to_json(rows or model.rows, expected, folded, totals, strays).encode(),
        PAGE: page(model, expected, folded, totals).encode(),
    }


def quality_page(folder: Path, language: str, *, progress: Progress = silent) -> str:
    """The page of a release in a reader's language, made again from its model; in English it is that of the release."""
    say = catalogue(known_language(language), "quality")
    if not (folder / NAME).is_file():
        raise DataError(f"{folder}: has no {NAME}, which says how many doubles the page is about")
    stated = json.loads(read_regular(folder / NAME))
    if stated.get("format") != FORMAT:
        raise DataError(f"{folder / NAME}: is not the statement of one table; those of several come in English so far")
    doubles = stated.get("doubles")
    if not isinstance(doubles, int) or doubles < 1:
        raise DataError(f"{folder / NAME}: doubles must be a whole number above 0, got {doubles!r}")
    model = load_release(folder)
    return page(model, *_found(model, doubles, progress), say, language)


def _found(
    model: Model, rows: int | None, progress: Progress
) -> tuple[ExpectedError, Sequence[NotListed], Sequence[PopulationTotal]]:
    """What the statement rests on: errors, values nobody listed, totals of the population."""
    expected = expected_error(model, rows=rows, progress=progress)
    schema = model.schema
    folded = not_listed(model) if any(column.unseen_code is not None for column in schema.modelled) else []
    return expected, folded, population_totals(model, expected) if schema.weight is not None else []


def to_json(
    doubles: int,
    expected: ExpectedError,
    folded: Sequence[NotListed] = (),
    totals: Sequence[PopulationTotal] = (),
    strays: Sequence[str] = (),
    helps: Sequence[str] = (),
) -> str:
    """The statement for machines."""
    population = {"what": POPULATION, "totals": [total.to_json() for total in totals]}
    document = {
        "format": FORMAT,
        "what": "L1 distance between the real and the synthetic shares of records, 0 to 2; computed from released "
        "numbers only",
        "doubles": doubles,
        "compared": COMPARED,
        "holds": LEVEL,
        "holds where": f"The level is nominal. {MEASURED}",
        "verdicts": {
            "use": f"upper end at most {USE}",
            "use with care": f"upper end at most {CARE}",
            "do not use": "upper end above",
        },
        "groups": {
            "what": "from this many people on, a group's count is right to within 10 % in nine of ten cases, for half "
            "of the columns or pairs; null: for fewer than half of them",
            "by one column": _rounded(expected.right_from(1)),
            "by two columns": _rounded(expected.right_from(2)),
        },
        "people with values that are not listed": {one.column: [round(one.low), round(one.high)] for one in folded},
        "cells out of place": list(strays),
        "what would help": list(helps),
        "columns": [_interval(i) for i in expected.columns],
        "pairs": [_interval(i) for i in expected.pairs],
        **({"population": population} if totals else {}),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _interval(one: ErrorInterval) -> dict[str, Any]:
    return {
        "columns": list(one.clique),
        "low": float(f"{one.low:.4g}"),
        "high": float(f"{one.high:.4g}"),
        "verdict": one.verdict,
        "known from": one.known_from,
        "groups right from": _rounded(one.right_from),
        "people in such groups": float(f"{one.share:.3g}"),
    }


def _rounded(size: float | None) -> int | None:
    return None if size is None else math.ceil(size)


def page(
    model: Model,
    expected: ExpectedError,
    folded: Sequence[NotListed] = (),
    totals: Sequence[PopulationTotal] = (),
    say: Say = str.format,
    language: str = "en",
) -> str:
    """The statement for people: one page without scripts or links."""
    names = model.domain.names[:MOST_DRAWN]
    keys = zip(VERDICTS, grades(say), strict=True)
    rendered: str = template("quality", "quality.html").render(
        required=[
            (one.file_name(i), " × ".join(one.clique), math.ceil(one.reach))
            for i, one in enumerate(published_tables(model) if model.schema.demands.required else (), 1)
        ],
        _=say,
        language=language,
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


def verdict_picture(names: Sequence[str], expected: ExpectedError, say: Say = str.format) -> str:
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
