"""One record more or less moves weighted marginals by at most one record, on the path that scores records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest

from exact import answer_of
from kagemusha.annotation import judges
from kagemusha.annotation.judges import ForestTrainer, Judge, JudgeNetwork, RecordVectors
from kagemusha.annotation.votes import bald, most_bald
from kagemusha.annotation.weights import Weights
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.weighted_errors import WeightedError, weighted_counts
from kagemusha.schema import Category, Integer, Schema

SCHEMA = Schema(
    [
        Category("a", categories=("x", "y", "z"), out_of_domain="clip"),
        Integer("n", lower=0, upper=9),
        Category("b", categories=("u", "v"), out_of_domain="clip"),
    ]
)
SIZES = SCHEMA.domain.sizes
PAIRS = [("a", "n"), ("a", "b"), ("n", "b")]

Weigh = Callable[[Sequence[np.ndarray]], np.ndarray]


def pool(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    return [rng.integers(size, size=rows) for size in SIZES]


def network(seed: int = 0) -> JudgeNetwork:
    rng = np.random.default_rng(seed)
    vectors = RecordVectors.of(SCHEMA)
    sizes = [sum(f.table.shape[1] for f in vectors.features), 24, 12, 2]
    layers = [(rng.normal(0, 1.2, (m, n)), rng.normal(0, 0.3, n)) for m, n in pairwise(sizes)]
    return JudgeNetwork.of(layers, dropout=0.3, versions=6, rng=rng)


def forest() -> Judge:
    rng = np.random.default_rng(1)
    columns = pool(rng, 60)
    labels = ((columns[1] > 4) ^ (rng.random(60) < 0.2)).astype(np.int64)
    return ForestTrainer(trees=8)(RecordVectors.of(SCHEMA)(columns), labels, 2, rng)


def rule(judge: Judge) -> Weights:
    found = Weights.standardised(RecordVectors.of(SCHEMA), judge, pool(np.random.default_rng(9), 500), 2)
    assert found is not None
    return found


def largest_move(weigh: Weigh, pools: int, *, seed: int = 0, rows: int = 9) -> int:
    """Over random pools, the most that taking one record away moves a weighted marginal, in units of 2⁻¹²."""
    rng, worst = np.random.default_rng(seed), 0
    for _ in range(pools):
        whole = pool(rng, int(rng.integers(1, rows)))
        gone = int(rng.integers(len(whole[0])))
        less = [np.delete(column, gone) for column in whole]
        one, other = weigh(whole), weigh(less) if len(less[0]) else np.zeros(0, dtype=np.int64)
        for pair in PAIRS:
            moved = weighted_counts(SCHEMA.domain, pair, whole, one) - weighted_counts(SCHEMA.domain, pair, less, other)
            worst = max(worst, int(np.abs(moved).sum()))
    return worst


def others_move(weigh: Weigh, pools: int, *, seed: int = 0, rows: int = 40) -> int:
    """The most that taking the first record away moves the weights of all others together."""
    rng, worst = np.random.default_rng(seed), 0
    for _ in range(pools):
        whole = pool(rng, int(rng.integers(2, rows)))
        moved = weigh(whole)[1:] - weigh([column[1:] for column in whole])
        worst = max(worst, int(np.abs(moved).sum()))
    return worst


def test_nobody_elses_weight_moves_at_all() -> None:
    assert others_move(rule(network()), 100) == 0
    assert others_move(rule(forest()), 8) == 0


def test_one_record_moves_at_most_one_record(request: pytest.FixtureRequest) -> None:
    """`pytest --full` goes through 100,000 pools."""
    pools = 100_000 if request.config.getoption("--full") else 1_500
    assert 0 < largest_move(rule(network()), pools) <= UNITS_PER_COUNT


def test_one_record_moves_at_most_one_record_with_a_forest() -> None:
    assert 0 < largest_move(rule(forest()), 60) <= UNITS_PER_COUNT


def test_a_record_weighs_the_same_in_any_company() -> None:
    weigh = rule(network())
    rng = np.random.default_rng(5)
    whole = pool(rng, 5000)  # more than one block of rows
    together = weigh(whole)
    for at in rng.integers(5000, size=40):
        assert weigh([column[at : at + 1] for column in whole]) == together[at]
    order = rng.permutation(5000)
    assert (weigh([column[order] for column in whole]) == together[order]).all()
    assert len(np.unique(together)) > 5, "weights that are all alike would prove nothing"


class PoolNormalised:
    """Mutant: standardised over the pool at hand instead of a synthetic draw."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        found = Weights.standardised(RecordVectors.of(SCHEMA), self.judge, columns, 2)
        return np.full(len(columns[0]), UNITS_PER_COUNT) if found is None else found(columns)


class OneStream:
    """Mutant: units are left out anew for every record, from one stream."""

    def __init__(self, judge: JudgeNetwork, weights: Weights) -> None:
        self.judge, self.weights = judge, weights

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        rng = np.random.default_rng(0)
        vectors = RecordVectors.of(SCHEMA)(columns)
        scores = []
        for row in vectors:
            kept = [(rng.random(k.shape) >= 0.3).astype(float) for k in self.judge.kept]
            scores.append(int(bald(JudgeNetwork(self.judge.layers, kept).votes(row[None]))[0]))
        return self.weights.table[np.minimum(np.array(scores, dtype=np.int64), len(self.weights.table) - 1)]


class Normalised:
    """Mutant: batch normalisation in training mode, over the pool at hand."""

    def __init__(self, judge: JudgeNetwork) -> None:
        self.judge, self.table = judge, rule(judge).table

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        vectors = RecordVectors.of(SCHEMA)(columns)
        if not len(vectors):
            return np.zeros(0, dtype=np.int64)
        scores = bald(self.judge.votes((vectors - vectors.mean(axis=0)) / (vectors.std(axis=0) + 1e-3)))
        return self.table[np.minimum(scores, most_bald(2))]


class BatchShaped:
    """Mutant: sums in single precision instead of on the lattice, whose last bits depend on the shape of the batch."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        wide = sum(f.table.shape[1] for f in RecordVectors.of(SCHEMA).features)
        self.layers = [rng.normal(0, 1, shape).astype(np.float32) for shape in ((wide, 333), (333, 257), (257, 1))]

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        state = RecordVectors.of(SCHEMA)(columns).astype(np.float32)
        for matrix in self.layers:
            state = np.maximum(state @ matrix, np.float32(0)) / np.float32(16)
        return np.floor(state[:, 0] / (1 + state[:, 0]) * np.float32(FINE)).astype(np.int64)


FINE = 2**24
"""Units in which the last bits of single precision show."""


@pytest.mark.parametrize("mutant", ["pool-normalised", "one stream of masks", "batch normalisation", "batch-shaped"])
def test_mutants_are_caught(mutant: str) -> None:
    judge = network()
    broken: dict[str, Weigh] = {
        "pool-normalised": PoolNormalised(judge),
        "one stream of masks": OneStream(judge, rule(judge)),
        "batch normalisation": Normalised(judge),
        "batch-shaped": BatchShaped(),
    }
    assert others_move(broken[mutant], 25) > 0
    if mutant != "batch-shaped":  # last bits alone stay below a whole record
        assert largest_move(broken[mutant], 25) > UNITS_PER_COUNT


def alone_and_together(judge: JudgeNetwork, vectors: np.ndarray) -> int:
    """Records whose votes are others alone than in company."""
    together = judge.votes(vectors)
    alone = [judge.votes(vectors[i : i + 1])[:, 0] for i in range(len(vectors))]
    return int((np.stack(alone, axis=1) != together).any(axis=(0, 2)).sum())


def test_the_lattice_is_what_makes_company_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same scoring path with sums in single precision, not rounded to the lattice.

    Some record's votes depend on its batch.
    """
    rng = np.random.default_rng(0)
    sizes = [40, 257, 129, 2]
    layers = [(rng.normal(0, (2 / m) ** 0.5, (m, n)), rng.normal(0, 0.1, n)) for m, n in pairwise(sizes)]
    vectors = rng.integers(-1024, 1025, (2000, 40)) / 1024
    exact = JudgeNetwork.of(layers, dropout=0.3, versions=6, rng=rng)
    assert alone_and_together(exact, vectors) == 0
    monkeypatch.setattr(judges, "_active", lambda state: np.maximum(state, np.float32(0)))
    single = JudgeNetwork(
        [(m.astype(np.float32), s.astype(np.float32)) for m, s in layers], [k.astype(np.float32) for k in exact.kept]
    )
    assert alone_and_together(single, vectors.astype(np.float32)) > 0


def test_scores_move_no_further_than_the_proof_says() -> None:
    weigh = rule(network())
    rng = np.random.default_rng(2)
    estimates = [rng.random(SCHEMA.domain.shape(pair)) * 3 for pair in PAIRS]
    query = WeightedError(PAIRS, estimates, np.array([1.0, 2.0, 3.0]), np.ones(3), SCHEMA.domain, weigh)
    for _ in range(200):
        whole = pool(rng, 6)
        less = [column[1:] for column in whole]
        swapped = [np.append(column[1:], rng.integers(size)) for column, size in zip(whole, SIZES, strict=True)]
        before = answer_of(query, whole)
        assert np.abs(before - answer_of(query, less)).max() <= query.sensitivity.added.each
        assert np.abs(before - answer_of(query, swapped)).max() <= query.sensitivity.exchanged.each


def test_weights_outside_their_range_are_cut() -> None:
    query = WeightedError(
        PAIRS, [np.zeros(SCHEMA.domain.shape(p)) for p in PAIRS], np.ones(3), np.zeros(3), SCHEMA.domain,
        lambda columns: np.array([10**9, -5] * len(columns[0]))[: len(columns[0])],
    )  # fmt: skip
    one = answer_of(query, [np.zeros(1, dtype=np.int64)] * 3)
    assert (one <= query.sensitivity.added.each).all()


def test_weights_lie_between_none_and_one_and_rise_with_disagreement() -> None:
    weights = rule(network())
    assert weights.table.min() >= 0
    assert weights.table.max() <= UNITS_PER_COUNT
    assert (np.diff(weights.table) >= 0).all()
    assert len(weights.table) == most_bald(2) + 1


def test_the_bare_sigmoid_hardly_weighs() -> None:
    bare = Weights.bare(RecordVectors.of(SCHEMA), network(), 2)
    assert bare.table.min() >= UNITS_PER_COUNT // 2
    assert bare.table.max() <= 0.67 * UNITS_PER_COUNT
