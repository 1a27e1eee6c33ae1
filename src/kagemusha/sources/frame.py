"""A table in memory: encoded once into compact codes; the raw values are not kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import library_of, open_frame
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally, poisson_mask, stack
from kagemusha.schema import Clique, Domain, Schema


class FrameSource:
    """Any frame narwhals reads (pandas, polars, pyarrow, …)."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        self._schema = schema
        opened = open_frame(frame)
        self._columns = Encoder(schema).encode_columns(opened)
        self._library = library_of(opened)

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

    def poisson(self, rate: float, *, rng: np.random.Generator) -> IntArray:
        """Codes of rows taken independently with probability `rate`."""
        return stack(self._columns, poisson_mask(self.rows(), rate, rng=rng))

    def codes(self) -> IntArray:
        """All codes, one row a record."""
        return stack(self._columns, slice(None))

    def native_like(self) -> Any:
        """The name of the library that came in; types of columns hang on single records and are left behind."""
        return self._library
