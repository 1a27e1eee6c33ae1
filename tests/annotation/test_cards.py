"""What people see of a double, where a column is worked out of others."""

from __future__ import annotations

import numpy as np

from kagemusha.annotation.cards import cards
from kagemusha.schema import Category, Date, Integer, Schema

SCHEMA = Schema(
    [
        Date("came", lower="2020-01-01", upper="2020-12-31"),
        Date("left", lower="2020-01-01", upper="2021-12-31"),
        Integer("stay", lower=0, upper=99, formula="left - came", replaces="left"),
        Category("ward", categories=("a", "b"), out_of_domain="clip"),
    ]
)


def test_a_card_shows_the_columns_of_the_table_and_marks_what_is_unusual() -> None:
    sizes = SCHEMA.domain.sizes
    codes = np.zeros((4, len(sizes)), dtype=np.int64)
    codes[0, SCHEMA.domain.axis("stay")] = 50
    usual = {name: np.full(size, 1.0) for name, size in zip(SCHEMA.domain.names, sizes, strict=True)}
    usual["stay"][50] = 0.0
    found = cards(SCHEMA, codes, usual, np.random.default_rng(0))
    assert [field["column"] for field in found[0]] == ["came", "left", "ward"]
    marked = {(row, f["column"]) for row, card in enumerate(found) for f in card if f["unusual"]}
    assert marked == {(0, "left")}, "an unusual stay shows in the day that is worked out of it"
