"""A table of an engine brought over as codes: what several tables that belong together are linked by is not in them.

Codes are made where the table lives; a cell that the engine does not settle comes over as it is and is read here, as
everywhere (see `columns.pushed`). All of it comes from one scan, so that keys and codes are those of the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns.bins import code_type
from kagemusha.columns.cells import Cells
from kagemusha.columns.parse import TextReader
from kagemusha.columns.pushed import plain_of, pushed
from kagemusha.columns.values import Plain
from kagemusha.encoding.frames import check_names
from kagemusha.schema import Drop, Modelled
from kagemusha.schema.related import Table
from kagemusha.sources.linked import Keys, ReadTable, joined_parts, places_of
from kagemusha.sources.sqltable import SqlTable


def bring(engine: SqlTable, tables: Sequence[Table]) -> list[ReadTable]:
    """All rows of an engine's table, as each of the tables that are in it sees them."""
    for table in tables:
        declared = table.schema.with_columns(*others_in(table, tables))
        check_names(engine.names, declared, engine.name or table.name)
    fields: list[str] = []
    seen = [_Seen(engine, table, fields) for table in tables]
    chosen = ", ".join(f"{field} AS f{at}" for at, field in enumerate(fields))
    reader = TextReader()
    try:
        batches = engine.batches(f"SELECT {chosen} FROM {engine.scan}")
        filled = (list(zip(*batch, strict=True)) for batch in batches if batch)
        parts = [[one.part(columns, reader) for one in seen] for columns in filled]
        return [joined_parts(of_one) for of_one in zip(*parts, strict=True)] or [
            one.part([()] * len(fields), reader) for one in seen
        ]
    finally:
        reader.close()


def others_in(table: Table, tables: Sequence[Table]) -> list[Drop]:
    """Columns of the other tables that are in the same one."""
    own = table.schema.names
    return [Drop(name) for other in tables for name in other.schema.names if name not in own]


class _Seen:
    """What is asked for a table, as fields of one query, and what becomes of the rows."""

    def __init__(self, engine: SqlTable, table: Table, fields: list[str]) -> None:
        self._engine, self._table, self._fields = engine, table, fields
        self._places = {name: at for at, name in enumerate(engine.names)}
        self._coded = [(column, *self._code(column)) for column in table.modelled]
        plain = (table.key, *(name for name in (table.id, table.order) if name is not None))
        self._plain = {name: (self._add(self._raw(name)), self._stored(name)) for name in plain}

    def _code(self, column: Modelled) -> tuple[int, int | None]:
        """Where the code stands, and where the value does if the engine is not sure of it."""
        at = self._places[column.name]
        found = pushed(column, self._engine.stored[at], f"c{at}", self._engine.dialect)
        code = self._add(found.code)
        if found.settled == "TRUE":
            return code, None
        return code, self._add(f"CASE WHEN {found.settled} THEN NULL ELSE {self._raw(column.name)} END")

    def _raw(self, name: str) -> str:
        return self._engine.dialect.raw(f"c{self._places[name]}", self._stored(name))

    def _stored(self, name: str) -> Any:
        return self._engine.stored[self._places[name]]

    def _add(self, field: str) -> int:
        self._fields.append(field)
        return len(self._fields) - 1

    def part(self, columns: Sequence[Sequence[Any]], reader: TextReader) -> ReadTable:
        """Some rows, field by field."""
        table = self._table
        plain = {name: [plain_of(value, stored) for value in columns[at]] for name, (at, stored) in self._plain.items()}
        order = None
        if table.order is not None:
            axis = table.schema.axis(table.order)
            cells: Cells = axis.read(plain[table.order], reader)
            order = places_of(axis, cells)
        own = [self._codes(column, columns, at, doubt, reader) for column, at, doubt in self._coded]
        return ReadTable(own, Keys.of(plain[table.key]), None if table.id is None else Keys.of(plain[table.id]), order)

    def _codes(
        self, column: Modelled, columns: Sequence[Sequence[Any]], at: int, doubt: int | None, reader: TextReader
    ) -> Codes:
        codes = np.array(columns[at], dtype=np.int64).astype(code_type(column.size))
        if doubt is not None:
            stored = self._stored(column.name)
            rows = [row for row, value in enumerate(columns[doubt]) if value is not None]
            values: list[Plain] = [plain_of(columns[doubt][row], stored) for row in rows]
            codes[rows] = column.encode_plain(values, reader)
        return codes
