"""What the page of the nation-sized table says follows from what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kagemusha.generators.generator import MAX_ROWS

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
TEXT = " ".join((RESULTS / "national.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((RESULTS / "national.json").read_text())["releases"]
    return found


def test_the_table_is_what_was_measured(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        cells = [run["rows"], run["columns"], run["Parquet MB"], run["CPU s"], run["peak MB"], run["planned MB"]]
        assert "| " + " | ".join(f"{cell:,}" for cell in cells) + " |" in TEXT
    assert all(run["peak MB"] <= 3000 for run in runs), "The limit of 3 GB holds"


def test_costs_per_row_and_column_follow(runs: list[dict[str, Any]]) -> None:
    _, narrow, half, whole = runs
    row = (whole["CPU s"] - half["CPU s"]) / (whole["rows"] - half["rows"]) * 1e6
    column = (half["CPU s"] - narrow["CPU s"]) / (half["columns"] - narrow["columns"])
    said = (
        f"A row more costs {row:.1f} µs (60 columns, between the last two lines), {row / 60:.2f} µs per value; a "
        f"column more {column:.2f} s at 5.5 million rows, {column / narrow['rows'] * 1e6:.1f} µs per value."
    )
    assert said in TEXT
    times, memory = whole["CPU s"] / half["CPU s"], whole["peak MB"] / half["peak MB"]
    assert f"took {times:.1f} times the processor time and {memory:.2f} times the memory" in TEXT
    assert f"by {100 * (whole['peak MB'] / whole['planned MB'] - 1):.1f} % in the largest table" in TEXT
    assert f"the largest release was {whole['s'] / 60:.0f} minutes" in TEXT
    minutes = (half["CPU s"] + row * 1e-6 * (1e9 - half["rows"])) / 60
    assert "about 80 minutes" in TEXT
    assert minutes == pytest.approx(80, abs=5)
    assert "10⁹ rows are the most that `synth` writes" in TEXT
    assert MAX_ROWS == 10**9
