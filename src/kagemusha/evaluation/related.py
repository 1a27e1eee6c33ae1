"""How well doubles of related tables belong together, with the real tables at hand. INTERNAL: nothing here is paid for.

All errors are L1 distances between shares, from 0 to 2, of codes; rows below count by themselves, not in parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.evaluation.discriminator import DISCRIMINATOR_ROWS, Discriminator, discriminate_features
from kagemusha.evaluation.raw_features import Feature
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import NEXT, View, view_of
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource

MANY = 3
"""Rows of a person from which on they count the same."""

MOST_CELLS = 1 << 22
"""Pairs of more cells are left out."""


@dataclass(frozen=True)
class TableErrors:
    """Mean errors of one table below; None where there is nothing to compare."""

    table: str
    numbers: float
    """Of how many rows a parent has."""
    pairs: float | None
    """Of pairs of the rows' own columns; of the column itself, if there is one."""
    with_parent: float | None
    """Of an own column with a column of parent or person."""
    next_row: float | None
    """Of a column with itself one row later."""
    gaps: float | None
    """Of the gaps of the order column."""
    per_person: float | None = None
    """Of how many of a person's rows have a large value, or the most frequent label: none, one, two, or more."""


@dataclass(frozen=True)
class RelatedErrors:
    """Everything that was compared."""

    persons: float
    """Mean error of pairs of the persons' columns; of the column itself, if there is one."""
    tables: Sequence[TableErrors]
    discriminator: Discriminator | None
    """How well a learner tells persons with everything below from doubles; None: too few to tell."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "persons": self.persons,
            "tables": {t.table: {k: v for k, v in vars(t).items() if k != "table"} for t in self.tables},
            "auroc": None if self.discriminator is None else self.discriminator.auroc,
        }

    def lines(self) -> list[list[str]]:
        """Measure, value and meaning, for people."""
        found = [["persons", f"{self.persons:.3f}", "pairs of the persons' columns"]]
        for table in self.tables:
            named = {
                "numbers of rows": (table.numbers, "how many rows a parent has"),
                "pairs": (table.pairs, "pairs of the rows' own columns"),
                "with parent": (table.with_parent, "a column beside one of parent or person"),
                "next row": (table.next_row, "a column beside itself in the next row"),
                "gaps": (table.gaps, "from one row to the next"),
                "per person": (table.per_person, "persons with none, one, two or more rows of a large value"),
            }
            found += [[f"{table.table}: {n}", f"{v:.3f}", what] for n, (v, what) in named.items() if v is not None]
        if self.discriminator is not None:
            one = self.discriminator
            found.append(["persons with all rows, AUROC", f"{one.auroc:.3f}", one.in_words])
        return found


def evaluate_related(
    real: Any, doubles: Any, schema: Related, *, rng: np.random.Generator | None = None
) -> RelatedErrors:
    """Compare tables of doubles with the real ones; each side is given as `open_related` takes it."""
    sides = (open_related(real, schema), open_related(doubles, schema.apart))
    root = [side.records(schema.root.name) for side in sides]
    domain = schema.view(schema.root.name).domain
    own = [column.name for column in schema.root.modelled]
    below = [_table(schema, table, sides) for table in schema if table.parent is not None]
    apart = _discriminated(schema, sides, rng or np.random.default_rng(0))
    return RelatedErrors(_mean(domain, root, _pairs(own)) or 0.0, below, apart)


def _table(schema: Related, table: Table, sides: Sequence[RelatedSource]) -> TableErrors:
    view, domain = view_of(schema, table), schema.view(f"{table.name}{NEXT}").domain
    rows = [side.records(table.name) for side in sides]
    own = [column.name for column in view.own]
    given = [(column.name, name) for _, _, column in view.context for name in own]
    lags = [(column.name, name) for name, column in view.previous]
    after = [[column[_after(domain, view, columns)] for column in columns] for columns in rows]
    numbers = [side.numbers[table.name] for side in sides]
    most = 1 + max(int(n.max(initial=0)) for n in numbers)
    shares = [np.bincount(n, minlength=most) / max(1, len(n)) for n in numbers]
    return TableErrors(
        table.name,
        float(np.abs(shares[0] - shares[1]).sum()),
        _mean(domain, rows, _pairs(own)),
        _mean(domain, rows, given),
        _mean(domain, after, lags),
        None if view.gap is None else _mean(domain, after, [(view.gap.name,)]),
        _per_person(view, domain, rows, [side.persons(table.name) for side in sides], _people(schema, sides)),
    )


def _people(schema: Related, sides: Sequence[RelatedSource]) -> list[int]:
    return [len(side.records(schema.root.name)[0]) for side in sides]


def _per_person(
    view: View, domain: Domain, rows: Sequence[Sequence[Codes]], whose: Sequence[IntArray], people: Sequence[int]
) -> float | None:
    """The mean L1 distance of how many rows of a person have a value above the middle, or the most frequent label."""
    if not all(people) or not len(rows[0][0]):
        return None
    found = []
    for column in view.own:
        codes = [columns[domain.axis(column.name)] for columns in rows]
        middle, usual = np.median(codes[0]), np.bincount(codes[0].astype(np.int64)).argmax()
        shares = []
        for own, persons, count in zip(codes, whose, people, strict=True):
            large = own > middle if column.axis is not None else own == usual
            numbers = np.minimum(np.bincount(persons[large], minlength=count), MANY)
            shares.append(np.bincount(numbers, minlength=MANY + 1) / count)
        found.append(float(np.abs(shares[0] - shares[1]).sum()))
    return float(np.mean(found))


def _after(domain: Domain, view: View, columns: Sequence[Codes]) -> Any:
    """Which rows have one before them."""
    before = [column for _, column in view.previous]
    if view.gap is not None:
        return columns[domain.axis(view.gap.name)] != view.gap.size - 1
    return np.any([columns[domain.axis(c.name)] != c.size - 1 for c in before], axis=0)


def _pairs(names: Sequence[str]) -> list[Clique]:
    return list(combinations(names, 2)) if len(names) > 1 else [(name,) for name in names]


def _mean(domain: Domain, sides: Sequence[Sequence[Codes]], cliques: Iterable[Clique]) -> float | None:
    """The mean L1 distance over sets of columns; None where a side has no rows."""
    wanted = [clique for clique in cliques if domain.cells(clique) <= MOST_CELLS]
    if not wanted or not all(len(columns[0]) for columns in sides):
        return None
    found = []
    for clique in wanted:
        one, other = (_shares(domain, clique, columns) for columns in sides)
        found.append(float(np.abs(one - other).sum()))
    return float(np.mean(found))


def _shares(domain: Domain, clique: Clique, columns: Sequence[Codes]) -> FloatArray:
    counts = np.bincount(domain.flat(clique, columns), minlength=domain.cells(clique))
    return np.asarray(counts / counts.sum())


def _discriminated(schema: Related, sides: Sequence[RelatedSource], rng: np.random.Generator) -> Discriminator | None:
    """A learner that sees each person's columns, and numbers, means and spreads of all rows below."""
    given = [_persons(schema, side) for side in sides]
    size = min(DISCRIMINATOR_ROWS, *(len(next(iter(table.values()))) for table in given))
    chosen = [rng.permutation(len(next(iter(table.values()))))[:size] for table in given]
    return discriminate_features([Feature(n, given[0][n][chosen[0]], given[1][n][chosen[1]]) for n in given[0]])


def _persons(schema: Related, side: RelatedSource) -> dict[str, FloatArray]:
    root = schema.root.name
    columns = side.records(root)
    found = {n: columns[i].astype(np.float64) for i, n in enumerate(schema.view(root).domain.names)}
    people = len(columns[0])
    for table in schema:
        if table.parent is None:
            continue
        whose = side.persons(table.name)
        rows = np.bincount(whose, minlength=people).astype(np.float64)
        found[f"{table.name}: rows"] = rows
        domain, codes = schema.view(f"{table.name}{NEXT}").domain, side.records(table.name)
        for column in view_of(schema, table).own:
            values = codes[domain.axis(column.name)].astype(np.float64)
            mean = np.bincount(whose, values, people) / np.maximum(rows, 1)
            squares = np.bincount(whose, values**2, people) / np.maximum(rows, 1)
            found[f"{table.name}: mean {column.name}"] = np.where(rows > 0, mean, -1)
            found[f"{table.name}: spread {column.name}"] = np.sqrt(np.maximum(squares - mean**2, 0))
    return found
