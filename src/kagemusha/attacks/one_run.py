"""An audit from a single training.

Many canaries, each in the table by the toss of a coin (Steinke, Nasr and Jagielski 2023). For methods too slow to train
thousands of times. m canaries are tossed, the attacker guesses for r of them and is right v times. Under (ε, δ) the
number of right guesses is at most a binomial with probability e^ε/(1 + e^ε), plus what δ allows; an ε under which v
would be too lucky is refuted. Good where training leaks a lot; for ε ≤ 1 it takes thousands of canaries to prove
anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.table import GameTable, PlayedDoubles, World
from kagemusha.attacks.targets import Mahalanobis, ascend
from kagemusha.errors import UsageError


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float = 0.0) -> float:
    """How likely so many right guesses are, at most, under (ε, δ): Theorem 5.2."""
    from scipy.stats import binom

    if not 0 <= correct <= guesses <= canaries:
        raise UsageError(f"{correct} right of {guesses} guesses about {canaries} canaries is not possible")
    chance = 1 / (1 + math.exp(-min(epsilon, 700.0)))
    lucky = float(binom.sf(correct - 1, guesses, chance))
    if not delta:
        return min(1.0, lucky)
    # the largest average of the next i probabilities below v: what a δ can shift
    below = np.cumsum(binom.pmf(correct - np.arange(1, correct + 1), guesses, chance)) if correct else np.zeros(1)
    shift = float((below / np.arange(1, len(below) + 1)).max())
    return min(1.0, lucky + 2 * canaries * delta * shift)


def epsilon_bound(canaries: int, guesses: int, correct: int, *, delta: float = 0.0, risk: float = 0.05) -> float:
    """The largest ε refuted at this risk; 0 where nothing is."""
    if p_value(canaries, guesses, correct, 0.0, delta) > risk:
        return 0.0
    low, high = 0.0, 1.0
    while p_value(canaries, guesses, correct, high, delta) <= risk:
        low, high = high, 2 * high
        if high > 1e3:
            return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(canaries, guesses, correct, middle, delta) <= risk else (low, middle)
    return low


@dataclass(frozen=True)
class OneRun:
    """What a single training proved."""

    canaries: int
    guesses: int
    correct: int
    epsilon: float
    """Lower bound at the δ and risk that were asked for."""
    delta: float
    risk: float

    @property
    def verdict(self) -> str:
        """In words."""
        share = 100 * self.correct / max(1, self.guesses)
        words = f"{self.correct:,} of {self.guesses:,} guesses were right ({share:.0f} %)"
        if not self.epsilon:
            return f"{words}: too weak to tell, since one training proves little about small ε"
        return f"{words}: proves ε ≥ {self.epsilon:.3g} with probability {1 - self.risk:g}"


def audit_one_run(
    maker: Maker,
    table: GameTable,
    *,
    canaries: int = 200,
    share: float = 0.5,
    delta: float = 0.0,
    risk: float = 0.05,
    space: Space | None = None,
    seed: int = 0,
) -> OneRun:
    """Plant canaries, train once, guess by nearness of doubles.

    Canaries are the points of the domain farthest from the table, no two with the same categories. `share` of them is
    guessed about, those with the most and the least doubles near them; it is fixed beforehand, since a share chosen by
    its result would have to be paid for.
    """
    if not 10 <= canaries <= 100_000:
        raise UsageError(f"canaries must be at least 10 and at most 100,000, got {canaries}")
    if not 0 < share <= 1:
        raise UsageError(f"share must be greater than 0 and at most 1, got {share}")
    chosen, tossing, fitting, drawing = (np.random.default_rng([seed, i]) for i in range(4))
    rows = ascend(Mahalanobis(table, space), table, count=canaries, rng=chosen)
    inside = tossing.random(canaries) < 0.5
    plus = tuple(tuple(int(v) for v in row) for row in rows[inside])
    sampler = maker.fit(World(table, plus=plus), rng=fitting)
    doubles = sampler.sample(table.rows, rng=drawing)
    scores = nearness(doubles, table, rows, space or Space())
    order = np.argsort(-scores, kind="stable")
    each = max(1, round(share * canaries / 2))
    correct = int(inside[order[:each]].sum() + (~inside[order[-each:]]).sum())
    bound = epsilon_bound(canaries, 2 * each, correct, delta=delta, risk=risk)
    return OneRun(canaries, 2 * each, correct, bound, delta, risk)


def nearness(doubles: PlayedDoubles, table: GameTable, rows: IntArray, space: Space) -> FloatArray:
    """How near doubles come to each row, in units of how near real people do, turned round: high says "was there"."""
    lens = Lens(space, table)
    real = PlayedDoubles(codes=table.codes)
    found = np.empty(len(rows))
    for i, row in enumerate(rows):
        near, usual = (math.sqrt(float(lens.distances(d, row).min())) for d in (doubles, real))
        found[i] = -near / max(usual, 1e-12)
    return found
