"""Nigao on constructed tables whose classes differ in mean, in spread, or in neither."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.errors import UsageError
from kagemusha.models import load_model
from kagemusha.privacy.budget import Budget
from kagemusha.queries.record_sums import BESIDE, DIAGONAL
from kagemusha.schema import Category, Real, Schema
from kagemusha.sources import CodesSource
from kagemusha.synthesizers import create, fit
from kagemusha.synthesizers.nigao import nigao
from kagemusha.synthesizers.nigao.estimates import left_out, means_share, most_directions, variances
from kagemusha.synthesizers.nigao.lengths import _read
from kagemusha.synthesizers.nigao.plain import is_small

WIDTH = 30
SCHEMA = Schema(
    [
        *(Real(f"x{i}", lower=-8.0, upper=8.0, bins=128) for i in range(WIDTH)),
        Category("kind", categories=("a", "b"), out_of_domain="clip"),
    ]
)
MIX = np.random.default_rng(0).normal(0, 1, (3, WIDTH)) / 3


def table(rows: int = 20_000, *, apart: float = 0.0, wider: float = 1.0, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    kind = (rng.random(rows) < 0.3).astype(int)
    hidden = rng.normal(0, 1, (rows, 3)) * np.where(kind == 1, wider, 1.0)[:, None]
    hidden[:, 0] += apart * kind
    values = hidden @ MIX + rng.normal(0, 0.2, (rows, WIDTH))
    columns = {f"x{i}": values[:, i] for i in range(WIDTH)}
    return pa.table({**columns, "kind": np.where(kind == 1, "b", "a")})


def values(frame: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    kind = np.array(frame["kind"].to_pylist()) == "b"
    return np.column_stack([np.asarray(frame[f"x{i}"]) for i in range(WIDTH)]), kind


def doubles(frame: pa.Table, epsilon: float = 1.0, **choices: object) -> tuple[np.ndarray, np.ndarray]:
    model = fit(create("nigao", target="kind", **choices), frame, Budget(epsilon, 1e-5), schema=SCHEMA, simulation=0)
    return values(model.sample(20_000, rng=np.random.default_rng(0), like="pyarrow"))


def test_means_and_sizes_of_classes_are_kept() -> None:
    real, kind = values(table(apart=2.0))
    found, double = doubles(table(apart=2.0))
    assert double.mean() == pytest.approx(kind.mean(), abs=0.02)
    wanted = real[kind].mean(axis=0) - real[~kind].mean(axis=0)
    seen = found[double].mean(axis=0) - found[~double].mean(axis=0)
    assert wanted @ seen / np.linalg.norm(wanted) / np.linalg.norm(seen) > 0.98
    assert np.linalg.norm(seen) == pytest.approx(np.linalg.norm(wanted), rel=0.1)


def test_a_class_that_differs_in_spread_alone_keeps_its_spread() -> None:
    """Lengths are looked at class by class: one clipping norm for all would cut the wide one down."""
    real, kind = values(table(wider=4.0))
    found, double = doubles(table(wider=4.0))
    for side in (True, False):
        assert found[double == side].std() == pytest.approx(real[kind == side].std(), rel=0.15)


def test_directions_of_the_data_are_found_and_no_more() -> None:
    real, _ = values(table())
    found, _ = doubles(table())
    kept = []
    for epsilon in (0.1, 1.0):
        model = fit(create("nigao", target="kind"), table(), Budget(epsilon, 1e-5), schema=SCHEMA, simulation=0)
        kept.append(model.generator.basis.shape[1])  # type: ignore[attr-defined]
    assert 3 <= kept[0] <= 6 < kept[1], "where noise hides the small ones, they are left out"
    wanted, seen = np.corrcoef(real.T), np.corrcoef(found.T)
    assert np.abs(wanted - seen).mean() < 0.06


def test_a_tiny_budget_gives_a_table_all_the_same() -> None:
    found, _ = doubles(table(500), epsilon=0.01)
    assert np.isfinite(found).all()


def test_shares_and_directions_follow_from_sizes() -> None:
    assert means_share(784, 10, 60_000, 0.036) == pytest.approx(0.15, rel=0.02)
    assert means_share(617, 2, 7_000, 0.036) > 0.2
    assert means_share(5000, 2, 1_000, 0.036) == 0.4
    assert most_directions(0.016, 6_000) > most_directions(0.016, 600) >= 1


def test_a_model_read_from_its_file_draws_the_same_rows(tmp_path: Path) -> None:
    model = fit(create("nigao", target="kind"), table(2000), Budget(1.0, 1e-5), schema=SCHEMA, simulation=0)
    model.save(tmp_path / "model.kage")
    again = load_model(tmp_path / "model.kage")
    one, two = (m.sample_codes(50, rng=np.random.default_rng(1)) for m in (model, again))
    assert (one == two).all()
    assert (model.project(("kind",)) == again.project(("kind",))).all()
    women = again.sample(30, rng=np.random.default_rng(2), where="kind = 'b' and x0 > 0", like="pandas")
    assert (women["kind"] == "b").all()
    assert (women["x0"] > 0).all()


@pytest.mark.parametrize(
    ("choices", "named"),
    [({"target": "nobody"}, "nobody"), ({"directions": 0}, "directions"), ({"target": "x0"}, "codes")],
)
def test_wrong_choices_are_named(choices: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        fit(create("nigao", **choices), table(100), Budget(1.0, 1e-5), schema=SCHEMA, simulation=0)


def test_what_directions_do_not_hold_is_left_to_the_features() -> None:
    """Noisy directions hold less than they seem to; with what they leave out, every feature has its whole variance."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    values = np.array([9.0, 4.0, 3.0, 1, 1, 1, 1, 1])
    covariance = (basis * values) @ basis.T
    root, filled = basis[:, :3] * np.sqrt(values[:3]), np.diag([1.0, 0.8, 0.3])
    spread = left_out(covariance, 0.0, root, filled)
    assert np.allclose(np.diag(root @ filled @ root.T) + spread**2, np.diag(covariance))
    noisy = covariance + np.diag(rng.normal(0, 2, 8))
    assert variances(noisy, 2 * DIAGONAL / BESIDE).std() < 0.8 * np.diag(noisy).std(), "a diagonal of noise is levelled"


def test_what_clipping_cut_is_read_off_the_lengths() -> None:
    edges = np.arange(1.0, 64.0)
    counts = np.zeros((1, 64))
    counts[0, 2:12] = 100.0
    counts[0, 50] = 90.0  # far beyond a gap: noise
    found = _read(counts, edges, 0.7)
    lengths = np.repeat(np.arange(2, 12) + 0.5, 100)
    wanted = (lengths**2).mean() / (np.minimum(lengths, found.radius[0]) ** 2).mean()
    assert found.cut[0] == pytest.approx(wanted, rel=1e-6)
    assert _read(np.zeros((1, 64)), edges, 0.7).cut[0] == 1.0


def small_table(rows: int, classes: int, width: int, seed: int = 0) -> tuple[Schema, np.ndarray]:
    """Classes that differ in their means alone, few records in each."""
    rng = np.random.default_rng(seed)
    schema = Schema(
        [
            *(Real(f"x{i}", lower=0.0, upper=16.0, bins=16) for i in range(width)),
            Category("kind", categories=tuple(map(str, range(classes))), out_of_domain="clip"),
        ]
    )
    kind = rng.integers(0, classes, rows)
    middle = rng.uniform(3, 13, (classes, width))
    values = np.clip(np.floor(middle[kind] + rng.normal(0, 2, (rows, width))), 0, 15)
    return schema, np.column_stack([values, kind]).astype(np.int64)


def nearest_class(schema: Schema, codes: np.ndarray, simulation: int = 0) -> float:
    """How often a person is nearest to the mean of the doubles of their class."""
    model = fit(create("nigao", target="kind"), CodesSource(schema, codes.T), Budget(1.0, 1e-5), simulation=simulation)
    drawn = model.sample_codes(3000, rng=np.random.default_rng(0))
    classes = range(codes[:, -1].max() + 1)
    means = np.array(
        [drawn[drawn[:, -1] == c, :-1].mean(axis=0) if (drawn[:, -1] == c).any() else -99 for c in classes]
    )
    apart = ((codes[:, None, :-1] - means) ** 2).sum(axis=2)
    return float((apart.argmin(axis=1) == codes[:, -1]).mean())


def test_with_few_records_class_means_get_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,200 records of 64 numbers in ten classes at ε = 1: with directions and covariances the means drown."""
    schema, codes = small_table(1200, 10, 64)
    found = nearest_class(schema, codes)
    assert found > 0.8
    monkeypatch.setattr(nigao, "is_small", lambda *_: False)
    assert nearest_class(schema, codes) < found - 0.1


def test_what_is_small_depends_on_records_classes_width_and_budget() -> None:
    rho = 0.036  # about (1, 1e-5)
    assert is_small(64, 10, 1_497, rho)
    assert is_small(784, 10, 5_000, rho)
    assert not is_small(784, 10, 60_000, rho)
    assert not is_small(178, 2, 10_350, rho)
    assert not is_small(64, 10, 1_497, 100 * rho)
    assert is_small(30, 2, 475, rho), "a class of 240 fills four directions, and came out reversed"
    assert not is_small(30, 2, 4_750, rho)


def test_spread_is_that_within_classes() -> None:
    schema, codes = small_table(1200, 10, 64)
    model = fit(create("nigao", target="kind"), CodesSource(schema, codes.T), Budget(4.0, 1e-5), simulation=0)
    drawn = model.sample_codes(4000, rng=np.random.default_rng(0))
    within = [codes[codes[:, -1] == c, :-1].std(axis=0).mean() for c in range(10)]
    found = [drawn[drawn[:, -1] == c, :-1].std(axis=0).mean() for c in range(10)]
    assert np.mean(found) == pytest.approx(np.mean(within), rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "cancer", "letters 1,500", "letters 12,000"])
def test_nigao_is_not_below_noisy_class_means(name: str) -> None:
    """The page of benchmarks/nigao_floor.py on its small tables, three splits: counts, sums and squares, no tuning."""
    floor = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "nigao_floor.py"))
    whole, scores = floor["DATA"][name](), {"nigao": 0.0, "class means": 0.0}
    for seed in range(3):
        data = floor["split"](whole, seed)
        for method in scores:
            scores[method] += floor["score"](data, floor["by_method"](data, method, seed), seed) / 3
    assert scores["nigao"] > scores["class means"] - 0.01
