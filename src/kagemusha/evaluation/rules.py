"""Rules of the schema that rows break, on both sides. INTERNAL where the table is real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.columns.cells import Cells
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import open_frame
from kagemusha.encoding.rules import holds, violations, with_worked_out
from kagemusha.evaluation.tables import present
from kagemusha.files import holds_pictures
from kagemusha.quality.projectable import CodedTable
from kagemusha.rules.patterns import seen
from kagemusha.schema import Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.sources import Source
from kagemusha.sources.rawfile import open_file

WORTH_A_RULE = 0.002
"""The share of doubles that must break a rule for it to be offered."""
MOST_OFFERED = 8
MOST_ROWS, ROWS_OF_RULES = 200_000, 50_000
"""Rows that are read to offer rules, and those among which rules are looked for."""


@dataclass(frozen=True)
class BrokenRule:
    """A rule that is in force, and how many rows break it."""

    rule: str
    real: int
    synthetic: int


def broken_rules(real: Any, synthetic: Any, schema: Schema) -> list[BrokenRule]:
    """Every rule in force; none where a side holds codes alone."""
    if all(rule.guess for rule in schema.constraints):
        return []
    if any(isinstance(table, CodedTable | np.ndarray | Source) for table in (real, synthetic)):
        return []
    sides = [_counted(table, schema) for table in (real, synthetic)]
    return [BrokenRule(rule, count, sides[1][rule]) for rule, count in sides[0].items()]


def offered_rules(real: Any, synthetic: Any, schema: Schema) -> list[BrokenRule]:
    """Rules that nobody has declared, that all people obey and many doubles do not; the most broken first."""
    if any(isinstance(table, CodedTable | np.ndarray | Source) or holds_pictures(table) for table in (real, synthetic)):
        return []
    people, doubles = (_cells(table, schema) for table in (real, synthetic))
    declared = {rule.rule for rule in schema.constraints if not rule.guess}
    found = []
    for rule in seen(schema, {name: cells[:ROWS_OF_RULES] for name, cells in people.items()}):
        law = Constraint(rule).law
        broken, of_people = (~holds(schema, law, cells) for cells in (doubles, people))
        if rule not in declared and not of_people.any() and broken.mean() > WORTH_A_RULE:
            found.append(BrokenRule(rule, 0, int(broken.sum())))
    return sorted(found, key=lambda one: -one.synthetic)[:MOST_OFFERED]


def _cells(table: Any, schema: Schema) -> dict[str, Cells]:
    frame = _read(table, schema.encoding, MOST_ROWS) if isinstance(table, str | PathLike) else table
    there = present(schema, set(open_frame(frame).columns))
    return with_worked_out(there, Encoder(there).read(frame))


def _counted(table: Any, schema: Schema) -> dict[str, int]:
    frame = _read(table, schema.encoding) if isinstance(table, str | PathLike) else table
    names: Sequence[str] = open_frame(frame).columns
    return violations(frame, present(schema, set(names)))


def _read(path: str | PathLike[str], encoding: str | None, most: int | None = None) -> Any:
    """The whole file, or its first rows, as an arrow table; a CSV as texts, which the encoder reads."""
    file = open_file(path, encoding)
    with file.reading() as (connection, table):
        chosen = ", ".join(f"{file.source(i)} AS v{i}" for i in range(len(file.names)))
        limit = "" if most is None else f" LIMIT {most}"
        return connection.sql(f"SELECT {chosen} FROM {table}{limit}").to_arrow_table().rename_columns(list(file.names))
