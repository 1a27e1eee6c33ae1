"""How far generated rows are from the real ones, and what a learner makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

MOST_PAIRS, MOST_TRIPLES = 1000, 150
"""More are sampled, the same ones for every method."""
LARGEST = 1 << 21
"""Triples with more cells are left out: nearly every row would have a cell of its own."""


def subsets(sizes: Sequence[int], degree: int, most: int) -> list[tuple[int, ...]]:
    """All sets of so many columns, or a fixed sample of them."""
    rng = np.random.default_rng(degree)
    if comb(len(sizes), degree) <= 20 * most:
        found = list(combinations(range(len(sizes)), degree))
        found = [s for s in found if np.prod([sizes[i] for i in s], dtype=float) <= LARGEST]
        keep = sorted(rng.permutation(len(found))[:most])
        return [found[i] for i in keep]
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        s = tuple(sorted(rng.choice(len(sizes), degree, replace=False).tolist()))
        if np.prod([sizes[i] for i in s], dtype=float) <= LARGEST:
            drawn.add(s)
    return sorted(drawn)


def _share(codes: np.ndarray, subset: tuple[int, ...], sizes: Sequence[int]) -> np.ndarray:
    flat = codes[subset[0]].astype(np.int64)
    for i in subset[1:]:
        flat *= sizes[i]
        flat += codes[i]
    return np.bincount(flat, minlength=int(np.prod([sizes[i] for i in subset]))) / codes.shape[1]


def errors(real: np.ndarray, double: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Mean L1 distance over one-, two- and three-way tables."""
    one, two = (np.ascontiguousarray(codes.T) for codes in (real, double))
    found = []
    for degree, most in ((1, 10_000), (2, MOST_PAIRS), (3, MOST_TRIPLES)):
        chosen = subsets(sizes, degree, most)
        found.append(float(np.mean([np.abs(_share(one, s, sizes) - _share(two, s, sizes)).sum() for s in chosen])))
    return found


def auc(train: np.ndarray, test: np.ndarray, target: int, ordered: Sequence[bool]) -> float:
    """Area under the curve of boosted trees trained on generated rows, for the target's most frequent real code."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    rest = [i for i in range(train.shape[1]) if i != target]
    positive = np.bincount(test[:, target]).argmax()
    labels = train[:, target] == positive
    if labels.all() or not labels.any():
        return 0.5
    labelled = [not ordered[i] for i in rest]
    # labels with many codes are given as numbers: the learner takes at most 255 categories
    learner = HistGradientBoostingClassifier(categorical_features=labelled, random_state=0, max_iter=60)
    learner.fit(train[:, rest], labels)
    return float(roc_auc_score(test[:, target] == positive, learner.predict_proba(test[:, rest])[:, 1]))
