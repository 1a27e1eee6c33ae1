"""A table in memory: encoded once into compact codes; the raw values are not kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import open_frame
from kagemusha.errors import DataError
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Clique, Domain, Schema
from kagemusha.sources.bounding import bounded, persons_of


class FrameSource:
    """Any frame narwhals reads (pandas, polars, pyarrow, …)."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        self._schema = schema
        opened = open_frame(frame)
        self._columns = Encoder(schema).encode_columns(frame)
        self._persons: IntArray | None = None
        if schema.unit.column is not None:
            self._bound(opened[schema.unit.column].to_list(), schema.unit.max_rows)
        self._like = _shape(opened, schema)
        if not len(self._columns[0]):
            raise DataError("the table has no rows")

    def _bound(self, values: Sequence[Any], most: int) -> None:
        persons, names = persons_of(values)
        rows = bounded(persons, names, self._columns, most)
        self._columns = [column[rows] for column in self._columns]
        self._persons = np.unique(persons[rows], return_inverse=True)[1].astype(np.int64)

    def __repr__(self) -> str:
        return f"FrameSource(<private>, {len(self.domain)} columns)"

    @property
    def name(self) -> None:
        """A frame has no name of its own."""
        return None

    def fingerprint(self) -> None:
        """None: the same rows may come in any order."""

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
        """All rows, and whose they are."""
        return self._columns, np.arange(self.rows()) if self._persons is None else self._persons

    def native_like(self) -> Any:
        """An empty frame of the library and types that came in."""
        return self._like


def _shape(opened: Any, schema: Schema) -> Any:
    """An empty frame of the modelled columns; without categorical types, which list the values they stand for."""
    import narwhals as nw

    types = opened.schema
    plain = [c.name for c in schema.modelled if types[c.name] not in (nw.Categorical, nw.Enum)]
    return opened.head(0).select(plain).to_native()
