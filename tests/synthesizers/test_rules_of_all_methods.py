"""Whatever the method: no double breaks a rule of the schema, and columns that follow from others follow."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.encoding.rules import violations
from kagemusha.models.doubles import Doubles
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Boolean, Category, Date, Integer, Real, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import names
from small import small

SCHEMA = Schema(
    [
        Date("came", lower="2020-01-01", upper="2021-12-31", bins=6),
        Date("left", lower="2020-01-01", upper="2022-03-31", bins=6),
        Integer("stay", lower=0, upper=60, bins=6, formula="left - came", replaces="left"),
        Category("ward", categories=("maternity", "surgery", "children"), out_of_domain="clip"),
        Boolean("pregnant"),
        Integer("age", lower=0, upper=99, bins=6),
        Real("blood", lower=0.0, upper=10.0, bins=4),
        Real("urine", lower=0.0, upper=10.0, bins=4),
        Real("both", lower=0.0, upper=20.0, formula="blood + urine"),
    ],
    constraints=[
        "came <= left",
        "blood <= urine",
        "ward = 'maternity' implies pregnant = true",
        "ward = 'children' implies age <= 17",
        "never ward = 'surgery' and age < 5",
    ],
)


@cache
def visits(rows: int = 300) -> pa.Table:
    """People who obey."""
    rng = np.random.default_rng(3)
    ward = rng.choice(["maternity", "surgery", "children"], rows)
    pregnant = (ward == "maternity") | ((ward == "surgery") & (rng.random(rows) < 0.1))
    age = np.where(ward == "children", rng.integers(0, 18, rows), rng.integers(18, 99, rows))
    came = rng.integers(18262, 18990, rows)
    blood, urine = np.sort(rng.uniform(0, 10, (2, rows)).round(1), axis=0)
    days = {"came": came, "left": came + rng.geometric(0.2, rows).clip(0, 60)}
    return pa.table(
        {
            **{name: pa.array(d.tolist(), pa.int32()).cast(pa.date32()) for name, d in days.items()},
            "ward": ward,
            "pregnant": pregnant,
            "age": age,
            "blood": blood,
            "urine": urine,
            "both": (blood + urine).round(1),
        }
    )


@cache
def fitted(name: str) -> Model:
    return fit(small(name), visits(), Budget(5.0, 1e-6), schema=SCHEMA, simulation=1)


def broken(table: pa.Table) -> dict[str, int]:
    """Rules that rows break, by the code that doubles are checked with, and by eye."""
    found = violations(table, SCHEMA)
    rows = table.to_pylist()
    by_eye = {
        "in order": sum(not timedelta(0) <= r["left"] - r["came"] <= timedelta(60) for r in rows),
        "pregnant": sum(r["ward"] == "maternity" and not r["pregnant"] for r in rows),
        "children": sum(r["ward"] == "children" and r["age"] > 17 for r in rows),
        "surgery": sum(r["ward"] == "surgery" and r["age"] < 5 for r in rows),
        "numbers": sum(r["blood"] > r["urine"] for r in rows),
        "sum": sum(abs(r["both"] - r["blood"] - r["urine"]) > 1e-6 for r in rows),
    }
    return {rule: count for rule, count in (found | by_eye).items() if count}


def drawn(model: Model, where: str | None = None) -> pa.Table:
    rows = min(200, model.most_rows)
    return model.sample(rows, rng=np.random.default_rng(5), where=where, like="pyarrow")


def test_people_obey() -> None:
    assert not broken(visits())


@pytest.mark.parametrize("name", names())
def test_no_double_breaks_a_rule(name: str) -> None:
    table = drawn(fitted(name))
    assert not broken(table)
    assert tuple(table.column_names) == tuple(c.name for c in SCHEMA.table_columns)
    assert len(set(table["ward"].to_pylist())) > 1, "obeying must not mean that all are alike"


@pytest.mark.parametrize("name", names())
def test_a_condition_changes_nothing_about_that(name: str) -> None:
    table = drawn(fitted(name), "ward = 'maternity' and came >= '2020-06-01'")
    assert not broken(table)
    assert set(table["ward"].to_pylist()) == {"maternity"}
    assert table["pregnant"].to_pylist() == [True] * table.num_rows


@pytest.mark.parametrize("name", ["kage", "gaussian", "vae"])
def test_these_tests_can_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the place where doubles are made to obey, these methods break rules."""

    def as_drawn(self: Doubles, codes: Any, *, rng: np.random.Generator, groups: Any = ()) -> Any:
        return self._encoder.draw(self.generator.sample(len(codes), rng=rng), rng=rng)

    monkeypatch.setattr(Doubles, "cells", as_drawn)
    assert broken(drawn(fitted(name)))
