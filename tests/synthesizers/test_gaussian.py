"""STAT: the moments come back, categories and bounds are kept, and too wide a domain is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kagemusha.encoding import Encoder
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.generators.normal import NormalGenerator
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.queries.moments import CrossMoments, FirstMoments
from kagemusha.schema import Integer, Real, Schema
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import features_of
from kagemusha.synthesizers.contract import example_schema, example_table
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.gaussian import Gaussian, Stat, _factor, normal


def numbers(rows: int = 4000) -> tuple[object, Schema]:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    x = rng.normal(50, 10, rows)
    y = 0.8 * x + rng.normal(0, 6, rows)
    schema = Schema([Integer("x", lower=0, upper=100), Real("y", lower=0.0, upper=100.0, bins=50)])
    return pa.table({"x": np.rint(x).astype(np.int64), "y": y}), schema


def moments(model: Model) -> tuple[np.ndarray, np.ndarray]:
    frame = model.sample(20_000, rng=np.random.default_rng(0), like="pandas")
    return frame.mean().to_numpy(), frame.cov().to_numpy()


@pytest.mark.parametrize("method", [Stat(), Gaussian()])
def test_mean_and_covariance_come_back(method: Stat | Gaussian) -> None:
    table, schema = numbers()
    mean, covariance = moments(fit(method, table, Budget(5.0, 1e-6), schema=schema, simulation=0))
    frame = table.to_pandas()  # type: ignore[attr-defined]
    assert mean == pytest.approx(frame.mean().to_numpy(), abs=1.5)
    assert covariance == pytest.approx(frame.cov().to_numpy(), rel=0.15, abs=5)


def test_missing_values_and_relations_are_kept() -> None:
    model = fit(Stat(), example_table(4000), Budget(1.0), schema=example_schema())
    table = model.sample(20_000, rng=np.random.default_rng(1), like="pandas")
    assert table["bmi"].isna().mean() == pytest.approx(0.1, abs=0.03)
    assert table["sex"].isna().mean() == pytest.approx(0.05, abs=0.04)
    women = table[table["sex"] == "F"]
    assert (women["ward"] == "a").mean() > 0.8
    assert table["age"].between(0, 99).all()


def test_stat_says_that_it_protects_nobody() -> None:
    certificate = fit(Stat(), example_table(), Budget(float("inf")), schema=example_schema()).certificate
    assert [e.kind for e in certificate.events] == ["unprotected"]
    assert certificate.epsilon == float("inf")


def test_gaussian_spends_its_budget_in_two_steps() -> None:
    certificate = fit(Gaussian(), example_table(), Budget(1.0, 1e-6), schema=example_schema()).certificate
    assert [e.what for e in certificate.events] == [FirstMoments.what, CrossMoments.what]
    assert 0.999 < certificate.totals["gdp"] <= 1.0


def test_the_covariance_is_made_positive_and_keeps_its_variances() -> None:
    rng = np.random.default_rng(4)
    noisy = np.diag(rng.uniform(0.1, 2, 8)) + (a := rng.normal(0, 0.5, (8, 8))) + a.T
    np.fill_diagonal(noisy, np.abs(np.diag(noisy)))
    assert np.linalg.eigvalsh(noisy).min() < 0
    factor = _factor(noisy)
    assert np.diag(factor @ factor.T) == pytest.approx(np.diag(noisy))


def test_nonsense_moments_still_give_a_sound_generator() -> None:
    """At a tiny budget the noisy moments are impossible ones; what comes out must still be a distribution."""
    features = features_of(example_schema())
    rng = np.random.default_rng(5)
    first = rng.normal(0, 1000, sum(f.statistics.shape[1] for f in features) + 1)
    widths = [f.table.shape[1] for f in features]
    cross = rng.normal(0, 1000, sum(a * b for i, a in enumerate(widths) for b in widths[i + 1 :]))
    generator = normal(example_schema().domain, features, first, cross, noise=1000.0)
    codes = generator.sample(100, rng=rng)
    assert (codes >= 0).all()
    assert (codes < np.array(example_schema().domain.sizes)).all()


def test_conditions_are_kept_exactly_or_refused() -> None:
    model = fit(Stat(), example_table(), Budget(1.0), schema=example_schema())
    only = np.zeros(model.domain.size("ward"))
    only[1] = 1.0
    codes = model.sample_codes(500, rng=np.random.default_rng(0), where={("ward",): only})
    assert len(codes) == 500
    assert (codes[:, model.domain.axis("ward")] == 1).all()
    with pytest.raises(UsageError, match="no double"):
        model.sample_codes(1, rng=np.random.default_rng(0), where={("ward",): np.zeros_like(only)})


def test_decoding_lands_in_the_nearest_bin() -> None:
    _, schema = numbers()
    features = features_of(schema)
    exact = fit(Stat(), numbers()[0], Budget(1.0), schema=schema).generator
    assert isinstance(exact, NormalGenerator)
    for axis, (feature, column) in enumerate(zip(features, exact.columns, strict=True)):
        places = feature.table[:, :1] / 1024
        assert (column.codes(places) == np.arange(schema.domain.sizes[axis])).all()
        assert column.codes(np.array([[-9.0], [9.0]])).tolist() == [0, schema.domain.sizes[axis] - 1]
    assert Encoder(schema).domain == exact.domain


def test_a_wide_domain_is_refused_before_anything_is_spent() -> None:
    wide = Domain(("a", "b"), (3000, 2000))
    for method in (Gaussian(), Stat()):
        with pytest.raises(ModelTooLarge, match="'a', has 3,000 codes"):
            method.plan(wide, Budget(1.0))
    with pytest.raises(UsageError, match="means"):
        Gaussian(means=0.0)


def test_the_certificate_states_the_eigenvalue_assumption_and_still_says_infinity() -> None:
    stat = Stat(eigenvalue=0.01, rows=10**7)
    model = fit(stat, example_table(), Budget(math.inf, 1e-5), schema=example_schema())
    text = model.certificate.to_json()
    assert math.isinf(model.certificate.epsilon)
    assert "smallest eigenvalue at least 0.01" in text
    assert "Not part of the guarantee" in text
