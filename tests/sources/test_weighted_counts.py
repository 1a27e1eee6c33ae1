"""Weighted counts: a brute-force twin on every source, what one record can move, and a mutant that forgets to clip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_source_contract import store

from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.queries.weighted_counts import WeightedCounts
from kagemusha.schema import Category, Clique, Drop, Integer, Real, Schema, Unit, Weight
from kagemusha.sources import open_source

COLUMNS = (
    Category("region", categories=("n", "s", "e"), out_of_domain="clip"),
    Category("sex", categories=("F", "M"), missing=True),
)
FEW = Schema([*COLUMNS, Real("w", values=(0.5, 2.0, 7.25), missing=True)], weight=Weight("w", missing=1.0))
WHOLE = Schema([*COLUMNS, Integer("w", lower=0, upper=50)], weight="w")
BINNED = Schema([Integer("w", lower=1, upper=400, bins=7, scale="log"), *COLUMNS], weight="w")
SCHEMAS = {"few": FEW, "whole": WHOLE, "binned": BINNED}
CLIQUES: list[Clique] = [(), ("region",), ("sex", "region"), ("w",), ("region", "w")]


def survey(rows: int = 80, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.5, 2.0, 7.25, 13, 50, 399, 5000, -4], rows)
    return pa.table(
        {
            "region": pa.array(rng.choice(["n", "s", "e", "abroad"], rows)),
            "sex": pa.array(rng.choice(["F", "M"], rows), mask=rng.random(rows) < 0.2),
            "w": pa.array(weights, mask=rng.random(rows) < 0.1),
        }
    )


def by_hand(schema: Schema, table: pa.Table, clique: Clique) -> dict[tuple[str, ...], float]:
    """Record by record: its labels as people write them, its weight as the middle of the bin it is clipped into."""
    column, weight = schema["w"], schema.weight
    assert isinstance(column, Integer | Real)
    assert weight is not None
    found: dict[tuple[str, ...], float] = {}
    for record in table.to_pylist():
        labels = {
            "region": record["region"] if record["region"] in ("n", "s", "e") else "e",
            "sex": record["sex"] or "(missing)",
        }
        value = record["w"]
        if column.points is not None:
            at = None if value is None else int(np.argmin(np.abs(column.points - min(max(value, 0.5), 7.25))))
            weighs = weight.missing if at is None else float(column.points[at])
            labels["w"] = "(missing)" if at is None else column.code_names[at]
        else:
            starts = column.starts.tolist()
            inside = column.low if value is None else min(max(math.floor(value), column.low), column.high)
            at = max(i for i, start in enumerate(starts) if start <= inside)
            last = starts[at + 1] - 1 if at + 1 < len(starts) else column.high
            weighs, labels["w"] = (starts[at] + last) / 2, column.code_names[at]
        assert weighs is not None
        key = tuple(labels[name] for name in clique)
        found[key] = found.get(key, 0.0) + weighs
    return found


def totals(query: WeightedCounts, source: Any) -> dict[tuple[str, ...], float]:
    exact = query.released(query.values(source.count(query.cliques())), 0.0)
    names = [getattr(query.schema[name], "code_names") for name in exact.clique]  # noqa: B009
    return {
        tuple(names[axis][i] for axis, i in enumerate(place)): float(value)
        for place, value in np.ndenumerate(exact.values)
        if value
    }


@pytest.mark.parametrize(
    "kind", ["frame", "parquet", "pattern", "duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)]
)
def test_every_source_gives_the_sums_of_a_loop(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table = survey()
    where, place = store(kind, table, request, tmp_path)
    for schema in SCHEMAS.values():
        source = open_source(where, schema, **place)
        for clique in CLIQUES:
            query = WeightedCounts(schema, clique)
            wanted = by_hand(schema, table, query.clique)
            assert totals(query, source) == pytest.approx({k: v for k, v in wanted.items() if v}), (clique, schema)


RECORD = st.tuples(
    st.sampled_from(["n", "s", "e", "x"]), st.sampled_from(["F", "M", None]), st.sampled_from([None, -9, 0, 0.5, 3, 49,
        50, 1e7])
)  # fmt: skip


def answer(query: WeightedCounts, records: Sequence[tuple[Any, ...]]) -> IntArray:
    region, sex, weight = zip(*records, strict=True) if records else ((), (), ())
    table = pa.table(
        {
            "region": pa.array(region, pa.string()),
            "sex": pa.array(sex, pa.string()),
            "w": pa.array([None if w is None else float(w) for w in weight], pa.float64()),
        }
    )
    return query.values(open_source(table, query.schema).count(query.cliques()))


def moved_too_far(query: WeightedCounts, one: IntArray, two: IntArray, relation: Adjacency) -> bool:
    moves = PrivacyUnit(relation).sensitivity(query.sensitivity)
    by = np.abs(one - two)
    return bool(by.sum() > moves.l1 or (by**2).sum() > moves.l2_squared or by.max() > moves.each)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(SCHEMAS)), st.sampled_from(CLIQUES), st.lists(RECORD, max_size=4), RECORD, RECORD)
def test_no_record_moves_more_than_its_reach(
    which: str, clique: Clique, others: list[Any], one: tuple[Any, ...], two: tuple[Any, ...]
) -> None:
    query = WeightedCounts(SCHEMAS[which], clique)
    without, with_one, with_two = (answer(query, [*others, *more]) for more in ([], [one], [two]))
    assert not moved_too_far(query, without, with_one, Adjacency.ADD_REMOVE)
    assert not moved_too_far(query, with_one, with_two, Adjacency.REPLACE)


def test_the_reach_is_reached() -> None:
    """No smaller number would do: the largest weight moves all of it, and from cell to cell twice."""
    query = WeightedCounts(WHOLE, ("region",))
    none, north, south = (answer(query, r) for r in ([], [("n", "F", 50)], [("s", "F", 50)]))
    added, exchanged = (PrivacyUnit(r).sensitivity(query.sensitivity) for r in Adjacency)
    assert np.abs(north - none).sum() == added.l1 == added.each
    assert ((north - none) ** 2).sum() == added.l2_squared
    assert np.abs(north - south).sum() == exchanged.l1 == 2 * added.l1
    assert ((north - south) ** 2).sum() == exchanged.l2_squared
    assert query.weights.worth * added.l1 == 50


class Unclipped(WeightedCounts):
    """The bug: weights as they are written, not as they are declared. Only a test knows them, through `raw`."""

    raw: Sequence[float] = ()

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        return np.array([round(sum(self.raw) / self.weights.worth)], dtype=np.int64)


def test_a_weight_that_is_not_clipped_is_caught() -> None:
    mutant = Unclipped(WHOLE, ())
    answers = []
    for raw in ((50.0, 3.0), (50.0, 3.0, 1e7)):
        object.__setattr__(mutant, "raw", raw)
        answers.append(mutant.values([]))
    assert moved_too_far(mutant, *answers, Adjacency.ADD_REMOVE)
    right = WeightedCounts(WHOLE, ())
    both = [
        answer(right, r) for r in ([("n", "F", 50), ("n", "F", 3)], [("n", "F", 50), ("n", "F", 3), ("n", "F", 1e7)])
    ]
    assert not moved_too_far(right, *both, Adjacency.ADD_REMOVE)


def test_a_person_with_several_rows_moves_them_all() -> None:
    schema = Schema([Drop("id"), *WHOLE.columns], Unit("id", 3), weight="w")
    query = WeightedCounts(schema, ("region",))
    table = pa.table({"id": ["a"] * 9, "region": ["n"] * 9, "sex": ["F"] * 9, "w": [50] * 9})
    exact = query.values(open_source(table, schema).count(query.cliques()))
    moves = PrivacyUnit(Adjacency.ADD_REMOVE, 3).sensitivity(query.sensitivity)
    assert exact.sum() == moves.l1 == 3 * query.weights.most


def test_what_cannot_be_asked_is_told() -> None:
    with pytest.raises(UsageError, match="declares no weight"):
        WeightedCounts(WHOLE.with_weight(None), ())
    with pytest.raises(UsageError, match="no column named 'age'"):
        WeightedCounts(WHOLE, ("age",))


def test_another_bound_is_another_question() -> None:
    lower = Schema([*COLUMNS, replace(WHOLE["w"], upper=40)], weight="w")
    assert WeightedCounts(lower, ()).record != WeightedCounts(WHOLE, ()).record
