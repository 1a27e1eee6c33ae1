"""The publishable quality statement of a release: expected error and verdicts, as JSON and as a page.

Everything in it follows from what was released, so it may lie beside the doubles; it never reads the real table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.models.model import Model
from kagemusha.pages import template
from kagemusha.progress import Progress, silent
from kagemusha.quality.expected_error import CARE, LEVEL, USE, VERDICTS, ErrorInterval, ExpectedError, expected_error
from kagemusha.quality.population import NotListed, PopulationTotal, not_listed, population_totals
from kagemusha.quality.svg import INK, picture, rect, shorten, text
from kagemusha.schema.laws import in_force

FORMAT = "kagemusha-quality/1"
NAME, PAGE = "quality.json", "quality.html"

WITHIN_95 = 1.96
"""Deviations of Gaussian noise that 95 of 100 answers stay within."""

MOST_DRAWN = 40
"""Columns in a map of pairs."""

MEASURED = (
    "That was checked on three real tables (Adult, Bank, RAND) and three made ones with many rare codes, where 98.2 % "
    "of 7,416 intervals held, 93 % in the table where fewest did. It is no guarantee elsewhere."
)
"""Where the intervals were checked; docs/decisions/040-evaluation.md."""

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

VERDICT_COLOURS = {"use": "#9ecae1", "use with care": "#fdd49e", "do not use": "#7f2704"}
VERDICT_MARKS = {"use": "", "use with care": "·", "do not use": "×"}

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


def strays_in_words(certificate: Certificate, rows: int) -> list[str]:
    """Columns with so many cells out of place that the noise does not hide it, and how many, for people."""
    seen, noise = certificate.parameters.get("strays"), certificate.parameters.get("strays_noise")
    if not isinstance(seen, dict) or not isinstance(noise, int | float):
        return []
    return [
        f"{column}: {max(0.0, count - WITHIN_95 * noise):,.0f} to {count + WITHIN_95 * noise:,.0f} of about {rows:,} "
        "cells are blank, cannot be read, lie outside the bounds or are not listed. Doubles show values of the schema "
        "instead: look at the schema and the table."
        for column, count in seen.items()
    ]


def to_json(
    expected: ExpectedError,
    folded: Sequence[NotListed] = (),
    totals: Sequence[PopulationTotal] = (),
    strays: Sequence[str] = (),
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
        dataset=model.certificate.dataset,
        rows=model.rows,
        words=in_words(expected),
        picture=verdict_picture(names, expected) if len(names) > 1 else "",
        keys=[(verdict, VERDICT_COLOURS[verdict], VERDICT_MARKS[verdict]) for verdict in VERDICT_COLOURS],
        columns=expected.columns,
        drawn=len(names),
        all_pairs=all_pairs(expected),
        measured=MEASURED,
        compared=COMPARED,
        pairs=sorted(expected.pairs, key=lambda pair: -pair.high),
        groups=groups_in_words(expected),
        strays=strays_in_words(model.certificate, model.rows),
        folded=[one.words for one in folded if one.words],
        rules=[rule.rule for rule in (in_force(model.schema) if model.schema.constraints else ())],
        totals=totals,
        population=POPULATION,
        sized=sized_verdict,
        known=IN_WORDS,
        level=round(100 * LEVEL),
        use=50 * USE,
        care=50 * CARE,
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
            else f"Groups by {what}: the smallest whose count is right to within 10 % has {math.ceil(size):,} people "
            f"(the middle one of {len(members):,} {name}s)"
        )
        found.append(
            words + (f"; {none:,} {name}{'s have' if none > 1 else ' has'} no such group." if none and size else ".")
        )
    return found


def sized_verdict(one: ErrorInterval) -> str:
    """A pair's verdict given the size of its groups."""
    if one.right_from is None:
        return f"{one.verdict}; no single group" if one.verdict != VERDICTS[2] else one.verdict
    but = ", but for" if one.verdict == VERDICTS[2] else ";"
    return f"{one.verdict}{but} groups of {math.ceil(one.right_from):,} or more"


def all_pairs(expected: ExpectedError) -> int:
    """Pairs of columns there are; in very wide tables more than were looked at."""
    return math.comb(len(expected.columns), 2)


def in_words(expected: ExpectedError) -> str:
    """The statement in a sentence or two."""
    counted = expected.counted()
    total = len(expected.pairs)
    if not total:
        return "There is one column; its counts carry the error given below."
    parts = [f"{n} {'pair' if n == 1 else 'pairs'}: {verdict}" for verdict, n in counted.items() if n]
    there_are = all_pairs(expected)
    looked_at = "" if total == there_are else f" looked at, of {there_are:,}"
    return f"Of {total} pairs of columns{looked_at}: " + "; ".join(parts) + "."


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
            title = f"{row} × {other}: {found.verdict}, error {found.low:.3f} to {found.high:.3f}"
            parts.append(rect(x, y, cell - 1, cell - 1, VERDICT_COLOURS[found.verdict], title))
            colour = "#fff" if found.verdict == VERDICTS[2] else INK
            mark = VERDICT_MARKS[found.verdict]
            parts.append(text(x + cell / 2, y + cell / 2 + 4, mark, anchor="middle", size=min(13, cell), fill=colour))
    counted = expected.counted()
    alt = "Map of verdicts: " + ", ".join(f"{n} pairs {verdict}" for verdict, n in counted.items())
    return picture(left + cell * count + 8, top + cell * count + 16 + 0.87 * longest, alt, parts)
