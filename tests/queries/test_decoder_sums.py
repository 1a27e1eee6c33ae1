"""Sums for a decoder: gradients as torch would have them, never moved further by a record than proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kagemusha.privacy.unit import Adjacency, PrivacyUnit
from kagemusha.queries.decoder_sums import Bend, DecoderGain, DecoderGradients, DecoderQuery
from kagemusha.queries.record_vectors import Vectors
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.features import features_of

SCHEMA = Schema(
    [
        *(Integer(f"x{i}", lower=0, upper=31) for i in range(6)),
        Category("kind", categories=("u", "v"), out_of_domain="clip"),
    ]
)
RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(size=(6, 6)))[0][:, :2]
VECTORS = Vectors(
    features_of(SCHEMA)[:6], range(6), radius=np.ones(1), centre=RNG.normal(0, 0.2, (2, 6)), basis=BASIS, cells=[(6, 2)]
)
BEND = Bend(RNG.normal(0, 1, (3, 5)), RNG.normal(0, 0.5, (5, 6)))
QUERIES: list[DecoderQuery] = [
    DecoderGradients(VECTORS, "gradients", BASIS, BEND, 0.7),
    DecoderGradients(VECTORS, "gradients", BASIS, replace(BEND, second=np.zeros((5, 6))), 0.7),
    DecoderGain(VECTORS, "gain", BASIS, BEND, 0.7),
]


def records(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    return [rng.integers(0, size, rows).astype(np.int32) for size in SCHEMA.domain.sizes]


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("query", QUERIES, ids=lambda q: type(q).__name__)
def test_a_person_never_moves_a_sum_further_than_proved(query: DecoderQuery, relation: Adjacency, rows: int) -> None:
    moves = PrivacyUnit(relation, rows).sensitivity(query.reach)
    rng, farthest = np.random.default_rng(3), 0.0
    for _ in range(40):
        rest = records(rng, 20)
        mine = [np.concatenate(p) for p in zip(rest, records(rng, rows), strict=True)]
        if relation is Adjacency.REPLACE:
            other = [np.concatenate(p) for p in zip(rest, records(rng, rows), strict=True)]
        else:
            other = rest
        step = (query.total(mine) - query.total(other)).astype(object)
        assert len(step) == query.entries
        assert (step**2).sum() <= moves.l2_squared
        farthest = max(farthest, (step**2).sum() / moves.l2_squared)
    if rows == 1 and relation is Adjacency.ADD_REMOVE and query is not QUERIES[1]:
        assert farthest > 0.2, "a bound nobody comes near would hide a wrong factor"


def test_gradients_are_those_of_the_squared_error() -> None:
    torch = pytest.importorskip("torch")
    columns = records(np.random.default_rng(1), 50)
    far = DecoderGradients(VECTORS, "gradients", BASIS, BEND, 40.0)  # clips no slope
    first, second = far.split(NoisyVector(far.total(columns).astype(float), 1.0))
    layers = [torch.tensor(layer, requires_grad=True) for layer in (BEND.first, BEND.second)]
    whole = torch.tensor(np.asarray(replace(VECTORS, basis=None).free(columns, slice(0, 50)), dtype=np.float64))
    codes = whole @ torch.tensor(BASIS)
    left = whole - codes @ torch.tensor(BASIS).T
    ones = torch.ones((50, 1), dtype=torch.float64)
    out = torch.relu(torch.hstack([codes, ones]) @ layers[0]) @ layers[1]
    # inputs of norms above the roots of their lengths are clipped; leave those records out of the comparison by keeping all small
    (0.5 * ((left - out) ** 2).sum()).backward()
    for mine, theirs in ((first, layers[0].grad), (second, layers[1].grad)):
        wanted = theirs.numpy()
        assert np.corrcoef(mine.ravel(), wanted.ravel())[0, 1] > 0.97
        assert np.linalg.norm(mine - wanted) < 0.4 * np.linalg.norm(wanted)


def test_a_gain_is_what_is_no_longer_left_out() -> None:
    columns = records(np.random.default_rng(1), 50)
    query = DecoderGain(VECTORS, "gain", BASIS, BEND, 20.0)
    found, _ = query.split(NoisyVector(query.total(columns).astype(float), 1.0))
    wanted = 0.0
    for _, hidden, left in query._parts(columns):
        wanted += float((left**2).sum() - ((left - query.bend.out(hidden)) ** 2).sum())
    assert found == pytest.approx(wanted, abs=50 * 400 / 4096)
    none = DecoderGain(VECTORS, "gain", BASIS, replace(BEND, second=np.zeros((5, 6))), 20.0)
    assert none.total(columns)[0] == 0
