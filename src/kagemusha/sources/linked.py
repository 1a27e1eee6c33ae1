"""Tables as they were read, linked by their keys: whose each row is, and in which order a parent's rows come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.values import Plain
from kagemusha.errors import DataError
from kagemusha.schema import Integer, Measured
from kagemusha.schema.related import Table
from kagemusha.sources.bounding import Persons


@dataclass(frozen=True, eq=False)
class ReadTable:
    """One table as it was read: codes of its own columns, keys as plain values, places on the order's axis."""

    columns: Sequence[Codes]
    key: Sequence[Plain]
    id: Sequence[Plain] | None
    order: FloatArray | None

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.key)


def joined_parts(parts: Sequence[ReadTable]) -> ReadTable:
    """One table of several parts."""
    if len(parts) == 1:
        return parts[0]
    orders = [part.order for part in parts if part.order is not None]
    return ReadTable(
        [np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)],
        [key for part in parts for key in part.key],
        None if parts[0].id is None else [key for part in parts for key in part.id or ()],
        np.concatenate(orders) if orders else None,
    )


def places_of(axis: Measured, cells: Cells) -> FloatArray:
    """Places on the axis of the order column; what cannot be read counts as the lowest, as everywhere."""
    places: FloatArray = np.clip(np.where(cells.codes < 0, cells.numbers, axis.low), axis.low, axis.high)
    return places


@dataclass(frozen=True, eq=False)
class Linked:
    """The rows of a table whose parent is there."""

    columns: Sequence[Codes]
    parent: IntArray
    """The row of the parent table; of a person, itself."""
    order: FloatArray | None
    names: Mapping[str, int]
    """The row that an identifier names, where tables below belong to rows."""

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.parent)

    def in_order(self, contents_of: Sequence[Codes]) -> IntArray:
        """Rows parent by parent, each parent's by the order column and then by all that is counted of a row itself.

        That is mixed: where no column has an order, rows come as good as shuffled.
        """
        contents = mixed(contents_of, self.rows)
        by = (contents, self.parent) if self.order is None else (contents, self.order, self.parent)
        return np.lexsort(by)


def starts_of(parents: IntArray) -> NDArray[np.bool_]:
    """Which of rows that come parent by parent are the first of theirs."""
    return np.append(True, parents[1:] != parents[:-1]) if len(parents) else np.zeros(0, dtype=np.bool_)


def coded(column: Integer, numbers: IntArray) -> Codes:
    """Codes of whole numbers."""
    return to_codes(column, numbers, np.zeros(len(numbers), dtype=np.bool_))


def mixed(columns: Sequence[Codes], rows: int) -> IntArray:
    """A number of 64 bits per row that follows from the row's codes alone, as good as random."""
    found = np.full(rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            found = (found ^ column.astype(np.uint64)) * np.uint64(0xFF51AFD7ED558CCD)
            found = (found ^ (found >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
            found ^= found >> np.uint64(29)
    return found.view(np.int64)


def link(table: Table, read: ReadTable, parent: Linked | None, *, needs_names: bool) -> Linked:
    """The rows of a table that belong to somebody; `DataError` where identifiers are not each one row's."""
    known = Persons()
    keys = known.number(read.key)
    if parent is None:
        keep = keys >= 0
        _require_once(table, table.key, keys[keep])
        place = {name: at for at, name in enumerate(known.names)}
        columns = [column[keep] for column in read.columns]
        # the row that has the first identifier is row 0, and so on: numbers are given in the order of the rows
        return Linked(columns, np.arange(int(keep.sum())), None, place)
    rows = np.array([parent.names.get(name, -1) for name in known.names] + [-1], dtype=np.int64)[keys]
    keep = rows >= 0
    lost = int((~keep).sum())
    if lost and table.orphans != "drop":
        raise DataError(
            f"{table.name}: {lost:,} rows name no row of {table.parent} in {table.key!r}. To leave such rows out, say "
            'orphans = "drop" for this table; nothing was spent'
        )
    names: dict[str, int] = {}
    if needs_names:
        assert read.id is not None
        own = Persons()
        numbers = own.number(read.id)[keep]
        _require_once(table, table.id or "", numbers[numbers >= 0])
        names = {own.names[number]: at for at, number in enumerate(numbers.tolist()) if number >= 0}
    order = None if read.order is None else read.order[keep]
    return Linked([column[keep] for column in read.columns], rows[keep], order, names)


def _require_once(table: Table, column: str, numbers: IntArray) -> None:
    twice = len(numbers) - len(np.unique(numbers))
    if twice:
        raise DataError(
            f"{table.name}: {twice:,} rows have an identifier in {column!r} that another row has, too; each row needs "
            "its own. Nothing was spent"
        )
