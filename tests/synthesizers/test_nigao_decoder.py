"""A decoder on top of nigao's phases: kept where it wins, left out where it does not, paid for in both cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kagemusha.errors import UsageError
from kagemusha.models import load_model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Real, Schema
from kagemusha.synthesizers import create, fit

WIDTH = 12
SCHEMA = Schema([Real(f"x{i}", lower=-4.0, upper=4.0, bins=128) for i in range(WIDTH)])


def curved(rows: int = 6000) -> pd.DataFrame:
    """Two strong directions, and features that are what is above zero of them: nothing that is linear holds these."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(0, 1, (rows, 2))
    ramps = np.maximum(hidden, 0) - 0.4
    numbers = np.hstack([hidden, hidden, np.abs(hidden) - 0.8, np.abs(hidden) - 0.8, ramps, ramps])
    return pd.DataFrame(numbers + rng.normal(0, 0.05, numbers.shape), columns=[f"x{i}" for i in range(WIDTH)])


@pytest.fixture(scope="module")
def bent():  # type: ignore[no-untyped-def]
    choice = create("nigao", decoder=0.5, directions=2)
    return fit(choice, curved(), Budget(1000.0, 1e-5), schema=SCHEMA, simulation=0)


def test_where_records_are_curved_it_wins_and_doubles_are_nearer(bent) -> None:  # type: ignore[no-untyped-def]
    assert bent.generator.bend is not None
    plain = fit(create("nigao", directions=2), curved(), Budget(1000.0, 1e-5), schema=SCHEMA, simulation=0)
    assert plain.generator.bend is None  # type: ignore[attr-defined]

    def miss(model) -> float:  # type: ignore[no-untyped-def]
        rows = model.sample(6000, rng=np.random.default_rng(0), like="pandas")
        return abs(float(rows["x4"].corr(rows["x0"].abs())) - float(curved()["x4"].corr(curved()["x0"].abs())))

    assert miss(bent) < 0.8 * miss(plain)


def test_at_a_small_budget_it_is_paid_for_and_left_out() -> None:
    found = fit(create("nigao", decoder=0.3), curved(500), Budget(0.5, 1e-5), schema=SCHEMA, simulation=0)
    assert found.generator.bend is None  # type: ignore[attr-defined]
    told = [event.what for event in found.certificate.events]
    assert "what the decoder won" in told
    assert sum("gradients of the decoder" in what for what in told) == 12


def test_the_file_keeps_it(bent, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    bent.save(tmp_path / "model.kage")
    again = load_model(tmp_path / "model.kage")
    one, two = (m.sample_codes(50, rng=np.random.default_rng(1)) for m in (bent, again))
    assert (one == two).all()


def test_a_share_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="decoder"):
        create("nigao", decoder=0.9)
