"""AIM's score in integers: it never leaves 64 bits, and neighbours stay as close as its proof says."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.marginals import Marginal
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries import scores
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
    assert moved <= score.sensitivity.added.each
    assert np.abs(one).max() <= FARTHEST
    assert one[1] == -FARTHEST or penalty < 1e30


@pytest.mark.parametrize("batch", [1, 7, 30, 1 << 18])
def test_scores_are_the_same_however_tables_are_put_together(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "BATCH", batch)
    rng = np.random.default_rng(0)
    shapes = [(3,), (2, 4), (40,), (1,), (5, 5), (2, 3, 2)]
    counts = [rng.integers(0, 100, shape) for shape in shapes]
    estimates = [rng.exponential(50, shape) for shape in shapes]
    weights, penalties = rng.uniform(1, 5, len(shapes)), rng.uniform(0, 50, len(shapes))
    cliques = [tuple("abc"[: len(shape)]) for shape in shapes]
    score = L1Error(cliques, estimates, weights=weights, penalties=penalties)
    found = score.values([Marginal(clique, c) for clique, c in zip(cliques, counts, strict=True)])
    for value, c, e, w, p in zip(found, counts, estimates, weights, penalties, strict=True):
        steps = max(1, round(w / weights.max() * 4096))
        units = sum(
            abs(int(a) * UNITS_PER_COUNT - round(b * UNITS_PER_COUNT)) for a, b in zip(c.flat, e.flat, strict=True)
        )
        assert value == steps * (units - round(p * UNITS_PER_COUNT))
