"""A private table judged by the rules of its schema, row by row: which rows break which rule, counted as any table is.

Rules speak of values, not of codes (two dates in the same bin may be in the wrong order), so the table is read value by
value, some rows at a time; what is kept is a truth value for each rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.bins import code_type, no_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.values import Plain
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import check_names, open_frame
from kagemusha.encoding.rules import holds, with_worked_out
from kagemusha.errors import SchemaError
from kagemusha.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.schema import Clique, Schema
from kagemusha.schema.constraints import Determines
from kagemusha.schema.formulas import columns_of
from kagemusha.schema.judging import broken, judged_schema, rules_in_force
from kagemusha.sources.bounding import Persons, bounded
from kagemusha.sources.codes import CodesSource
from kagemusha.sources.file import FileSource
from kagemusha.sources.frame import unit_values
from kagemusha.sources.open import is_file_like, located
from kagemusha.sources.protocol import Source
from kagemusha.sources.sqltable import SqlTable


class JudgedSource(Source):
    """A frame, files or a table of a DuckDB database as its rules see it: a `Source` of truth values."""

    def __init__(self, where: Any, schema: Schema, *, table: str | None = None) -> None:
        found = located(where, table=table)
        if isinstance(found, SqlTable):
            raise SchemaError(
                f"rules are judged by values, which {found.dialect.name} does not do for us: write the table to a "
                "Parquet file, and check that"
            )
        self._declared, self._schema = schema, judged_schema(schema)
        self._file = FileSource(found, schema) if is_file_like(found) else None
        self._frame = None if self._file is not None else open_frame(found)
        if self._frame is not None:
            check_names(self._frame.columns, schema)

    @property
    def name(self) -> str | None:
        """That of the table."""
        return None if self._file is None else self._file.name

    def identity(self) -> Identity | None:
        """That of the table; private."""
        return None if self._file is None else self._file.identity()

    @property
    def schema(self) -> Schema:
        """A truth value for each rule."""
        return self._schema

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts."""
        return self._judged.count(cliques)

    def batches(self) -> Iterator[list[Codes]]:
        """All rows that stay."""
        return self._judged.batches()

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows; whose they are is forgotten once each person's are bounded."""
        return self._judged.records()

    @cached_property
    def _judged(self) -> CodesSource:
        """Read when it is first asked for, in one scan: at most as many rows of a person as are declared."""
        parts, whose = [no_codes(self.domain.sizes)], list[Plain]()
        for cells, theirs in self._cells():
            parts.append(self._codes(with_worked_out(self._declared, cells)))
            whose += theirs
        columns = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        unit = self._schema.unit
        if unit.column is not None:
            known = Persons()
            rows = bounded(known.number(whose), known.names, columns, unit.max_rows)
            columns = [column[rows] for column in columns]
        return CodesSource(self._schema, columns)

    def _codes(self, cells: Mapping[str, Cells]) -> list[Codes]:
        truth = {
            broken(rule): ~holds(self._declared, rule.law, cells)
            for rule in rules_in_force(self._declared)
            if not isinstance(rule.law, Determines)
        }
        return [
            np.asarray(truth[name] if name in truth else cells[name].codes, dtype=code_type(size))
            for name, size in zip(self.domain.names, self.domain.sizes, strict=True)
        ]

    def _cells(self) -> Iterator[tuple[dict[str, Cells], list[Plain]]]:
        """The values of the columns that rules speak of, some rows at a time, and whose these rows are."""
        if self._file is None:
            unit = self._schema.unit.column
            yield Encoder(self._declared).read(self._frame), [] if unit is None else unit_values(self._frame, unit)
            return
        named = {name for rule in rules_in_force(self._declared) for name in rule.columns}
        named |= {
            name for one in named & set(self._declared.formulas) for name in columns_of(self._declared.formulas[one])
        }
        yield from self._file.cells_of([c for c in self._declared.coded if c.name in named])
