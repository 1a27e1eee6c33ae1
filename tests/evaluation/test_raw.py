"""Values, not codes: agreement with SDMetrics and scipy, and planted defects that codes hide."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kagemusha.evaluation.conditional import compare_conditionals
from kagemusha.evaluation.discriminator import _described, discriminate, discriminate_raw
from kagemusha.evaluation.evaluate import Evaluation, evaluate
from kagemusha.evaluation.groups import compare_groups
from kagemusha.evaluation.plots import value_edges
from kagemusha.evaluation.raw import RawTable, read_raw
from kagemusha.evaluation.raw_columns import decimals, kolmogorov_smirnov, number, raw_distances, wasserstein
from kagemusha.evaluation.raw_features import Feature
from kagemusha.evaluation.report import render
from kagemusha.evaluation.seen import compare_seen
from kagemusha.evaluation.summary import sentences, verdict
from kagemusha.evaluation.tables import read_table
from kagemusha.quality.released import right_from
from kagemusha.schema import Category, Date, Integer, Real, Schema

EXACT = 1e-9
WARDS = ("surgery", "children", "maternity")
SCHEMA = Schema(
    [
        Category("ward", categories=WARDS),
        Integer("age", lower=0, upper=99, bins=10),
        Real("crp", lower=0.0, upper=400.0, bins=8, missing=True),
        Date("admission", lower="2020-01-01", upper="2024-12-31", bins=20),
        Date("discharge", lower="2020-01-01", upper="2025-12-31", bins=24),
    ]
)


def visits(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ward = rng.choice(WARDS, rows, p=[0.6, 0.3, 0.1])
    age = np.where(ward == "children", rng.integers(0, 15, rows), rng.integers(18, 90, rows))
    admission = rng.integers(18262, 20080, rows)
    stay = np.minimum(rng.geometric(0.2, rows), 40)
    frame = pd.DataFrame({"ward": ward, "age": age, "crp": np.round(rng.lognormal(1.5, 1, rows), 1)})
    for name, days in (("admission", admission), ("discharge", admission + stay)):
        frame[name] = pd.to_datetime(days, unit="D").strftime("%Y-%m-%d")
    return frame


def raw(frame: object, schema: Schema = SCHEMA) -> RawTable:
    found = read_raw(frame, schema, rng=np.random.default_rng(0))
    assert found is not None
    return found


def shuffled_in_bins(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The same codes, but days moved among the rows of a bin: what drawing evenly inside bins does."""
    codes = read_table(frame, SCHEMA).column(column)
    moved = frame[column].groupby(codes).transform(lambda days: days.sample(frac=1, random_state=1).to_numpy())
    return frame.assign(**{column: moved})


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return visits(3000, 1)


@pytest.fixture(scope="module")
def defect(people: pd.DataFrame) -> Evaluation:
    return evaluate(people, shuffled_in_bins(people, "discharge"), SCHEMA)


def test_dates_shuffled_inside_bins_cannot_hide(people: pd.DataFrame, defect: Evaluation) -> None:
    coded = discriminate(defect.real, defect.synthetic)
    assert coded is not None
    assert coded.auroc < 0.55, "codes are the same: whoever looks at them sees nothing"
    assert defect.kway[2].mean == 0
    told = defect.discriminator
    assert told is not None
    assert told.on == "values"
    assert told.auroc > 0.9
    assert told.telling[0].feature == "discharge − admission"
    assert defect.seen is not None
    backwards = defect.seen.reversed
    assert backwards is not None
    assert backwards.negative_real == 0 < 0.2 < backwards.negative_synthetic
    assert "easily distinguished from people, most of all by discharge − admission" in verdict(defect)
    assert any("discharge − admission is below zero" in sentence for sentence in sentences(defect))


def test_the_page_shows_the_defect(defect: Evaluation) -> None:
    page = render(defect)
    seen = page[page.index('id="seen"') : page.index('id="columns"')]
    for words in ("discharge − admission", "What tells doubles from people", "below zero", "Small groups"):
        assert words in seen
    assert "hardly tell doubles" not in page


def test_twins_are_not_told_apart(people: pd.DataFrame) -> None:
    told = discriminate_raw(raw(people), raw(visits(3000, 2)))
    assert told is not None
    assert told.auroc < 0.57


def test_distances_are_those_of_scipy_and_sdmetrics(people: pd.DataFrame) -> None:
    from sdmetrics.single_column import KSComplement, TVComplement

    other = visits(2000, 5).assign(age=lambda f: f["age"] + 3, ward=lambda f: f["ward"].replace("children", "other"))
    by_name = {d.column: d for d in raw_distances(raw(people), raw(other))}
    for name in ("age", "crp"):
        a, b = people[name].astype(float), other[name].astype(float)
        assert by_name[name].kolmogorov_smirnov == pytest.approx(stats.ks_2samp(a, b).statistic, abs=EXACT)
        assert by_name[name].kolmogorov_smirnov == pytest.approx(1 - KSComplement.compute(a, b), abs=EXACT)
        assert by_name[name].wasserstein == pytest.approx(stats.wasserstein_distance(a, b), abs=EXACT)
    days = [pd.to_datetime(f["admission"]) for f in (people, other)]
    assert by_name["admission"].kolmogorov_smirnov == pytest.approx(1 - KSComplement.compute(*days), abs=EXACT)
    expected = 1 - TVComplement.compute(people["ward"], other["ward"])
    assert by_name["ward"].total_variation == pytest.approx(expected, abs=EXACT)


def test_column_shapes_are_sdmetrics_on_the_same_file(people: pd.DataFrame, tmp_path: Path) -> None:
    from sdmetrics.single_column import KSComplement, TVComplement

    visits(2500, 7).to_csv(tmp_path / "doubles.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    ours = compare_seen(
        raw(tmp_path / "people.csv"), raw(tmp_path / "doubles.csv"), learning=False, rng=np.random.default_rng(0)
    )
    sides = [pd.read_csv(tmp_path / f"{n}.csv", parse_dates=["admission", "discharge"]) for n in ("people", "doubles")]
    metrics = {"ward": TVComplement, **dict.fromkeys(("age", "crp", "admission", "discharge"), KSComplement)}
    theirs = [metric.compute(*(side[name] for side in sides)) for name, metric in metrics.items()]
    assert ours.column_shapes == pytest.approx(np.mean(theirs), abs=EXACT)


def test_empty_sides_have_sensible_distances() -> None:
    none, some = np.zeros(0), np.array([1.0, 2.0])
    assert kolmogorov_smirnov(none, some) == 1
    assert kolmogorov_smirnov(none, none) == 0
    assert wasserstein(none, some) is None


def test_values_lost_and_invented_are_counted_as_they_are_written() -> None:
    codes = tuple(f"A{i:02d}" for i in range(30))
    schema = Schema([Category("icd", categories=codes[:5]), Integer("dose", lower=0, upper=1000, bins=4)])
    real = pd.DataFrame({"icd": np.repeat(codes, 20), "dose": np.tile([5, 10, 25, 500], 150)})
    doubles = pd.DataFrame({"icd": np.repeat([*codes[:5], "other"], 100), "dose": np.arange(600)})
    icd, dose = raw_distances(raw(real, schema), raw(doubles, schema))
    assert (icd.real_values, icd.lost, icd.invented, icd.examples) == (30, 25, 1, ("other",))
    assert icd.lost_share == pytest.approx(25 / 30)
    assert icd.invented_share == pytest.approx(1 / 6)
    assert (dose.real_values, dose.lost, dose.invented) == (4, 0, 596)
    coded = evaluate(real, doubles, schema, learning=False)
    assert coded.unseen["icd"] == (0, 0), "in codes nothing is lost: all of it is other"
    assert any("Values that people have and no double has: 25" in sentence for sentence in sentences(coded))


def test_files_and_frames_are_seen_alike(people: pd.DataFrame, tmp_path: Path) -> None:
    frame = people.assign(crp=people["crp"].astype(str).where(np.arange(len(people)) % 9 > 0, "N"))
    frame.loc[::7, "crp"] = ""
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    tables = [raw(frame), raw(tmp_path / "t.csv"), raw(tmp_path / "t.parquet")]
    for other, name in product(tables[1:], SCHEMA.names):
        first, second = tables[0][name], other[name]
        np.testing.assert_array_equal(first.numbers, second.numbers)
        assert [first.words[i] if i >= 0 else None for i in first.texts] == [
            second.words[i] if i >= 0 else None for i in second.texts
        ]
    crp = tables[1]["crp"]
    assert crp.words == ("N",)
    assert crp.missing.sum() == (frame["crp"] == "").sum()
    assert decimals(crp.numbers[~np.isnan(crp.numbers)]) == 1


def test_long_tables_are_sampled_and_say_so(people: pd.DataFrame) -> None:
    some = read_raw(people, SCHEMA, rng=np.random.default_rng(0), most=100)
    assert some is not None
    assert (some.rows, some.of) == (100, 3000)
    assert read_raw(read_table(people, SCHEMA), SCHEMA, rng=np.random.default_rng(0)) is None


def test_a_planted_conditional_stands_out(people: pd.DataFrame) -> None:
    other = visits(3000, 3)
    other.loc[other["ward"] == "children", "age"] = 70
    found = compare_conditionals(raw(people), raw(other), rng=np.random.default_rng(0))
    assert (found.worst[0].column, found.worst[0].value) == ("age", "children")
    assert found.worst[0].distance == 1
    twins = compare_conditionals(raw(people), raw(visits(3000, 4)), rng=np.random.default_rng(0))
    assert twins.mean is not None
    assert twins.mean < 0.06
    assert len(twins.worst) <= 2


def test_groups_are_counted_like_a_brute_force_twin(people: pd.DataFrame) -> None:
    doubles = visits(1500, 8)
    doubles.loc[:150, "ward"] = "maternity"
    doubles.loc[:150, "age"] = 3
    real, synthetic = read_table(people, SCHEMA), read_table(doubles, SCHEMA)
    found = compare_groups(real, synthetic, [("ward", "age")])
    worst = found.worst[0]
    assert worst.values == ("maternity", "0 – 9")
    young = (people["ward"] == "maternity") & (people["age"] < 10)
    assert worst.people == young.sum() == 0
    assert worst.doubles == 2 * ((doubles["ward"] == "maternity") & (doubles["age"] < 10)).sum()
    assert found.empty is not None
    assert found.empty[1] >= worst.doubles / 3000


def test_the_smallest_right_size() -> None:
    sizes = np.array([10.0, 11, 50, 100, 120, 1000, 1500])
    assert right_from(sizes, np.ones(7)) == 10
    assert right_from(sizes, np.array([0, 0, 1, 1, 1, 1, 1.0])) == 50
    assert right_from(sizes, np.array([1, 1, 1, 0, 1, 1, 1.0])) == 120
    assert right_from(sizes, np.zeros(7)) is None
    assert right_from(np.zeros(0), np.zeros(0)) is None


def test_pictures_of_long_tails_are_not_empty() -> None:
    rng = np.random.default_rng(0)
    for numbers in (rng.lognormal(2, 1.5, 5000), np.round(rng.lognormal(4, 1.5, 5000)), rng.normal(0, 1, 5000)):
        edges = value_edges(numbers)
        assert (np.diff(edges) > 0).all()
        assert (np.histogram(numbers, edges)[0] > 0).mean() > 0.8
    assert len(value_edges(np.full(9, 4.0))) == 2


def test_broken_rules_are_counted_on_values(people: pd.DataFrame, defect: Evaluation, tmp_path: Path) -> None:
    ruled = SCHEMA.with_constraints("admission <= discharge", "ward = 'children' implies age < 18")
    broken = shuffled_in_bins(people, "discharge")
    people.to_csv(tmp_path / "people.csv", index=False)
    found = evaluate(tmp_path / "people.csv", broken, ruled, learning=False)
    assert [rule.real for rule in found.rules] == [0, 0]
    assert found.rules[0].synthetic == (broken["discharge"] < broken["admission"]).sum() > 0
    assert found.rules[1].synthetic == 0
    assert any("admission <= discharge" in sentence for sentence in sentences(found))
    page = render(found)
    assert "broken by doubles" in page
    assert "broken by doubles" not in render(defect), "without rules nothing is said of them"


def test_special_numbers_are_words(people: pd.DataFrame) -> None:
    schema = SCHEMA.with_columns(Integer("age", lower=0, upper=99, bins=10, special=(9999,)))
    frame = people.assign(age=people["age"].where(np.arange(len(people)) % 5 > 0, 9999))
    age = raw(frame, schema)["age"]
    assert age.words == ("9999",)
    assert np.nanmax(age.numbers) < 100


def test_dates_are_told_as_dates_and_numbers_as_people_write_them() -> None:
    days = np.arange(-400.0, 400.0)  # around 1970, where a day's number is small
    told = _described(Feature("birth", days, days + 3, unit="date"))
    assert "1969" in told
    assert "1970-12" in told
    assert number(17_913.4) == "17,913"
    assert number(-1_220) == "-1,220"
    assert (number(3.14159), number(0.00123), number(2e12)) == ("3.142", "0.00123", "2e+12")
