"""The publishable quality statement of a release: expected error and verdicts, as JSON and as a page.

Everything in it follows from what was released, so it may lie beside the doubles; it never reads the real table.
"""

from __future__ import annotations

import json
import math
from typing import Any

from kagemusha.models.model import Model
from kagemusha.pages import template
from kagemusha.quality.expected_error import CARE, LEVEL, USE, ErrorInterval, ExpectedError, expected_error
from kagemusha.quality.plots import VERDICT_COLOURS, VERDICT_MARKS, verdict_picture

FORMAT = "kagemusha-quality/1"
NAME, PAGE = "quality.json", "quality.html"

MOST_DRAWN = 40
"""Columns in a map of pairs."""

MEASURED = (
    "That was checked on three real tables (Adult, Bank, RAND) and three made ones with many rare codes, where 98.2 % of 7,416 intervals "
    "held, 93 % in the table where fewest did. It is no guarantee elsewhere."
)
"""Where the intervals were checked; docs/decisions/040-evaluation.md."""

COMPARED = (
    "Compared are the columns as the schema codes them: numbers in their bins, values beyond a column's bounds as the nearest bound, values "
    "that are not listed as the column's other bucket. What that coding itself leaves out is not counted."
)

IN_WORDS = {
    "counts": "its counts were measured",
    "interaction": "its interaction was measured",
    "score": "its dependence was measured, its table was not",
    "selection": "it was worth measuring less than what was measured",
    "columns": "only its columns are known",
}


def quality_files(model: Model, *, rows: int | None = None) -> dict[str, bytes]:
    """File name → content of the quality statement; the same model gives the same bytes."""
    expected = expected_error(model, rows=rows)
    return {NAME: to_json(expected).encode(), PAGE: page(model, expected).encode()}


def to_json(expected: ExpectedError) -> str:
    """The statement for machines."""
    document = {
        "format": FORMAT,
        "what": "L1 distance between the real and the synthetic shares of records, 0 to 2; computed from released numbers only",
        "compared": COMPARED,
        "holds": LEVEL,
        "holds where": f"The level is nominal. {MEASURED}",
        "verdicts": {
            "use": f"upper end at most {USE}",
            "use with care": f"upper end at most {CARE}",
            "do not use": "upper end above",
        },
        "columns": [_interval(i) for i in expected.columns],
        "pairs": [_interval(i) for i in expected.pairs],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _interval(one: ErrorInterval) -> dict[str, Any]:
    return {
        "columns": list(one.clique),
        "low": float(f"{one.low:.4g}"),
        "high": float(f"{one.high:.4g}"),
        "verdict": one.verdict,
        "known from": one.known_from,
    }


def page(model: Model, expected: ExpectedError) -> str:
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
        known=IN_WORDS,
        level=round(100 * LEVEL),
        use=50 * USE,
        care=50 * CARE,
    )
    return rendered


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
