"""Can a learner tell doubles from people, and by what? 0.5 means it cannot; 1 means it always can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.evaluation.raw import RawTable
from kagemusha.evaluation.raw_columns import day, number, quantiles
from kagemusha.evaluation.raw_features import Feature, features
from kagemusha.extras import need
from kagemusha.quality.projectable import CodedTable, same_columns

FOLDS = 3
DISCRIMINATOR_ROWS = 20_000
NAMED = 6
"""Telling features that are named."""

LEAST = 0.002
"""A feature is telling if the learner loses at least this much AUROC without it."""


@dataclass(frozen=True)
class Telling:
    """A feature by which doubles are distinguished from people."""

    feature: str
    loss: float
    """AUROC lost when its values are shuffled among rows."""
    alone: float
    """AUROC of a learner that sees this feature and nothing else."""
    words: str
    """What it looks like on both sides."""


@dataclass(frozen=True)
class Discriminator:
    """Cross-validated AUROC of telling real from synthetic rows."""

    auroc: float
    rows: int
    """Rows of each side that were used."""
    telling: Sequence[Telling] = ()
    """The most telling features first."""
    on: str = "codes"
    """values: what people see, and what follows from it; codes: values put into their bins and categories."""

    @property
    def in_words(self) -> str:
        """What the number means."""
        if self.auroc < 0.6:
            return "a learner can hardly tell doubles from people"
        if self.auroc < 0.75:
            return "a learner tells doubles from people more often than by chance"
        return "a learner tells doubles from people easily"


def discriminate(
    real: CodedTable,
    synthetic: CodedTable,
    *,
    max_rows: int = DISCRIMINATOR_ROWS,
    rng: np.random.Generator | None = None,
) -> Discriminator | None:
    """Gradient boosting on codes, for tables that are codes alone. None: too few rows to tell."""
    same_columns(real, synthetic)
    rng = rng or np.random.default_rng(0)
    rows = min(max_rows, real.rows, synthetic.rows)
    sides = [side.sampled(rows, rng) for side in (real, synthetic)]
    given = []
    for name in real.domain:
        a, b = (side.column(name).astype(np.float64) for side in sides)
        given.append(Feature(name, a, b))
    return _progress_seen(given, "codes")


def discriminate_features(given: Sequence[Feature]) -> Discriminator | None:
    """The same on features that somebody else has made, equally many rows of both sides."""
    return _progress_seen(given, "codes")


def discriminate_raw(
    real: RawTable, synthetic: RawTable, *, max_rows: int = DISCRIMINATOR_ROWS, rng: np.random.Generator | None = None
) -> Discriminator | None:
    """Gradient boosting on values and what follows from them, with the features it tells them by."""
    rng = rng or np.random.default_rng(0)
    rows = min(max_rows, real.rows, synthetic.rows)
    return _progress_seen(features(real.sampled(rows, rng), synthetic.sampled(rows, rng)), "values")


def _progress_seen(given: Sequence[Feature], on: str) -> Discriminator | None:
    """Train on equally many rows of both sides; below chance counts as chance."""
    rows = len(given[0].real)
    if rows < 2 * FOLDS:
        return None
    score = need("sklearn.metrics").roc_auc_score
    x = np.stack([np.concatenate([f.real, f.synthetic]) for f in given], axis=1)
    y = np.repeat([0, 1], rows)
    labels = np.array([f.labels for f in given])
    splits = need("sklearn.model_selection").StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    folds = list(splits.split(x, y))
    chances = np.zeros(len(y))
    learner = None
    for train, test in folds:
        learner = _learner(labels).fit(x[train], y[train])
        chances[test] = learner.predict_proba(x[test])[:, 1]
    auroc = max(0.5, float(score(y, chances)))
    if auroc < 0.55 or on == "codes":
        return Discriminator(auroc, rows, (), on)
    test = folds[-1][1]
    return Discriminator(
        auroc, rows, _telling(given, x, y, learner, folds[-1], float(score(y[test], chances[test]))), on
    )


def _learner(labels: NDArray[np.bool_], **settings: int) -> Any:
    return need("sklearn.ensemble").HistGradientBoostingClassifier(
        random_state=0, early_stopping=False, categorical_features=labels if labels.any() else None, **settings
    )


def _telling(
    given: Sequence[Feature],
    x: FloatArray,
    y: IntArray,
    learner: Any,
    fold: tuple[IntArray, IntArray],
    reached: float,
) -> list[Telling]:
    """What the learner loses when a feature's values are shuffled, on rows it was not trained with."""
    score = need("sklearn.metrics").roc_auc_score
    train, test = fold
    rng = np.random.default_rng(0)
    losses = []
    for i in range(len(given)):
        shuffled = x[test].copy()
        shuffled[:, i] = rng.permutation(shuffled[:, i])
        losses.append(reached - float(score(y[test], learner.predict_proba(shuffled)[:, 1])))
    found = []
    for i in sorted(range(len(given)), key=lambda i: -losses[i])[:NAMED]:
        if losses[i] < LEAST:
            break
        one = _learner(np.array([given[i].labels]), max_iter=30).fit(x[train][:, [i]], y[train])
        alone = float(score(y[test], one.predict_proba(x[test][:, [i]])[:, 1]))
        found.append(Telling(given[i].name, losses[i], max(0.5, alone), _described(given[i])))
    return found


def _described(feature: Feature) -> str:
    """Both sides of a feature, for a reader."""
    if feature.labels:
        return "other shares of its values"
    sides = [quantiles(side[~np.isnan(side)]) for side in (feature.real, feature.synthetic)]
    if sides[0] is None or sides[1] is None:
        return "one side has no value"

    def range_of(ends: tuple[float, float, float]) -> str:
        low, middle, high = (day(v) if feature.unit == "date" else number(v) for v in ends)
        return f"{low} to {high}, half below {middle}"

    negative = [float(np.mean(side[~np.isnan(side)] < 0)) for side in (feature.real, feature.synthetic)]
    below = (
        f"; below zero {100 * negative[0]:.1f} % of people, {100 * negative[1]:.1f} % of doubles"
        if abs(negative[0] - negative[1]) > 0.005
        else ""
    )
    return f"people {range_of(sides[0])}; doubles {range_of(sides[1])}{below}"
