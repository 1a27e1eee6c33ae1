"""A table of patients with a known relation, and gaps that depend on age."""

from __future__ import annotations

from typing import Any

import numpy as np


def make_table(rows: int, seed: int, strength: float = 0.8) -> Any:
    import pandas as pd

    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    age = np.clip(rng.normal(50, 18, rows), 0, 99).astype(int)
    bmi = np.clip(20 + 0.1 * age + rng.normal(0, 4, rows), 10, 60)
    bmi = np.where(rng.random(rows) < np.where(age > 60, 0.3, 0.02), np.nan, bmi)
    related = np.where(sex == "F", "a", "b")
    ward = np.where(rng.random(rows) < strength, related, rng.choice(["a", "b", "c"], rows))
    frame = pd.DataFrame({"sex": sex, "age": age, "bmi": bmi, "ward": ward})
    frame.loc[rng.random(rows) < 0.05, "ward"] = None
    return frame
