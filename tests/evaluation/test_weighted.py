"""Evaluation by survey weight: a brute-force twin, and a report that shows what unweighted counts hide."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kagemusha.evaluation.evaluate import Evaluation, evaluate
from kagemusha.evaluation.report import render
from kagemusha.evaluation.summary import figures, sentences
from kagemusha.evaluation.tables import read_table
from kagemusha.evaluation.weighted import weights_of
from kagemusha.schema import Category, Integer, Real, Schema, Weight

SCHEMA = Schema(
    [
        Category("region", categories=("north", "south", "east")),
        Category("sex", categories=("F", "M")),
        Integer("age", lower=0, upper=99, bins=5),
        Real("w", lower=0.0, upper=50.0, bins=5, missing=True),
    ],
    weight=Weight("w", missing=1.0),
)


def survey(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east"], rows, p=[0.2, 0.3, 0.5])
    weight = np.where(region == "north", rng.uniform(20, 60, rows), rng.uniform(1, 5, rows)).round(2)
    weight[rng.random(rows) < 0.05] = np.nan
    return pd.DataFrame(
        {"region": region, "sex": rng.choice(["F", "M"], rows), "age": rng.integers(0, 100, rows), "w": weight}
    )


def compared(real: pd.DataFrame, synthetic: pd.DataFrame, **options: object) -> Evaluation:
    return evaluate(real, synthetic, SCHEMA, learning=False, kmax=2, **options)  # type: ignore[arg-type]


def shares(frame: pd.DataFrame, columns: tuple[str, ...]) -> pd.Series:
    coded = frame.assign(age=np.minimum(frame.age // 20, 4), w=frame.w.fillna(1.0))
    sums = coded.groupby(list(columns)).w.sum()
    return sums / sums.sum()


def test_errors_by_weight_are_those_of_a_group_by() -> None:
    real, synthetic = survey(700, 1), survey(900, 2)
    found = compared(real, synthetic).weighted
    assert found is not None
    assert found.two_way is not None
    for errors, k in ((found.one_way, 1), (found.two_way, 2)):
        assert list(errors.cliques) == list(combinations(("region", "sex", "age"), k))
        for clique, error in zip(errors.cliques, errors.errors, strict=True):
            p, q = shares(real, clique), shares(synthetic, clique)
            assert error == pytest.approx(p.sub(q, fill_value=0.0).abs().sum(), abs=1e-12)
    filled = real.w.fillna(1.0)
    assert found.real == pytest.approx(filled.sum())
    assert found.synthetic == pytest.approx(synthetic.w.fillna(1.0).sum() * 700 / 900)
    assert found.effective[0] == pytest.approx(filled.sum() ** 2 / (filled**2).sum())
    north = next(t for t in found.totals if (t.column, t.label) == ("region", "north"))
    assert north.real == pytest.approx(filled[real.region == "north"].sum())


def test_weights_are_read_as_they_are_written(tmp_path: Path) -> None:
    """Beyond the declared bound, too: what clipping does to totals must show."""
    real = survey(300, 3)
    assert real.w.max() > 55
    real.to_csv(tmp_path / "t.csv", index=False)
    for side in (real, tmp_path / "t.csv"):
        table = read_table(side, SCHEMA)
        found = weights_of(side, table, rng=np.random.default_rng(0))
        assert np.allclose(found, real.w.fillna(1.0))
    codes = weights_of(table, table, rng=np.random.default_rng(0))
    middles = np.minimum(real.w // 10, 4) * 10 + 5
    assert np.allclose(codes, middles.fillna(1.0)), "where only codes are known a weight is the middle of its bin"


def test_a_report_shows_what_counts_without_weights_hide() -> None:
    real = survey(2000, 4)
    rng = np.random.default_rng(0)
    shuffled = real.assign(w=rng.permutation(real.w))
    found = compared(real, shuffled, queries=["region = 'north'"])
    weighted = found.weighted
    assert weighted is not None
    assert weighted.unweighted[0] == 0, "each record counted once, nothing is wrong"
    assert weighted.one_way.mean > 0.2
    assert weighted.off < 1e-9
    (asked,) = weighted.asked.answers
    assert asked.real > 0.6
    assert asked.synthetic < 0.4
    assert found.asked.answers[0].error == 0
    text = " ".join(sentences(found))
    assert "region = north" in text
    assert any("by weight" in figure.name for figure in figures(found))
    page = render(found)
    assert "The population, by w" in page
    assert "Queries, by weight" in page
    assert found.to_json()["weighted"]["population"]["real"] == pytest.approx(weighted.real)


def test_without_a_weight_nothing_is_said() -> None:
    plain = SCHEMA.with_weight(None)
    found = evaluate(survey(200, 5), survey(200, 6), plain, learning=False, kmax=2)
    assert found.weighted is None
    assert "population" not in render(found)
    assert found.to_json()["weighted"] is None
