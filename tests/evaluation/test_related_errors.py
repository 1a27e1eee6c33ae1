"""Measures of doubles of related tables: nothing where there is no difference, and each sees what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from kagemusha.evaluation.related import RelatedErrors, evaluate_related
from kagemusha.schema import Category, Integer, Schema, Surrogate
from kagemusha.schema.related import Related, Table

PERSONS, ROWS = 900, 4


def schema(*, first_of: str | None = None) -> Related:
    persons = Schema([Surrogate("p"), Category("sex", categories=("F", "M")), Category("home", categories=("a", "b"))])
    rows = Schema(
        [
            Surrogate("p"),
            Integer("day", lower=0, upper=99, bins=10),
            Category("ward", categories=("a", "b")),
            Integer("stay", lower=0, upper=9),
        ]
    )
    below = Table("rows", rows, "p", "persons", order="day", max_rows=8)
    return Related([Table("persons", persons, "p", first_of=first_of), below])


def tables(seed: int) -> dict[str, pd.DataFrame]:
    """Persons who stay in the ward of their home, in rows a week apart."""
    rng = np.random.default_rng(seed)
    home = rng.choice(["a", "b"], PERSONS)
    count = rng.integers(1, 2 * ROWS, PERSONS)
    who = np.repeat(np.arange(PERSONS), count)
    place = np.concatenate([np.arange(n) for n in count])
    sex = rng.choice(["F", "M"], PERSONS)
    stay = np.where(home[who] == "a", rng.integers(0, 5, len(who)), rng.integers(5, 10, len(who)))
    rows = pd.DataFrame({"p": who, "day": 3 + 7 * place, "ward": home[who], "stay": stay})
    return {"persons": pd.DataFrame({"p": range(PERSONS), "sex": sex, "home": home}), "rows": rows}


def errors(change: Any) -> tuple[RelatedErrors, Any]:
    doubles = tables(2)
    change(doubles)
    found = evaluate_related(tables(1), doubles, schema())
    return found, found.tables[0]


def test_another_draw_is_near_in_everything() -> None:
    found, rows = errors(lambda doubles: None)
    assert found.persons < 0.1
    assert max(rows.numbers, rows.pairs, rows.with_parent, rows.next_row) < 0.2
    assert rows.gaps == 0
    assert rows.per_person < 0.2
    assert found.discriminator is not None
    assert found.discriminator.auroc < 0.57


def strangers(doubles: dict[str, pd.DataFrame]) -> None:
    order = np.random.default_rng(0).permutation(len(doubles["rows"]))
    for name in ("ward", "stay"):
        doubles["rows"][name] = doubles["rows"][name].to_numpy()[order]


def test_rows_dealt_to_strangers_are_seen_by_parent_and_next_row_and_the_learner_alone() -> None:
    found, rows = errors(strangers)
    assert rows.pairs < 0.2
    assert rows.with_parent > 0.3
    assert rows.next_row > 0.4
    assert rows.per_person > 0.3
    assert found.discriminator is not None
    assert found.discriminator.auroc > 0.9


def fewer(doubles: dict[str, pd.DataFrame]) -> None:
    rows = doubles["rows"]
    doubles["rows"] = rows[rows.groupby("p").cumcount() < 3]


def later(doubles: dict[str, pd.DataFrame]) -> None:
    doubles["rows"]["day"] = (doubles["rows"]["day"] - 3) // 7 * 13 + 3


@pytest.mark.parametrize(("change", "measure"), [(fewer, "numbers"), (later, "gaps")])
def test_numbers_and_gaps_are_seen(change: Any, measure: str) -> None:
    _, rows = errors(change)
    assert getattr(rows, measure) > 0.5


def test_one_long_table_is_compared_with_doubles_of_two() -> None:
    real = tables(1)
    long = {"rows": real["rows"].merge(real["persons"], on="p")}
    found = evaluate_related(long, tables(2), schema(first_of="rows"))
    assert found.persons < 0.1
    assert found.lines()[0][0] == "persons"
    assert set(found.to_json()) == {"persons", "tables", "auroc"}
