"""REDCap data dictionaries: the CSV that a project exports, a line for each field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kagemusha.facts.statement import Statement, day, number, whole

NAME = "Variable / Field Name"
TYPE = "Field Type"
CHOICES = "Choices, Calculations, OR Slider Labels"
VALIDATION = "Text Validation Type OR Show Slider Number"
LEAST, MOST = "Text Validation Min", "Text Validation Max"
IDENTIFIER, REQUIRED = "Identifier?", "Required Field?"

LEFT_OUT = {"notes": "free text", "file": "files", "descriptive": "no values", "signature": "files"}


def is_redcap(header: Sequence[str]) -> bool:
    """Whether a CSV with this header is a data dictionary."""
    return NAME in header and TYPE in header


def redcap(lines: Sequence[Mapping[str, str]]) -> Iterator[Statement]:
    """What the dictionary says about each column of an export in raw codes."""
    for place, line in enumerate(lines):
        yield from _statements({key: (value or "").strip() for key, value in line.items() if key}, first=place == 0)


def _statements(line: Mapping[str, str], *, first: bool) -> Iterator[Statement]:
    name, kind = line.get(NAME, ""), line.get(TYPE, "")
    if not name:
        return
    missing = line.get(REQUIRED, "").lower() != "y"
    if first or line.get(IDENTIFIER, "").lower() == "y":
        yield Statement(name=name, kind="drop", why="an identifier")
    elif kind in LEFT_OUT:
        yield Statement(name=name, kind="drop", why=LEFT_OUT[kind])
    elif kind == "checkbox":
        for code, _ in _choices(line.get(CHOICES, "")):
            part = f"{name}___{re.sub(r'[^a-z0-9_]', '_', code.lower().replace('-', '_'))}"
            yield Statement(name=part, kind="boolean", missing=missing)
    elif kind in ("radio", "dropdown"):
        yield Statement(
            name=name, kind="category", values=[code for code, _ in _choices(line.get(CHOICES, ""))], missing=missing
        )
    elif kind in ("yesno", "truefalse"):
        yield Statement(name=name, kind="boolean", missing=missing)
    elif kind == "slider":
        yield Statement(name=name, kind="integer", lower=0, upper=100, missing=missing)
    else:
        yield _text(name, line, missing) if kind == "text" else Statement(name=name, kind="real", missing=missing)


def _text(name: str, line: Mapping[str, str], missing: bool) -> Statement:
    rule, least, most = line.get(VALIDATION, ""), line.get(LEAST, ""), line.get(MOST, "")
    if rule == "integer":
        return Statement(name=name, kind="integer", lower=whole(least), upper=whole(most), missing=missing)
    if rule.startswith("number"):
        return Statement(name=name, kind="real", lower=number(least), upper=number(most), missing=missing)
    if rule.startswith("datetime"):
        return Statement(name=name, kind="datetime", lower=day(least), upper=day(most), missing=missing)
    if rule.startswith("date"):  # exports are in the order of ISO 8601, whatever people type
        return Statement(name=name, kind="date", lower=day(least), upper=day(most), missing=missing)
    if rule.startswith("time"):
        return Statement(name=name, kind="time", missing=missing)
    return Statement(name=name, kind="drop", why="free text")


def _choices(text: str) -> list[tuple[str, str]]:
    pairs = (part.partition(",") for part in text.split("|"))
    return [(code.strip(), label.strip()) for code, _, label in pairs if code.strip()]
