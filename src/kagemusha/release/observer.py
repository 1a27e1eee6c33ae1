"""Whoever looks over the shoulder of a release: audits do; in a release nobody does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kagemusha.arrays import IntArray
from kagemusha.privacy.events import ExponentialEvent, GaussianEvent, GenerationEvent, LaplaceEvent, ThresholdEvent
from kagemusha.queries.query import Choice, Query
from kagemusha.release.training import Learner, Rows, Step, TrainingSchedule


class Observer:
    """Hears of every answer before it is used. Does nothing; whoever wants to know more overrides a verb."""

    def answered(
        self,
        queries: Sequence[Query[Any]],
        events: Sequence[GaussianEvent | LaplaceEvent],
        answers: Sequence[IntArray],
    ) -> None:
        """Noisy answers, in whole numbers."""

    def chose(self, query: Choice[object], event: ExponentialEvent, at: int) -> None:
        """The candidate at this position."""

    def passed(self, name: str, event: ThresholdEvent, places: Sequence[str]) -> None:
        """Labels or groups of a column whose noisy count reached the threshold."""

    def drew(self, event: GenerationEvent, lattice: Sequence[IntArray]) -> None:
        """Rows, as features before they became codes."""

    def stepped(self, learner: Learner, schedule: TrainingSchedule, rows: Rows, step: Step) -> None:
        """A step of training."""


NOBODY = Observer()
