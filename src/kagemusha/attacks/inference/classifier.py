"""Attacks that learn: features of tables from shadow runs, then a classifier (Stadler et al., Oprisanu et al.)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.features import Space, lens_of
from kagemusha.attacks.inference.distance import LogDensity, MeanDistance
from kagemusha.attacks.inference.protocol import References, Scene
from kagemusha.attacks.inference.queries import Matches
from kagemusha.attacks.table import PlayedDoubles, SameTable
from kagemusha.attacks.threat import ALGORITHM, TABLE
from kagemusha.errors import UsageError

SETS = ("naive", "histogram", "correlation")
LEARNERS = ("rf", "lr", "knn", "tree")
BINS = 10
TREES = 100
NEIGHBOURS = 5


@dataclass(frozen=True)
class TableFeatures:
    """A whole table as a vector, in integer codes and values between 0 and 1.

    `naive`: mean, median and variance of every column; `histogram`: shares in ten bins of every column; `correlation`:
    all pairs.
    """

    kind: str = "naive"

    def __post_init__(self) -> None:
        if self.kind not in SETS:
            raise UsageError(f"a set of features must be one of {', '.join(SETS)}, got {self.kind!r}")

    @property
    def name(self) -> str:
        """By the set."""
        return f"{self.kind} features"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """The vector."""
        points = lens_of(SameTable(scene.table), Space("codes", "minmax")).features(doubles)
        if self.kind == "naive":
            return np.concatenate([points.mean(axis=0), np.median(points, axis=0), points.var(axis=0)])
        if self.kind == "correlation":
            return _correlations(points)
        edges = np.linspace(0, 1, BINS + 1)[1:-1]
        shares = [np.bincount(np.searchsorted(edges, column), minlength=BINS) / len(column) for column in points.T]
        return np.concatenate(shares)


def _correlations(points: FloatArray) -> FloatArray:
    spread = points.std(axis=0)
    z = (points - points.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    return np.asarray((z.T @ z / len(z))[np.triu_indices(z.shape[1], 1)])


@dataclass(frozen=True)
class Classifier:
    """A random forest, a tree, logistic regression (standardised) or k-NN (k = 5) over a set of features."""

    learner: str = "rf"
    kind: str = "naive"
    needs: frozenset[str] = frozenset({TABLE, ALGORITHM})
    references: str = "target"

    def __post_init__(self) -> None:
        if self.learner not in LEARNERS:
            raise UsageError(f"a classifier must be one of {', '.join(LEARNERS)}, got {self.learner!r}")

    @property
    def name(self) -> str:
        """Such as rf-naive."""
        return f"{self.learner}-{self.kind}"

    @property
    def statistic(self) -> TableFeatures:
        """The set of features."""
        return TableFeatures(self.kind)

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """The probability of "with", less one half."""
        return learned(self.learner, references.values, played, rng)


def learned(learner: str, made: FloatArray, played: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Train on (references, side, numbers), score (…, numbers)."""
    rows = made.reshape(-1, made.shape[-1])
    labels = np.tile([0, 1], len(made))
    model = _model(learner, len(rows), int(rng.integers(2**31)))
    model.fit(rows, labels)
    flat = played.reshape(-1, played.shape[-1])
    return np.asarray(model.predict_proba(flat)[:, 1] - 0.5).reshape(played.shape[:-1])


def _model(learner: str, rows: int, seed: int) -> Any:
    try:
        if learner == "rf":
            return import_module("sklearn.ensemble").RandomForestClassifier(TREES, random_state=seed, n_jobs=1)
        if learner == "tree":
            return import_module("sklearn.tree").DecisionTreeClassifier(random_state=seed)
        scaler = import_module("sklearn.preprocessing").StandardScaler()
        if learner == "lr":
            last = import_module("sklearn.linear_model").LogisticRegression(max_iter=2000)
        else:
            last = import_module("sklearn.neighbors").KNeighborsClassifier(min(NEIGHBOURS, rows))
        return import_module("sklearn.pipeline").make_pipeline(scaler, last)
    except ImportError:
        raise UsageError("classifier attacks need scikit-learn: pip install 'kagemusha[eval]'") from None


@dataclass(frozen=True)
class Profile:
    """The target seen from the doubles, in numbers that mean the same for every target.

    Each less what the real table gives.
    """

    name: str = "profile"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """Nearness (10 and 1), log density, agreement on columns and on pairs (mean and largest)."""
        found = []
        for statistic in (MeanDistance(), MeanDistance(1)):
            found.append(float(statistic.measure(doubles, scene)[0] - statistic.measure(scene.real, scene)[0]))
        density = LogDensity().measure(doubles, scene)
        agree = Matches().measure(doubles, scene) - Matches().measure(scene.real, scene)
        numbers = [float(density[0] - density[1]), float(agree.mean()), float(agree.max()), float(agree.min())]
        return np.array([*found, *numbers])


@dataclass(frozen=True)
class Shadow:
    """One model for all targets.

    Shadow runs on halves of the table over many other targets, then a random forest (§5.5).
    """

    name: str = "shadow"
    needs: frozenset[str] = frozenset({TABLE, ALGORITHM})
    references: str = "strangers"

    @property
    def statistic(self) -> Profile:
        """The target's profile."""
        return Profile()

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """The probability of "with", less one half."""
        return learned("rf", references.values, played, rng)
