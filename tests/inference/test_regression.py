"""Regressions: what comes out without noise, the law of the noise, how often intervals hold, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from command import checked, in_this_process
from kagemusha.errors import UsageError
from kagemusha.inference.estimate import estimate
from kagemusha.inference.evidence import Unknown
from kagemusha.inference.formula import features_of, is_formula, joined, read_formula, values_of
from kagemusha.inference.moments import Released
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.demands import Demands, RequiredTable
from kagemusha.sources import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

COLUMNS = (
    Category("sex", categories=("F", "M"), out_of_domain="clip"),
    Category("ward", categories=("a", "b", "c"), out_of_domain="clip"),
    Integer("age", lower=0, upper=99, bins=20),
    Integer("stay", lower=0, upper=29),
    Category("died", categories=("no", "yes"), out_of_domain="clip"),
)
PAIRS = tuple(RequiredTable(pair) for pair in combinations(("sex", "ward", "age", "stay", "died"), 2))
SCHEMA = Schema(COLUMNS, demands=Demands(PAIRS))
AGES = SCHEMA.axis("age").middles
LINE = "stay ~ age + sex + ward"
ODDS = "died = 'yes' ~ age + ward"


def people(rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Stays grow with age and differ by ward; so do the odds of dying."""
    sex, ward = rng.choice(2, rows, p=[0.6, 0.4]), rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    age = np.clip(rng.normal(9 + 2 * sex + ward, 4, rows), 0, 19).astype(int)
    stay = np.clip(rng.normal(5 + 0.1 * AGES[age] + 2 * (ward == 2) - sex, 3, rows).round(), 0, 29).astype(int)
    odds = np.exp(-3 + 0.03 * AGES[age] + 0.8 * (ward == 2))
    return [sex, ward, age, stay, (rng.random(rows) < odds / (1 + odds)).astype(int)]


def design(columns: list[np.ndarray], asked: str) -> np.ndarray:
    sex, ward, age, *_ = columns
    every = [AGES[age], sex == 1, ward == 1, ward == 2]
    kept = every if asked == LINE else [every[0], *every[2:]]
    return np.column_stack([np.ones(len(sex)), *kept]).astype(float)


def truth(columns: list[np.ndarray], asked: str) -> np.ndarray:
    """By hand: the normal equations, or Newton's method."""
    x = design(columns, asked)
    if asked == LINE:
        return np.linalg.lstsq(x, columns[3].astype(float), rcond=None)[0]
    found = np.zeros(x.shape[1])
    for _ in range(30):
        shown = 1 / (1 + np.exp(-x @ found))
        found = found + np.linalg.solve((x * (shown * (1 - shown))[:, None]).T @ x, x.T @ (columns[4] - shown))
    return found


def released(rows: int, seed: int, epsilon: float, method: str = "kage", schema: Schema = SCHEMA) -> Model:
    columns = people(rows, np.random.default_rng(seed))
    return fit(create(method), CodesSource(schema, columns), Budget(epsilon, 1e-9), simulation=seed)


@pytest.mark.parametrize("asked", [LINE, ODDS])
def test_without_noise_it_is_the_regression_of_the_table(asked: str) -> None:
    columns = people(5_000, np.random.default_rng(3))
    found = estimate(released(5_000, 3, 5_000), asked)
    assert [one.what for one in found][1] == "age"
    assert [one.what for one in found][-1] == "ward = c against a"
    values = np.array([one.value for one in found])
    widths = np.array([one.high - one.low for one in found])
    assert np.abs(values - truth(columns, asked)).max() / widths.min() < 0.05
    assert (widths > 0).all()


def test_the_law_of_the_noise_is_that_of_sums_over_tables_with_noise() -> None:
    """Against a brute-force twin: every released number drawn again, every sum taken again."""
    model = released(3_000, 1, 2.0)
    sums = Released(model)
    age, stay = values_of(SCHEMA.modelled_column("age")), values_of(SCHEMA.modelled_column("stay"))
    ward = features_of(SCHEMA.modelled_column("ward"), sums.counts("ward"), np.arange(3), 1.0)

    pairs = [(age, stay), (age, ward[0]), (stay, ward[1]), (ward[0], ward[0]), (age, age), (age, None)]

    def taken(one: Model) -> list[float]:
        own = Released(one)
        return [own.product(a, b).value for a, b in pairs]

    law = sums.noise([sums.product(a, b) for a, b in pairs])
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(1_500):
        tables = [
            replace(m, values=m.values + rng.normal(0, m.sigma, m.values.shape).round().astype(np.int64))
            for m in model.measurements
        ]
        others = [replace(i, values=i.values + rng.normal(0, i.sigma, i.values.shape)) for i in model.interactions]
        seen.append(taken(replace(model, measurements=tables, interactions=others)))
    empirical = np.cov(np.array(seen).T)
    deviation = np.sqrt(np.maximum(np.diag(law), 1e-9))
    assert np.sqrt(np.diag(empirical)) / deviation == pytest.approx(np.ones(6), abs=0.12)
    assert empirical / np.outer(deviation, deviation) == pytest.approx(law / np.outer(deviation, deviation), abs=0.12)
    assert np.abs(law[0, 4]) > 0, "sums that share a column's counts share their noise"


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, 20.0])
def test_intervals_hold_about_as_often_as_they_say(epsilon: float) -> None:
    population = people(1_000_000, np.random.default_rng(99))
    held: list[bool] = []
    for seed in range(40):
        model = released(8_000, seed, epsilon)
        for asked in (LINE, ODDS):
            for one, true in zip(estimate(model, asked, seed=seed), truth(population, asked), strict=True):
                held.append(one.low <= true <= one.high)
    # 95 % nominal; coefficients of one table go together, so the bounds are wide
    assert 0.91 <= np.mean(held) <= 0.985


def test_noise_does_not_flatten_and_narrower_noise_is_narrower() -> None:
    wide, narrow = (estimate(released(5_000, 1, epsilon), LINE)[1] for epsilon in (1.0, 50.0))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    model = released(5_000, 2, 5.0)
    assert str(estimate(model, LINE, seed=1)) == str(estimate(model, LINE, seed=1))
    half, most = (estimate(model, LINE, level=level)[1] for level in (0.5, 0.99))
    assert half.high - half.low < most.high - most.low


def test_what_was_not_measured_is_refused_and_what_would_help_is_named() -> None:
    alone = released(2_000, 1, 2.0, "independent", Schema(COLUMNS))
    (said,) = estimate(alone, "stay ~ age + sex")
    assert "stay × age, stay × sex, age × sex were not measured" in said.why
    assert '[[require]] table = ["stay", "age"]' in said.why
    assert math.isnan(said.value)
    for asked, why in (
        ("died = 'yes' ~ age + sex + ward + stay", "more than 3 columns"),
        ("stay ~ age", "cannot be distinguished"),
    ):
        schema = SCHEMA if "died" in asked else Schema(COLUMNS, demands=Demands((RequiredTable(("age", "stay")),)))
        few = released(20, 1, 0.3, "kage", schema) if "died" not in asked else released(2_000, 1, 2.0)
        (said,) = estimate(few, asked)
        assert why in said.why or "too few people" in said.why


def test_rare_values_share_a_coefficient() -> None:
    ward = Category("ward", categories=("a", "b", "c", "d"), missing=True, out_of_domain="clip")
    counts = np.array([500.0, 10.0, 300.0, 12.0, 3.0])
    names = [one.name for one in features_of(ward, counts, np.arange(5), 20.0)]
    assert names == ["ward = c against a", "ward = b or d or (missing) against a"]
    held = features_of(ward, counts, np.array([0, 0, 2, 3, 3]), 1.0)
    assert [one.values.tolist() for one in held] == [[0, 0, 1, 0, 0], [0, 0, 0, 1, 1]]
    assert joined(4, [np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])]).tolist() == [0, 0, 0, 3]
    age = Integer("age", lower=0, upper=3, missing=True)
    with pytest.raises(Unknown, match="measured together"):
        features_of(age, np.ones(5), np.array([0, 1, 2, 3, 3]), 1.0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("stay ~", "cannot be read"),
        (" ~ age", "cannot be read"),
        ("stay ~ age + age", "different columns"),
        ("stay ~ height", "no column named 'height'"),
        ("stay ~ age * sex", "interactions and functions"),
        ("stay ~ stay", "cannot explain itself"),
        ("ward ~ age", "write which value"),
        ("ward = 'a' and sex = 'F' ~ age", "one column"),
        ("age > 51 ~ sex", "cuts a step"),
        ("age >= 0 ~ sex", "always, or never"),
    ],
)
def test_what_cannot_be_asked_is_named(asked: str, message: str) -> None:
    assert is_formula(asked)
    with pytest.raises(UsageError, match=message):
        read_formula(asked, SCHEMA)


def test_a_tilde_in_quotes_is_no_formula() -> None:
    assert not is_formula("share of ward = 'a~b'")


def test_the_command_answers_and_refuses(tmp_path: Path) -> None:
    released(3_000, 4, 5.0).save(tmp_path / "model.kage")
    told = checked(in_this_process(["estimate", str(tmp_path / "model.kage"), ODDS]), 0)
    assert "ward = c against a" in told.stdout
    wrong = checked(in_this_process(["estimate", str(tmp_path / "model.kage"), "stay ~ age * sex"]), 2)
    assert "interactions" in wrong.stderr
