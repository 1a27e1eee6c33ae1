"""A table of an engine brought over as codes: what several tables that belong together are linked by is not in them.

Codes are made where the table lives; a cell that the engine does not settle comes over as it is and is read here, as
everywhere (see `columns.pushed`). All of it comes from one scan, so that keys and codes are those of the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns.bins import code_type
from kagemusha.columns.cells import Cells
from kagemusha.columns.parse import TextReader
from kagemusha.columns.pushed import plain_of, pushed
from kagemusha.columns.values import Plain
from kagemusha.encoding.frames import check_names
from kagemusha.schema import Column, Drop, Modelled
from kagemusha.schema.related import Table
from kagemusha.sources.linked import Keys, ReadTable, joined_parts, places_of
from kagemusha.sources.sqltable import Row, SqlTable


def bring(engine: SqlTable, table: Table, both: Mapping[str, Column] | None = None) -> ReadTable:
    """All rows of a table; where two are in one, `both` holds the columns of either."""
    others = [Drop(name) for name in both or () if name not in table.schema.names]
    check_names(engine.names, table.schema.with_columns(*others), engine.name or table.name)
    return _Scan(engine, table).read()


class _Scan:
    """One query over a table, and what becomes of its rows."""

    def __init__(self, engine: SqlTable, table: Table) -> None:
        self._engine, self._table = engine, table
        self._places = {name: at for at, name in enumerate(engine.names)}
        self._fields: list[str] = []
        self._coded = [(column, *self._code(column)) for column in table.modelled]
        plain = (table.key, *(name for name in (table.id, table.order) if name is not None))
        self._plain = {name: (self._add(self._raw(name)), self._stored(name)) for name in plain}

    def read(self) -> ReadTable:
        """Batch by batch."""
        fields = ", ".join(f"{field} AS f{at}" for at, field in enumerate(self._fields))
        reader = TextReader()
        try:
            query = f"SELECT {fields} FROM {self._engine.scan}"
            parts = [self._part(batch, reader) for batch in self._engine.batches(query)]
            return joined_parts(parts or [self._part([], reader)])
        finally:
            reader.close()

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

    def _part(self, batch: Sequence[Row], reader: TextReader) -> ReadTable:
        table, columns = self._table, list(zip(*batch, strict=True)) or [()] * len(self._fields)
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
