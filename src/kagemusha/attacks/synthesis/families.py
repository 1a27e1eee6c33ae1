"""Related tables in a game: a row of it is a person with everything below, seen by the record of the last rows.

One world lacks a person's whole family, the other has it. Doubles are whole families, too, and the adversary sees each
by the same record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.attacks.table import GameTable, PlayedDoubles, World
from kagemusha.errors import UsageError
from kagemusha.models.related import RelatedModel
from kagemusha.privacy.budget import Budget
from kagemusha.sources.families import Family
from kagemusha.sources.linked import Keys, ReadTable
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.related_fit import fit_related

MEMBERS = ("random", "selective")
"""Whom games go for here: somebody who is there. A made record has no rows behind it."""


@dataclass(frozen=True, eq=False)
class Families:
    """A method of the registry, fitted to the families of a world."""

    method: str
    family: Family
    tables: RelatedSource
    budget: Budget
    options: Mapping[str, Any]
    exact: bool = False

    @property
    def name(self) -> str:
        """The method's name."""
        return self.method

    @property
    def promised(self) -> Budget:
        """What it promises about one person."""
        return self.budget

    def settings(self) -> dict[str, Any]:
        """Everything that changes results."""
        options = {key: repr(value) for key, value in self.options.items()}
        related = self.family.related.digest()
        return {"method": self.method, "budget": self.budget.in_words(), "options": options, "tables": related}

    @cached_property
    def table(self) -> GameTable:
        """Every person's record."""
        return GameTable(self.family.schema, np.column_stack(self.family.records(self.tables)).astype(np.int32))

    @cached_property
    def _who(self) -> Mapping[bytes, Sequence[int]]:
        found = defaultdict(list)
        for person, record in enumerate(self.table.codes):
            found[record.tobytes()].append(person)
        return found

    def persons(self, records: Codes) -> IntArray:
        """Who has these records; people whose records are the same come in the order they are in."""
        seen: defaultdict[bytes, int] = defaultdict(int)
        chosen = []
        for record in records.astype(np.int32):
            key = record.tobytes()
            if key not in self._who:
                raise UsageError(f"targets (--targets): of several tables only {' and '.join(MEMBERS)}, who have rows")
            chosen.append(self._who[key][seen[key] % len(self._who[key])])
            seen[key] += 1
        return np.array(chosen, dtype=np.int64)

    def fit(self, world: World, *, rng: np.random.Generator) -> FamilySampler:
        """One training with simulated noise, on whole families."""
        source = families_of(self.tables, self.persons(world.codes))
        model = fit_related(
            create(self.method, **self.options),
            source,
            self.family.related,
            self.budget,
            named=False,
            simulation=int(rng.integers(2**32)),
        )
        return FamilySampler(model, self.family)


@dataclass(frozen=True, eq=False)
class FamilySampler:
    """Draws families and shows their records."""

    model: RelatedModel
    family: Family

    def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
        """Records of so many persons."""
        doubles = self.model.sample(rows, seed=int(rng.integers(2**32)), like="pyarrow")
        records = self.family.records(open_related(doubles, self.family.related.apart))
        return PlayedDoubles(codes=np.column_stack(records).astype(np.int32))


def families_of(tables: RelatedSource, persons: IntArray) -> RelatedSource:
    """The tables of some persons with everything below, under fresh keys; somebody named twice is there twice."""
    related = tables.schema
    read: dict[str, ReadTable] = {}
    rows = {related.root.name: persons}
    for table in related:
        linked = tables.linked[table.name]
        parents = np.arange(len(persons))
        if table.parent is not None:
            rows[table.name], parents = _below(linked.parent, rows[table.parent])
        own = rows[table.name]
        keys = _keys(parents, len(own) if table.parent is None else len(rows[table.parent]))
        names = _keys(np.arange(len(own)), len(own)) if table.parent is not None and table.id is not None else None
        order = None if linked.order is None else linked.order[own]
        read[table.name] = ReadTable([column[own] for column in linked.columns], keys, names, order)
    return RelatedSource(related, read)


def _below(parents: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """The rows of some rows above, and which of these each belongs to."""
    order = np.argsort(parents, kind="stable")
    ordered = parents[order]
    begin, end = np.searchsorted(ordered, chosen, "left"), np.searchsorted(ordered, chosen, "right")
    sizes = end - begin
    starts = np.repeat(begin - np.append(0, np.cumsum(sizes)[:-1]), sizes)
    return order[starts + np.arange(int(sizes.sum()))], np.repeat(np.arange(len(chosen)), sizes)


def _keys(at: IntArray, values: int) -> Keys:
    return Keys([float(value) for value in range(values)], at.astype(np.int64))
