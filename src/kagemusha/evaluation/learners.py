"""The learning algorithms of the utility tables, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.evaluation.kernel_svm import CollapsedSVM
from kagemusha.extras import need

NAMES = ("tree", "svm", "xgboost", "logistic", "adaboost", "gbm")

USUAL = ("tree", "logistic", "xgboost")
"""Those that take seconds where columns have hundreds of categories; the others are there for tables of papers."""

IN_WORDS = {
    "tree": "decision tree",
    "svm": "SVM",
    "xgboost": "XGBoost",
    "logistic": "logistic regression",
    "adaboost": "AdaBoost",
    "gbm": "gradient boosting",
}
"""For regression, `logistic` is a linear (ridge) regression."""

LEARNER_ROWS = {"svm": 5_000, "gbm": 20_000, "adaboost": 20_000, "xgboost": 50_000}
"""Training rows an algorithm gets by default: the time of these grows faster than the rows, or slowly enough
to be the whole wait."""


ONE_TREE_PER_LABEL = ("gbm", "xgboost")
"""Boosting that grows a tree for every label, so that many labels leave time for fewer rows."""


def training_rows(name: str, caps: Mapping[str, int | None], labels: int) -> int | None:
    """How many rows an algorithm trains on; None for all."""
    most = caps.get(name)
    return most if most is None or name not in ONE_TREE_PER_LABEL else max(1000, 2 * most // max(2, labels))


def classifier(name: str, seed: int) -> Any:
    """A fresh classifier."""
    return _pick(name, _CLASSIFIERS)(seed)


def regressor(name: str, seed: int) -> Any:
    """A fresh regressor."""
    return _pick(name, _REGRESSORS)(seed)


def in_words(name: str, *, labels: bool) -> str:
    """How a table names it."""
    return "linear regression" if name == "logistic" and not labels else IN_WORDS[name]


def _pick(name: str, table: dict[str, Callable[[int], Any]]) -> Callable[[int], Any]:
    if name not in table:
        raise UsageError(f"model {name!r} is not one of {', '.join(table)}")
    return table[name]


@cache
def _on_sparse(kind: Any) -> Any:
    """A learner of xgboost that is given no zeros: of a thousand one-hot columns a row has a handful of ones."""
    from scipy.sparse import csr_matrix

    class Sparse(kind):  # type: ignore[misc]
        def fit(self, x: Any, y: Any, **how: Any) -> Any:
            """Train."""
            return super().fit(csr_matrix(x), y, **how)

        def predict(self, x: Any, **how: Any) -> Any:
            """Labels or numbers."""
            return super().predict(csr_matrix(x), **how)

        def predict_proba(self, x: Any, **how: Any) -> Any:
            """Chances of labels."""
            return super().predict_proba(csr_matrix(x), **how)

    return Sparse


_CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    # a tree grown to single rows learns the noise of the doubles by heart; leaves of about 50 in 30,000 do not
    "tree": lambda seed: need("sklearn.tree").DecisionTreeClassifier(random_state=seed, min_samples_leaf=0.0016),
    "svm": CollapsedSVM,
    "xgboost": lambda seed: _on_sparse(need("xgboost").XGBClassifier)(random_state=seed, n_jobs=1, tree_method="hist"),
    "logistic": lambda seed: need("sklearn.linear_model").LogisticRegression(max_iter=500, random_state=seed),
    "adaboost": lambda seed: need("sklearn.ensemble").AdaBoostClassifier(random_state=seed),
    "gbm": lambda seed: need("sklearn.ensemble").GradientBoostingClassifier(random_state=seed),
}

_REGRESSORS: dict[str, Callable[[int], Any]] = {
    "tree": lambda seed: need("sklearn.tree").DecisionTreeRegressor(random_state=seed, min_samples_leaf=5),
    "svm": lambda seed: need("sklearn.svm").SVR(),
    "xgboost": lambda seed: _on_sparse(need("xgboost").XGBRegressor)(random_state=seed, n_jobs=1, tree_method="hist"),
    "logistic": lambda seed: need("sklearn.linear_model").Ridge(random_state=seed),
    "adaboost": lambda seed: need("sklearn.ensemble").AdaBoostRegressor(random_state=seed),
    "gbm": lambda seed: need("sklearn.ensemble").GradientBoostingRegressor(random_state=seed),
}
