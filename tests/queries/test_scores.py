"""AIM's score in integers: it never leaves 64 bits, and neighbours stay as close as its proof says."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.marginals import Marginal
from kagemusha.queries.scores import FARTHEST, L1Error


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("penalty", [0.0, 1e3, 1e9, 1e12, 1e15, 1e30])
@pytest.mark.parametrize("estimate", [0.0, 1e6, 1e14, 1e18])
def test_scores_of_any_size_keep_their_sensitivity(penalty: float, estimate: float) -> None:
    cells = np.array([3, 0, 5, 1], dtype=np.int64)
    more = cells + np.array([0, 1, 0, 0])
    score = L1Error(
        [("a",), ("b",)],
        [np.full(4, estimate)] * 2,
        weights=np.array([1.0, 300.0]),
        penalties=np.array([0.0, penalty]),
    )
    one, two = (score.values([Marginal(("a",), c), Marginal(("b",), c)]) for c in (cells, more))
    moved = np.abs(one.astype(object) - two.astype(object)).max()
    assert moved <= score.reach.added.each
    assert np.abs(one).max() <= FARTHEST
    assert one[1] == -FARTHEST or penalty < 1e30
