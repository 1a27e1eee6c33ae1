"""Rows as points, and codes made coarser and finer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from little import little

from kagemusha.attacks.features import EXPANSIONS, SCALES, Lens, Space
from kagemusha.attacks.synthesis.unclipped import UnclippedStat
from kagemusha.attacks.table import Coarse, PlayedDoubles, World
from kagemusha.errors import UsageError
from kagemusha.schema import Category, Integer, Schema


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("scale", SCALES)
def test_looked_up_distances_are_distances_of_points(expansion: str, scale: str) -> None:
    table = little()
    lens = Lens(Space(expansion, scale, ("n",)), table)
    points = lens.of_codes(table.codes)
    target = table.codes[5]
    apart = ((points - lens.of_codes(target[None, :])) ** 2).sum(axis=1)
    assert lens.distances(PlayedDoubles(codes=table.codes), target) == pytest.approx(apart)
    assert points.shape[1] == lens.width


def test_scales_are_what_they_say() -> None:
    table = little()
    spread = Lens(Space("onehot", "sd"), table).of_codes(table.codes).std(axis=0)
    assert spread[spread > 1e-12] == pytest.approx(1.0)
    between = Lens(Space("codes", "minmax"), table).of_codes(table.codes)
    assert between.min() == 0
    assert between.max() == 1
    raw = Lens(Space("codes", "raw"), table).of_codes(table.codes)
    assert raw[17].tolist() == [2, 1, 9, 4, 0]
    assert raw[table.codes[:, 3] == 5][0, 3:].tolist() == [2, 1]  # missing: the middle of the axis, and said to be so


def test_raw_rows_keep_moments_whichever_way_they_are_looked_at() -> None:
    table = little()
    world = World(table)
    drawn = (
        UnclippedStat("onehot").fit(world, rng=np.random.default_rng(0)).sample(200_000, rng=np.random.default_rng(0))
    )
    for expansion in EXPANSIONS:
        lens = Lens(Space(expansion, "raw"), table)
        assert lens.features(drawn).mean(axis=0) == pytest.approx(lens.of_codes(table.codes).mean(axis=0), abs=0.02)
        assert np.cov(lens.features(drawn).T) == pytest.approx(
            np.cov(lens.of_codes(table.codes).T, bias=True), abs=0.05
        )
    codes = UnclippedStat("codes").fit(world, rng=np.random.default_rng(0)).sample(5, rng=np.random.default_rng(0))
    with pytest.raises(UsageError, match="one-hot"):
        Lens(Space("onehot"), table).features(codes)


def test_names_of_spaces_are_read_back() -> None:
    for name in ("codes/raw", "onehot/minmax", "codes/raw-fnlwgt", "onehot/sd-hours-per-week"):
        assert Space.named(name).name == name
    assert Space.named("codes").name == "codes/sd"
    with pytest.raises(UsageError, match="raw, minmax, sd"):
        Space.named("codes/log")
    with pytest.raises(UsageError, match="no column named"):
        Lens(Space("codes", "raw", ("nobody",)), little())


@given(st.integers(1, 12), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_coarse_codes_go_up_and_come_down_again(bins: int, size: int, seed: int) -> None:
    label = Category("c", categories=("a", "b"), out_of_domain="clip")
    fine = Schema([Integer("n", lower=3, upper=2 + size, missing=True), label])
    coarse = Coarse(fine, fine.replace("n", bins=min(bins, size)))
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, min(bins, size) + 1, 30), rng.integers(0, 2, 30)])
    up = coarse.up(codes, rng)
    assert (up < np.array(fine.domain.sizes)).all()
    assert (coarse.down(up) == codes).all()


def test_schemas_that_do_not_fit_are_refused() -> None:
    fine = Schema([Integer("n", lower=0, upper=9)])
    with pytest.raises(UsageError, match="same modelled columns"):
        Coarse(fine, Schema([Integer("k", lower=0, upper=9)]))
    with pytest.raises(UsageError, match="holds no code"):
        Coarse(fine.replace("n", bins=2), fine.replace("n", bins=3))
