"""The public shape of an encoded table: attribute names and their number of codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.drop import Drop

if TYPE_CHECKING:
    from kagemusha.schema.schema import Schema

Clique = tuple[str, ...]
"""Distinct attribute names in domain order; arrays over a clique have one axis per name, in that order."""

LABEL = "label"
"""The column beside the pixels of pictures."""


@dataclass(frozen=True)
class Domain:
    """Ordered attributes with their sizes; every code lies in ``range(size)``.

    >>> domain = Domain(("age", "sex"), (10, 2))
    >>> domain.shape(("age", "sex")), domain.cells(("sex",))
    ((10, 2), 2)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sizes):
            raise ValueError(f"{len(self.names)} names but {len(self.sizes)} sizes")
        if len(set(self.names)) != len(self.names):
            raise ValueError("attribute names must be distinct")
        if any(size < 1 for size in self.sizes):
            raise ValueError("every attribute needs at least one code")
        object.__setattr__(self, "_axis", {name: i for i, name in enumerate(self.names)})

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._axes

    @property
    def _axes(self) -> dict[str, int]:
        axes: dict[str, int] = self._axis  # type: ignore[attr-defined]
        return axes

    def axis(self, name: str) -> int:
        """Position of an attribute in the domain."""
        return self._axes[name]

    def size(self, name: str) -> int:
        """Number of codes of one attribute."""
        return self.sizes[self._axes[name]]

    def shape(self, clique: Iterable[str]) -> tuple[int, ...]:
        """Array shape of a table over the clique."""
        return tuple(self.size(name) for name in clique)

    def cells(self, clique: Iterable[str]) -> int:
        """Number of cells of a table over the clique (a Python int, so it cannot overflow)."""
        return prod(self.shape(clique))

    def flat(self, clique: Iterable[str], columns: Sequence[Codes] | Codes) -> IntArray:
        """The cell of each record in a table over the clique, in C order.

        `columns` are those of this domain, one after the other.
        """
        cells = np.zeros(len(columns[0]), dtype=np.int64)
        for name in clique:
            cells = cells * self.size(name) + columns[self.axis(name)]
        return cells

    def canonical(self, names: Iterable[str]) -> Clique:
        """The same attributes without repeats, in domain order."""
        return tuple(sorted(set(names), key=self.axis))

    def project(self, names: Iterable[str]) -> Domain:
        """The domain restricted to some attributes, in domain order."""
        kept = self.canonical(names)
        return Domain(kept, self.shape(kept))

    @cached_property
    def picture_shape(self) -> tuple[int, int, int] | None:
        """Height, width and channels, if the columns are the pixels of pictures; None otherwise."""
        names = [name for name in self.names if name != LABEL]
        found = [re.fullmatch(r"r(\d{1,6})c(\d{1,6})(?:k(\d))?", name) for name in names]
        if not found or not (last := found[-1]) or not all(found):
            return None
        height, width, channels = int(last[1]) + 1, int(last[2]) + 1, int(last[3] or 0) + 1
        if height * width * channels != len(names) or names != pixel_names(height, width, channels):
            return None
        return height, width, channels


def pixel_names(height: int, width: int, channels: int = 1) -> list[str]:
    """Row by row: r0c0, r0c1, …; with three channels r0c0k0, r0c0k1, …."""
    tail = [""] if channels == 1 else [f"k{k}" for k in range(channels)]
    return [f"r{r}c{c}{k}" for r in range(height) for c in range(width) for k in tail]


def stray_columns(schema: Schema) -> tuple[str, ...]:
    """Columns in which a cell can be out of place: nothing may be missing, so a blank is no value either."""
    coded = {c.name for c in schema.coded if not c.missing and not c.open_fields and c.name not in schema.formulas}
    return tuple(c.name for c in schema.table_columns if c.name in coded)


def of_strays(schema: Schema) -> Schema:
    """The same table as its strays see it: blank, unreadable, outside or unlisted cells have a code, the last one."""
    names = set(stray_columns(schema))
    own = {c.name: c.apart() for c in schema.coded if c.name in names}
    columns = [own.get(c.name) or Drop(c.name) for c in schema.table_columns]
    return type(schema)(columns, schema.unit, encoding=schema.encoding)
