"""What is read of a table in DuckDB's SQL, for files too large to load.

DuckDB reads what nearly all cells hold: labels, looked up by hashing as values of an ENUM type that is made before the
query runs; numbers; dates in the column's own format. Any other text comes out as it is and is read as that of a frame
is, and numbers become codes as those of a frame do. A query has three levels, so that nothing is worked out twice: p,
the plain form of a value; v, what it says or where that lies; and t, the text itself if it was read as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kagemusha.arrays import Codes
from kagemusha.columns import Modelled
from kagemusha.columns.cells import Cells
from kagemusha.columns.duck import DuckDialect
from kagemusha.columns.parse import TextReader, quote
from kagemusha.columns.stored import Stored

DUCK = DuckDialect()


@dataclass(frozen=True)
class CodesQuery:
    """Statements to run first, a query over the raw table, and what makes codes of its batches."""

    columns: tuple[Modelled, ...]
    setup: tuple[str, ...]
    levels: tuple[str, ...]

    def over(self, scan: str) -> str:
        """The query over a FROM clause."""
        query = scan
        for level in self.levels:
            query = f"(SELECT {level} FROM {query})"
        return query[1:-1]

    def codes(self, batch: Any, reader: TextReader) -> list[Codes]:
        """Codes of every column from an arrow batch of what the query gives."""
        return list(self.codes_by_name(batch, reader, (c.name for c in self.columns)).values())

    def codes_by_name(self, batch: Any, reader: TextReader, names: Iterable[str]) -> dict[str, Codes]:
        """Codes of some columns."""
        return {c.name: c.codes_in_duck(v, t, reader) for c, v, t in self._parts(batch, names)}

    def cells(self, batch: Any, reader: TextReader, names: Iterable[str]) -> dict[str, Cells]:
        """The values of some columns, as formulas and rules see them."""
        return {c.name: c.cells_in_duck(v, t, reader) for c, v, t in self._parts(batch, names)}

    def _parts(self, batch: Any, names: Iterable[str]) -> Iterable[tuple[Modelled, Any, Any]]:
        """Columns with what was read, and the texts that are still to be read (None: there are none)."""
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        wanted = set(names)
        for at, column in enumerate(self.columns):
            if column.name in wanted:
                texts = found.get(f"t{at}")
                yield column, found[f"v{at}"], None if texts is None or texts.null_count == len(texts) else texts


WHOSE = "w"
"""The column of a query's answer that says whose a row is."""


def codes_query(fields: Iterable[tuple[Modelled, Stored, str]], whose: tuple[Stored, str] | None = None) -> CodesQuery:
    """What gives the codes of columns; each is given with how it is stored and the SQL expression of its values.

    With `whose` the plain values of one more column come along, in the same scan: who each row belongs to.
    """
    columns: list[Modelled] = []
    types: dict[str, list[str]] = {}
    levels: tuple[list[str], list[str], list[str]] = ([], [], [])
    for at, (column, stored, source) in enumerate(fields):
        columns.append(column)
        p, v, t = f"p{at}", f"v{at}", f"t{at}"
        plain = column.plain_sql(stored, source, DUCK)
        if stored in column.native:
            value, rest = column.native_in_duck(stored, p, DUCK), ""
        else:
            plain = DUCK.text(plain)
            value, settled = column.text_in_duck(p, DUCK, types)
            rest = "" if settled else f", CASE WHEN {v} IS NULL AND {p} <> '' THEN {p} END AS {t}"
        last = column.place_of(v, DUCK)
        steps = (f"{plain} AS {p}", f"{p}, {value} AS {v}", (v if last == v else f"{last} AS {v}") + rest)
        for level, step in zip(levels, steps, strict=True):
            level.append(step)
    if whose is not None:
        levels[0].append(f"{DUCK.raw(whose[1], whose[0])} AS {WHOSE}")
        levels[1].append(WHOSE)
        levels[2].append(WHOSE)
    setup = tuple(f"CREATE TYPE {name} AS ENUM ({', '.join(map(quote, words))})" for name, words in types.items())
    return CodesQuery(tuple(columns), setup, tuple(", ".join(level) for level in levels))
