"""Whom the adversary chooses: distances against brute force, and the figures known for Adult."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from little import little

from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.table import GameTable
from kagemusha.attacks.targets import Mahalanobis, choose, exposure
from kagemusha.errors import UsageError


@pytest.mark.parametrize("expansion", ["codes", "onehot"])
def test_distances_are_those_of_the_formula(expansion: str) -> None:
    table = little()
    found = Mahalanobis(table, Space(expansion)).of_rows()
    points = Lens(Space(expansion, "sd"), table).of_codes(table.codes)
    gap = points - points.mean(axis=0)
    inverse = np.linalg.pinv(np.cov(points.T, bias=True), rcond=1e-9)
    assert found == pytest.approx([np.sqrt(g @ inverse @ g) for g in gap])


@pytest.mark.parametrize("expansion", ["codes", "onehot"])
def test_the_ascent_finds_what_trying_everything_finds(expansion: str) -> None:
    table = little()
    space = Space(expansion)
    every = np.array(list(product(range(3), range(2), range(10), range(5))))  # no missing values: a corner has none
    best = Mahalanobis(table, space).of_codes(every).max()
    found = choose("adaptive", table, space=space, rng=np.random.default_rng(0))
    assert found.distance == pytest.approx(best)


def test_selective_is_the_farthest_row_and_random_is_a_row() -> None:
    table = little()
    one = choose("selective", table, rng=np.random.default_rng(0))
    assert one.members == (17,)
    some = choose("random", table, count=5, rng=np.random.default_rng(0))
    assert len(set(some.members)) == 5
    assert all(tuple(table.codes[i]) == row for i, row in zip(some.members, some.rows, strict=True))


def test_worlds_differ_in_the_targets_alone() -> None:
    table = little()
    for kind in ("random", "selective", "adaptive", "blind"):
        target = choose(kind, table, count=2, rng=np.random.default_rng(1))
        without, inside = target.worlds(table)
        assert inside.rows - without.rows == 2
        assert sorted(map(tuple, inside.codes)) == sorted([*map(tuple, without.codes), *target.rows])
        assert (inside.rows == table.rows) == (kind in ("random", "selective"))


def test_many_targets_have_categories_of_their_own() -> None:
    table = little()
    found = choose("adaptive", table, count=6, rng=np.random.default_rng(0))
    assert len({row[:2] for row in found.rows}) == 6
    with pytest.raises(UsageError, match="corners"):
        choose("adaptive", table, count=7, rng=np.random.default_rng(0))


def test_impossible_targets_are_named() -> None:
    with pytest.raises(UsageError, match="random, selective"):
        choose("nearest", little(), rng=np.random.default_rng(0))
    with pytest.raises(UsageError, match="number of targets"):
        choose("random", little(), count=120, rng=np.random.default_rng(0))


def test_the_most_exposed_row_has_rank_zero() -> None:
    assert exposure(little())[17] == 0


@pytest.mark.data
def test_distances_on_adult_are_the_known_ones(data_folder: Path) -> None:
    """Golden numbers measured independently of this code: M, rank and the adaptive optimum."""
    from kagemusha.reproduce.mia_games import adult

    table: GameTable = adult().table
    assert table.rows == 30_162
    whole = Mahalanobis(table, Space("onehot"))
    assert (whole.lens.width, whole.rank) == (106, 96)
    assert whole.of_rows().max() == pytest.approx(173.67, abs=0.01)
    assert choose("adaptive", table, rng=np.random.default_rng(0)).distance == pytest.approx(196.73, abs=0.01)
    codes = Space("codes", "sd", ("fnlwgt",))
    assert Mahalanobis(table, codes).of_rows().max() == pytest.approx(15.4, abs=0.05)
    found = choose("adaptive", table, space=codes, rng=np.random.default_rng(0))
    assert found.distance == pytest.approx(22.1, abs=0.05)


@pytest.mark.parametrize("kind", ["random", "selective", "adaptive", "blind"])
def test_a_person_is_all_of_their_rows(kind: str) -> None:
    table = little()
    target = replace(choose(kind, table, rng=np.random.default_rng(0)), copies=3)
    without, inside = target.worlds(table)
    assert inside.rows - without.rows == 3
    same = (np.array(target.rows[0]) == inside.codes).all(axis=1).sum()
    assert same - (np.array(target.rows[0]) == without.codes).all(axis=1).sum() == 3
