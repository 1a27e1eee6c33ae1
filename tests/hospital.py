"""A made hospital with rules that every visit obeys: whoever leaves out one of them gets doubles that break it."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pandas as pd

PLANTED = (
    "visit_date <= discharge_date",
    "diastolic <= systolic",
    "fee = treatment + board",
    "ward = 'Paediatrics' implies age <= 17",
    "ward = 'Maternity' implies sex = 'F' and pregnant = 'yes'",
    "never sex = 'M' and pregnant = 'yes'",
    "code in ('O80', 'O82') implies ward = 'Maternity'",
)


def hospital(rows: int = 3_000, seed: int = 0) -> pd.DataFrame:
    """Visits, a row each, of persons who have one or two of them."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["Medicine", "Surgery", "Maternity", "Paediatrics"], rows, p=[0.5, 0.25, 0.15, 0.1])
    birth, child = ward == "Maternity", ward == "Paediatrics"
    sex = np.where(birth, "F", rng.choice(["F", "M"], rows))
    age = np.where(
        child, rng.integers(0, 18, rows), np.where(birth, rng.integers(18, 45, rows), rng.integers(18, 90, rows))
    )
    pregnant = birth | ((sex == "F") & (age >= 18) & (age < 45) & (rng.random(rows) < 0.1))
    code = np.where(birth, rng.choice(["O80", "O82"], rows), rng.choice(["I10", "E11", "J45", "S72"], rows))
    visit = rng.integers(0, 365, rows)
    stay = rng.geometric(0.25, rows) - 1
    diastolic = rng.integers(50, 101, rows)
    treatment, board = rng.integers(1, 9, rows), rng.integers(0, 6, rows)
    day = date(2024, 1, 1)
    return pd.DataFrame(
        {
            "patient_id": [f"P{person:05d}" for person in rng.integers(0, rows // 2 * 3, rows)],
            "ward": ward,
            "code": code,
            "sex": sex,
            "age": age,
            "pregnant": np.where(pregnant, "yes", "no"),
            "visit_date": [str(day + timedelta(int(d))) for d in visit],
            "discharge_date": [str(day + timedelta(int(d))) for d in visit + stay],
            "systolic": diastolic + rng.integers(15, 70, rows),
            "diastolic": diastolic,
            "fee": treatment + board,
            "treatment": treatment,
            "board": board,
        }
    )
