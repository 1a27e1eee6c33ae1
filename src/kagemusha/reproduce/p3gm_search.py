"""The trials behind the settings of `reproduce p3gm`: the same number for every method, on data that no page scores.

Tables: Bank, which is no table of the paper. Pictures: training pictures of MNIST, other ones of which judge. There are
fewer of them than on the page, so their budget is as much larger as they are fewer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.files import write_whole
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.reproduce.p3gm_data import DataSet, bank, load
from kagemusha.reproduce.p3gm_options import COARSE, NETWORKS, PICTURES, TABLE, trials, whole
from kagemusha.reproduce.p3gm_runs import doubles_of
from kagemusha.reproduce.p3gm_scores import image_scores, table_scores

SEARCH = "search.json"
ROWS, JUDGES = 8_000, 4_000
LATENT = {TABLE: 20, PICTURES: 20}
BUDGETS = {TABLE: Budget(1.0, 1e-5), PICTURES: Budget(60_000 / ROWS, 1e-5)}
METHODS = {TABLE: (*NETWORKS, "nigao", *COARSE), PICTURES: (*NETWORKS, "nigao")}


@dataclass(frozen=True)
class Trial:
    """One method with one of its settings."""

    kind: str
    method: str
    settings: Mapping[str, Any]
    score: float
    """AUROC of four classifiers, or an MLP's accuracy."""


def stand_in(kind: str) -> DataSet:
    """What settings are chosen on: ROWS to learn from, JUDGES to judge."""
    whole_of = bank() if kind == TABLE else load("mnist")
    order = np.random.default_rng(2020).permutation(len(whole_of.train))[: ROWS + JUDGES]
    train, test = whole_of.train[order[:ROWS]], whole_of.train[order[ROWS:]]
    schema, target, positive = whole_of.schema, whole_of.target, whole_of.positive
    return DataSet(whole_of.name, schema, target, positive, train, test)


def search(out: Path, progress: Progress = silent) -> list[Trial]:
    """Make every trial that is not stored, and store it."""
    found = stored(out)
    have = {(t.kind, t.method, json.dumps(dict(t.settings))) for t in found}
    jobs = [(k, m, dict(s)) for k, names in METHODS.items() for m in names for s in trials(m, k)]
    data: dict[str, DataSet] = {}
    for i, (kind, method, settings) in enumerate(jobs):
        if (kind, method, json.dumps(settings)) in have:
            continue
        progress(f"{kind}: {method}, {settings}", i / len(jobs))
        data[kind] = data.get(kind) or stand_in(kind)
        found.append(_tried(kind, data[kind], method, settings))
        write_whole(out / SEARCH, (json.dumps([asdict(t) for t in found], indent=1) + "\n").encode())
    return found


def _tried(kind: str, data: DataSet, method: str, settings: Mapping[str, Any]) -> Trial:
    options = whole(method, data.target, LATENT[kind], kind, settings)
    doubles, _ = doubles_of(data, method, 0, options, BUDGETS[kind], ROWS)
    if kind == TABLE:
        return Trial(kind, method, settings, table_scores(data, doubles, 0)["AUROC"])
    return Trial(kind, method, settings, image_scores(data, doubles, 0, epochs=4, cnn=False)["MLP"])


def stored(out: Path) -> list[Trial]:
    """The trials of a file, if there is one."""
    path = out / SEARCH
    return [Trial(**row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def best(tried: Sequence[Trial]) -> dict[str, dict[str, int]]:
    """Which trial of each method scored best, the first of equals; nigao is taken as it is by default."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in METHODS}
    for kind, names in METHODS.items():
        for method in (name for name in names if name != "nigao"):
            scores = {json.dumps(dict(t.settings)): t.score for t in tried if (t.kind, t.method) == (kind, method)}
            mine = [scores.get(json.dumps(dict(s)), -1.0) for s in trials(method, kind)]
            found[kind][method] = int(np.argmax(mine))
    return found
