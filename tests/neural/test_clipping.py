"""Factored sums against written-out ones, and what one person can move them by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kagemusha.neural.factors import Factors, Layer
from kagemusha.release.clipping import CANCELLED, CLIP_LATTICE, FLOATING, SAMPLE_ROWS, clipped_sum, factored_sum


def factors(rng: np.random.Generator, rows: int, scale: float = 1.0, *, sparse: bool = False) -> Factors:
    layers = []
    for inputs, outputs in ((5, 4), (4, 3)):
        mine = np.sort(rng.choice(rows, max(1, rows // 2), replace=False)) if sparse else None
        count = rows if mine is None else len(mine)
        wide = np.column_stack([rng.normal(0, 1, (count, inputs)), np.ones(count)])
        layers.append(Layer(scale * rng.normal(0, 1, (count, outputs)), wide, mine))
    return Factors(rows, layers)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_factored_sum_is_the_written_out_one(rows: int, sparse: bool) -> None:
    rng = np.random.default_rng(rows)
    for scale in (1e-3, 0.3, 100.0):
        given = factors(rng, 12 * rows, scale, sparse=sparse)
        whose = np.repeat(np.arange(12), rows)
        fast = factored_sum(given, whose, 12, clip=0.7)
        slow = clipped_sum(given.dense(), whose, 12, clip=0.7)
        shaved = CLIP_LATTICE * (1 - FLOATING) - math.sqrt(given.parameters)
        assert np.allclose(fast, slow * shaved / CLIP_LATTICE, atol=30), (
            "twins up to the shave and the rounding of rows"
        )


@pytest.mark.parametrize("rows", [1, 4])
def test_no_person_moves_the_rounded_sum_by_more_than_the_lattice(rows: int) -> None:
    rng = np.random.default_rng(5)
    for scale in (1e-12, 1e-3, 1.0, 1e8, 1e200):
        given = factors(rng, 20 * rows, scale)
        given.layers[0].slopes[3] = np.nan
        given.layers[1].slopes[7] = np.inf
        whose = np.repeat(np.arange(20), rows)
        whole = np.rint(factored_sum(given, whose, 20, clip=0.7))
        short = Factors(19 * rows, [Layer(x.slopes[:-rows], x.inputs[:-rows]) for x in given.layers])
        without = np.rint(factored_sum(short, whose[:-rows], 19, clip=0.7))
        moved = math.sqrt(float(((whole - without) ** 2).sum()))
        assert moved <= CLIP_LATTICE
        if scale == 1.0 and rows == 1:
            assert moved > 0.99 * CLIP_LATTICE, "a clip that cuts too deep would hide a wrong scale"


def test_rows_that_cancel_do_not_escape_the_clip() -> None:
    """Two huge rows of opposite sign leave a small sum, of which rounding would be larger than the clip."""
    slopes = np.array([[1e12, 0.0], [-1e12, 1e-3]])
    given = Factors(2, [Layer(slopes, np.ones((2, 1)))])
    found = factored_sum(given, np.zeros(2, dtype=np.int64), 1, clip=1.0)
    assert np.abs(found).max() < 1e-3 * CLIP_LATTICE, "the person counts with a share of all their rows' norms"


def test_the_room_for_arithmetic_is_what_the_comment_says() -> None:
    assert 2 * CANCELLED * SAMPLE_ROWS**2 * 2.0**-53 < FLOATING / 2
