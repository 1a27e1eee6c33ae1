"""How well models trained on doubles do on people: four classifiers for tables, two networks for pictures."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes
from kagemusha.extras import need
from kagemusha.neural.networks import need_torch
from kagemusha.reproduce.p3gm_data import DataSet
from kagemusha.schema.features import STEPS, features_of

CLASSIFIERS = ("LR", "AdaBoost", "GBM", "XGBoost")
SCORED_ROWS = 60_000
"""Rows a classifier is trained on at most."""

NEIGHBOURS, COVERED = 5, 1500
"""People that a neighbourhood holds; people and doubles that are compared."""

Scores = dict[str, float]


def classifier(name: str, seed: int) -> Any:
    """The paper's four, with the settings of its authors' code where it has any."""
    if name == "LR":
        return need("sklearn.linear_model").LogisticRegression(max_iter=300)
    if name == "AdaBoost":
        return need("sklearn.ensemble").AdaBoostClassifier(random_state=seed)
    if name == "GBM":
        return need("sklearn.ensemble").GradientBoostingClassifier(
            max_features="sqrt", min_samples_leaf=50, min_samples_split=200, max_depth=8, random_state=seed
        )
    return need("xgboost").XGBClassifier(random_state=seed, n_jobs=1, tree_method="hist")


def features(data: DataSet, codes: Codes) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The columns as numbers, and the target."""
    domain = data.schema.domain
    parts = [
        (f.table / STEPS).astype(np.float32)[codes[:, domain.axis(f.name)]]
        for f in features_of(data.schema)
        if f.name != data.target
    ]
    return np.hstack(parts), codes[:, domain.axis(data.target)].astype(np.int64)


def table_scores(data: DataSet, doubles: Codes, seed: int = 0) -> Scores:
    """AUROC and AUPRC on held-out people of each classifier trained on doubles, and their means."""
    metrics = need("sklearn.metrics")
    x, y = features(data, doubles[:SCORED_ROWS])
    test, truth = features(data, data.test)
    mine, true = (y == data.positive).astype(int), (truth == data.positive).astype(int)
    found: Scores = {}
    for name in CLASSIFIERS:
        if 0 < mine.sum() < len(mine):
            with (
                warnings.catch_warnings()
            ):  # 300 steps are the setting; that they did not suffice is no news to a reader
                warnings.simplefilter("ignore", need("sklearn.exceptions").ConvergenceWarning)
                model = classifier(name, seed).fit(x, mine)
            chance = model.predict_proba(test)[:, 1]
        else:
            chance = np.full(len(true), 0.5)  # doubles of one class teach nothing
        found[f"{name} AUROC"] = float(metrics.roc_auc_score(true, chance))
        found[f"{name} AUPRC"] = float(metrics.average_precision_score(true, chance))
    for measure in ("AUROC", "AUPRC"):
        found[measure] = float(np.mean([found[f"{name} {measure}"] for name in CLASSIFIERS]))
    return found


def coverage(data: DataSet, doubles: Codes) -> float:
    """How much of the kinds of people doubles show: the share of held-out people with a double in their neighbourhood.

    A person's neighbourhood reaches to the NEIGHBOURS-th nearest other person (Naeem et al. 2020); the target counts as
    a column, each class as far from each other as the features are wide. As many doubles as people, at most COVERED.
    """
    near = need("sklearn.neighbors").NearestNeighbors
    count = min(COVERED, len(data.test), len(doubles))
    real, drawn = (_with_class(data, codes[:count]) for codes in (data.test, doubles))
    reach = near(n_neighbors=NEIGHBOURS + 1).fit(real).kneighbors(real)[0][:, -1]
    return float((near(n_neighbors=1).fit(drawn).kneighbors(real)[0][:, 0] <= reach).mean())


def _with_class(data: DataSet, codes: Codes) -> NDArray[np.float32]:
    x, y = features(data, codes)
    size = data.schema.domain.size(data.target)
    return np.hstack([x, np.sqrt(x.shape[1]) * np.eye(size, dtype=np.float32)[y]])


def image_scores(data: DataSet, doubles: Codes, seed: int = 0, *, epochs: int = 3, cnn: bool = True) -> Scores:
    """Accuracy on the official test pictures of an MLP and of the paper's CNN, after the last epoch."""
    found = {"MLP": _trained(data, doubles, seed, epochs, "MLP")}
    if cnn:
        found["CNN"] = _trained(data, doubles, seed, epochs, "CNN")
    return found


def _trained(data: DataSet, doubles: Codes, seed: int, epochs: int, kind: str) -> float:
    torch = need_torch()
    nn = torch.nn
    x, y = features(data, doubles[:SCORED_ROWS])
    test, truth = features(data, data.test)
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    if kind == "MLP":
        model = nn.Sequential(nn.Linear(x.shape[1], 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    else:
        model = nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)),
            nn.Conv2d(1, 28, 3),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(28 * 13 * 13, 128),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(128, 10),
        )
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs, labels = torch.from_numpy(x), torch.from_numpy(y)
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs), generator=generator).split(64):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            optimiser.step()
    model.eval()
    with torch.no_grad():
        given = torch.cat([model(part) for part in torch.from_numpy(test).split(1000)])
    return float((given.argmax(dim=1).numpy() == truth).mean())
