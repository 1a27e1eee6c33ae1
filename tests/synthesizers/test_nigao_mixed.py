"""Nigao on a table as hospitals have them: many numbers, some labels, a heavy tail, gaps, and no target named."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kagemusha.models import load_model
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Real, Schema
from kagemusha.synthesizers import create, fit
from kagemusha.synthesizers.nigao.cells import MOST_CLASSES, candidates
from kagemusha.synthesizers.nigao.scales import is_heavy, rising_shares

WIDTH, ROWS = 20, 20_000
SCHEMA = Schema(
    [
        *(Real(f"x{i}", lower=-10.0, upper=10.0, bins=64) for i in range(WIDTH)),
        Real("cost", lower=0.0, upper=1e6, bins=512),
        Real("lab", lower=-5.0, upper=5.0, bins=32, missing=True),
        Category("ward", categories=tuple("abcd"), out_of_domain="clip"),
        Category("site", categories=tuple("pqr"), out_of_domain="clip"),
        Category("sex", categories=("F", "M"), out_of_domain="clip"),
    ]
)


@cache
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ward, site = rng.integers(0, 4, ROWS), rng.integers(0, 3, ROWS)
    hidden = rng.normal(0, 1, (ROWS, 4))
    hidden[:, 0] += 1.5 * ward
    numbers = hidden @ rng.normal(0, 0.5, (4, WIDTH)) + rng.normal(0, 0.3, (ROWS, WIDTH))
    gaps = rng.random(ROWS) < 0.03 + 0.2 * (ward == 3)
    return pd.DataFrame(
        {
            **{f"x{i}": numbers[:, i] for i in range(WIDTH)},
            "cost": np.exp(8 + 1.2 * rng.normal(0, 1, ROWS)),
            "lab": np.where(gaps, np.nan, hidden[:, 1]),
            "ward": np.array(list("abcd"))[ward],
            "site": np.array(list("pqr"))[site],
            "sex": np.where(rng.random(ROWS) < 0.2 + 0.2 * ward, "M", "F"),
        }
    )


@cache
def model(epsilon: float = 1.0) -> Model:
    return fit(create("nigao"), people(), Budget(epsilon, 1e-5), schema=SCHEMA, simulation=1)


@cache
def doubles() -> pd.DataFrame:
    return model().sample(ROWS, rng=np.random.default_rng(0), like="pandas")


def test_the_column_that_sets_numbers_apart_becomes_the_class_and_is_paid_for() -> None:
    assert model().generator.cells == ("ward",)  # type: ignore[attr-defined]
    (choice,) = (e for e in model().certificate.events if e.query is not None and e.query.kind == "cell-lengths")
    assert choice.what == "distance between cells of 7 candidates"
    real, found = (frame.groupby("ward")["x0"].mean() for frame in (people(), doubles()))
    assert np.allclose(real, found, atol=0.25)
    assert real.max() - real.min() > 2


def test_where_no_column_matters_there_is_one_class() -> None:
    frame = people().assign(**{n: np.random.default_rng(1).permutation(people()[n]) for n in ("ward", "site", "sex")})
    found = fit(create("nigao"), frame, Budget(1.0, 1e-5), schema=SCHEMA, simulation=1)
    assert found.generator.cells == ()  # type: ignore[attr-defined]


def test_labels_are_kage_s() -> None:
    """Their tables are as near as counts make them, which one-hot features in a normal distribution are not."""
    real, found = (pd.crosstab(f["ward"], f["sex"], normalize=True).to_numpy() for f in (people(), doubles()))
    assert np.abs(real - found).sum() < 0.04
    assert any(e.what.startswith("interaction of ward × sex") for e in model().certificate.events)


def test_a_heavy_tail_keeps_its_quantiles() -> None:
    """Between bounds a hundred times as wide as the middle half, a plain normal distribution would miss them all."""
    assert "cost" in model().generator.edges  # type: ignore[attr-defined]
    for share in (0.25, 0.5, 0.75, 0.9):
        real, found = (f["cost"].quantile(share) for f in (people(), doubles()))
        assert found == pytest.approx(real, rel=0.3)


def test_gaps_are_as_frequent_as_they_are_and_go_with_their_class() -> None:
    real, found = people()["lab"].isna(), doubles()["lab"].isna()
    assert found.mean() == pytest.approx(real.mean(), abs=0.03)
    most = [
        gaps[f["ward"] == "d"].mean() - gaps[f["ward"] != "d"].mean()
        for gaps, f in ((real, people()), (found, doubles()))
    ]
    assert most[1] > most[0] / 2
    assert doubles()["lab"].corr(doubles()["x3"]) == pytest.approx(people()["lab"].corr(people()["x3"]), abs=0.2)


def test_the_file_keeps_all_of_it(tmp_path: Path) -> None:
    model().save(tmp_path / "model.kage")
    again = load_model(tmp_path / "model.kage")
    one, two = (m.sample_codes(200, rng=np.random.default_rng(1)) for m in (model(), again))
    assert (one == two).all()
    narrow = again.sample(20, rng=np.random.default_rng(2), where="ward = 'd' and sex = 'M' and lab is missing")
    assert len(narrow) == 20


def test_tiny_and_large_budgets_do_it_too() -> None:
    for epsilon in (0.01, 10.0):
        found = fit(create("nigao"), people()[:500], Budget(epsilon, 1e-5), schema=SCHEMA, simulation=1)
        assert found.certificate.epsilon == np.inf, "simulated"
        assert len(found.sample(50, rng=np.random.default_rng(0))) == 50


def test_candidates_are_small() -> None:
    domain = SCHEMA.domain
    assert candidates(domain, ["ward", "site", "sex"], "sex") == [("sex",)]
    assert candidates(domain, ["ward"], None) == [("ward",)]
    assert candidates(domain, [], None) == [()]
    assert all(domain.cells(c) <= MOST_CLASSES for c in candidates(domain, list(domain.names), None))


def test_shares_never_fall_and_a_tail_of_noise_is_empty() -> None:
    rng = np.random.default_rng(0)
    true = np.zeros(500)
    true[10:20] = 1000
    shares = rising_shares(true + rng.normal(0, 50, 500), 50.0)
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] == pytest.approx(1.0)
    assert shares[4] < 0.1
    assert shares[60] > 0.9
    places = np.linspace(-1, 1, 500)
    assert not is_heavy(places, np.full(500, 1 / 500))
    assert is_heavy(places, 0.5 ** np.arange(1, 501))
