"""What a person should hear about a draft: what was left out, what was renamed, what is read in a special way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from kagemusha.encodings import KNOWN
from kagemusha.schema.schema import Schema
from kagemusha.sources.documents import SHEETS, sheets
from kagemusha.sources.header import csv_header, distinct
from kagemusha.sources.rawfile import is_text_file

MOST_NAMED = 12
TAIL = 10_000
"""Bytes at the end of a file in which its last line is looked for."""


def proposal_notes(schema: Schema, table: Any = None) -> list[str]:
    """A line for each thing that may surprise whoever drafted the schema."""
    notes = [] if schema.encoding is None else [f"read as {schema.encoding}: `encoding` in the schema says so"]
    notes += _other_sheets(table)
    if len(schema) == 1 and re.search(r"\S[\s:.]+\S", schema.names[0]):
        notes.append("one column only: if there should be more, write commas, semicolons, tabs or | between them")
    if new := _renamed(table, schema.encoding):
        notes.append(f"columns of the same name, or of none, got names of their own: {_some(new)}")
    if _ends_in_totals(table, schema.encoding):
        notes.append("the last line looks like a row of totals: take it out of the file, or it counts as a person")
    spelt: dict[str, list[str]] = {}
    for axis in schema.measured.values():
        if axis.spelling is not None:
            spelt.setdefault(axis.spelling, []).append(axis.name)
    notes += [f"written as {spelling}: {_some(names)}" for spelling, names in spelt.items()]
    left: dict[str, list[str]] = {}
    for column in schema:
        if not column.in_doubles:
            left.setdefault(column.described(), []).append(column.name)
    count = sum(map(len, left.values()))
    if count:
        notes.append(f"{count} {'column is' if count == 1 else 'columns are'} not in the doubles:")
        notes += [f"  {_some(names)}: {words}" for words, names in left.items()]
    return notes


def _other_sheets(table: Any) -> list[str]:
    """Which sheet of a workbook is the table, where it has others."""
    path = Path(table) if isinstance(table, str | PathLike) else None
    if path is None or not path.is_file() or path.suffix.lower() not in SHEETS:
        return []
    used, others = sheets(path)
    if not others:
        return []
    return [f"the sheet {used!r} is the table; for {_some(others)}, save that sheet as a file of its own"]


def _renamed(table: Any, encoding: str | None) -> list[str]:
    path = Path(table) if isinstance(table, str | PathLike) else None
    if path is None or not (path.is_file() and is_text_file(path)):
        return []
    given, _ = csv_header(path, encoding)
    return [new for old, new in zip(given, distinct(given), strict=True) if old != new]


TOTALS = re.compile(r"(?i)(grand )?totals?|sum|summe|gesamt|insgesamt|totaux|totale|suma|合計|総計|総数|计|总计|計")
"""What the first cell of such a line says, or begins with before a blank or a colon."""


def _ends_in_totals(table: Any, encoding: str | None) -> bool:
    path = Path(table) if isinstance(table, str | PathLike) else None
    if path is None or not (path.is_file() and is_text_file(path)):
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        lines = file.read().decode(KNOWN[encoding] if encoding else "utf-8", "replace").splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "")
    return TOTALS.fullmatch(re.split(r"[,;\t:]", last.strip('"'))[0].strip('" ')) is not None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
