"""Groups: from which size on their counts hold, and what is told of the group that `sample --where` draws from."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest

from kagemusha.models import Model
from kagemusha.privacy.budget import Budget
from kagemusha.quality.expected_error import ErrorInterval, ExpectedError, expected_error
from kagemusha.quality.group import DrawnGroup, drawn_group
from kagemusha.quality.projectable import CodedTable
from kagemusha.quality.released import group_sizes
from kagemusha.quality.statement import quality_files
from kagemusha.quality.words import groups_in_words, shown_size
from kagemusha.schema import Schema
from kagemusha.synthesizers import create, fit

from .test_expected_error import frame, mixture


def fitted(method: str, epsilon: float, seed: int, rows: int = 20_000) -> tuple[Schema, CodedTable, Model]:
    schema, table = mixture(seed, rows)
    return schema, table, fit(create(method), frame(table), Budget(epsilon), schema=schema, simulation=seed)


def test_groups_of_the_promised_size_are_right() -> None:
    right, groups = 0, 0
    for method, epsilon, seed in product(("kage", "aim", "mst"), (1.0, 5.0), range(3)):
        schema, table, model = fitted(method, epsilon, seed)
        expected = expected_error(model)
        doubles = CodedTable.of_codes(schema, model.sample_codes(table.rows, rng=np.random.default_rng(seed)))
        for one in (*expected.columns, *expected.pairs):
            if one.right_from is None:
                continue
            p, q = table.project(one.clique), doubles.project(one.clique)
            there = model.project(one.clique) >= one.right_from
            groups += int(there.sum())
            right += int((np.abs(q - p)[there] <= 0.1 * p[there]).sum())
    assert groups > 300
    assert right / groups >= 0.9


def test_more_noise_needs_larger_groups() -> None:
    sizes = []
    for epsilon in (0.3, 1.0, 10.0):
        _, _, model = fitted("independent", epsilon, 1)
        sizes.append(expected_error(model).right_from(1) or math.inf)
    assert sizes[0] >= sizes[1] >= sizes[2]
    assert sizes[0] > sizes[2]


def test_a_table_of_noise_has_no_group_that_is_right() -> None:
    size, share = group_sizes(np.full(10, 20.0), [], 200.0, 1.0)
    assert size is None
    assert share == 0


def test_the_statement_speaks_of_groups() -> None:
    _, _, model = fitted("kage", 3.0, 1)
    files = quality_files(model)
    told = json.loads(files["quality.json"])
    assert told["groups"]["by one column"] > 0
    assert all("groups right from" in pair for pair in told["pairs"])
    page = files["quality.html"].decode()
    assert "Groups by one column: the smallest whose count is right to within 10 % has" in page
    assert "rare combinations" in page[: page.index("<h2>")], "the caveat stands above the tables, in plain sight"
    assert "soft small" not in page[page.index("caveat") : page.index("<h2>")]


def test_verdicts_are_given_with_their_size() -> None:
    def one(high: float, size: float | None) -> ErrorInterval:
        return ErrorInterval(("a", "b"), 0.0, high, "counts", size, 0.5)

    assert shown_size(one(0.05, 320.4)) == "321 rows"
    assert shown_size(one(0.05, None)) == "no size"
    told = groups_in_words(ExpectedError([one(0.1, None)], [one(0.1, 50.0), one(0.1, 70.0), one(0.1, None)]))
    assert "fewer than half of the columns" in told[0]
    assert "has 70 rows" in told[1]
    assert "One pair has no such group" in told[1]


def test_the_size_and_error_of_a_drawn_group_hold() -> None:
    held, cases = 0, 0
    for seed in range(4):
        _, table, model = fitted("kage", 2.0, seed)
        people = frame(table)
        for where, mask in (
            ("c1 = 1", people["c1"] == 1),
            ("c3 > 5", people["c3"] > 5),
            ("c1 = 1 and c3 > 5", (people["c1"] == 1) & (people["c3"] > 5)),
            ("c0 = 1 or c4 = 2", (people["c0"] == 1) | (people["c4"] == 2)),
        ):
            group = drawn_group(model, where)
            assert group.error is not None
            cases += 1
            held += abs(group.size - int(mask.sum())) <= group.error
            assert "people" in group.words
    assert held >= 0.9 * cases


def test_a_group_that_nobody_can_count_is_not_given_a_percentage() -> None:
    unknown = DrawnGroup(25, 9_949, ("ward", "age"), records=True)
    assert "%" not in unknown.words
    assert "about 25 records in the model, up to about 9,974" in unknown.words
    assert "too uncertain" in DrawnGroup(1_000, 300, ("ward",)).words
    assert (
        DrawnGroup(1_000, 30, ("ward",)).words
        == "about 1,000 people, off by at most about 30 (3 %) in nine of ten cases"
    )


def test_what_a_group_stands_for_is_said_once() -> None:
    words = DrawnGroup(1_476, 548, ("region",), population=97_072).words
    assert words.count("97,072") == 1
    assert "1,476 records" in words


def test_three_columns_that_nobody_measured_are_not_promised() -> None:
    _, table, model = fitted("independent", 2.0, 1)
    group = drawn_group(model, "c0 = 1 and c1 = 1 and c3 > 2")
    assert group.error is None
    assert "cannot be known" in group.words
    expected = np.prod([float(np.mean(m)) for m in _parts(frame(table))]) * table.rows
    assert group.size == pytest.approx(expected, rel=0.1)


def _parts(people):  # type: ignore[no-untyped-def]
    return people["c0"] == 1, people["c1"] == 1, people["c3"] > 2
