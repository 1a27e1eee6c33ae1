"""Shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real data sets; tests that need it are skipped without it."""
    where = os.environ.get("KAGEMUSHA_DATA")
    if not where or not (Path(where) / "adult.parquet").exists():
        pytest.skip("KAGEMUSHA_DATA does not name a folder with adult.parquet")
    return Path(where)
