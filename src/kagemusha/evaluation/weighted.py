"""Tables of a survey compared by weight: what they say of the population, not of the sample.

INTERNAL where one of them is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.kway import KwayErrors, l1_errors
from kagemusha.evaluation.queries import CountQuery, QueryErrors, compare_queries
from kagemusha.evaluation.raw import read_raw
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Clique, Domain, Schema

MOST_PAIRS = 300
"""Pairs that are counted by weight: each takes a pass over the rows of both sides."""

WEIGHTED_CELLS = 2**20
"""Pairs with more cells are not counted by weight."""

MOST_LABELS = 60
"""Columns with more labels are not listed total by total."""

MOST_TOTALS = 40
"""Population totals on the page, the largest errors first."""


class WeightedTable:
    """A table whose records count for their weights; any measure that projects compares it as it compares a table."""

    def __init__(self, table: CodedTable, weights: FloatArray) -> None:
        self.table, self.weights = table, weights

    @property
    def domain(self) -> Domain:
        """The modelled columns."""
        return self.table.domain

    @property
    def total(self) -> float:
        """The size of the population as this table tells it."""
        return float(self.weights.sum())

    @property
    def effective(self) -> float:
        """So many records of equal weight would tell as much (Kish 1965)."""
        squares = float((self.weights**2).sum())
        return self.total**2 / squares if squares > 0 else 0.0

    def project(self, clique: Clique) -> FloatArray:
        """The sum of weights over each combination of codes."""
        counted = np.bincount(self.table.keys(clique), weights=self.weights, minlength=self.domain.cells(clique))
        return np.asarray(counted.reshape(self.domain.shape(clique)))

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """The same for each clique."""
        return [self.project(clique) for clique in cliques]


@dataclass(frozen=True)
class Total:
    """How many people of the population have a label, by both tables; doubles as if there were as many as people."""

    column: str
    label: str
    real: float
    synthetic: float

    @property
    def error(self) -> float:
        """Off by so many."""
        return abs(self.real - self.synthetic)


@dataclass(frozen=True, eq=False)
class Weighted:
    """What the weights of both tables say."""

    column: str
    real: float
    synthetic: float
    """Population totals; that of the doubles as if there were as many of them as people."""
    effective: tuple[float, float]
    """Effective numbers of records, of people and of doubles."""
    one_way: KwayErrors
    two_way: KwayErrors | None
    unweighted: tuple[float, float | None]
    """The mean errors over the same columns and pairs, each record counted once."""
    totals: Sequence[Total]
    """Of every label of columns with not too many, in order."""
    asked: QueryErrors
    """The queries the caller named, by weight."""

    @property
    def off(self) -> float:
        """How far the population total is off, as a share of it."""
        return abs(self.synthetic - self.real) / self.real if self.real else 0.0

    @property
    def worst(self) -> Sequence[Total]:
        """The totals that are off most."""
        return sorted(self.totals, key=lambda total: -total.error)[:MOST_TOTALS]

    def to_json(self) -> dict[str, Any]:
        """The numbers, for machines; still INTERNAL."""
        return {
            "column": self.column,
            "population": {"real": self.real, "synthetic": self.synthetic},
            "effective records": {"real": self.effective[0], "synthetic": self.effective[1]},
            "weighted k-way error": {
                "1": self.one_way.mean,
                **({} if self.two_way is None else {"2": self.two_way.mean}),
            },
            "unweighted, same sets": {
                "1": self.unweighted[0],
                **({} if self.unweighted[1] is None else {"2": self.unweighted[1]}),
            },
            "totals": [
                {"column": t.column, "label": t.label, "real": t.real, "synthetic": t.synthetic} for t in self.totals
            ],
            "queries": [
                {"text": a.text, "real": a.real, "synthetic": a.synthetic, "error": a.error} for a in self.asked.answers
            ],
        }


def compare_weighted(
    sides: tuple[Any, Any],
    tables: tuple[CodedTable, CodedTable],
    pairs: Sequence[Clique],
    queries: Sequence[CountQuery],
    *,
    rng: np.random.Generator,
) -> Weighted | None:
    """Both tables by weight; None where the schema declares no weight. `sides` are the tables as they were given."""
    schema = tables[0].schema
    if schema.weight is None:
        return None
    name = schema.weight.column
    people, doubles = (
        WeightedTable(table, weights_of(side, table, rng=rng)) for side, table in zip(sides, tables, strict=True)
    )
    columns: list[Clique] = [(other,) for other in schema.domain.names if other != name]
    chosen = [p for p in pairs if name not in p and schema.domain.cells(p) <= WEIGHTED_CELLS][:MOST_PAIRS]
    scale = tables[0].rows / tables[1].rows
    return Weighted(
        column=name,
        real=people.total,
        synthetic=doubles.total * scale,
        effective=(people.effective, doubles.effective),
        one_way=KwayErrors(1, columns, l1_errors(people, doubles, columns), len(columns)),
        two_way=KwayErrors(2, chosen, l1_errors(people, doubles, chosen), len(chosen)) if chosen else None,
        unweighted=(_mean(*tables, columns), _mean(*tables, chosen) if chosen else None),
        totals=_totals(schema, people, doubles, scale),
        asked=compare_queries(people, doubles, [q for q in queries if schema.domain.cells(q.clique) <= WEIGHTED_CELLS]),
    )


def weights_of(side: Any, table: CodedTable, *, rng: np.random.Generator) -> FloatArray:
    """The weight of each record as it is written; where only codes are given, that of its code."""
    schema = table.schema
    assert schema.weight is not None
    assert schema.weights is not None
    by_code = schema.weights.values[table.column(schema.weight.column)]
    raw = read_raw(side, Schema([schema[schema.weight.column]]), rng=rng, most=max(1, table.rows))
    if raw is None or raw.of != table.rows:
        return np.asarray(by_code)
    numbers = raw[schema.weight.column].numbers
    # what is no number counts as its code does: as the schema says of a missing weight; none weighs less than nothing
    return np.asarray(np.maximum(np.where(np.isnan(numbers), by_code, numbers), 0.0))


def _mean(real: CodedTable, synthetic: CodedTable, cliques: Sequence[Clique]) -> float:
    return float(l1_errors(real, synthetic, cliques).mean()) if cliques else 0.0


def _totals(schema: Schema, people: WeightedTable, doubles: WeightedTable, scale: float) -> list[Total]:
    found = []
    for column in schema.modelled:
        if column.axis is not None or column.size > MOST_LABELS:
            continue
        sides = (people.project((column.name,)), doubles.project((column.name,)) * scale)
        found += [
            Total(column.name, label, float(real), float(synthetic))
            for label, real, synthetic in zip(column.code_names, *sides, strict=True)
        ]
    return found
