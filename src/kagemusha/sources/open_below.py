"""One of several tables before its domain is known: which values it holds, each row counted by its parts.

Whose a row is and how many rows its parents have does not depend on what is still open, so rows count what they count
everywhere (`sources.steps`). Values and keys come from one scan. A value whose rows count nothing is not there:
somebody with very many rows could otherwise hold more such values than parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.columns import Category
from kagemusha.columns.values import Plain, label_text
from kagemusha.identity import Identity
from kagemusha.schema import Schema
from kagemusha.schema.related import Related, Table
from kagemusha.sources.bounding import Persons
from kagemusha.sources.linked import Keys, ReadTable, starts_of
from kagemusha.sources.open_table import OpenTable, ValueCounts
from kagemusha.sources.part import PartSource
from kagemusha.sources.protocol import Source
from kagemusha.sources.several import RelatedTables
from kagemusha.sources.steps import RelatedSource


@dataclass(frozen=True, eq=False)
class OpenRelated:
    """Several tables whose schema leaves facts open."""

    tables: RelatedTables

    @property
    def schema(self) -> Related:
        """The schema with its open facts."""
        return self.tables.schema

    @property
    def name(self) -> str | None:
        """What a ledger knows them by."""
        return self.tables.name

    def identity(self) -> Identity | None:
        """Digests of all tables; private."""
        return self.tables.identity()

    @cached_property
    def read(self) -> Mapping[str, ReadTable]:
        """All of them behind public stand-ins for what is open."""
        return self.tables.read(stand_ins(self.schema))

    def require_readable(self) -> None:
        """Link all tables: keys that do not fit are noticed before anything is paid for."""
        source = self.tables.source(stand_ins(self.schema), self.read)
        for table in self.schema:
            source.source(table.name)


class OpenBelow(OpenTable):
    """One of them, asked value by value."""

    def __init__(self, whole: OpenRelated, table: Table) -> None:
        self.schema, self.name = table.schema, whole.name
        self._whole, self._table = whole, table
        self._place = table.first_of or table.name

    def identity(self) -> Identity | None:
        """That of all tables."""
        return self._whole.identity()

    def count_values(self, name: str) -> ValueCounts:
        """Every label of a labelled column with the parts that its rows count."""
        table = self._table
        found = self._whole.tables.places[self._place].values(list(dict.fromkeys((*table.keys, name))))
        texts, codes = _texts(found[name])
        keys, names = Keys.of(found[table.key]), None if table.id is None else Keys.of(found[table.id])
        if table.first_of is not None:
            rows = _one_each(keys, texts, codes)
            keys, codes = keys[rows], codes[rows]
        source = self._behind(_keys_of(table), {table.name: ReadTable([codes], keys, names, None)})
        sums = np.zeros(len(texts), dtype=np.int64)
        np.add.at(sums, source.linked[table.name].columns[0], source.parts(table))
        return there(texts, sums)

    def with_schema(self, schema: Schema) -> Source:
        """The columns that a schema cuts; all others are left out."""
        cut = [column for column in schema.modelled if column.name in self.schema.names]
        table = stand_in(self._table)
        own = replace(table, schema=table.schema.with_columns(*cut))
        again = self._whole.tables.read(_exchanged(stand_ins(self._whole.schema), own), self._place)
        return PartSource(self._behind(own, again).source(table.name), [column.name for column in cut])

    def _behind(self, table: Table, read: Mapping[str, ReadTable]) -> RelatedSource:
        """All tables behind stand-ins but this one."""
        related = _exchanged(stand_ins(self._whole.schema), table)
        return self._whole.tables.source(related, {**self._whole.read, **read})


def stand_ins(related: Related) -> Related:
    """All tables with public stand-ins for what they leave open."""
    return Related(map(stand_in, related))


def stand_in(table: Table) -> Table:
    """The same of one table; its rules are not asked about."""
    columns = (column.first_cut() for column in table.schema.modelled if column.open_fields)
    return replace(table, schema=table.schema.with_constraints().with_columns(*columns), rules=())


def _exchanged(related: Related, table: Table) -> Related:
    return Related(table if other.name == table.name else other for other in related)


def _keys_of(table: Table) -> Table:
    """A table of which only keys are looked at, and whatever stands in its first column."""
    keys = [column for column in table.schema if column.name in table.keys]
    return replace(table, schema=Schema([*keys, Category("any", categories=("any",))]), order=None, rules=())


def there(texts: Sequence[str | None], sums: IntArray) -> ValueCounts:
    """The labels whose rows count something."""
    counted = zip(texts, sums.tolist(), strict=True)
    return ValueCounts.of((text, count) for text, count in counted if text is not None and count > 0)


def _texts(values: Sequence[Plain]) -> tuple[list[str | None], IntArray]:
    """The different labels, and which of them each row has; None where there is none."""
    places: dict[str | None, int] = {}
    codes = np.fromiter((places.setdefault(label_text(v), len(places)) for v in values), np.int64, len(values))
    return list(places), codes


def _one_each(keys: Keys, texts: Sequence[str | None], codes: IntArray) -> IntArray:
    """A row per person, where theirs may contradict each other: which one follows from that person's labels alone."""
    whose = keys.numbers(Persons())
    digests = (hashlib.sha256((text or "").encode("utf-8", "replace")).digest()[:8] for text in texts)
    marks = np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
    rows = np.lexsort((marks[codes], whose))
    return np.asarray(rows[starts_of(whose[rows]) & (whose[rows] >= 0)])
