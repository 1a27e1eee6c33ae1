"""A named target: a learner adds up what each of its pairs says, so all of them are measured."""

from __future__ import annotations

import numpy as np
import pytest
from family import run

from kagemusha.privacy.budget import Budget
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.registry import create

COLUMNS = 24
DOMAIN = Domain((*(f"x{i}" for i in range(COLUMNS)), "y", "one"), (*[4] * COLUMNS, 2, 1))


def weak(rows: int, seed: int) -> np.ndarray:
    """Columns that each say a little of y, and nothing of each other beside; and one column of a single code."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    x = np.clip(np.floor(rng.normal(size=(rows, COLUMNS)) + 0.6 * y[:, None] + 1.7), 0, 3)
    return np.column_stack([x, y, np.zeros(rows)]).astype(np.int64)


def learned(rows: np.ndarray, seed: int) -> float:
    """How often naive Bayes, fitted to the rows, ranks one with y = 1 above one with y = 0, on fresh people."""
    fresh = weak(4_000, seed)
    score = np.zeros(len(fresh))
    for i in range(COLUMNS):
        table = np.ones((4, 2))
        np.add.at(table, (rows[:, i], rows[:, COLUMNS]), 1)
        table /= table.sum(axis=0)
        score += np.log(table[fresh[:, i], 1] / table[fresh[:, i], 0])
    ones = fresh[:, COLUMNS] == 1
    ranks = np.empty(len(score))
    ranks[np.argsort(score)] = np.arange(len(score))
    return float((ranks[ones].mean() - ones.sum() / 2) / (~ones).sum() + 0.5 / len(score))


def test_all_pairs_of_a_named_target_are_measured_and_learned_from_though_each_drowns_in_noise() -> None:
    codes = weak(600, 0)
    reached = {}
    for target in (None, "y"):
        results = [
            run(create("kage", target=target), DOMAIN, codes, Budget(1.0, 1e-9), seed=seed).fitted for seed in range(3)
        ]
        pairs = [{m.query.clique for m in fitted.interactions} for fitted in results]
        if target is None:
            assert all(not found for found in pairs), "no pair is worth its noise by itself"
        else:
            assert all({(f"x{i}", "y") for i in range(COLUMNS)} <= found for found in pairs)
            assert not any("one" in pair for found in pairs for pair in found), "one code has no interaction"
        drawn = [fitted.generator.sample(600, rng=np.random.default_rng(0)) for fitted in results]
        reached[target] = np.mean([learned(rows, seed=9) for rows in drawn])
    assert reached["y"] > 0.7 > 0.6 > reached[None]


def test_what_counts_no_more_than_others_is_no_reason_to_measure() -> None:
    fitted = run(create("kage", target="y", emphasis=1.0), DOMAIN, weak(600, 0), Budget(1.0, 1e-9)).fitted
    assert not fitted.interactions


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_a_target_of_next_to_nobody_is_no_trouble(rows: int) -> None:
    fitted = run(create("kage", target="y"), DOMAIN, weak(rows, 0), Budget(0.1, 1e-9)).fitted
    assert fitted.generator.sample(5, rng=np.random.default_rng(0)).shape == (5, len(DOMAIN))
