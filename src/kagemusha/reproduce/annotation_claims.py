"""The annotation paper's seven claims beside ours, with numbers paired by split and a verdict that can fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.extras import need
from kagemusha.reproduce.annotation_arms import Settings
from kagemusha.reproduce.annotation_runs import EPSILONS, Curve, area, at_mark

NEAR = 0.02
"""Accuracies closer than this are called near, others far."""

ALIKE = 0.005
"""Areas closer than this are called alike: about half the spread between splits."""

EARLY = 50
"""Labels at which it is early."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and what came out."""

    number: int
    """Which of the seven; 0 for our own."""
    text: str
    found: str
    holds: bool | None
    """None where the runs cannot tell."""

    @property
    def word(self) -> str:
        """The verdict."""
        return "cannot tell" if self.holds is None else "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Runs:
    """All runs of one sitting."""

    curves: Sequence[Curve]
    settings: Settings

    def of(self, experiment: int, arm: str, epsilon: float | None = None) -> list[Curve]:
        """Runs of an arm, by number; what needs no privacy is the same at every ε."""
        if arm.startswith("actual"):
            epsilon = None
        found = [c for c in self.curves if (c.experiment, c.arm) == (experiment, arm)]
        return sorted((c for c in found if epsilon is None or c.epsilon == epsilon), key=lambda c: c.run)

    def final(self, arm: str, epsilon: float) -> FloatArray:
        """Accuracies of experiment 1, run by run."""
        return np.array([c.accuracy[0] for c in self.of(1, arm, epsilon)])

    def areas(self, arm: str, epsilon: float | None = None) -> FloatArray:
        """Areas under the curve of experiment 2, run by run."""
        return np.array([area(c) for c in self.of(2, arm, epsilon)])

    def claims(self) -> list[Claim]:
        """All of them, ε by ε."""
        made: list[Claim] = []
        for epsilon in EPSILONS:
            made += self._first(epsilon)
        again, without = (np.concatenate([self.final(a, e) for e in EPSILONS]) for a in ("no-ann relabelled", "no-ann"))
        text = "the cause is label noise: No-Ann's records, relabelled by the expert, do better"
        made.append(compared(3, text, again, without))
        for epsilon in EPSILONS:
            made += self._second(epsilon)
        return sorted(made, key=lambda claim: claim.number or 99)

    def _first(self, epsilon: float) -> list[Claim]:
        ann, real = self.final("ann", epsilon), self.final("actual", epsilon)
        at = f"at ε = {epsilon:g}"
        return [
            compared(1, f"Ann ≥ No-Ann {at}", ann, self.final("no-ann", epsilon)),
            _bounded(2, f"Ann ≈ Actual {at} (within {NEAR:g})", real - ann, NEAR, below=True),
        ]

    def _second(self, epsilon: float) -> list[Claim]:
        at = f"at ε = {epsilon:g}"
        real, post, chance, proposed, kage, later = (
            self.areas(arm, epsilon)
            for arm in ("actual", "post-ann", "random", "proposed", "kage", "kage, labels after")
        )
        last = max(mark for c in self.of(2, "proposed", epsilon) for mark in c.marks)
        early, late = (
            np.array(at_mark(self.of(2, "actual"), m)) - np.array(at_mark(self.of(2, "proposed", epsilon), m))
            for m in (EARLY, last)
        )
        apart = post - chance
        return [
            _bounded(4, f"Post-Ann is far below Actual {at} (more than {NEAR:g})", real - post, NEAR, below=False),
            _bounded(4, f"Random is far below Actual {at} (more than {NEAR:g})", real - chance, NEAR, below=False),
            Claim(5, f"Post-Ann ≈ Random {at} (within {ALIKE:g})", _told(apart), _alike(apart)),
            compared(6, f"Proposed is above Post-Ann {at}", proposed, post),
            compared(6, f"Proposed is above Random {at}", proposed, chance),
            compared(7, f"Proposed is below Actual early ({EARLY} labels) {at}", early, 0 * early),
            _bounded(7, f"Proposed is near Actual in the end ({last} labels) {at}", late, NEAR, below=True),
            compared(0, f"kage is above Proposed {at}", kage, proposed),
            compared(0, f"kage is above Post-Ann {at}", kage, post),
            compared(0, f"kage is above Random {at}", kage, chance),
            compared(0, f"kage guided by labels is above kage with labels after {at}", kage, later),
        ]


def compared(number: int, text: str, more: FloatArray, less: FloatArray) -> Claim:
    """Whether one arm is above another: a paired t test at 95 %."""
    apart = np.asarray(more) - np.asarray(less)
    reach = doubt(apart)
    holds = None if abs(apart.mean()) <= reach else bool(apart.mean() > 0)
    return Claim(number, text, _told(apart), holds)


def standard_error(values: FloatArray) -> float:
    """Of the mean; infinite for a single run."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def doubt(values: FloatArray) -> float:
    """Half the width of the 95 % interval of the mean (Student's t)."""
    if len(values) < 2:
        return math.inf
    return float(need("scipy.stats").t.ppf(0.975, len(values) - 1)) * standard_error(values)


def _bounded(number: int, text: str, gap: FloatArray, bound: float, *, below: bool) -> Claim:
    """Whether a gap is below (or above) a bound, beyond doubt."""
    mean, reach = float(gap.mean()), doubt(gap)
    holds = None if abs(mean - bound) <= reach else (mean < bound) == below
    return Claim(number, text, _told(gap), holds)


def _alike(apart: FloatArray) -> bool | None:
    mean, reach = abs(float(apart.mean())), doubt(apart)
    return None if abs(mean - ALIKE) <= reach else mean < ALIKE


def _told(apart: FloatArray) -> str:
    return f"{apart.mean():+.4f} ± {standard_error(apart):.4f} (n = {len(apart)})"
