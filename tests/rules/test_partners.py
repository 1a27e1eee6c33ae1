"""Partners that nobody listed, against trying all of them and against the truth."""

from __future__ import annotations

from itertools import product

import numpy as np

from kagemusha.rules.partners import COLUMN, likeliest, partners
from kagemusha.rules.structural_zeros import StructuralZeros
from kagemusha.schema.constraints import Determines
from kagemusha.schema.domain import Domain


def given_up(table, chosen):
    """What a model would have to give up if everybody of a key had its chosen partner."""
    keys = table.sum(axis=1)
    held = np.zeros_like(table)
    held[np.arange(len(keys)), chosen] = keys
    return ((table - held) ** 2).sum() + ((table.sum(axis=0) - held.sum(axis=0)) ** 2).sum() / COLUMN**2


def test_the_search_finds_what_trying_everything_finds():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(60):
        table = rng.gamma(0.5, 100, (5, 3))
        every = np.ones(table.shape, dtype=bool)
        chosen = likeliest(table, every)
        best = min(given_up(table, np.array(f)) for f in product(range(3), repeat=5))
        first = given_up(table, table.argmax(axis=1))
        assert best * (1 - 1e-9) <= given_up(table, chosen) <= first * (1 + 1e-9)
        found += given_up(table, chosen) <= best * (1 + 1e-9)
    assert found >= 50


def test_counts_of_columns_tell_partners_that_noise_hides():
    rng = np.random.default_rng(1)
    keys = 30_000 / np.arange(1, 17) ** 1.2
    right_by_counts, right_by_cells = [], []
    for _ in range(20):
        truth = rng.permutation(16)
        wanted = np.zeros(16)
        wanted[truth] = keys
        # a pair that was hardly measured: independent columns, and noise in every cell
        table = np.maximum(0, np.outer(keys, wanted) / keys.sum() + rng.normal(0, 60, (16, 16)))
        table[np.arange(16), truth] += 0.2 * keys
        table *= (keys / table.sum(axis=1))[:, None]
        every = np.ones(table.shape, dtype=bool)
        right_by_counts.append(keys[likeliest(table, every) == truth].sum() / keys.sum())
        right_by_cells.append(keys[table.argmax(axis=1) == truth].sum() / keys.sum())
    assert np.mean(right_by_counts) > 0.9
    assert np.mean(right_by_counts) > np.mean(right_by_cells) + 0.2


def test_several_keys_may_share_a_partner():
    table = np.zeros((6, 2))
    table[[0, 2, 4], 0] = 100, 50, 25
    table[[1, 3, 5], 1] = 80, 40, 20
    table += 4
    assert likeliest(table, np.ones(table.shape, dtype=bool)).tolist() == [0, 1, 0, 1, 0, 1]


def test_partners_that_other_rules_forbid_are_not_chosen():
    domain = Domain(("city", "country"), (3, 2))
    table = np.array([[90.0, 10.0], [80.0, 20.0], [5.0, 95.0]])
    forbidden = np.zeros((3, 2), dtype=bool)
    forbidden[0, 0] = True
    forbidden[2] = True  # nobody may live there at all
    law = Determines(("city",), "country")
    zero = partners(
        domain, "city determines country", law, [StructuralZeros("r", ("city", "country"), forbidden)], lambda _: table
    )
    assert zero.impossible.tolist() == [[True, False], [False, True], [True, True]]


def test_a_table_that_obeys_keeps_its_partners():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 7, 40)
    keys = np.concatenate([rng.gamma(1, 500, 30), np.full(10, 1e-9)])  # some keys are nearly nobody's
    table = np.zeros((40, 7))
    table[np.arange(40), truth] = keys
    assert likeliest(table, np.ones(table.shape, dtype=bool)).tolist() == truth.tolist()
