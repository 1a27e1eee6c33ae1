"""Tables in three parts for the annotation paper: for synthesis, for the expert, and to test on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.annotation.desk import Answers
from kagemusha.annotation.judges import RecordVectors, Trainer, prediction
from kagemusha.arrays import IntArray
from kagemusha.extras import need
from kagemusha.reproduce.paper_tables import data_folder
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.sources import open_source

SPLIT = (15081, 12065)
"""Rows of Adult for synthesis and for the expert; the rest is for testing. Other tables are split in these shares."""

LABEL = "income"


@dataclass(frozen=True)
class Task:
    """What experts say of a table's records."""

    file: str
    label: str
    names: Mapping[str, str]
    """The class of every value of the label; classes are in the order of their first values."""
    edges: Mapping[str, tuple[float, ...]]
    """Public bins of numbers."""
    without: tuple[str, ...] = ()
    """Columns that would give the label away, or are left out by the paper."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(dict.fromkeys(self.names.values()))


_ADULT: Mapping[str, tuple[float, ...]] = {
    "age": (17, 22, 27, 32, 37, 42, 47, 52, 57, 62, 67, 91),
    "education-num": tuple(range(1, 18)),
    "capital-gain": (0, 1, 3000, 5000, 7000, 10000, 15000, 100001),
    "capital-loss": (0, 1, 1500, 1800, 2000, 2400, 4501),
    "hours-per-week": (1, 20, 30, 39, 41, 50, 60, 100),
}
_BANK: Mapping[str, tuple[float, ...]] = {
    "age": (17, 25, 30, 35, 40, 45, 50, 55, 60, 99),
    "campaign": (1, 2, 3, 4, 6, 57),
    "pdays": (0, 999, 1000),
    "previous": (0, 1, 2, 8),
    "emp.var.rate": (-3.5, -2.5, -1.0, 0.0, 1.2, 1.5),
    "cons.price.idx": (92.0, 92.8, 93.2, 93.6, 94.0, 94.8),
    "cons.conf.idx": (-51.0, -46.0, -42.0, -38.0, -34.0, -26.0),
    "euribor3m": (0.6, 1.0, 1.5, 4.5, 4.9, 5.1),
    "nr.employed": (4960.0, 5050.0, 5110.0, 5200.0, 5230.0),
}
_MARRIED = dict.fromkeys(("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"), "married")
_FORMERLY = dict.fromkeys(("Divorced", "Separated", "Widowed"), "formerly")

TASKS = {
    LABEL: Task("adult", LABEL, {"<=50K": "<=50K", ">50K": ">50K"}, _ADULT, ("fnlwgt",)),
    "bank": Task("bank_additional_full", "y", {"no": "no", "yes": "yes"}, _BANK, ("duration",)),
    "marital": Task(
        "adult",
        "marital-status",
        {**_MARRIED, "Never-married": "never", **_FORMERLY},
        _ADULT,
        ("fnlwgt", "relationship"),
    ),
}
"""The paper's task, and two others: another table, and three classes."""


@dataclass(frozen=True, eq=False)
class Split:
    """A table in three parts."""

    schema: Schema
    """The explanatory columns."""
    whole: Schema
    """With the label."""
    codes: tuple[IntArray, IntArray, IntArray]
    labels: tuple[IntArray, IntArray, IntArray]
    expert: Any
    vectors: RecordVectors
    classes: int = 2

    def teach(self, codes: IntArray) -> IntArray:
        """What the expert says."""
        return np.asarray(self.expert.predict(self.vectors(list(codes.T)).astype(np.float32)), dtype=np.int64)

    def accuracy(self, answers: Answers, trainer: Trainer, seed: int) -> float:
        """On the test rows, of a classifier trained on labelled records."""
        if len(np.unique(answers.labels)) < 2:
            return float((self.labels[2] == answers.labels[0]).mean())
        judge = trainer(
            self.vectors(list(answers.codes.T)),
            answers.labels,
            self.classes,
            np.random.default_rng([seed, len(answers)]),
        )
        return float((prediction(judge.votes(self.vectors(list(self.codes[2].T)))) == self.labels[2]).mean())


def split(seed: int, without: Sequence[str] = (), task: str = LABEL) -> Split:
    """One split; runs are paired by it."""
    asked = TASKS[task]
    frame = need("pandas").read_parquet(data_folder() / f"{asked.file}.parquet")
    if "split" in frame:
        frame = frame[frame["split"] == "train"].drop(columns="split")
    frame = frame.drop(columns=[*asked.without, *without]).dropna().reset_index(drop=True)
    columns: list[Any] = []
    for name in frame:
        if name in asked.edges:
            columns.append(_number(name, asked.edges[name]))
        elif name != asked.label:
            frame[name] = frame[name].astype(str)
            columns.append(Category(name, categories=tuple(sorted(frame[name].unique())), out_of_domain="clip"))
    schema = Schema(columns)
    label = Category(asked.label, categories=asked.classes, out_of_domain="clip")
    source = open_source(frame.drop(columns=asked.label), schema)
    codes = np.stack([column.astype(np.int64) for column in source.records()[0]], axis=1)
    given = [asked.classes.index(asked.names[text]) for text in frame[asked.label].astype(str)]
    labels = np.array(given, dtype=np.int64)
    order = np.random.default_rng([11, seed]).permutation(len(codes))
    shares = np.cumsum(SPLIT) / 30_162
    parts = np.split(order, [round(share * len(codes)) for share in shares])
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
        len(asked.classes),
    )


def _number(name: str, edges: tuple[float, ...]) -> Integer | Real:
    whole = all(float(edge).is_integer() for edge in edges)
    return Integer(name, edges=tuple(int(edge) for edge in edges)) if whole else Real(name, edges=edges)
