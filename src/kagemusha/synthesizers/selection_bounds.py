"""What a choice says about those not chosen: had a marginal been much worse, it would have been chosen instead.

The exponential mechanism's choice r* among C candidates tells, with probability 1 − β, that every candidate r has
w_r (e_r − b_r) ≤ w_* (e_* − b_*) + (2Δ/ε) log(C/β): e is the L1 error of the model at that time, w and b are the
weights and penalties of the score. What is known of e_* is the measurement that followed. All of it was released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.queries.scores import L1Error
from kagemusha.schema.domain import Clique

RISK = 0.05
"""β: how often a ceiling may fail."""


def choice_ceilings(
    score: L1Error, noisy: NoisyMarginal, moved: Mapping[Clique, float], *, selection: float, unit: PrivacyUnit
) -> dict[Clique, float]:
    """For each candidate of a choice, the most that its L1 error can be, in records.

    `moved` says how far what the model expects of each candidate has moved since the choice was made. `noisy` is
    the measurement of the chosen candidate, made after the choice; `selection` is what the choice cost (ρ).
    """
    chosen = list(score.candidates).index(noisy.clique)
    # Noise makes a distance larger on average, so the noisy distance bounds the error up to its own spread. Each
    # |cell + noise| moves no further than its noise, so their sum is below its mean by t with a chance of at most
    # exp(−t²/2nσ²), wherever the cells are. Half of β is for that, half for the luck of the choice.
    spread = noisy.sigma * math.sqrt(2 * noisy.values.size * math.log(2 / RISK))
    distance = float(np.abs(noisy.values - score.estimates[chosen]).sum())
    excess = float(score.weights[chosen]) * (distance + spread - float(score.penalties[chosen]))
    sensitivity = float(score.weights.max()) * unit.sensitivity(COUNTS).l1
    luck = 2 * sensitivity / math.sqrt(8 * selection) * math.log(2 * len(score.candidates) / RISK)
    most = np.maximum(0.0, (excess + luck) / score.weights + score.penalties)
    return {clique: each + moved[clique] for clique, each in zip(score.candidates, most.tolist(), strict=True)}


def moved_since(
    cliques: Sequence[Clique], before: Sequence[FloatArray], now: Sequence[FloatArray]
) -> dict[Clique, float]:
    """The L1 distance between what was expected of each clique and what is expected now, in records."""
    return {c: float(np.abs(old - new).sum()) for c, old, new in zip(cliques, before, now, strict=True)}
