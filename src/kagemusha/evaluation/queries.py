"""Counting queries: what a table, its double and the model answer, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.quality.projectable import Projectable, same_columns
from kagemusha.rules.conditions import read_where
from kagemusha.schema import Clique, Schema


@dataclass(frozen=True, eq=False)
class CountQuery:
    """How many records fulfil a condition; `parts` are weights over disjoint cliques that multiply."""

    text: str
    parts: Sequence[tuple[Clique, FloatArray]]

    @property
    def clique(self) -> Clique:
        """All columns of the condition, in the order of `parts`."""
        return tuple(name for clique, _ in self.parts for name in clique)

    def answer(self, thing: Projectable) -> float:
        """The share of records that fulfil the condition."""
        return self.share_of(thing.project_many([self.clique])[0])

    def share_of(self, table: FloatArray) -> float:
        """The share for a table of counts over `clique`."""
        total = float(table.sum())
        weighted = reduce(lambda left, part: np.tensordot(part[1], left, axes=part[1].ndim), self.parts, table)
        return float(weighted) / total if total > 0 else 0.0


def query(where: str, schema: Schema) -> CountQuery:
    """The query for a condition such as "age > 60 and sex = 'F'"; values are taken as uniform within bins."""
    return CountQuery(where, [(group.clique, group.weights()) for group in read_where(where, schema)])


def random_queries(schema: Schema, count: int, *, columns: int = 2, rng: np.random.Generator) -> list[CountQuery]:
    """Conditions on random columns: a random range of a number, a random half of the labels."""
    modelled = schema.modelled
    width = min(columns, len(modelled))
    queries = []
    for _ in range(count):
        axes = np.sort(rng.choice(len(modelled), width, replace=False))
        parts = []
        for column in (modelled[i] for i in axes):
            inside = np.zeros(column.size)
            if column.axis is None:
                inside[rng.permutation(column.size)[: max(1, column.size // 2)]] = 1
            else:
                low, high = np.sort(rng.integers(0, column.size, 2))
                inside[low : high + 1] = 1
            parts.append(((column.name,), inside))
        queries.append(CountQuery(" and ".join(f"{c[0]} in a random set" for c, _ in parts), parts))
    return queries


@dataclass(frozen=True)
class QueryAnswer:
    """One condition's share of records on both sides."""

    text: str
    real: float
    synthetic: float

    @property
    def error(self) -> float:
        """Absolute difference of the shares."""
        return abs(self.real - self.synthetic)


@dataclass(frozen=True)
class QueryErrors:
    """Errors of many queries, as shares of all records."""

    answers: Sequence[QueryAnswer]

    @property
    def mean(self) -> float:
        """Mean absolute error."""
        return float(np.mean([a.error for a in self.answers])) if self.answers else 0.0

    def quantile(self, level: float) -> float:
        """The error that a share `level` of the queries stays below."""
        return float(np.quantile([a.error for a in self.answers], level)) if self.answers else 0.0


def compare_queries(real: Projectable, synthetic: Projectable, queries: Sequence[CountQuery]) -> QueryErrors:
    """Every query's answer on both sides."""
    same_columns(real, synthetic)
    cliques = list(dict.fromkeys(query.clique for query in queries))
    tables = [dict(zip(cliques, side.project_many(cliques), strict=True)) for side in (real, synthetic)]
    return QueryErrors(
        [QueryAnswer(q.text, q.share_of(tables[0][q.clique]), q.share_of(tables[1][q.clique])) for q in queries]
    )
