"""Attribute inference: how much better a secret column is guessed because the person was in the table.

The attacker knows all other columns of a target and takes the vote of the nearest doubles. Being right says little in
itself: who knows that smokers cough more may guess well about people nobody asked. So the same attacker guesses again
from doubles made without the targets' rows, and only the difference is the table's fault.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.intervals import Estimate
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.table import GameTable, PlayedDoubles, World
from kagemusha.attacks.targets import Mahalanobis
from kagemusha.errors import UsageError
from kagemusha.progress import Progress, silent

NEAREST = 10
GROUP = 50
"""Targets hidden together in a training: one after the other would take fifty times as long, and hides hardly less."""


@dataclass(frozen=True)
class AttributeRisk:
    """Accuracy with the targets in the table, without them, and the difference, over independent trainings."""

    secret: str
    inside: Estimate
    without: Estimate
    difference: Estimate

    @property
    def words(self) -> str:
        """In a sentence."""
        if self.difference.low <= 0:
            return (
                f"{self.secret}: guessed right in {100 * self.inside.value:.1f} % of cases, and in "
                f"{100 * self.without.value:.1f} % from doubles that never saw these people: no difference can "
                f"be seen."
            )
        return (
            f"{self.secret}: being in the table raises the chance of a right guess from {100 * self.without.value:.1f} "
            f"% to {100 * self.inside.value:.1f} %."
        )


def attribute_risk(
    maker: Maker,
    table: GameTable,
    secret: str,
    *,
    trainings: int = 20,
    targets: str = "random",
    space: Space | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> AttributeRisk:
    """Guess `secret` of groups of targets (`random` or the most outlying) from doubles made with and without them."""
    if secret not in table.schema.domain:
        raise UsageError(f"no column named {secret!r}; columns are {', '.join(table.schema.domain.names)}")
    if targets not in ("random", "selective"):
        raise UsageError(f"targets must be 'random' or 'selective', got {targets!r}")
    if trainings < 2:
        raise UsageError(f"trainings must be at least 2, got {trainings}")
    chosen = space or Space()
    lens = Lens(Space(chosen.expansion, chosen.scale, (*chosen.without, secret)), table)
    axis = table.schema.domain.axis(secret)
    group = min(GROUP, table.rows // 2)
    ranked = np.argsort(-Mahalanobis(table, chosen).of_rows(), kind="stable") if targets == "selective" else None
    found = np.empty((trainings, 2))
    for t in range(trainings):
        common = np.random.default_rng([seed, t, 0])
        rows = common.choice(table.rows, group, replace=False) if ranked is None else ranked[t * group :][:group]
        if len(rows) < group:
            raise UsageError(
                f"{trainings} trainings need {trainings * group:,} targets; the table has {table.rows:,} rows"
            )
        for side, world in enumerate((World(table, minus=tuple(int(i) for i in rows)), World(table))):
            fitting, drawing = (np.random.default_rng([seed, t, 1 + side, i]) for i in range(2))
            doubles = maker.fit(world, rng=fitting).sample(table.rows, rng=drawing)
            guesses = vote(doubles, table.codes[rows], lens, axis)
            found[t, side] = float((guesses == table.codes[rows, axis]).mean())
        progress(f"{secret}: {t + 1} of {trainings} trainings", (t + 1) / trainings)
    gap = found[:, 1] - found[:, 0]
    return AttributeRisk(secret, _interval(found[:, 1]), _interval(found[:, 0]), _interval(gap))


def vote(doubles: PlayedDoubles, known: Codes, lens: Lens, axis: int, nearest: int = NEAREST) -> IntArray:
    """The commonest secret among the nearest doubles of each target."""
    if doubles.codes is None:
        raise UsageError("attribute inference needs doubles with codes")
    found = np.empty(len(known), dtype=np.int64)
    for i, row in enumerate(known):
        squared = lens.distances(doubles, row)
        near = np.argpartition(squared, min(nearest, len(squared)) - 1)[:nearest]
        found[i] = np.bincount(doubles.codes[near, axis]).argmax()
    return found


def _interval(values: FloatArray) -> Estimate:
    """Student's; differences may be negative, so nothing is cut off."""
    from scipy.stats import t

    mean, spread = float(values.mean()), float(values.std(ddof=1))
    reach = float(t.ppf(0.975, len(values) - 1)) * spread / float(np.sqrt(len(values)))
    return Estimate(mean, mean - reach, mean + reach)
