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
from kagemusha.models.model import Model
from kagemusha.progress import Progress, silent
from kagemusha.quality.expected_error import CARE, LEVEL, USE, ErrorInterval, ExpectedError, expected_error
from kagemusha.quality.page import page
from kagemusha.quality.population import NotListed, PopulationTotal, not_listed, population_totals
from kagemusha.quality.words import COMPARED, MEASURED, POPULATION, strays_in_words
from kagemusha.words.catalogue import catalogue, known_language

FORMAT = "kagemusha-quality/1"
NAME, PAGE = "quality.json", "quality.html"


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
    doubles = json.loads(read_regular(folder / NAME)).get("doubles")
    if not isinstance(doubles, int) or doubles < 1:
        raise DataError(f"{folder / NAME}: doubles must be a whole number above 0, got {doubles!r}")
    model = load_release(folder)
    return page(model, *_found(model, doubles, progress), say)


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
