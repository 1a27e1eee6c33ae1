"""Kage's columns: noise drawn together, and never worse in the doubles than what was measured of them."""

from __future__ import annotations

import numpy as np
import pytest
from family import run, table

from kagemusha.marginals import nearest_counts
from kagemusha.models.markov import MarkovGenerator
from kagemusha.privacy.budget import Budget
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.kage.denoised import denoised
from kagemusha.synthesizers.kage.state import NoisyColumns
from kagemusha.synthesizers.registry import create

SHAPES = {
    "smooth": 1000 * np.exp(-(((np.arange(50) - 20) / 9) ** 2)),
    "flat": np.full(50, 300.0),
    "spikes": 200.0 + 2000 * (np.arange(50) % 10 == 0),
    "steps": np.repeat([900.0, 100.0, 500.0, 0.0, 50.0], 10),
    "tail": 5000 / (1 + np.arange(50.0)) ** 1.8,
}


@pytest.mark.parametrize("sigma", [5.0, 50.0, 400.0])
@pytest.mark.parametrize("ordered", [0, 50])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_noise_explains_is_drawn_together_and_nothing_is_lost(shape: str, ordered: int, sigma: float) -> None:
    truth = SHAPES[shape]
    rng = np.random.default_rng(0)
    raw, better = [], []
    for _ in range(60):
        noisy = truth + rng.normal(0, sigma, 50)
        found = denoised(noisy, sigma, ordered)
        assert found.sum() == pytest.approx(noisy.sum(), abs=1e-6)
        for errors, counts in ((raw, noisy), (better, found)):
            errors.append(np.abs(nearest_counts(counts, truth.sum()) - truth).sum())
    assert np.mean(better) < 1.05 * np.mean(raw)
    if shape == "flat":
        assert np.mean(better) < 0.5 * np.mean(raw)
    if shape == "smooth" and ordered and sigma == 400:
        assert np.mean(better) < 0.85 * np.mean(raw)


def test_a_spike_stays_and_codes_without_an_order_are_not_their_neighbours() -> None:
    noisy = np.array([10.0, 11, 9, 10, 500, 10, 9, 11, 90])
    found = denoised(noisy, 2.0, 8)
    assert found[4] > 490
    assert found[8] == 90, "the last has no order and is by itself"
    np.testing.assert_allclose(denoised(noisy, 1e-9, 8), noisy, atol=1e-6)
    assert denoised(noisy, 0.0, 8) is noisy
    for few in ([5.0], [1.0, 9.0], [1.0, 9.0, 4.0]):
        np.testing.assert_array_equal(denoised(np.array(few), 3.0, 0), few)
        np.testing.assert_array_equal(denoised(np.array(few), 3.0, len(few)), few)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_doubles_have_the_columns_that_were_measured(epsilon: float) -> None:
    """What the fit and the drawing of rows add is next to nothing, whatever the pairs say."""
    domain = Domain(tuple("abcdefg"), (4, 12, 2, 6, 30, 3, 8))
    codes = table(domain, 300_000, 0)
    fitted = run(create("kage"), domain, codes, Budget(epsilon, 1e-9)).fitted
    assert isinstance(fitted.generator, MarkovGenerator)
    measured = NoisyColumns.of(fitted.measurements, None)
    rows = fitted.generator.sample(300_000, rng=np.random.default_rng(0))
    for i, name in enumerate(domain):
        true, drawn = (np.bincount(c[:, i], minlength=domain.sizes[i]) / len(c) for c in (codes, rows))
        alone = measured.table(name) / measured.total
        assert np.abs(drawn - alone).sum() < 0.25 * np.abs(alone - true).sum() + 1e-4, name
