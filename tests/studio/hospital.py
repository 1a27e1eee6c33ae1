"""A hospital's table, constructed: stays of patients, with names, codes, dates that follow each other, and gaps."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

CANARY = "CANARY-7f3a"
"""In a name, an identifier and a remark: values that no draft lists, and that must turn up nowhere."""

HEADER = (
    "patient_id", "name", "sex", "age", "admitted", "discharged", "ward", "diagnosis", "emergency", "weight",
    "insurance", "remark",
)  # fmt: skip
WARDS = ("Surgery", "Medicine", "Maternity", "Paediatrics", "Geriatrics")
CODES = tuple(f"{letter}{number:02}" for letter in "CEIJKO" for number in range(0, 40, 8))


def rows_of(count: int, seed: int = 0) -> list[tuple[str, ...]]:
    """So many stays."""
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(count):
        ward = WARDS[int(rng.choice(len(WARDS), p=[0.3, 0.35, 0.12, 0.1, 0.13]))]
        sex = "F" if ward == "Maternity" else "FM"[int(rng.integers(2))]
        ages = {"Maternity": (18, 44), "Paediatrics": (0, 17), "Geriatrics": (70, 101)}.get(ward, (18, 95))
        came = date(2023, 1, 1) + timedelta(days=int(rng.integers(0, 700)))
        left = came + timedelta(days=int(rng.geometric(0.25)) - 1)
        rows.append(
            (
                f"{CANARY}-P{at:06}", f"{CANARY} Person {at}", sex, str(int(rng.integers(*ages))), came.isoformat(),
                left.isoformat(), ward, CODES[int(rng.integers(len(CODES)))], "yes" if rng.random() < 0.4 else "no",
                "" if rng.random() < 0.05 else f"{np.clip(rng.normal(70, 15), 2, 180):.1f}",
                ("statutory", "supplementary", "uninsured")[int(rng.choice(3, p=[0.8, 0.15, 0.05]))],
                f"{CANARY} note {at}",
            )
        )  # fmt: skip
    return rows


def write_hospital(path: Path, count: int = 1500, seed: int = 0) -> Path:
    """The table as a CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows_of(count, seed)])
    return path
