"""Adult in three parts for the annotation paper: for synthesis, for the expert, and to test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.annotation.desk import Answers
from kagemusha.annotation.judges import RecordVectors, Trainer, prediction
from kagemusha.arrays import IntArray
from kagemusha.extras import need
from kagemusha.reproduce.paper_tables import data_folder
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources import open_source

SPLIT = (15081, 12065)
"""Rows for synthesis and for the expert; the rest is for testing."""

EDGES = {
    "age": (17, 22, 27, 32, 37, 42, 47, 52, 57, 62, 67, 91),
    "education-num": tuple(range(1, 18)),
    "capital-gain": (0, 1, 3000, 5000, 7000, 10000, 15000, 100001),
    "capital-loss": (0, 1, 1500, 1800, 2000, 2400, 4501),
    "hours-per-week": (1, 20, 30, 39, 41, 50, 60, 100),
}
"""Public bins."""

LABEL = "income"


@dataclass(frozen=True, eq=False)
class Split:
    """Adult in three parts."""

    schema: Schema
    """The explanatory columns."""
    whole: Schema
    """With the label."""
    codes: tuple[IntArray, IntArray, IntArray]
    labels: tuple[IntArray, IntArray, IntArray]
    expert: Any
    vectors: RecordVectors

    def teach(self, codes: IntArray) -> IntArray:
        """What the expert says."""
        return np.asarray(self.expert.predict(self.vectors(list(codes.T)).astype(np.float32)), dtype=np.int64)

    def accuracy(self, answers: Answers, trainer: Trainer, seed: int) -> float:
        """On the test rows, of a classifier trained on labelled records."""
        if len(np.unique(answers.labels)) < 2:
            return float((self.labels[2] == answers.labels[0]).mean())
        judge = trainer(
            self.vectors(list(answers.codes.T)), answers.labels, 2, np.random.default_rng([seed, len(answers)])
        )
        return float((prediction(judge.votes(self.vectors(list(self.codes[2].T)))) == self.labels[2]).mean())


def split(seed: int, without: Sequence[str] = ()) -> Split:
    """One split; runs are paired by it."""
    pandas = need("pandas")
    frame = pandas.read_parquet(data_folder() / "adult.parquet")
    frame = frame[frame["split"] == "train"].drop(columns=["split", "fnlwgt", *without]).dropna().reset_index(drop=True)
    columns: list[Any] = []
    for name in frame:
        if name in EDGES:
            columns.append(Integer(name, edges=EDGES[name]))
        elif name != LABEL:
            frame[name] = frame[name].astype(str)
            columns.append(Category(name, categories=tuple(sorted(frame[name].unique())), out_of_domain="clip"))
    schema = Schema(columns)
    label = Category(LABEL, categories=("<=50K", ">50K"), out_of_domain="clip")
    source = open_source(frame.drop(columns=LABEL), schema)
    codes = np.stack([column.astype(np.int64) for column in source.records()[0]], axis=1)
    labels = (frame[LABEL].astype(str) == ">50K").astype(np.int64).to_numpy()
    order = np.random.default_rng([11, seed]).permutation(len(codes))
    parts = np.split(order, [SPLIT[0], SPLIT[0] + SPLIT[1]])
    vectors = RecordVectors.of(schema)
    booster = need("xgboost").XGBClassifier(n_estimators=80, max_depth=5, learning_rate=0.2, n_jobs=1, random_state=0)
    expert = booster.fit(vectors(list(codes[parts[1]].T)).astype(np.float32), labels[parts[1]])
    return Split(
        schema,
        Schema([*columns, label]),
        (codes[parts[0]], codes[parts[1]], codes[parts[2]]),
        (labels[parts[0]], labels[parts[1]], labels[parts[2]]),
        expert,
        vectors,
    )
