"""Modes of a column: found from counts, and every number comes back from its mode and place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.neural.modes import MOST_VALUES, SPREAD, _coarse, fit_modes


def drawn(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(-0.6, 0.05, 6000), rng.normal(0.3, 0.1, 3000)])


def test_two_humps_are_found_with_their_weights() -> None:
    values, counts = np.unique(np.round(drawn(), 2), return_counts=True)
    found = fit_modes(values, counts.astype(float))
    near = [found.weights[np.abs(found.means - m) < 0.25].sum() for m in (-0.6, 0.3)]
    assert near == pytest.approx([2 / 3, 1 / 3], abs=0.02)
    low = np.abs(found.means + 0.6) < 0.25
    spread = (found.weights[low] * (found.deviations[low] ** 2 + (found.means[low] + 0.6) ** 2)).sum() / near[0]
    assert np.sqrt(spread) == pytest.approx(0.05, rel=0.2)


def test_humps_of_counts_are_those_of_rows() -> None:
    """The brute-force twin: every row by itself instead of values and how often they occur."""
    rows = np.round(drawn(1), 2)
    values, counts = np.unique(rows, return_counts=True)
    one, each = fit_modes(values, counts.astype(float)), fit_modes(rows, np.ones(len(rows)))
    grid = np.linspace(-1, 1, 50)

    def density(m: object) -> np.ndarray:
        return (m.weights / m.deviations * np.exp(-0.5 * ((grid[:, None] - m.means) / m.deviations) ** 2)).sum(axis=1)  # type: ignore[attr-defined]

    assert density(one) == pytest.approx(density(each), rel=0.1, abs=0.05)


def test_a_single_value_and_no_value_have_a_hump() -> None:
    for values, counts in (([0.25], [7.0]), ([], []), ([0.1, 0.2], [0.0, 0.0])):
        found = fit_modes(np.array(values), np.array(counts))
        assert len(found) == 1
        assert found.deviations[0] > 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(0, 2**32 - 1))
def test_a_number_comes_back_from_its_hump_and_place(numbers: list[float], seed: int) -> None:
    values = np.array(numbers)
    modes = fit_modes(values, np.ones(len(values)))
    shares = modes.shares(values)
    assert shares.sum(axis=1) == pytest.approx(1)
    mode = shares.argmax(axis=1)
    inside = np.abs(values - modes.means[mode]) < 0.98 * SPREAD * modes.deviations[mode]
    back = modes.values(modes.places(values, mode), mode)
    assert back[inside] == pytest.approx(values[inside], abs=1e-9)


def test_many_values_are_put_together_without_losing_any() -> None:
    rng = np.random.default_rng(0)
    values, counts = rng.random(50_000), rng.integers(0, 5, 50_000).astype(float)
    fewer, held = _coarse(values, counts)
    assert len(fewer) <= MOST_VALUES
    assert held.sum() == counts.sum()
    assert held @ fewer == pytest.approx(counts @ values)


def test_a_value_that_most_rows_hold_is_one_hump_as_in_scikit_learn() -> None:
    """Modes that start at the same place can never part.

    Five of them would share out the zeros of a column by chance.
    """
    from sklearn.mixture import BayesianGaussianMixture

    rng = np.random.default_rng(0)
    rows = np.concatenate([np.zeros(9500), np.round(rng.normal(1800, 200, 400)), np.round(rng.normal(2600, 60, 100))])
    values, counts = np.unique(rows, return_counts=True)
    found = fit_modes(values / 1000, counts.astype(np.float64))
    at_zero = np.abs(found.means) < 0.05
    assert at_zero.sum() == 1
    assert found.weights[at_zero][0] == pytest.approx(0.95, abs=0.01)
    other = BayesianGaussianMixture(
        n_components=10, weight_concentration_prior=1e-3, random_state=0, max_iter=500
    ).fit(rows[:, None] / 1000)  # fmt: skip
    assert other.weights_[np.abs(other.means_[:, 0]) < 0.05].max() == pytest.approx(found.weights[at_zero][0], abs=0.01)
    assert np.abs(found.means - 1.8).min() < 0.1
    assert found.means.max() > 2.2  # few rows: the prior draws it towards the middle
