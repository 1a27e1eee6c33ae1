"""More budget never makes the table worse: the error of pairs falls from ε = 0.1 to 1 to 10 to 100."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from kagemusha.arrays import IntArray
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Integer, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

EPSILONS = (0.1, 1.0, 10.0, 100.0)
SEEDS = 3


def chain() -> IntArray:
    """2,000 rows, six columns of two to seven codes, each follows the one before."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 3, 2000)]
    for size in (4, 2, 7, 3, 5):
        table = rng.dirichlet(np.full(size, 0.5), int(columns[-1].max()) + 1).cumsum(axis=1)
        columns.append((rng.random(2000)[:, None] > table[columns[-1], :-1]).sum(axis=1))
    return np.column_stack(columns)


def factors() -> IntArray:
    """20,000 rows, four ordered columns of eight codes that two hidden causes move: every pair depends."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(20_000, 2)) @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(20_000, 4))
    return np.clip(np.rint(1.2 * values + 4), 0, 7).astype(np.int64)


def spikes() -> IntArray:
    """5,000 rows, three columns of 30 codes of which one holds most: nothing depends on anything."""
    rng = np.random.default_rng(3)
    return np.where(rng.random((5000, 3)) < 0.7, 4, rng.integers(0, 30, (5000, 3)))


def digits() -> IntArray:
    """1,797 pictures from scikit-learn: which digit, and four pixels of four shades."""
    found = pytest.importorskip("sklearn.datasets").load_digits()
    return np.column_stack([found.data[:, [19, 21, 36, 43]] // 4.1, found.target]).astype(np.int64)


def pair_error(real: IntArray, doubles: IntArray, sizes: list[int]) -> float:
    def table(codes: IntArray, a: int, b: int) -> np.ndarray:
        flat = codes[:, a].astype(np.int64) * sizes[b] + codes[:, b]
        return np.bincount(flat, minlength=sizes[a] * sizes[b]) / len(codes)

    pairs = combinations(range(len(sizes)), 2)
    return float(np.mean([np.abs(table(real, a, b) - table(doubles, a, b)).sum() for a, b in pairs]))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["kage", "aim"])
@pytest.mark.parametrize("made", [chain, factors, spikes, digits])
def test_the_error_of_pairs_falls_with_epsilon(made: Callable[[], IntArray], method: str) -> None:
    """Ten times the budget may do no harm beyond two standard errors of the difference of means, as seeds spread."""
    codes = made()
    sizes = [int(size) for size in codes.max(axis=0) + 1]
    schema = Schema([Integer(f"c{i}", lower=0, upper=size - 1) for i, size in enumerate(sizes)])
    source = CodesSource(schema, list(codes.T), remember=1 << 20)
    errors = np.empty((len(EPSILONS), SEEDS))
    for i, epsilon in enumerate(EPSILONS):
        for seed in range(SEEDS):
            model = fit(create(method), source, Budget(epsilon, 1e-9), simulation=seed)
            doubles = model.sample_codes(len(codes), rng=np.random.default_rng(seed))
            errors[i, seed] = pair_error(codes, doubles, sizes)
    means, spread = errors.mean(axis=1), errors.var(axis=1, ddof=1) / SEEDS
    assert (np.diff(means) <= 2 * np.sqrt(spread[1:] + spread[:-1])).all(), means
    assert means[-1] < 0.5 * means[0]
