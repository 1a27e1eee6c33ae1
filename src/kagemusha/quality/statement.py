"""The publishable quality statement of a release: expected error and verdicts, as JSON and as a page.

Everything in it follows from what was released, so it may lie beside the doubles; it never reads the real table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from kagemusha.folder.required_tables import published_tables
from kagemusha.models.model import Model
from kagemusha.pages import template
from kagemusha.progress import Progress, silent
from kagemusha.quality.expected_error import CARE, LEVEL, USE, VERDICTS, ErrorInterval, ExpectedError, expected_error
from kagemusha.quality.population import NotListed, PopulationTotal, not_listed, population_totals
from kagemusha.quality.released import of_100, strays_in_words, what_helps
from kagemusha.quality.svg import INK, picture, rect, shorten, text
from kagemusha.schema.laws import in_force

FORMAT = "kagemusha-quality/1"
NAME, PAGE = "quality.json", "quality.html"

MOST_DRAWN = 40
"""Columns in a map of pairs."""

MEASURED = (
    "How near the ends can be was set on 14 tables; on 17 others 93.6 % of 13,545 intervals held, 84 % in the table "
    "where fewest did. It is no guarantee elsewhere."
)
"""Where the intervals were checked; benchmarks/results/intervals.md."""

COMPARED = (
    "Compared are the columns as the schema codes them: numbers in their bins, values beyond a column's bounds as the "
    "nearest bound, values "
    "that are not listed as a category of their own. What that coding itself leaves out is not counted."
)

POPULATION = (
    "Survey weights: sums of the weights of doubles, for as many doubles as there were records. An interval is made to "
    "hold what the real table's weights, taken in the middle of their bins, would give in nine of ten cases. It covers "
    "the noise and the drawing of doubles, not that the survey itself is a sample."
)

VERDICT_COLOURS = {"use": "#4292c6", "use with care": "#b5d4ea", "do not use": "#eceff3"}
VERDICT_MARKS = {"use": "", "use with care": "·", "do not use": ""}

GRADES = (f"at most {50 * USE:g} of 100 in a wrong cell", f"at most {50 * CARE:g}", "more, or not known")
"""The verdicts as the map explains them."""

IN_WORDS = {
    "counts": "its counts were measured",
    "interaction": "its interaction was measured",
    "score": "its dependence was measured, its table was not",
    "selection": "it was worth measuring less than what was measured",
    "columns": "only its columns are known",
}


def quality_files(model: Model, *, rows: int | None = None, progress: Progress = silent) -> dict[str, bytes]:
    """File name → content of the quality statement; the same model gives the same bytes."""
    expected = expected_error(model, rows=rows, progress=progress)
    schema = model.schema
    folded = not_listed(model) if any(column.unseen_code is not None for column in schema.modelled) else []
    totals = population_totals(model, expected) if schema.weight is not None else []
    strays = strays_in_words(model.certificate, model.rows)
    return {
        NAME: to_json(expected, folded, totals, strays).encode(),
        PAGE: page(model, expected, folded, totals).encode(),
    }


def to_json(
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
) -> str:
    """The statement for people: one page without scripts or links."""
    names = model.domain.names[:MOST_DRAWN]
    rendered: str = template("quality", "quality.html").render(
        required=[
            (one.file_name(i), " × ".join(one.clique), math.ceil(one.reach))
            for i, one in enumerate(published_tables(model), 1)
        ],
        dataset=model.certificate.dataset,
        rows=model.rows,
        words=in_words(expected),
        picture=verdict_picture(names, expected) if len(names) > 1 else "",
        keys=[(words, VERDICT_COLOURS[v], VERDICT_MARKS[v]) for v, words in zip(VERDICTS, GRADES, strict=True)],
        columns=expected.columns,
        drawn=len(names),
        all_pairs=all_pairs(expected),
        measured=MEASURED,
        compared=COMPARED,
        pairs=sorted(expected.pairs, key=lambda pair: pair.high),
        groups=groups_in_words(expected),
        strays=strays_in_words(model.certificate, model.rows),
        folded=[one.words for one in folded if one.words],
        rules=[rule.rule for rule in (in_force(model.schema) if model.schema.constraints else ())],
        totals=totals,
        population=POPULATION,
        shown_size=shown_size,
        of_100=of_100,
        helps=what_helps(model, expected),
        known=IN_WORDS,
        level=round(100 * LEVEL),
    )
    return rendered


def groups_in_words(expected: ExpectedError) -> list[str]:
    """From which size on groups can be counted, for people."""
    found = []
    for width, what, members in ((1, "one column", expected.columns), (2, "two columns", expected.pairs)):
        if not members:
            continue
        none = sum(one.right_from is None for one in members)
        size = expected.right_from(width)
        name = "column" if width == 1 else "pair"
        words = (
            f"Groups by {what}: for fewer than half of the {name}s is there a group known to be right to within 10 %"
            if size is None
            else f"Groups by {what}: the smallest whose count is right to within 10 % has {math.ceil(size):,} rows "
            f"(the middle one of {len(members):,} {name}s)"
        )
        found.append(
            words + (f"; {none:,} {name}{'s have' if none > 1 else ' has'} no such group." if none and size else ".")
        )
    return found


def shown_size(one: ErrorInterval) -> str:
    """From which size on groups are right, in a cell of a table."""
    return "no size" if one.right_from is None else f"{math.ceil(one.right_from):,} rows"


def all_pairs(expected: ExpectedError) -> int:
    """Pairs of columns there are; in very wide tables more than were looked at."""
    return math.comb(len(expected.columns), 2)


def in_words(expected: ExpectedError) -> str:
    """What the doubles can do, in a sentence or two."""
    worst = max(expected.columns, key=lambda one: one.high)
    words = (
        f"Counts over one column can be used: at most {of_100(worst.high)} of 100 doubles are in a wrong place, even "
        f"in {worst.clique[0]}, the least certain column."
        if worst.high <= CARE
        else f"Counts over one column: in {worst.clique[0]}, the least certain, up to {of_100(worst.high)} of 100 "
        "doubles may be in a wrong place."
    )
    total, there_are = len(expected.pairs), all_pairs(expected)
    if not total:
        return words
    counted = expected.counted()
    good, fair, _ = (counted[verdict] for verdict in VERDICTS)
    looked_at = "" if total == there_are else f" looked at, of {there_are:,}"
    best = [" × ".join(one.clique) for one in sorted(expected.pairs, key=lambda one: one.high)[:3]]
    first = f"at most {50 * USE:g} of 100 in a wrong cell for {good:,} of {total:,} pairs{looked_at}, " if good else ""
    then = f"{fair:,} more" if good else f"{fair:,} of {total:,} pairs{looked_at}"
    return (
        f"{words} Tables of two columns: {first}at most {50 * CARE:g} of 100 for {then}; best known: {', '.join(best)}."
    )


def verdict_picture(names: Sequence[str], expected: ExpectedError) -> str:
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
            title = f"{row} × {other}: {of_100(found.low)} to {of_100(found.high)} of 100 in a wrong cell"
            parts.append(rect(x, y, cell - 1, cell - 1, VERDICT_COLOURS[found.verdict], title))
            mark = VERDICT_MARKS[found.verdict]
            parts.append(text(x + cell / 2, y + cell / 2 + 4, mark, anchor="middle", size=min(13, cell), fill=INK))
    counted = expected.counted()
    alt = "Map of verdicts: " + ", ".join(f"{n} pairs {verdict}" for verdict, n in counted.items())
    return picture(left + cell * count + 8, top + cell * count + 16 + 0.87 * longest, alt, parts)
