"""Sums over records: exact, and never moved further by a record than their proof says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exact import answer_of
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.queries.cell_lengths import CellLengths
from kagemusha.queries.kernel_vectors import KernelVectors
from kagemusha.queries.record_sums import (
    BESIDE,
    DIAGONAL,
    ClassSums,
    NormCounts,
    RecordQuery,
    Scatter,
)
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.schema.features import features_of

SCHEMA = Schema(
    [
        Integer("a", lower=0, upper=9),
        Real("b", lower=-1.0, upper=3.0, bins=20, missing=True),
        Category("c", categories=("x", "y", "z"), out_of_domain="clip"),
        Category("kind", categories=("u", "v"), out_of_domain="clip"),
    ]
)
FEATURES = features_of(SCHEMA)[:3]
RNG = np.random.default_rng(0)
PLAIN = Vectors(FEATURES, range(3), radius=np.full(1, 0.8), cells=[(3, 2)])
CENTRED = replace(PLAIN, centre=RNG.normal(0, 0.4, (2, PLAIN.raw_width)), radius=np.array([0.3, 1.4]))
TURNED = replace(CENTRED, basis=RNG.normal(0, 1, (PLAIN.raw_width, 2)))

QUERIES: list[RecordQuery] = [
    query
    for vectors in (PLAIN, CENTRED, TURNED)
    for query in (
        NormCounts(vectors, "lengths", np.linspace(0.1, 2, 9)),
        ClassSums(vectors, "sums", 512),
        Scatter(vectors, "scatter"),
        Scatter(vectors, "scatters", apart=True),
    )
]


def records(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    return [rng.integers(0, size, rows).astype(np.int32) for size in SCHEMA.domain.sizes]


def joined(one: list[np.ndarray], other: list[np.ndarray]) -> list[np.ndarray]:
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("query", QUERIES, ids=lambda q: type(q).__name__)
def test_a_person_never_moves_a_sum_further_than_proved(query: RecordQuery, relation: Adjacency, rows: int) -> None:
    moves = PrivacyUnit(relation, rows).sensitivity(query.sensitivity)
    rng = np.random.default_rng(3)
    farthest = 0.0
    for _ in range(60):
        rest = records(rng, 20)
        mine = joined(rest, records(rng, rows))
        other = joined(rest, records(rng, rows)) if relation is Adjacency.REPLACE else rest
        step = (answer_of(query, mine) - answer_of(query, other)).astype(object)
        assert (step**2).sum() <= moves.l2_squared
        assert np.abs(step).sum() <= moves.l1
        farthest = max(farthest, (step**2).sum() / moves.l2_squared)
    if rows == 1 and relation is Adjacency.ADD_REMOVE:
        assert farthest > 0.5, "a bound nobody comes near would hide a wrong factor"


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: type(q).__name__)
def test_sums_are_exact_in_any_order_and_in_any_pieces(query: RecordQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = records(np.random.default_rng(1), 500)
    order = np.random.default_rng(2).permutation(500)
    whole = answer_of(query, columns)
    assert whole.dtype == np.int64
    assert len(whole) == query.entries
    assert (answer_of(query, [c[order] for c in columns]) == whole).all()
    monkeypatch.setattr("kagemusha.queries.record_vectors.BLOCK", 64)
    assert (answer_of(query, columns) == whole).all()


def test_scatter_and_sums_come_back_in_their_own_scale() -> None:
    columns = records(np.random.default_rng(1), 400)
    far = replace(PLAIN, radius=np.full(1, 10.0))  # nothing is clipped
    vectors = far.raw(columns, slice(0, 400)).astype(float)
    scatter = Scatter(far, "scatter")
    exact = NoisyVector(answer_of(scatter, columns).astype(float), 7.0)
    matrices, deviation = scatter.split(exact)
    assert np.allclose(matrices[0], vectors.T @ vectors, atol=2.0)
    assert deviation[0] == pytest.approx(7.0 * (10 / LATTICE) ** 2 / BESIDE)
    sums = ClassSums(far, "sums", 512)
    counts, found = sums.split(NoisyVector(answer_of(sums, columns).astype(float), 1.0))
    assert counts.tolist() == np.bincount(columns[3]).tolist()
    for one in range(2):
        assert np.allclose(found[one], vectors[columns[3] == one].sum(axis=0), atol=1.0)


def test_the_weights_cost_nothing() -> None:
    assert BESIDE**2 <= 2 * DIAGONAL**2, "entries beside the diagonal stand for two"


def test_clipping_is_by_class() -> None:
    columns = records(np.random.default_rng(5), 300)
    lengths = np.linalg.norm(CENTRED.whole(columns, slice(0, 300)), axis=1)
    assert lengths.max() <= LATTICE
    free = np.linalg.norm(CENTRED.free(columns, slice(0, 300)), axis=1)
    short = free < CENTRED.radius[columns[3]]
    assert (lengths[~short] > 0.99 * LATTICE).all()


WIDE = Schema([Integer(f"n{i}", lower=0, upper=255) for i in range(180)])


@pytest.mark.parametrize("kernel", [False, True], ids=["basis", "kernel"])
def test_a_record_is_the_same_to_the_last_bit_in_any_company(kernel: bool) -> None:
    rng = np.random.default_rng(5)
    features, width = features_of(WIDE), 180
    columns = [rng.integers(0, 256, 1000).astype(np.int32) for _ in range(width)]
    turn = rng.normal(0, 3, (width, 20))
    if kernel:
        vectors: Vectors = KernelVectors(
            features, range(width), radius=np.ones(1), directions=turn, phases=rng.uniform(0, 6, 20)
        )
    else:
        vectors = Vectors(features, range(width), np.ones(1), centre=rng.normal(0, 0.4, (1, width)), basis=turn)
    whole = vectors.free(columns, slice(0, 1000))
    plain = vectors.raw(columns, slice(0, 1000)) @ turn.astype(np.float32)
    alike = True
    for rows in (1, 2, 3, 17, 100, 333, 999):
        few = [c[:rows] for c in columns]
        assert (vectors.free(few, slice(0, rows)) == whole[:rows]).all()
        alike &= bool(((vectors.raw(few, slice(0, rows)) @ turn.astype(np.float32)) == plain[:rows]).all())
    assert not alike, "a plain product must show what this test looks for"
    centre = np.zeros(width) if vectors.centre is None else vectors.centre[0]
    exact = (vectors.raw(columns, slice(0, 1000)).astype(np.float64) - centre) @ turn
    if not kernel:
        assert np.abs(exact - whole).max() < 1e-3


CELLS = CellLengths(replace(PLAIN, cells=()), SCHEMA.domain, [(), ("c",), ("kind", "c")], np.array([0.0, 10.0, 20.0]))


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("rows", [1, 3])
def test_a_person_never_moves_the_length_of_cells_further_than_proved(relation: Adjacency, rows: int) -> None:
    moves = PrivacyUnit(relation, rows).sensitivity(CELLS.sensitivity)
    rng = np.random.default_rng(4)
    farthest = 0.0
    for _ in range(60):
        rest = records(rng, 3)
        mine = joined(rest, records(rng, rows))
        other = joined(rest, records(rng, rows)) if relation is Adjacency.REPLACE else rest
        step = np.abs(answer_of(CELLS, mine) - answer_of(CELLS, other))
        assert step.max() <= moves.each
        assert int((step.astype(object) ** 2).sum()) <= moves.l2_squared
        farthest = max(farthest, step.max() / moves.each)
    assert farthest > (0.5 if rows == 1 and relation is Adjacency.ADD_REMOVE else 0.2)


def test_lengths_of_cells_by_hand() -> None:
    columns = records(np.random.default_rng(5), 200)
    whole = PLAIN.whole(columns, slice(0, 200))
    wanted = sum(np.linalg.norm(whole[columns[2] == code].sum(axis=0)) for code in range(3))
    assert answer_of(CELLS, columns)[1] == pytest.approx(wanted - 10, abs=3)
