"""A small private table for the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

SCHEMA = """version = 1
[columns.id]
kind = "drop"
[columns.sex]
kind = "category"
categories = ["F", "M"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
[columns.seen]
kind = "date"
lower = 2020-01-01
upper = 2024-12-31
bins = 5
format = "%d/%m/%Y"
missing = true
"""


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """A small private table and its schema; every row carries a canary that must never show up anywhere."""
    rng = np.random.default_rng(0)
    lines = ["id,sex,age,seen"]
    for i in range(300):
        day = f"{rng.integers(1, 28):02d}/{rng.integers(1, 13):02d}/{rng.integers(2020, 2025)}" if i % 7 else ""
        lines.append(f"CANARY{i:05d},{rng.choice(['F', 'M'])},{rng.integers(0, 100)},{day}")
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "patients.toml").write_text(SCHEMA)
    return path
