"""The annotation paper's seven claims beside ours, paired by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.reproduce.annotation_arms import ACTUAL, ARMS, ELSEWHERE, MANY, NETWORK, Settings
from kagemusha.reproduce.annotation_runs import EPSILONS, Curve, area, at_mark
from kagemusha.reproduce.claims import Claim, alike, interval, larger, smaller, untried

NEAR = 0.02
"""Accuracies closer than this are called near, others far."""

ALIKE = 0.005
"""Areas closer than this are called alike: about half the spread between splits."""

EARLY = 50
"""Labels at which it is early."""


@dataclass(frozen=True)
class Runs:
    """All runs that a page reports."""

    curves: Sequence[Curve]
    settings: Settings

    def of(self, experiment: int, arm: str, epsilon: float | None = None) -> list[Curve]:
        """Runs of an arm, by number; what needs no privacy is the same at every ε."""
        if arm in ACTUAL or arm.startswith("actual"):
            epsilon = None
        found = [c for c in self.curves if (c.experiment, c.arm) == (experiment, arm)]
        return sorted((c for c in found if epsilon is None or c.epsilon == epsilon), key=lambda c: c.run)

    def final(self, arm: str, epsilon: float) -> dict[int, float]:
        """Accuracies of experiment 1 by split."""
        return {c.run: c.accuracy[0] for c in self.of(1, arm, epsilon)}

    def areas(self, arm: str, epsilon: float | None = None) -> dict[int, float]:
        """Areas under the curve of experiment 2 by split."""
        return {c.run: area(c) for c in self.of(2, arm, epsilon)}

    def at(self, arm: str, mark: int, epsilon: float | None = None) -> dict[int, float]:
        """Accuracies at a number of labels by split."""
        curves = self.of(2, arm, epsilon)
        return dict(zip([c.run for c in curves if mark in c.marks], at_mark(curves, mark), strict=True))

    def claims(self) -> list[Claim]:
        """The paper's, by number and ε, then ours."""
        found: list[Claim] = []
        for epsilon in EPSILONS:
            found += self._first(epsilon)
        again, without = (self._pooled(arm) for arm in ("no-ann relabelled", "no-ann"))
        text = "the cause is label noise: No-Ann's records, relabelled by the expert, do better"
        found.append(_larger("claim 3", text, both(again, without)))
        for epsilon in EPSILONS:
            found += self._second(epsilon, "")
        if any(name in NETWORK for name in {c.arm for c in self.curves}):
            found += self._second(self.settings.other_epsilon, ", network")
        found += [claim for epsilon in EPSILONS for claim in self._ours(epsilon)]
        found += self._elsewhere()
        return [c for c in found if not c.ours] + [c for c in found if c.ours]

    def _pooled(self, arm: str) -> dict[int, float]:
        """The mean over ε, split by split."""
        by = [self.final(arm, e) for e in EPSILONS]
        return {run: float(np.mean([one[run] for one in by])) for run in by[0] if all(run in one for one in by)}

    def _first(self, epsilon: float) -> list[Claim]:
        ann, real = self.final("ann", epsilon), self.final("actual", epsilon)
        at = f"at ε = {epsilon:g}"
        text = f"Ann ≈ Actual {at} (less than {NEAR:g} below)"
        return [
            _larger("claim 1", f"Ann ≥ No-Ann {at}", both(ann, self.final("no-ann", epsilon))),
            _smaller("claim 2", text, both(real, ann), NEAR),
        ]

    def _second(self, epsilon: float, judge: str) -> list[Claim]:
        at = f"at ε = {epsilon:g}" + (f" with the paper's network, {self._count(judge)}" if judge else "")
        real = self.areas("actual")
        proposed, post, chance, table = (
            self.areas(name + judge, epsilon) for name in ("proposed", "post-ann", "random", f"post-ann, {MANY}")
        )
        found = [
            _alike("claim 5", f"Post-Ann ≈ Random {at} (areas within {ALIKE:g})", both(post, chance)),
            _larger("claim 6", f"Proposed is above Post-Ann at two candidates per label {at}", both(proposed, post)),
            _larger("claim 6", f"Proposed is above Post-Ann over a table-sized pool {at}", both(proposed, table)),
            _larger("claim 6", f"Proposed is above Random {at}", both(proposed, chance)),
        ]
        if judge:  # Actual is judged by forests, as nearly all arms are
            return found
        curves = self.of(2, "proposed", epsilon)
        last = max((mark for c in curves for mark in c.marks), default=0)
        early, late = (both(self.at("actual", m), self.at("proposed", m, epsilon)) for m in (EARLY, last))
        return [
            _larger("claim 4", f"Post-Ann is far below Actual {at} (more than {NEAR:g})", both(real, post), NEAR),
            _larger("claim 4", f"Random is far below Actual {at} (more than {NEAR:g})", both(real, chance), NEAR),
            *found,
            _larger("claim 7", f"Proposed is below Actual early ({EARLY} labels) {at}", early),
            _smaller("claim 7", f"Proposed is near Actual in the end ({last} labels) {at}", late, NEAR),
        ]

    def _count(self, judge: str) -> str:
        count = len(self.areas(f"proposed{judge}", self.settings.other_epsilon))
        return f"{count} split" + "s" * (count != 1)

    def _ours(self, epsilon: float) -> list[Claim]:
        at = f"at ε = {epsilon:g}"
        names = ("proposed", "post-ann", "random", "kage", "kage, labels after", f"proposed, {MANY}")
        proposed, post, chance, kage, later, odd = (self.areas(arm, epsilon) for arm in names)
        few = both(proposed, odd)
        return [
            _larger("ours", f"two candidates per label are better than {MANY} for Proposed {at}", few, ours=True),
            _larger("ours", f"kage is above Proposed {at}", both(kage, proposed), ours=True),
            _larger("ours", f"kage is above Post-Ann {at}", both(kage, post), ours=True),
            _larger("ours", f"kage is above Random {at}", both(kage, chance), ours=True),
            _larger(
                "ours", f"kage guided by labels is above kage with labels after {at}", both(kage, later), ours=True
            ),
        ]

    def _elsewhere(self) -> list[Claim]:
        epsilon, found = self.settings.other_epsilon, []
        for task in dict.fromkeys(ARMS[arm].task for arm in ELSEWHERE):
            post = self.areas(f"post-ann, {task}", epsilon)
            for arm, name in (("proposed", "Proposed"), ("kage", "kage")):
                text = f"{task}: {name} is above Post-Ann at equal candidates at ε = {epsilon:g}"
                found.append(_larger("ours", text, both(self.areas(f"{arm}, {task}", epsilon), post), ours=True))
        return found


def both(more: dict[int, float], less: dict[int, float]) -> FloatArray:
    """Differences on the splits that both have."""
    return np.array([more[run] - less[run] for run in sorted(more) if run in less])


def _larger(where: str, text: str, apart: FloatArray, margin: float = 0.0, *, ours: bool = False) -> Claim:
    if not len(apart):
        return untried(where, text, "not run", ours=ours)
    return larger(where, text, f"{apart.mean():+.4f}", interval(apart), margin=margin, ours=ours)


def _smaller(where: str, text: str, apart: FloatArray, margin: float) -> Claim:
    if not len(apart):
        return untried(where, text, "not run")
    return smaller(where, text, f"{apart.mean():+.4f}", interval(apart), margin=margin)


def _alike(where: str, text: str, apart: FloatArray) -> Claim:
    if not len(apart):
        return untried(where, text, "not run")
    return alike(where, text, f"{apart.mean():+.4f}", interval(apart), margin=ALIKE)
