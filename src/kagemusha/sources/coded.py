"""A table that comes as codes already: images, and experiments that made their codes themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.bins import code_type
from kagemusha.errors import DataError
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Clique, Domain, Schema


class CodedSource:
    """Codes column by column, each within its column's domain; every row is a person of its own."""

    def __init__(self, schema: Schema, columns: Sequence[Codes], *, name: str | None = None) -> None:
        if schema.unit.column is not None or len(columns) != len(schema.domain):
            raise DataError("codes come one column for each of the schema's, and tell no persons apart")
        self._schema, self._name = schema, name
        self._columns: list[Codes] = []
        for column, size in zip(columns, schema.domain.sizes, strict=True):
            if len(column) and not (int(column.min()) >= 0 and int(column.max()) < size):
                raise DataError("a code lies outside its column's domain")
            self._columns.append(np.ascontiguousarray(column, dtype=code_type(size)))

    def __repr__(self) -> str:
        return f"CodedSource(<private>, {len(self.domain)} columns)"

    @property
    def name(self) -> str | None:
        """What the table is known by."""
        return self._name

    def fingerprint(self) -> str | None:
        """None: the same rows may come in any order."""
        return None

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        return self._schema

    @property
    def domain(self) -> Domain:
        """The modelled columns and their numbers of codes."""
        return self._schema.domain

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique."""
        tally = Tally(self.domain, cliques)
        tally.add(self._columns)
        return tally.marginals()

    def rows(self) -> int:
        """Number of rows."""
        return len(self._columns[0])

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, each a person of its own."""
        return self._columns, np.arange(self.rows())

    def native_like(self) -> Any:
        """Codes have no frame of their own."""
        return "pyarrow"
