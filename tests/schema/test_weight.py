"""Survey weights in the schema: what is declared, what is refused, and what each code weighs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagemusha.errors import SchemaError
from kagemusha.schema import Category, Date, Drop, Integer, Real, Schema, Weight
from kagemusha.schema.lint import check
from kagemusha.schema.unit import MOST_STEPS, weight_steps

REGION = Category("region", categories=("north", "south"))
W = Real("w", lower=0.0, upper=800.0, bins=40)


def test_the_weight_stands_in_the_file_and_in_the_digest() -> None:
    plain = Schema([REGION, W])
    weighted = plain.with_weight("w")
    text = weighted.dumps()
    assert '[weight]\ncolumn = "w"' in text
    for again in (Schema.loads(text), Schema.from_json(weighted.to_json())):
        assert again == weighted
        assert again.weight == Weight("w")
    assert weighted.digest() != plain.digest()
    assert "weight" not in plain.to_json(), "digests of schemas without weights stay as they were"
    gaps = Schema([REGION, Real("w", lower=0.0, upper=9.0, missing=True)], weight=Weight("w", missing=1))
    assert Schema.loads(gaps.dumps()) == gaps


def test_changes_of_a_schema_keep_its_weight() -> None:
    schema = Schema([REGION, W], weight="w")
    kept = [
        schema.confirm(),
        schema.with_constraints("region = 'north' implies w > 0"),
        schema.with_unit(schema.unit),
        schema.replace("w", bins=10),
        schema.with_columns(Category("sex", categories=("F", "M"))),
    ]
    assert all(one.weight == Weight("w") for one in kept)
    assert schema.with_weight(None).weight is None


@pytest.mark.parametrize(
    ("column", "weight", "why"),
    [
        (Real("w", lower=0.0), Weight("w"), "upper of column 'w' must be declared"),
        (Real("w", upper=9.0), Weight("w"), "lower of column 'w' must be declared"),
        (Real("w", lower=-1.0, upper=9.0), Weight("w"), "must be at least 0"),
        (Real("w", lower=0.0, upper=1e15), Weight("w"), "1e-12 to 1e12"),
        (Integer("w", lower=0, upper=9, special=(99,)), Weight("w"), "special values"),
        (Real("w", lower=0.0, upper=9.0, missing=True), Weight("w"), "missing = 0 or missing = 1"),
        (Real("w", lower=0.0, upper=9.0), Weight("w", missing=1), "no value of column 'w' may be missing"),
        (Real("w", lower=0.0, upper=9.0, missing=True), Weight("w", missing=10), "above the largest weight"),
        (W, Weight("v"), "no column 'v'"),
        (Drop("w"), Weight("w"), "integer or real"),
        (Date("w", lower="2020-01-01", upper="2020-12-31"), Weight("w"), "integer or real"),
        (Category("w", categories=("1", "2")), Weight("w"), "integer or real"),
    ],
)
def test_what_cannot_bound_a_record_is_refused(column, weight: Weight, why: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SchemaError, match=why):
        Schema([REGION, column], weight=weight)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("weight = 3", "a table is needed"),
        ("[weight]\nmissing = 1", "a table is needed"),
        ('[weight]\ncolumn = "w"\nupper = 3', "no field 'upper'"),
        ('[weight]\ncolumn = "w"\nmissing = -1', "at least 0"),
        ('[weight]\ncolumn = "w"\nmissing = true', "at least 0"),
        ("[weight]\ncolumn = 3", "name of a column"),
    ],
)
def test_a_wrong_table_is_told(text: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        Schema.loads(f'{text}\n[columns.w]\nkind = "real"\nlower = 0\nupper = 9\n')


def test_a_worked_out_column_is_no_weight() -> None:
    columns = [
        Real("a", lower=0.0, upper=9.0),
        Real("b", lower=0.0, upper=18.0),
        Real("w", lower=0.0, upper=9.0, formula="b - a", replaces="b"),
    ]
    with pytest.raises(SchemaError, match="formula"):
        Schema(columns, weight="w")
    with pytest.raises(SchemaError, match="modelled itself"):
        Schema([*columns[:2], Real("w", lower=0.0, upper=27.0)], constraints=["w = a + b"], weight="w")


WHOLE = st.integers(1, 2**19)


@given(WHOLE, st.integers(1, 60))
def test_codes_weigh_the_middle_of_their_bins(upper: int, bins: int) -> None:
    column = Integer("w", lower=0, upper=upper, bins=bins)
    steps = weight_steps(column, Weight("w"))
    starts = [*column.starts.tolist(), upper + 1]
    middles = [(a + b - 1) / 2 for a, b in itertools.pairwise(starts)]
    assert steps.values.tolist() == middles, "whole and half numbers are exact"
    assert steps.steps.min() >= 0
    assert steps.most <= MOST_STEPS


@given(st.floats(1e-9, 1e9), st.integers(1, 60), st.booleans(), st.floats(0, 1))
def test_no_code_weighs_more_than_the_largest_weight(upper: float, bins: int, gaps: bool, share: float) -> None:
    column = Real("w", lower=0.0, upper=upper, bins=bins, missing=gaps)
    steps = weight_steps(column, Weight("w", missing=share * upper if gaps else None))
    assert len(steps.steps) == column.size
    assert steps.most <= MOST_STEPS
    middles = (np.arange(bins) + 0.5) * upper / bins
    assert np.allclose(steps.values[:bins], middles, atol=upper * 2**-20, rtol=0)
    assert steps.values.max() <= upper * (1 + 2**-19)


def test_single_values_keep_theirs() -> None:
    column = Real("w", values=(0.5, 1.25, 40))
    assert weight_steps(column, Weight("w")).values.tolist() == [0.5, 1.25, 40]


def test_check_explains_the_weight_and_wide_bins() -> None:
    told = [f for f in check(Schema([REGION, W], weight="w")) if f.column == "w"]
    assert [f.level for f in told] == ["note"]
    assert "up to 800 people" in told[0].text
    assert "not the population" in told[0].text
    wide = check(Schema([REGION, Real("w", lower=0.0, upper=800.0, bins=4)], weight="w"))
    assert any(f.level == "warning" and "middle of its bin" in f.text for f in wide if f.column == "w")
