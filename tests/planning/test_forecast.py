"""What is told before a release.

Every part of the work, an error that does not saturate, stand-ins for what is open.
"""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.errors import UsageError
from kagemusha.planning.forecast import CATEGORIES, closed, forecast
from kagemusha.planning.wanted import like, made_up, mean_error, pairs_of, solve_epsilon
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable
from kagemusha.release.grid import BINS
from kagemusha.schema import Category, Date, Integer, Real, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers import create, fit


def schema(columns: int, size: int) -> Schema:
    return Schema([Category(f"c{i}", categories=tuple(range(size)), out_of_domain="clip") for i in range(columns)])


def told(declared: Schema, rows: int, epsilon: float = 1.0, discover: float | None = None):  # type: ignore[no-untyped-def]
    method, budget = create("kage"), Budget(epsilon)
    cost = method.plan(declared.domain, budget)
    return forecast(declared, method, cost, budget, rows=rows, discover=discover)


def test_more_work_takes_longer_and_more_room() -> None:
    small, long, wide = told(schema(6, 8), 10_000), told(schema(6, 8), 5_000_000), told(schema(60, 8), 10_000)
    for larger in (long, wide):
        assert larger.seconds > small.seconds
        assert larger.at_most > small.at_most
        assert larger.megabytes > small.megabytes
    assert [phase.name for phase in small.phases][1:] == [
        "reading",
        "counting and fitting",
        "drawing and writing doubles",
        "judging them",
    ]


@pytest.mark.parametrize("rows", [5_000, 200_000, 400_000, 3_000_000])
def test_trades_of_rows_are_part_of_drawing_and_have_an_end(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawing(columns: int) -> float:
        return {p.name: p.seconds for p in told(schema(columns, 4), rows).phases}["drawing and writing doubles"]

    many, few = drawing(40), drawing(20)
    for what in ("FEW", "MANY"):
        monkeypatch.setattr(f"kagemusha.planning.forecast.{what}", 0.0)
    traded = many - drawing(40), few - drawing(20)
    # beyond some number of rows there is an end to it
    assert traded[0] > (1.5 if rows <= 200_000 else 1.0) * traded[1] > 0
    assert many < 10 + 2e-5 * rows


def test_the_error_does_not_saturate() -> None:
    errors = [told(schema(20, 32), 5_000, epsilon).error for epsilon in (0.03, 0.3, 3.0, 30.0)]
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 4
    assert errors[1] < 1
    assert told(schema(20, 32), 5_000_000).error < told(schema(20, 32), 5_000).error


def test_open_columns_get_stand_ins_of_typical_size() -> None:
    open_schema = Schema(
        [
            Category("ward"),
            Integer("age"),
            Real("bmi", bins=5),
            Date("seen", lower="2020-01-01"),
            Category("x", categories=("a", "b")),
        ]
    )
    complete = closed(open_schema)
    assert not complete.open_facts()
    sizes = dict(zip(complete.domain.names, complete.domain.sizes, strict=True))
    assert sizes["ward"] == CATEGORIES + 1
    assert (sizes["age"], sizes["bmi"]) == (BINS, 5)
    assert complete["x"] == open_schema["x"]
    found = told(complete, 10_000, discover=0.2)
    assert found.steps[0] == ("discovery of categories and bounds", 0.2)
    assert sum(share for _, share in found.steps) == pytest.approx(1)
    assert found.error > told(complete, 10_000).error


def test_the_solved_epsilon_brings_the_wanted_error_on_the_stand_in() -> None:
    declared = schema(4, 5)
    codes = made_up(declared, 4_000, rng=np.random.default_rng(1))
    pairs = pairs_of(declared.domain, ["c0,c1", "c3, c2"])
    assert pairs == [("c0", "c1"), ("c2", "c3")]
    solved = solve_epsilon(create("kage"), declared, [codes], Budget(1.0), 0.06, pairs)
    assert solved.reached
    table = CodedTable.of_codes(declared, codes)
    errors = []
    for seed in range(20, 26):
        source = CodesSource(declared, table.columns)
        model = fit(create("kage"), source, Budget(solved.epsilon), simulation=seed)
        doubles = CodedTable.of_codes(declared, model.sample_codes(4_000, rng=np.random.default_rng(seed)))
        errors.append(mean_error(table, doubles, pairs))
    assert np.mean(errors) == pytest.approx(0.06, rel=0.25)


def test_an_error_out_of_reach_is_told_so() -> None:
    declared = schema(3, 4)
    codes = made_up(declared, 50, rng=np.random.default_rng(1))
    solved = solve_epsilon(create("independent"), declared, [codes], Budget(1.0), 1e-4, pairs_of(declared.domain, []))
    assert not solved.reached
    with pytest.raises(UsageError, match="age,ward"):
        pairs_of(declared.domain, ["c0"])
    with pytest.raises(UsageError, match="no column named"):
        pairs_of(declared.domain, ["c0,zz"])


def test_a_made_up_table_obeys_the_rules_so_that_an_epsilon_can_be_found() -> None:
    rules = ["c0 = 'b' implies c1 = 'a'", "c2 <= c3"]
    labels = [Category(f"c{i}", categories=("a", "b", "c"), out_of_domain="clip") for i in range(2)]
    numbers = [Integer(f"c{i}", lower=0, upper=5) for i in (2, 3)]
    declared = Schema([*labels, *numbers], constraints=rules)
    codes = made_up(declared, 3_000, rng=np.random.default_rng(0))
    assert len(codes) == 3_000
    assert not ((codes[:, 0] == 1) & (codes[:, 1] != 0)).any()
    assert not (codes[:, 2] > codes[:, 3]).any()
    solved = solve_epsilon(create("kage"), declared, [codes], Budget(1.0), 0.1, pairs_of(declared.domain, []))
    assert solved.reached


def test_a_stand_in_scatters_around_its_model_as_people_do() -> None:
    declared = schema(4, 5)
    source = CodesSource(
        declared, CodedTable.of_codes(declared, made_up(declared, 4_000, rng=np.random.default_rng(1))).columns
    )
    model = fit(create("kage"), source, Budget(5.0), simulation=0)
    expected = model.project(("c0", "c1")) / model.project(("c0", "c1")).sum()
    tables = [like(model, 4_000, rng=np.random.default_rng(seed)) for seed in range(20)]
    counts = [np.bincount(t[:, 0] * expected.shape[1] + t[:, 1], minlength=expected.size) for t in tables]
    off = np.mean([((c - 4_000 * expected.ravel()) ** 2)[expected.ravel() > 0.01].sum() for c in counts])
    by_chance = (4_000 * expected * (1 - expected))[expected > 0.01].sum()
    assert off == pytest.approx(by_chance, rel=0.35)


def test_rules_take_time() -> None:
    plain = schema(8, 6)
    assert told(plain.with_constraints("c0 = '0' implies c1 = '0'"), 10_000).seconds > told(plain, 10_000).seconds + 0.5


def test_a_column_of_thousands_of_codes_does_not_hide_the_pairs_of_the_others() -> None:
    small = [Category(f"c{i}", categories=tuple(range(10))) for i in range(9)]
    wide = Schema([*small, Category("code", categories=tuple(range(5_000)))])
    fitting = [
        {p.name: p.seconds for p in told(s, 100_000).phases}["counting and fitting"] for s in (Schema(small), wide)
    ]
    assert fitting[1] > 0.5 * fitting[0]


def test_where_noise_hides_most_pairs_the_model_stays_small_and_the_fit_is_short() -> None:
    fitting = [
        {p.name: p.seconds for p in told(schema(15, 10), rows).phases}["counting and fitting"]
        for rows in (1_000, 10_000_000)
    ]
    assert fitting[0] < 0.2 * fitting[1]
    assert told(schema(15, 10), 1_000).megabytes < told(schema(15, 10), 10_000_000).megabytes


def test_about_follows_the_noise_and_at_most_the_limits_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = told(schema(15, 10), 1_000), told(schema(15, 10), 1_000_000)

    def fitting(found) -> tuple[float, float]:  # type: ignore[no-untyped-def]
        (part,) = (p for p in found.phases if p.name == "counting and fitting")
        return part.seconds, part.at_most

    assert fitting(few)[0] < 0.2 * fitting(many)[0]
    # only rows that are counted make the most of it larger
    assert fitting(few)[1] == pytest.approx(fitting(many)[1] - 2e-8 * 999_000 * 105)
    for found in (few, many):
        assert all(part.seconds <= part.at_most for part in found.phases)
    monkeypatch.setattr("kagemusha.planning.fitting.PASSES", (80, 1000, 1 << 24))
    assert fitting(told(schema(15, 10), 1_000))[1] > 1.5 * fitting(few)[1]
    narrow = create("kage", max_cells=400_000)
    cost = narrow.plan(schema(15, 10).domain, Budget(1.0))
    small = forecast(schema(15, 10), narrow, cost, Budget(1.0), rows=1_000)
    assert fitting(small)[1] < 0.2 * fitting(few)[1]


@pytest.mark.parametrize("method", ["aim", "mst", "privbayes"])
def test_other_methods_say_what_is_usual_and_the_longest(method: str) -> None:
    declared, budget = schema(12, 6), Budget(1.0)
    cost = create(method).plan(declared.domain, budget)
    found = forecast(declared, create(method), cost, budget, rows=10_000)
    (part,) = (p for p in found.phases if p.name == "counting and fitting")
    assert part.at_most == pytest.approx(cost.seconds)
    assert part.seconds == pytest.approx(cost.usual * cost.seconds)
    assert cost.usual < 0.1
