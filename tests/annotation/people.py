"""A small table, a store with questions, and somebody who answers them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from kagemusha.annotation.loop import Annotated
from kagemusha.annotation.project import Project, open_project
from kagemusha.annotation.store import Store
from kagemusha.arrays import IntArray
from kagemusha.schema import Category, Integer, Schema

SCHEMA = Schema(
    [
        Integer("age", lower=0, upper=99, bins=10),
        Category("ward", categories=("a", "b", "<script>alert(1)</script>"), out_of_domain="clip"),
        Category("smokes", categories=("yes", "no"), out_of_domain="clip"),
    ]
)


def table(rows: int = 600, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    smokes = np.where(rng.random(rows) < 0.2 + 0.006 * age, "yes", "no")
    return pa.table({"age": age, "ward": rng.choice(["a", "b"], rows), "smokes": smokes})


def oracle(codes: IntArray) -> IntArray:
    """Old, or middle-aged and smoking."""
    return ((codes[:, 0] >= 7) | ((codes[:, 0] >= 4) & (codes[:, 2] == 0))).astype(np.int64)


def settings(**choices: object) -> Annotated:
    return Annotated(**{"labels": 30, "rounds": 3, "first": 8, "pool": 60, "judge": "forest", "batch": 3, **choices})  # type: ignore[arg-type]


def project(folder: Path, **choices: object) -> tuple[Project, Store]:
    made = Project("ill", ("no", "yes"), "Old people are ill.", 1.0, 1e-6, settings(**choices), 0.0)
    return made, open_project(folder, made)


def asked(folder: Path, records: int = 12, *, needed: int = 1) -> Store:
    """A store with a queue of questions."""
    _, store = project(folder, labels=10_000)
    shown = [
        [{"column": "age", "value": str(i), "unusual": i == 0}, {"column": "ward", "value": "=1+1", "unusual": False}]
        for i in range(records)
    ]
    store.begin(1, records, [([i, 0, 0], shown[i], False, needed) for i in range(records)])
    store.ask(1, list(range(records)))
    return store
