"""Nigao against the plainest thing that could be done: noisy class means, on tables and pictures large and small.

    python benchmarks/nigao_floor.py --runs 5

Class means: of each class a count, the sum of each feature and of its square, one Gaussian noise on all of it for the
whole budget; doubles are normal, feature by feature. No tuning, no clipping, bounds as declared. (ε, δ) = (1, 1e-5),
simulated noise. A score is the mean of logistic regression and a forest, trained on doubles and judged on people kept
apart: accuracy, or AUROC for two classes. Runs differ in split and noise, and are paired.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn import datasets as toys
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from kagemusha.privacy.accountants.gdp import gdp_mu
from kagemusha.reproduce.claims import interval
from kagemusha.reproduce.p3gm_data import DataSet, bank, load
from kagemusha.reproduce.p3gm_runs import BUDGET, coarse, coded, fine
from kagemusha.reproduce.p3gm_scores import features
from kagemusha.reproduce.tables import markdown_table
from kagemusha.schema import Category, Real, Schema
from kagemusha.synthesizers import create, fit

HERE = Path(__file__).parent
MOST = 5_000
"""Doubles that a judge learns from, and people it judges."""

KAGE_BINS = 16
KAGE_COLUMNS = 200


def table(name: str, values: np.ndarray, labels: np.ndarray, low: np.ndarray, high: np.ndarray, bins: int) -> DataSet:
    """Numbers between public bounds, and a label."""
    edges = list(zip(low.tolist(), high.tolist(), strict=True))
    columns = [Real(f"x{i}", lower=a, upper=b, bins=bins) for i, (a, b) in enumerate(edges)]
    classes = tuple(str(c) for c in range(int(labels.max()) + 1))
    cut = np.clip(np.floor((values - low) / (high - low) * bins), 0, bins - 1).astype(np.int64)
    codes = np.column_stack([cut, labels.astype(np.int64)])
    schema = Schema([*columns, Category("label", categories=classes, out_of_domain="clip")])
    return DataSet(name, schema, "label", 1 if len(classes) == 2 else None, codes, codes[:0])


def rounded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds to one digit, taken as public."""
    size = 10.0 ** np.floor(np.log10(np.maximum(np.abs(values).max(axis=0), 1e-6)))
    low, high = np.floor(values.min(axis=0) / size) * size, np.ceil(values.max(axis=0) / size) * size
    return low, np.where(high > low, high, low + size)


def toy(name: str) -> DataSet:
    """A table of scikit-learn's."""
    found = {
        "digits": toys.load_digits,
        "cancer": toys.load_breast_cancer,
        "wine": toys.load_wine,
        "iris": toys.load_iris,
    }
    values, labels = found[name](return_X_y=True)
    if name == "digits":
        return table(name, values, labels, np.full(64, -0.5), np.full(64, 16.5), 17)
    return table(name, values, labels, *rounded(values), 32)


def made(rows: int) -> DataSet:
    """26 letters of 16 numbers each, two humps a letter: a constructed table."""
    values, labels = toys.make_classification(
        rows, 16, n_informative=12, n_redundant=4, n_classes=26, n_clusters_per_class=2, class_sep=2.0, random_state=4
    )
    return table(f"letters {rows:,}", values, labels, np.full(16, -16.0), np.full(16, 16.0), 32)


def part(name: str, rows: int) -> DataSet:
    """The first people of a data set of the P3GM page, in an order of its own."""
    data = load(name)
    codes = np.concatenate([data.train, data.test])
    order = np.random.default_rng(5).permutation(len(codes))[: rows or len(codes)]
    return replace(data, name=f"{name} {rows:,}" if rows else name, train=codes[order], test=codes[:0])


DATA: Mapping[str, Callable[[], DataSet]] = {
    "iris": lambda: toy("iris"),
    "wine": lambda: toy("wine"),
    "cancer": lambda: toy("cancer"),
    "digits": lambda: toy("digits"),
    "letters 1,500": lambda: made(1_500),
    "letters 12,000": lambda: made(12_000),
    "mnist 2,000": lambda: part("mnist", 2_000),
    "mnist 10,000": lambda: part("mnist", 10_000),
    "fashion 2,000": lambda: part("fashion", 2_000),
    "fashion 10,000": lambda: part("fashion", 10_000),
    "isolet 1,500": lambda: part("isolet", 1_500),
    "isolet": lambda: part("isolet", 0),
    "esr 1,500": lambda: part("esr", 1_500),
    "esr": lambda: part("esr", 0),
    "credit": lambda: part("credit", 0),
    "adult 2,000": lambda: part("adult", 2_000),
    "adult": lambda: part("adult", 0),
    "bank": bank,
}


def split(data: DataSet, seed: int) -> DataSet:
    """A sixth is kept to judge, at most MOST."""
    order = np.random.default_rng([11, seed]).permutation(len(data.train))
    kept = min(MOST, len(order) // 6)
    return replace(data, train=data.train[order[kept:]], test=data.train[order[:kept]])


def class_means(data: DataSet, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of doubles."""
    x, y = features(data, data.train)
    x = np.clip(x.astype(float), -1, 1)
    size, width = data.schema.domain.size(data.target), x.shape[1]
    rng = np.random.default_rng([12, seed])
    sigma = math.sqrt(1 + 2 * width) / gdp_mu(BUDGET.epsilon, BUDGET.delta)
    own = np.eye(size)[y].T
    counts, sums, squares = (s + rng.normal(0, sigma, s.shape) for s in (own.sum(axis=1), own @ x, own @ x**2))
    counts = np.maximum(counts, 1.0)
    means = np.clip(sums / counts[:, None], -1, 1)
    spread = np.sqrt(np.clip(squares / counts[:, None] - means**2, 1e-4, 1.0))
    drawn = rng.choice(size, min(MOST, len(data.train)), p=counts / counts.sum())
    return means[drawn] + spread[drawn] * rng.normal(size=(len(drawn), width)), drawn


def by_method(data: DataSet, method: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of a synthesizer's doubles."""
    rows = min(MOST, len(data.train))
    if method == "class means":
        return class_means(data, seed)
    if method == "kage":
        schema, codes = coarse(data, KAGE_BINS)
        model = fit(create("kage", target=data.target), coded(schema, codes), BUDGET, simulation=seed)
        return features(data, fine(data, schema, model.sample_codes(rows, rng=np.random.default_rng(seed))))
    model = fit(create(method, target=data.target), data.source(), BUDGET, simulation=seed)
    return features(data, model.sample_codes(rows, rng=np.random.default_rng(seed)))


def score(data: DataSet, doubles: tuple[np.ndarray, np.ndarray], seed: int) -> float:
    """Accuracy, or AUROC for two classes."""
    (x, y), (test, truth) = doubles, features(data, data.test)
    if len(set(y.tolist())) < 2:
        return 0.5 if data.positive is not None else float((truth == y[0]).mean())
    found = []
    for judge in (LogisticRegression(max_iter=200), RandomForestClassifier(60, min_samples_leaf=3, random_state=seed)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            judge.fit(x, y)
        if data.positive is None:
            found.append(float((judge.predict(test) == truth).mean()))
        else:
            chance = judge.predict_proba(test)[:, list(judge.classes_).index(data.positive)]
            found.append(float(roc_auc_score(truth == data.positive, chance)))
    return float(np.mean(found))


def main() -> None:
    """Run what is not stored yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--methods", nargs="*", default=["class means", "nigao", "kage"])
    parser.add_argument("--fresh", nargs="*", default=[], help="methods that are run again")
    parser.add_argument("--out", type=Path, default=HERE / "results/nigao_floor")
    choices = parser.parse_args()
    path = choices.out.parent / f"{choices.out.name}.json"
    stored: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    stored = {key: value for key, value in stored.items() if key.split("|")[1] not in choices.fresh}
    for name in choices.data:
        whole = DATA[name]()
        for seed in range(choices.runs):
            data = split(whole, seed)
            for method in choices.methods:
                key = f"{name}|{method}|{seed}"
                too_wide = method == "kage" and len(data.schema.domain) > KAGE_COLUMNS
                if key in stored or too_wide:
                    continue
                stored[key] = score(data, by_method(data, method, seed), seed)
                path.write_text(json.dumps(stored, indent=0, sort_keys=True) + "\n")
        line = {
            m: [stored[k] for s in range(choices.runs) if (k := f"{name}|{m}|{s}") in stored] for m in choices.methods
        }
        sys.stdout.write(name + "  " + "  ".join(f"{m} {np.mean(v):.3f}" for m, v in line.items() if v) + "\n")
        sys.stdout.flush()
    (choices.out.parent / f"{choices.out.name}.md").write_text(page(stored))


def page(stored: Mapping[str, float]) -> str:
    """The table of what is stored."""
    rows = []
    for name, load_it in DATA.items():
        by = {
            m: {k.split("|")[2]: v for k, v in stored.items() if k.startswith(f"{name}|{m}|")}
            for m in ("class means", "nigao", "kage")
        }
        if not by["nigao"]:
            continue
        apart = np.array([v - by["class means"][s] for s, v in sorted(by["nigao"].items())])
        data = load_it()
        what = "AUROC" if data.positive is not None else "accuracy"
        shown = [f"{np.mean(list(v.values())):.3f}" if v else "–" for v in by.values()]
        rows.append([name, f"{len(data.train):,} × {len(data.schema.domain) - 1}", what, *shown, str(interval(apart))])
    head = [
        "data",
        "people × columns",
        "score",
        "class means",
        "nigao",
        "kage, 16 bins",
        "nigao less class means (95 %)",
    ]
    about = " ".join((__doc__ or "").split("    python benchmarks/nigao_floor.py --runs 5")[1].split())
    title = "# Nigao and noisy class means\n\n`python benchmarks/nigao_floor.py`. "
    return f"{title}{about}\n\n{markdown_table(head, rows)}\n"


if __name__ == "__main__":
    main()
