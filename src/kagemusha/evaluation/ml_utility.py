"""Train on synthetic, test on real: whether a model learned from the doubles is any good for people."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.evaluation.distances import positions
from kagemusha.evaluation.features import design_matrix, has_labels, known_target
from kagemusha.evaluation.learners import LEARNER_ROWS, NAMES, classifier, regressor, training_rows
from kagemusha.extras import need
from kagemusha.quality.projectable import CodedTable, require_column, same_columns

Scores = Mapping[str, float]
"""Name of a score → value: accuracy, auroc, auprc; or r2, mae, rmse."""


@dataclass(frozen=True)
class Utility:
    """Scores on real rows of every algorithm trained on either side.

    Training on real rows does not use the test rows. The doubles were made from the whole table, test rows included, so
    the score of real rows is a comparison and no ceiling.
    """

    target: str
    labels: bool
    """Whether the target is a label; else a number."""
    synthetic: Mapping[str, Scores]
    real: Mapping[str, Scores]
    """The same algorithms trained on real rows."""
    floor: Scores
    """Answering the same for everybody: the most frequent label, or the mean."""

    @property
    def headline(self) -> str:
        """The score to quote."""
        return "accuracy" if self.labels else "r2"


def utility(
    real: CodedTable,
    synthetic: CodedTable,
    target: str,
    *,
    models: Sequence[str] = NAMES,
    test_share: float = 0.3,
    max_rows: int = 50_000,
    rng: np.random.Generator | None = None,
) -> Utility:
    """Split the real rows, train on synthetic rows and on the real training part, test on the rest."""
    same_columns(real, synthetic)
    require_column(real.domain, target)
    rng = rng or np.random.default_rng(0)
    whole = known_target(real, target).sampled(max_rows, rng)
    if whole.rows < 4:
        raise UsageError(f"target {target!r}: at least four real rows with a value are needed")
    order = rng.permutation(whole.rows)
    held_out = max(1, min(whole.rows - 1, round(test_share * whole.rows)))
    test, train = whole.take(order[:held_out]), whole.take(order[held_out:])
    run = classify if has_labels(real, target) else regress
    return Utility(
        target,
        has_labels(real, target),
        synthetic=run(synthetic.sampled(max_rows, rng), test, target, models=models),
        real=run(train, test, target, models=models),
        floor=_floor(train, test, target),
    )


def classify(
    train: CodedTable,
    test: CodedTable,
    target: str,
    *,
    models: Sequence[str] = NAMES,
    rows: Mapping[str, int | None] = LEARNER_ROWS,
    seed: int = 0,
) -> dict[str, Scores]:
    """Accuracy, AUROC and AUPRC on `test` of each model trained on `train`.

    `rows` caps the training rows of some models. With more than two labels AUROC and AUPRC are means over the labels
    that occur in `test`, one against the rest. A training table with one label only gives that answer to everybody.
    """
    train, test = _prepare(train, test, target)
    first, same = _different(test, target)
    x_test, y_test = design_matrix(test.take(first), without=target), test.column(target).astype(np.int64)
    found: dict[str, Scores] = {}
    several = len(np.unique(train.column(target)))
    for name in models:
        part = train.sampled(training_rows(name, rows, several), np.random.default_rng(seed))
        y = part.column(target).astype(np.int64)
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) == 1:
            classifier(name, seed)
            ranking = np.ones((len(y_test), 1))
            predicted = np.full(len(y_test), labels[0])
        else:
            fitted = _fit(classifier(name, seed), design_matrix(part, without=target), codes)
            ranking = _ranking(fitted, x_test)[same]
            predicted = labels[np.asarray(fitted.predict(x_test)).astype(np.int64)][same]
        found[name] = classification_scores(y_test, predicted, ranking, labels)
    return found


def regress(
    train: CodedTable,
    test: CodedTable,
    target: str,
    *,
    models: Sequence[str] = NAMES,
    rows: Mapping[str, int | None] = LEARNER_ROWS,
    seed: int = 0,
) -> dict[str, Scores]:
    """R², mean absolute and root mean squared error on `test` of each model trained on `train`."""
    train, test = _prepare(train, test, target)
    x_test, y_test = design_matrix(test, without=target), _numbers(test, target)
    found: dict[str, Scores] = {}
    for name in models:
        part = train.sampled(rows.get(name), np.random.default_rng(seed))
        y = _numbers(part, target)
        # fitted on a standard scale: an SVM's margin is one unit wide
        centre, scale = float(y.mean()), float(y.std()) or 1.0
        fitted = _fit(regressor(name, seed), design_matrix(part, without=target), (y - centre) / scale)
        found[name] = regression_scores(y_test, centre + scale * np.asarray(fitted.predict(x_test), dtype=np.float64))
    return found


def classification_scores(truth: IntArray, predicted: IntArray, ranking: FloatArray, labels: IntArray) -> Scores:
    """Accuracy, and AUROC and AUPRC averaged over the labels in `truth` (over the second label if there are two).

    `ranking` has a column for each of `labels`; a label without one is ranked by chance.
    """
    metrics = need("sklearn.metrics")
    present = np.unique(truth)
    column = {int(label): i for i, label in enumerate(labels)}
    both = np.union1d(present, labels)
    positive = both[1:] if len(both) == 2 else present
    auroc, auprc = [], []
    for label in positive:
        is_label = truth == label
        score = ranking[:, column[int(label)]] if int(label) in column else np.zeros(len(truth))
        if is_label.all() or not is_label.any():
            auroc.append(0.5)
            auprc.append(float(is_label.mean()))
            continue
        auroc.append(float(metrics.roc_auc_score(is_label, score)))
        auprc.append(float(metrics.average_precision_score(is_label, score)))
    return {
        "accuracy": float(np.mean(truth == predicted)),
        "auroc": float(np.mean(auroc)),
        "auprc": float(np.mean(auprc)),
    }


def regression_scores(truth: FloatArray, predicted: FloatArray) -> Scores:
    """R² (0 where the truth is constant and missed), mean absolute and root mean squared error."""
    squared = float(((truth - predicted) ** 2).mean())
    spread = float(truth.var())
    r2 = 1 - squared / spread if spread > 0 else float(squared == 0)
    return {"r2": r2, "mae": float(np.abs(truth - predicted).mean()), "rmse": squared**0.5}


def _prepare(train: CodedTable, test: CodedTable, target: str) -> tuple[CodedTable, CodedTable]:
    same_columns(train, test)
    require_column(train.domain, target)
    if len(train.domain) < 2:
        raise UsageError(f"target {target!r}: there is no other column to learn from")
    return known_target(train, target), known_target(test, target)


def _different(table: CodedTable, target: str) -> tuple[IntArray, IntArray]:
    """The first row of each kind (rows that differ in the target alone get the same answer), and each row's kind."""
    codes = np.column_stack([table.column(name) for name in table.domain if name != target])
    _, first, same = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first, same.reshape(-1)


def _numbers(table: CodedTable, target: str) -> FloatArray:
    axis = table.modelled[target].axis
    if axis is None:
        raise UsageError(f"target {target!r} holds labels, not numbers; classify it instead")
    return positions(axis)[table.column(target)]


def _fit(model: Any, x: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        # noisy doubles often stop a solver at its iteration limit; the scores say whether that matters
        warnings.filterwarnings("ignore", category=need("sklearn.exceptions").ConvergenceWarning)
        return model.fit(x, y)


def _ranking(model: Any, x: Any) -> FloatArray:
    """For each label, how much every row looks like it."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(x), dtype=np.float64)
    decision = np.asarray(model.decision_function(x), dtype=np.float64)
    return np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision


def _floor(train: CodedTable, test: CodedTable, target: str) -> Scores:
    if not has_labels(train, target):
        guess = float(_numbers(train, target).mean())
        truth = _numbers(test, target)
        return regression_scores(truth, np.full(len(truth), guess))
    labels = train.column(target).astype(np.int64)
    most = int(np.bincount(labels).argmax())
    truth_labels = test.column(target).astype(np.int64)
    return classification_scores(
        truth_labels, np.full(len(truth_labels), most), np.ones((len(truth_labels), 1)), np.array([most])
    )
