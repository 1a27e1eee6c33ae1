"""The way to NIST's k-marginal score on its own extract, walked on a made table of the same shape."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ZOO = Path(__file__).parents[2] / "benchmarks" / "zoo"


@pytest.fixture
def nist(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ZOO))
    import nist

    yield nist
    for name in ("nist", "run", "tables", "made", "measures"):
        sys.modules.pop(name, None)


def extract(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Codes as text, N where a question does not apply, and columns that no demographic table has."""
    age = rng.integers(0, 100, rows)
    child = age < 16
    return pd.DataFrame(
        {
            "PUMA": rng.choice(["01-01301", "06-07502"], rows),
            "AGEP": age,
            "SEX": rng.integers(1, 3, rows),
            "MSP": np.where(child, "N", rng.integers(1, 7, rows).astype(str)),
            "RAC1P": rng.integers(1, 10, rows),
            "OWN_RENT": rng.integers(0, 3, rows),
            "DENSITY": rng.gamma(2, 1000, rows).round(1),
            "EDU": np.where(age < 3, "N", rng.integers(1, 13, rows).astype(str)),
            "PINCP_DECILE": np.where(child, "N", rng.integers(0, 10, rows).astype(str)),
            "POVPIP": np.where(rng.random(rows) < 0.1, "N", rng.integers(0, 502, rows).astype(str)),
            "WGTP": rng.integers(1, 200, rows),
        }
    )


def test_the_extract_becomes_codes_and_a_score(nist: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"national2019\.csv: no such file"):
        nist.national(tmp_path)
    frame = extract(400, np.random.default_rng(0))
    frame.to_csv(tmp_path / "national2019.csv", index=False)
    table = nist.national(tmp_path)
    assert table.codes.shape == (400, 9), "neither PUMA nor weights"
    assert table.ordered == [True, False, False, False, False, True, False, False, True]
    assert table.sizes[2] == 7, "N is a code"
    assert table.sizes[8] == 33, "32 bins and N"
    run = nist.once(table, "independent", 10.0, 0)
    assert 500 < nist.score(float(run["two"])) < 1000
