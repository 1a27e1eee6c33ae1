"""Patients and their visits, constructed: two files that belong together."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from .hospital import CANARY

PATIENTS = ("patient_id", "name", "sex", "birth_date")
VISITS = ("patient_id", "date", "ward", "stay")


def families_of(count: int, seed: int = 0) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """So many patients, and none to four visits of each."""
    rng = np.random.default_rng(seed)
    patients, visits = [], []
    for at in range(count):
        id, sex = f"{CANARY}-P{at:05}", "FM"[int(rng.integers(2))]
        born = date(1930, 1, 1) + timedelta(days=int(rng.integers(0, 32_000)))
        patients.append((id, f"{CANARY} Person {at}", sex, born.isoformat()))
        day = date(2020, 1, 1) + timedelta(days=int(rng.integers(0, 300)))
        for _ in range(int(rng.integers(0, 5))):
            ward = ("Surgery", "Medicine", "Maternity" if sex == "F" else "Medicine")[int(rng.integers(3))]
            visits.append((id, day.isoformat(), ward, str(int(rng.integers(0, 20)))))
            day += timedelta(days=int(rng.integers(1, 90)))
    return patients, visits


def write_families(folder: Path, count: int = 400, seed: int = 0) -> Path:
    """patients.csv and visits.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, header, rows in zip(("patients", "visits"), (PATIENTS, VISITS), families_of(count, seed), strict=True):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    return folder
