"""Estimates: what can be asked, what comes out without noise, how often intervals hold, and when nothing is said."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from command import checked, in_this_process
from kagemusha.errors import UsageError
from kagemusha.inference.estimate import estimate
from kagemusha.inference.statistics import FORMS, read_statistic
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema, Unit
from kagemusha.schema.unit import Weight
from kagemusha.sources import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = Schema(
    [
        Category("sex", categories=("F", "M"), out_of_domain="clip"),
        Category("ward", categories=("surgery", "medicine", "icu"), out_of_domain="clip"),
        Integer("age", lower=0, upper=99, bins=20, missing=True),
        Category("died", categories=("no", "yes"), out_of_domain="clip"),
    ]
)
QUESTIONS = {
    "mean age": 1,
    "mean age by ward": 3,
    "mean age where sex = 'F'": 1,
    "share of ward = 'icu'": 1,
    "share of died = 'yes' by sex": 2,
    "difference in mean age by sex": 1,
    "difference in share of died = 'yes' by sex": 1,
    "odds ratio of died = 'yes' by sex": 1,
}


def people(rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Women are older, and those who are die more often."""
    sex = rng.integers(0, 2, rows)
    ward = rng.choice(3, rows, p=[0.5, 0.4, 0.1])
    age = np.clip(rng.normal(11 - 3 * sex + ward, 4, rows), 0, 19).astype(int)
    age[rng.random(rows) < 0.05] = 20
    died = (rng.random(rows) < 0.05 + 0.2 * (sex == 0)).astype(int)
    return [sex, ward, age, died]


def released(rows: int, seed: int, epsilon: float = 4.0, method: str = "kage") -> Model:
    source = CodesSource(SCHEMA, people(rows, np.random.default_rng(seed)))
    return fit(create(method), source, Budget(epsilon, 1e-9), simulation=seed)


def truth(asked: str, columns: list[np.ndarray]) -> list[float]:
    """By hand, from the codes."""
    sex, ward, age, died = columns
    years = np.append(SCHEMA.axis("age").middles, np.nan)[age]
    icu, dead = (ward == 2).astype(float), died.astype(float)
    by_sex = [dead[sex == s].mean() for s in (0, 1)]
    odds = [share / (1 - share) for share in by_sex]
    return {
        "mean age": [np.nanmean(years)],
        "mean age by ward": [np.nanmean(years[ward == w]) for w in range(3)],
        "mean age where sex = 'F'": [np.nanmean(years[sex == 0])],
        "share of ward = 'icu'": [icu.mean()],
        "share of died = 'yes' by sex": by_sex,
        "difference in mean age by sex": [np.nanmean(years[sex == 0]) - np.nanmean(years[sex == 1])],
        "difference in share of died = 'yes' by sex": [by_sex[0] - by_sex[1]],
        "odds ratio of died = 'yes' by sex": [odds[0] / odds[1]],
    }[asked]


@pytest.mark.parametrize("asked", QUESTIONS)
def test_without_noise_it_is_the_statistic_itself(asked: str) -> None:
    columns = people(4_000, np.random.default_rng(5))
    statistic = read_statistic(asked, SCHEMA)
    shape = SCHEMA.domain.shape(statistic.columns)
    at = np.ravel_multi_index([columns[SCHEMA.domain.axis(name)] for name in statistic.columns], shape)
    table = np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)
    axes = tuple(range(int(len(statistic.groups) > 1), table.ndim))
    above, below = ((table * by).sum(axis=axes).reshape(1, -1) for by in (statistic.value, statistic.weight))
    count = len(statistic.groups)
    found = statistic.shown(statistic.ratios(above[:, :count], below[:, :count])[0])
    assert found == pytest.approx(truth(asked, columns))
    assert len(statistic.names) == QUESTIONS[asked]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_intervals_hold_about_as_often_as_they_say(epsilon: float) -> None:
    """Of the population, over tables and noise: kage's own measurements of columns and pairs."""
    population = people(2_000_000, np.random.default_rng(99))
    wanted = {asked: truth(asked, population) for asked in QUESTIONS}
    held, asked_in_all = [], 0
    for seed in range(30):
        model = released(6_000, seed, epsilon)
        for asked, true in wanted.items():
            for one, value in zip(estimate(model, asked, seed=seed), true, strict=True):
                asked_in_all += 1
                if not one.why:
                    held.append(one.low <= value <= one.high)
    assert len(held) > 0.3 * asked_in_all
    # 95 % nominal; answers of one table go together, so the bounds are wide
    assert 0.9 <= np.mean(held) <= 0.985


def test_narrower_noise_gives_narrower_intervals() -> None:
    wide, narrow = (estimate(released(6_000, 1, epsilon), "mean age")[0] for epsilon in (0.5, 20.0))
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_the_same_seed_gives_the_same_answer_and_levels_widen() -> None:
    model = released(3_000, 2)
    one, again = (estimate(model, "mean age by ward", seed=3) for _ in range(2))
    assert str(one) == str(again)
    low, high = (estimate(model, "mean age", level=level)[0] for level in (0.5, 0.99))
    assert low.high - low.low < high.high - high.low
    assert "mean age" in one._repr_html_()


def test_what_was_not_measured_is_not_concluded() -> None:
    model = released(3_000, 3, method="independent")
    for asked in ("mean age by ward", "odds ratio of died = 'yes' by sex"):
        found = estimate(model, asked)
        assert all("was not measured" in one.why and math.isnan(one.value) for one in found)
    (three,) = estimate(released(3_000, 3), "difference in share of ward = 'icu' and died = 'yes' by sex")
    assert "not measured together" in three.why


def test_groups_that_noise_drowns_have_no_ratio() -> None:
    rows = people(3_000, np.random.default_rng(1))
    rows[1][:] = 0
    model = fit(create("mst"), CodesSource(SCHEMA, rows), Budget(0.3, 1e-9), simulation=1)
    found = estimate(model, "mean age by ward")
    assert all(one.why for one in list(found)[1:])


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (Schema(SCHEMA.columns, Unit(None, 3)), "several rows"),
        (Schema([*SCHEMA.columns, Integer("w", lower=1, upper=8)], weight=Weight("w")), "survey weights"),
    ],
)
def test_tables_of_which_this_theory_says_nothing(schema: Schema, why: str) -> None:
    columns = people(1_000, np.random.default_rng(1))
    extra = [np.zeros(1_000, dtype=int)] * (len(schema.domain) - 4)
    model = fit(create("independent"), CodesSource(schema, [*columns, *extra]), Budget(1.0, 1e-9), simulation=1)
    assert why in estimate(model, "mean age")[0].why


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("", "cannot be read; ask for one of"),
        ("median age", "cannot be read"),
        ("mean sex", "only numbers, dates and times have a mean"),
        ("mean height", "no column named 'height'"),
        ("mean age by age", "cannot be grouped by itself"),
        ("difference in mean age by ward", "has 3 groups; a comparison needs exactly two"),
        ("odds ratio of died = 'yes'", "cannot be read"),
        ("share of sex = 'F' by sex", "which the groups are made by"),
        ("mean age where age > 3", "speaks of already"),
    ],
)
def test_what_cannot_be_asked_is_named(asked: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_statistic(asked, SCHEMA)


def test_a_level_is_between_nothing_and_everything() -> None:
    with pytest.raises(UsageError, match="level must be greater than 0 and less than 1"):
        estimate(released(500, 1, method="independent"), "mean age", level=95)


def test_the_command_says_what_it_knows_and_why_not(tmp_path: Path) -> None:
    released(3_000, 4, method="independent").save(tmp_path / "model.kage")
    known = checked(in_this_process(["estimate", str(tmp_path / "model.kage"), "mean age"]), 0)
    assert "estimate" in known.stdout
    unknown = checked(in_this_process(["estimate", str(tmp_path / "model.kage"), "mean age by ward"]), 0)
    assert "cannot be said, because the table of" in unknown.stdout
    wrong = checked(in_this_process(["estimate", str(tmp_path / "model.kage"), "median age"]), 2)
    assert "mean COLUMN" in wrong.stderr
    assert all(form.split()[0] in wrong.stderr for form in FORMS)
