"""Rules of the schema that rows break, on both sides. INTERNAL where the table is real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.encoding.frames import open_frame
from kagemusha.encoding.rules import violations
from kagemusha.evaluation.tables import present
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Schema
from kagemusha.sources import Source
from kagemusha.sources.rawfile import open_file


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


def _counted(table: Any, schema: Schema) -> dict[str, int]:
    frame = _read(table, schema.encoding) if isinstance(table, str | PathLike) else table
    names: Sequence[str] = open_frame(frame).columns
    return violations(frame, present(schema, set(names)))


def _read(path: str | PathLike[str], encoding: str | None) -> Any:
    """The whole file as an arrow table; a CSV as texts, which the encoder reads."""
    file = open_file(path, encoding)
    with file.reading() as (connection, table):
        chosen = ", ".join(f"{file.source(i)} AS v{i}" for i in range(len(file.names)))
        return connection.sql(f"SELECT {chosen} FROM {table}").to_arrow_table().rename_columns(list(file.names))
