"""Published ceilings of errors hold as often as they say, also where every cell is far from what was expected."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.queries.scores import L1Error
from kagemusha.synthesizers.candidates import RISK, choice_ceilings

CELLS, SIGMA, RHO, CANDIDATES = 50, 10.0, 0.5, 4
RUNS = 4000


@pytest.mark.parametrize("apart", [0.0, 1.0, 3.0])
def test_a_ceiling_fails_no_more_often_than_it_says(apart: float) -> None:
    """`apart` deviations between every cell and its estimate: there the noisy distance scatters most."""
    rng = np.random.default_rng(int(10 * apart))
    errors = SIGMA * CELLS * apart * np.array([1.0, 1.0, 1.0, 1.0])
    cliques = [(f"c{i}",) for i in range(CANDIDATES)]
    estimates = [np.zeros(CELLS) for _ in cliques]
    score = L1Error(cliques, estimates, np.ones(CANDIDATES), np.zeros(CANDIDATES))
    scale = 2 / np.sqrt(8 * RHO)
    failed = 0
    for _ in range(RUNS):
        chosen = int(np.argmax(errors / scale + rng.gumbel(size=CANDIDATES)))
        noisy = np.rint(apart * SIGMA + rng.normal(0, SIGMA, CELLS)).astype(np.int64)
        measured = NoisyMarginal(cliques[chosen], noisy, SIGMA)
        moved = dict.fromkeys(cliques, 0.0)
        ceilings = choice_ceilings(score, measured, moved, selection=RHO, unit=PrivacyUnit())
        failed += any(ceilings[c] < e for c, e in zip(cliques, errors, strict=True))
    assert failed / RUNS <= RISK
