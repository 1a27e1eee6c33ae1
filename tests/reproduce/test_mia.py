"""The attack paper's reproduction.

On a small made table it runs whole, goes on where it was, and its claims can fail.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kagemusha.attacks.table import GameTable
from kagemusha.reproduce import mia, mia_games, mia_quality, mia_report
from kagemusha.reproduce.mia_claims import claims
from kagemusha.schema import Category, Integer, Schema


def small() -> mia_games.Adult:
    rng = np.random.default_rng(0)
    labels = {"job": 4, "land": 5, "income": 2}
    schema = Schema(
        [
            Integer("age", lower=17, upper=60),
            Integer("fnlwgt", lower=0, upper=99),
            *(Category(n, categories=tuple(map(str, range(s))), out_of_domain="clip") for n, s in labels.items()),
        ]
    )
    codes = np.column_stack([rng.integers(0, s, 150) for s in (44, 100, 4, 4, 2)])
    codes[3, 3] = 4
    return mia_games.prepared(GameTable(schema, codes.astype(np.int32)))


@pytest.mark.slow
def test_everything_is_written_and_a_second_run_takes_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mia_games, "QUICK", replace(mia.QUICK, counts=(1, 4)))
    monkeypatch.setattr(mia, "QUICK", replace(mia.QUICK, counts=(1, 4)))
    few = (*mia_games.SPACES[:1], mia_games.ONEHOT)
    monkeypatch.setattr(mia, "SPACES", few)
    monkeypatch.setattr(mia_report, "SPACES", few)
    monkeypatch.setattr(mia_quality, "TABLE_4", {"tree": {}})
    monkeypatch.setattr(mia_report.paper, "TABLE_4", {"tree": {}})
    told: list[float] = []
    pytest.importorskip("torch")
    report = mia.reproduce(tmp_path, quick=True, epochs=1, data=small(), progress=lambda _, done: told.append(done))
    assert told == sorted(told)
    assert len(report.claims) == 12
    for name in ("report.md", "cells.csv", "figure-3.svg", "table-5.svg"):
        assert (tmp_path / name).stat().st_size > 300, name
    first = (tmp_path / "cells.csv").read_bytes()
    kept = {p: p.stat().st_mtime_ns for p in tmp_path.glob("plays-quick/*/units/*.npz")}
    assert "trained for 1 epochs" in report.text
    assert not any("without CTGAN" in claim.found for claim in report.claims)
    again = mia.reproduce(tmp_path, quick=True, epochs=1, data=small())
    assert (tmp_path / "cells.csv").read_bytes() == first
    assert all(p.stat().st_mtime_ns == at for p, at in kept.items())
    # claims can fail: these are judged by accuracies turned upside down
    worse = {q.name: replace(q, accuracy={k: 1 - v for k, v in q.accuracy.items()}) for q in again.results.quality}
    turned = replace(again.results, quality=tuple(worse.values()))
    assert claims(turned)[7].verdict != report.claims[7].verdict or not report.claims[7].holds
