"""Distances and guesses against SDMetrics' where both mean the same.

Anonymeter needs numpy < 2: see benchmarks/attack_agreement.py. SDMetrics adds up mismatches of labels and differences
of numbers over their range; we take Euclidean distances. With labels and a single number both put rows in the same
order, and each figure follows from the other: 2·mismatches + difference² against mismatches + difference.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kagemusha.attacks.attribute import vote
from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.inference.distance import MeanDistance
from kagemusha.attacks.inference.protocol import Scene
from kagemusha.attacks.table import GameTable, PlayedDoubles
from kagemusha.attacks.targets import Target
from kagemusha.schema import Category, Integer, Schema

LABELS = ("a", "b", "c", "d")
SCHEMA = Schema(
    [
        *(Category(n, categories=tuple("vwxyz"), out_of_domain="clip") for n in LABELS),
        Integer("n", lower=0, upper=9999),
        Category("secret", categories=("no", "yes"), out_of_domain="clip"),
    ]
)


def rows(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([*(rng.integers(0, 5, count) for _ in LABELS), rng.integers(0, 10_000, count)])
    codes[:2, 4] = (0, 9999)  # both tables have the same range
    return np.column_stack([codes, rng.integers(0, 2, count)]).astype(np.int32)


def frame(codes: np.ndarray) -> pd.DataFrame:
    made = {n: np.array(list("vwxyz"))[codes[:, i]].astype(object) for i, n in enumerate(LABELS)}
    return pd.DataFrame({**made, "n": codes[:, 4], "secret": np.array(["no", "yes"], dtype=object)[codes[:, 5]]})


def test_closest_record_is_sdmetrics_dcr() -> None:
    from sdmetrics.single_table.privacy.dcr_utils import calculate_dcr

    real, doubles = rows(60, 0), rows(300, 1)
    kinds = {n: {"sdtype": "numerical" if n == "n" else "categorical"} for n in (*LABELS, "n", "secret")}
    theirs = calculate_dcr(frame(real), frame(doubles), {"columns": kinds})
    table = GameTable(SCHEMA, real)
    for i, row in enumerate(real):
        scene = Scene(table, Target("one", (tuple(int(v) for v in row),), (i,)), Space("onehot", "minmax"))
        squared = float(MeanDistance(1).measure(PlayedDoubles(codes=doubles), scene)[0]) ** 2
        mismatches = int((squared + 1e-9) // 2)
        gower = mismatches + np.sqrt(max(0.0, squared - 2 * mismatches))
        assert gower / 6 == pytest.approx(theirs.iloc[i], abs=1e-7)


@pytest.mark.filterwarnings("ignore:A column-vector y", "ignore:X does not have valid feature names")  # theirs
def test_guessing_by_nearest_doubles_is_sdmetrics_categorical_knn() -> None:
    """Every target's known columns occur in five doubles, so the five nearest are the same whatever ties."""
    from sdmetrics.single_table import CategoricalKNN

    rng = np.random.default_rng(2)
    real = rows(40, 3)
    real = real[np.unique(real[:, :4], axis=0, return_index=True)[1]]
    doubles = np.repeat(real, 5, axis=0)
    doubles[:, 5] = rng.integers(0, 2, len(doubles))
    theirs = CategoricalKNN.compute(frame(real), frame(doubles), key_fields=list(LABELS), sensitive_fields=["secret"])
    lens = Lens(Space("onehot", "raw", ("n", "secret")), GameTable(SCHEMA, real))
    ours = vote(PlayedDoubles(codes=doubles), real, lens, 5, nearest=5)
    assert (ours == real[:, 5]).mean() == pytest.approx(1 - theirs)
    assert 0.2 < theirs < 0.8
