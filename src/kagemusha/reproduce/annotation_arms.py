"""The arms of experiment 2: the paper's, our own, and what each ablation changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kagemusha.annotation.judges import ForestTrainer, NetworkTrainer, Trainer


@dataclass(frozen=True)
class Arm:
    """One way to go about experiment 2: choices of the loop, and what an ablation changes around it."""

    about: str
    choices: dict[str, Any] = field(default_factory=dict)
    batch: int | None = None
    """Labels between two trainings, if not as in the settings."""
    network: bool = False
    """The judge is a network with dropout instead of a forest."""
    without: tuple[str, ...] = ()
    """Columns left out."""


_AFTER = {"when": "after"}
_KAGE: dict[str, Any] = {"loop": "kage", "rounds": 5}

ARMS: dict[str, Arm] = {
    "proposed": Arm("labels between rounds, as the paper has it"),
    "post-ann": Arm("the same rounds, all labels afterwards", _AFTER),
    "random": Arm("the same, records asked about at random", {**_AFTER, "ask": "random"}),
    "kage": Arm("our own: kage's looks first, labels guide the rest in five instalments", _KAGE),
    "kage, labels after": Arm("the same kage, all labels afterwards", {**_KAGE, **_AFTER}),
    "unweighted": Arm("rounds choose without looking at the judge", {"weights": "none"}),
    "bare": Arm("the paper's sigmoid(A), without standardising", {"weights": "bare"}),
    "sharp": Arm("the sigmoid four times as steep", {"sharpness": 4.0}),
    "annealed": Arm("AIM's own pace of privacy, labels in step with it", {"privacy": "annealed"}),
    "flat": Arm("50 labels in every round instead of 5k", {"pace": "flat"}),
    "late": Arm("k labels in round k instead of 5k: 790 of 1,000 go to the last model", {"step": 1}),
    "five rounds": Arm("K = 5: 930 labels go to the last model", {"rounds": 5}),
    "fifty rounds": Arm("K = 50, 20 labels in each", {"rounds": 50, "pace": "flat"}),
    "asked at random": Arm("between rounds, records asked about at random", {"ask": "random"}),
    "kage unguided": Arm("kage's instalments without looking at labels", {**_KAGE, "weights": "none"}),
    "proposed, batches of 20": Arm("twice as many labels between two trainings", batch=20),
    "post-ann, batches of 20": Arm("the same for Post-Ann", _AFTER, batch=20),
    "proposed, network": Arm("the judge is a network with dropout", batch=50, network=True),
    "post-ann, network": Arm("the same for Post-Ann", _AFTER, batch=50, network=True),
    "proposed, 12 columns": Arm("without education, which education-num repeats", without=("education",)),
    "post-ann, 12 columns": Arm("the same for Post-Ann", _AFTER, without=("education",)),
}
"""The paper's arms of experiment 2, our own, then variants and ablations."""

MAIN = ("proposed", "post-ann", "random", "kage", "kage, labels after")


@dataclass(frozen=True)
class Settings:
    """What a run chooses where the paper is silent; printed with the results."""

    runs: int
    labels: int = 1000
    batch: int = 10
    """Labels between two trainings of the judge: training after every single one would take a day."""
    trees: int = 40
    pool: int = 2000
    ablations: tuple[str, ...] = tuple(name for name in ARMS if name not in MAIN)
    ablation_epsilon: float = 0.4

    def trainer(self, arm: Arm) -> Trainer:
        """A forest, whose trees are the versions.

        Or a network smaller than the paper's, which scores real records in seconds.
        """
        return NetworkTrainer((128, 64), versions=10) if arm.network else ForestTrainer(self.trees)
