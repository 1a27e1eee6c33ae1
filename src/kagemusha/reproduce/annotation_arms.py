"""The arms of experiment 2: the paper's, our own, and what each variant changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kagemusha.annotation.judges import ForestTrainer, Judge, JudgeNetwork, NetworkTrainer, Trainer
from kagemusha.annotation.votes import votes_of
from kagemusha.arrays import FloatArray, IntArray
from kagemusha.reproduce.annotation_split import LABEL

MANY = 15
"""Candidates per label at which Post-Ann looks at a pool as large as the table."""


@dataclass(frozen=True)
class Arm:
    """One way to go about experiment 2: choices of the loop, and what a variant changes around it."""

    about: str
    choices: dict[str, Any] = field(default_factory=dict)
    batch: int | None = None
    """Labels between two trainings, if not as in the settings."""
    network: bool = False
    """The judge is the paper's network with dropout instead of a forest."""
    without: tuple[str, ...] = ()
    """Columns left out."""
    task: str = LABEL
    """What is labelled."""

    def more(self, about: str, *, network: bool = False, **choices: Any) -> Arm:
        """The same with other choices."""
        return Arm(about, {**self.choices, **choices}, 25 if network else self.batch, network, self.without)


PROPOSED = Arm("labels between rounds, as the paper has it")
AFTER = Arm("the same rounds, all labels afterwards", {"when": "after"})
CHANCE = Arm("the same, records asked about at random", {"when": "after", "ask": "random"})
KAGE = Arm("our own: kage's looks first, labels guide the rest in five instalments", {"loop": "kage", "rounds": 5})

MAIN: dict[str, Arm] = {
    "proposed": PROPOSED,
    "post-ann": AFTER,
    "random": CHANCE,
    f"proposed, {MANY}": PROPOSED.more(f"{MANY} candidates per label", candidates=MANY),
    f"post-ann, {MANY}": AFTER.more("the same for Post-Ann: a pool as large as the table", candidates=MANY),
    "kage": KAGE,
    "kage, labels after": KAGE.more("the same kage, all labels afterwards", when="after"),
}
"""Compared at every ε; two candidates per label where nothing else is said."""

NETWORK: dict[str, Arm] = {
    f"{name}, network": arm.more("with the paper's network, 512-256-128, batches of 25", network=True)
    for name, arm in MAIN.items()
    if "kage" not in name
}
"""The paper's own classifier, at one ε: a run takes minutes."""

ELSEWHERE: dict[str, Arm] = {
    f"{name}, {task}": replace(MAIN[name], about=words, task=task)
    for task, words in {
        "bank": "Bank: whether a client subscribes",
        "marital": "Adult, three classes: married, never, formerly",
    }.items()
    for name in ("proposed", "post-ann", "random", "kage")
}
"""Other tables and more classes, at one ε."""

VARIANTS: dict[str, Arm] = {
    "proposed, 100": PROPOSED.more("100 candidates per label: only the oddest doubles are asked about", candidates=100),
    "unweighted": PROPOSED.more("rounds choose without looking at the judge", weights="none"),
    "bare": PROPOSED.more("the paper's sigmoid(A), without standardising", weights="bare"),
    "annealed": PROPOSED.more("AIM's own pace of privacy, labels in step with it", privacy="annealed"),
    "flat": PROPOSED.more("as many labels in every round instead of 5k", pace="flat"),
    "adaptive": PROPOSED.more("a round ends when its doubles tell little", pace="adaptive"),
    "late": PROPOSED.more("k labels in round k instead of 5k", step=1),
    "five rounds": PROPOSED.more("K = 5: most labels go to the last model", rounds=5),
    "batch-bald": PROPOSED.more("BatchBALD: records that tell most together", ask="batch-bald"),
    "entropy": PROPOSED.more("the records all versions together are most unsure about", ask="entropy"),
    "asked at random": PROPOSED.more("between rounds, records asked about at random", ask="random"),
    "kage unguided": KAGE.more("kage's instalments without looking at labels", weights="none"),
    "proposed, 12 columns": Arm("without education, which education-num repeats", without=("education",)),
    "post-ann, 12 columns": Arm("the same for Post-Ann", {"when": "after"}, without=("education",)),
}
"""One thing changed each, at one ε."""

ARMS = {**MAIN, **ELSEWHERE, **NETWORK, **VARIANTS}

ACTUAL = {
    "actual": ("random", False),
    "actual, expert": ("random", True),
    "actual BALD": ("bald", False),
    "actual BALD, expert": ("bald", True),
}
"""Real records: how they are chosen, and whether the expert's labels or the true ones are learned from (INTERNAL)."""


@dataclass(frozen=True)
class Settings:
    """What a run chooses where the paper is silent; printed with the results."""

    runs: int
    """Splits of the arms in MAIN."""
    other_runs: int = 5
    """Splits of other tables, networks and variants."""
    labels: int = 1000
    """With those that were given."""
    given: int = 20
    """Labelled records all arms begin with: real ones of the expert's part (the paper's D_L)."""
    batch: int = 10
    """Labels between two trainings of the judge: training after every single one would take a day."""
    trees: int = 40
    only: tuple[str, ...] = ()
    """Arms that are run; all of them if none is named."""
    elsewhere: tuple[str, ...] = tuple(ELSEWHERE)
    networks: tuple[str, ...] = tuple(NETWORK)
    variants: tuple[str, ...] = tuple(VARIANTS)
    other_epsilon: float = 0.4

    def trainer(self, arm: Arm) -> Trainer:
        """A forest, whose trees are the versions, or the paper's network."""
        return QuickNetworkTrainer() if arm.network else ForestTrainer(self.trees)


@dataclass(frozen=True, eq=False)
class QuickNetwork:
    """A network scored in single precision: an experiment needs no exact sums, and ends in a tenth of the time."""

    exact: JudgeNetwork

    def votes(self, vectors: FloatArray) -> IntArray:
        """As the exact network, up to rounding."""
        layers = [(m.astype(np.float32), s.astype(np.float32)) for m, s in self.exact.layers]
        first = np.maximum(vectors.astype(np.float32) @ layers[0][0] + layers[0][1], 0)
        return votes_of(np.stack([_logits(first, layers, kept) for kept in zip(*self.exact.kept, strict=True)]))


def _logits(state: Any, layers: Sequence[Any], kept: Sequence[FloatArray]) -> IntArray:
    for (matrix, shift), units in zip(layers[1:], kept, strict=True):
        # units left out are not multiplied at all
        stay = np.flatnonzero(units)
        state = state[:, stay] @ matrix[stay] + shift
        if matrix is not layers[-1][0]:
            state = np.maximum(state, 0)
    return np.rint(np.clip(state, -64, 64) * 256).astype(np.int64)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class QuickNetworkTrainer:
    """The paper's network with ten versions."""

    versions: int = 10

    def __call__(self, vectors: FloatArray, labels: IntArray, classes: int, rng: np.random.Generator) -> Judge:
        """Trained from scratch."""
        exact = NetworkTrainer(versions=self.versions)(vectors, labels, classes, rng)
        assert isinstance(exact, JudgeNetwork)
        return QuickNetwork(exact)
