"""What every query must keep, whatever it asks.

Its answer depends on the set of rows alone, and one record moves it no further than its kind says, wherever its row
comes and however the table is cut.

A new query class without an example here fails `test_every_query_is_here`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kagemusha.queries as room
from exact import answer_of, answer_over
from kagemusha.arrays import Codes, IntArray
from kagemusha.neural.mixture import Mixture
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.acceptance import LargestError, MeanWithin, TablesWithin
from kagemusha.queries.broken_rules import BrokenRules
from kagemusha.queries.cell_lengths import CellLengths
from kagemusha.queries.interactions import GroupedError, Interaction
from kagemusha.queries.mixture_sums import MixtureMeans, MixtureScatter, MixtureSizes, shares_of
from kagemusha.queries.moments import CrossMoments, FirstMoments
from kagemusha.queries.network_scores import BinaryDistance, Dependence, Family, MutualInformation
from kagemusha.queries.query import Counts, Query, ReadsRecords, Strays
from kagemusha.queries.record_sums import ClassSums, NormCounts, Scatter
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.queries.scores import L1Error, NoisyVector
from kagemusha.queries.weighted_counts import WeightedCounts
from kagemusha.queries.weighted_errors import WeightedError
from kagemusha.release.curator import summed
from kagemusha.schema import Category, Integer, Schema, of_strays
from kagemusha.schema.demands import Criterion
from kagemusha.schema.features import features_of
from kagemusha.schema.judging import judged_schema
from kagemusha.schema.unit import Weight
from kagemusha.sources import CodesSource, Source
from kagemusha.sources.shuffled import Shuffled

SCHEMA = Schema(
    [
        Integer("a", lower=0, upper=5),
        Integer("b", lower=0, upper=3),
        Category("c", categories=("x", "y"), out_of_domain="clip"),
        Category("d", categories=("u", "v"), out_of_domain="clip"),
    ],
    weight=Weight("b"),
)
RULED = Schema(
    [
        Integer("a", lower=0, upper=5),
        Integer("b", lower=0, upper=5),
        Category("c", categories=("x", "y"), out_of_domain="clip"),
        Category("d", categories=("u", "v"), out_of_domain="clip"),
    ],
    constraints=["a <= b", "c determines d"],
)
DOMAIN = SCHEMA.domain
RNG = np.random.default_rng(0)
FEATURES = features_of(SCHEMA)[:2]
VECTORS = Vectors(FEATURES, range(2), radius=np.full(1, 0.8), cells=[(3, 2)])
MIXTURE = Mixture(np.array([0.4, 0.6]), RNG.normal(0, 0.5, (2, 2)), np.tile(np.eye(2) * 0.2, (2, 1, 1)))
PAIRS = [("a", "b"), ("b", "c")]
GROUPS = [(np.arange(6) // 2, np.arange(4)), (np.arange(4) // 2, np.arange(2))]


def weigh(columns: Sequence[Codes]) -> IntArray:
    assert len(columns[0]), "nobody is not to be weighed"
    return np.where(columns[0] > 2, UNITS_PER_COUNT, UNITS_PER_COUNT // 3).astype(np.int64)


def tables(pairs: Sequence[tuple[str, ...]]) -> list[np.ndarray]:
    return [RNG.random(DOMAIN.shape(pair)) * 3 for pair in pairs]


TABLES = Criterion(0.1, tables=("a", "b", "c"))
MEAN = Criterion(0.5, mean="a")
BINARY = [Family("d", ("c",))]
QUERIES: list[Query[Any]] = [
    Counts(DOMAIN, ("a", "c")),
    Counts(DOMAIN, ()),
    WeightedCounts(SCHEMA, ("c",)),
    BrokenRules(RULED),
    Strays(of_strays(SCHEMA).domain),
    Interaction(("a", "b"), GROUPS[0]),
    GroupedError(PAIRS, GROUPS, [np.zeros((3, 4)), np.ones((2, 2))]),
    L1Error(PAIRS, tables(PAIRS), np.array([1.0, 2.0]), np.ones(2)),
    WeightedError(PAIRS, tables(PAIRS), np.array([1.0, 2.0]), np.ones(2), DOMAIN, weigh),
    Dependence(DOMAIN, [Family("a", ("b", "c"))]),
    MutualInformation(DOMAIN, [Family("a", ("b", "c"))]),
    BinaryDistance(DOMAIN.project(("c", "d")), BINARY),
    FirstMoments(features_of(SCHEMA)),
    CrossMoments(features_of(SCHEMA)),
    NormCounts(VECTORS, "lengths", np.linspace(0.1, 2, 9)),
    ClassSums(VECTORS, "sums", 512),
    Scatter(VECTORS, "scatter"),
    Scatter(VECTORS, "scatters", apart=True),
    MixtureSizes(VECTORS, "sizes", MIXTURE),
    MixtureMeans(VECTORS, "means", MIXTURE),
    MixtureScatter(VECTORS, "squares", MIXTURE, "full"),
    TablesWithin(TABLES, PAIRS, [t / t.sum() for t in tables(PAIRS)]),
    MeanWithin(MEAN, np.arange(6.0), 2.2),
    LargestError(["one", "two"], PAIRS, [[t / t.sum() for t in tables(PAIRS)] for _ in range(2)]),
    CellLengths(replace(VECTORS, cells=()), DOMAIN, [(), ("c",), ("c", "d")], np.array([0.0, 9.0, 20.0])),
]


def named(query: Query[Any]) -> str:
    return f"{type(query).__name__}-{len(query.cliques())}"


def schema_of(query: Query[Any]) -> Schema:
    others = {BrokenRules: judged_schema(RULED), Strays: of_strays(SCHEMA)}
    return others.get(type(query), SCHEMA)


def people(schema: Schema, rng: np.random.Generator, rows: int) -> list[Codes]:
    return [rng.integers(0, size, rows) for size in schema.domain.sizes]


class Cut(CodesSource):
    """Its rows in their order, cut after every so many."""

    def __init__(self, schema: Schema, columns: list[Codes], size: int) -> None:
        super().__init__(schema, columns)
        self._size = size

    def batches(self) -> Iterator[list[Codes]]:
        columns, _ = self.records()
        for begin in range(0, len(columns[0]), self._size):
            yield [column[begin : begin + self._size] for column in columns]


def concrete(kind: type) -> set[type]:
    below = {leaf for child in kind.__subclasses__() for leaf in concrete(child)}
    own = kind.__module__.startswith(room.__name__) and not getattr(kind, "__abstractmethods__", None)
    return below | ({kind} if own and "kind" in vars(kind) else set())


def test_every_query_is_here() -> None:
    assert {type(query) for query in QUERIES} == concrete(Query)


@pytest.mark.parametrize("query", QUERIES, ids=named)
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_neither_cut_nor_order_changes_an_answer(query: Query[Any], rows: int) -> None:
    schema = schema_of(query)
    columns = people(schema, np.random.default_rng(rows), rows)
    whole = CodesSource(schema, columns)
    wanted = answer_over(query, whole)
    assert wanted.dtype == np.int64
    for size in (1, 3, 7, 100):
        assert (answer_over(query, Cut(schema, columns, size)) == wanted).all(), size
    shuffled = Shuffled(whole, seed=5)
    for _ in range(20):
        assert (answer_over(query, shuffled) == wanted).all()


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("query", QUERIES, ids=named)
def test_a_record_moves_no_answer_further_than_its_kind_says(query: Query[Any], relation: Adjacency) -> None:
    """Through cuts that the record itself moves, and at every place of the table."""
    schema, moves = schema_of(query), PrivacyUnit(relation).sensitivity(query.sensitivity)
    rng = np.random.default_rng(11)
    for rows in (0, 1, 4, 9):
        rest, mine, other = (people(schema, rng, n) for n in (rows, 1, 1))
        for at in range(rows + 1):
            with_mine, with_other = (
                [np.insert(column, at, one[0]) for column, one in zip(rest, record, strict=True)]
                for record in (mine, other)
            )
            before = with_other if relation is Adjacency.REPLACE else rest
            step = answer_over(query, Cut(schema, with_mine, 3)) - answer_over(query, Cut(schema, before, 3))
            whole = step.astype(object)
            assert np.abs(whole).sum() <= moves.l1
            assert (whole**2).sum() <= moves.l2_squared
            assert np.abs(step).max(initial=0) <= moves.each


class Batchwise(CellLengths):
    """Mutant: lengths of every batch, added up, as if lengths were sums."""

    def part(self, columns: Sequence[Codes]) -> IntArray:
        return super().finish(super().part(columns))

    def finish(self, total: IntArray) -> IntArray:
        return total


def test_a_score_that_adds_up_lengths_is_caught() -> None:
    good = QUERIES[-1]
    assert isinstance(good, CellLengths)
    mutant = Batchwise(good.vectors, good.domain, good.candidates, good.penalties)
    # batches of one corner each, until one row more at the front mixes all of them
    columns = [np.tile(np.repeat([0, size - 1], 4), 10) for size in SCHEMA.domain.sizes]
    whole, cut = CodesSource(SCHEMA, columns), Cut(SCHEMA, columns, 4)
    assert (answer_over(mutant, whole) != answer_over(mutant, cut)).any()
    moved = answer_over(mutant, Cut(SCHEMA, [np.insert(c, 0, 0) for c in columns], 4)) - answer_over(mutant, cut)
    assert np.abs(moved).max() > 9 * mutant.sensitivity.added.each, "the promise would be broken"


def test_no_batch_is_the_table_and_no_rows_sum_to_nothing() -> None:
    seen: list[int] = []

    def part(columns: Sequence[Codes]) -> IntArray:
        seen.append(len(columns[0]))
        return np.array([int(column.sum()) for column in columns])

    columns = people(SCHEMA, np.random.default_rng(3), 250)
    assert summed(Cut(SCHEMA, columns, 20), part).tolist() == [int(c.sum()) for c in columns]
    assert max(seen) <= 20
    empty: Source = Cut(SCHEMA, people(SCHEMA, np.random.default_rng(3), 0), 20)
    assert summed(empty, part).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("query", [q for q in QUERIES if isinstance(q, ReadsRecords)], ids=named)
def test_parts_add_up(query: ReadsRecords[Any]) -> None:
    columns = people(SCHEMA, np.random.default_rng(4), 80)
    whole = query.part(columns)
    assert whole.dtype == np.int64
    for at in (0, 1, 33, 80):
        assert (query.part([c[:at] for c in columns]) + query.part([c[at:] for c in columns]) == whole).all()
    assert (answer_of(query, columns) == query.finish(whole)).all()


def test_responsibilities_are_the_same_to_the_last_bit_in_any_company() -> None:
    rng = np.random.default_rng(6)
    width = 12
    spread = rng.normal(0, 1, (5, width, width))
    mixture = Mixture(
        np.full(5, 0.2), rng.normal(0, 1, (5, width)), np.eye(width) + np.einsum("kij,klj->kil", spread, spread)
    )
    whole = rng.integers(-LATTICE // 4, LATTICE // 4, (4000, width)).astype(np.float64)
    together = shares_of(mixture, whole, 5.0)
    for size in (1, 2, 3, 17, 333, 999):
        for begin in range(0, len(whole), max(size, 40)):
            alone = shares_of(mixture, np.ascontiguousarray(whole[begin : begin + size]), 5.0)
            assert (alone == together[begin : begin + size]).all()
    assert (together >= 0).all()
    assert together.sum(axis=1).max() <= 1
    assert np.allclose(together, mixture.responsibilities(whole * 5.0 / LATTICE), atol=1e-3)


def test_a_released_vector_keeps_its_scale() -> None:
    query = QUERIES[-1]
    released = query.released(np.array([LATTICE, 0, 0]), float(LATTICE))
    assert isinstance(released, NoisyVector)
    assert (released.values[0], released.sigma) == (1.0, 1.0)
