"""Special values (777: refused, 888: not asked) are no numbers: they have marks of their own; nobody predicts them."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.table import GameTable
from kagemusha.errors import UsageError
from kagemusha.evaluation.features import design_matrix, known_target
from kagemusha.evaluation.ml_utility import utility
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Integer, Schema

SCHEMA = Schema(
    [
        Integer("dose", lower=0, upper=9, special=(777, 888), missing=True),
        Category("a-b", categories=("x", "y"), out_of_domain="clip"),
        Category("c|d", categories=("u", "v"), out_of_domain="clip"),
    ]
)
SIZE = SCHEMA.domain.size("dose")


def table(rows: int = 240, seed: int = 0) -> CodedTable:
    rng = np.random.default_rng(seed)
    return CodedTable.of_codes(SCHEMA, np.column_stack([rng.integers(0, n, rows) for n in SCHEMA.domain.sizes]))


def test_every_value_that_is_no_number_has_a_mark_of_its_own() -> None:
    codes = np.column_stack([np.arange(SIZE), np.zeros(SIZE, dtype=int), np.zeros(SIZE, dtype=int)])
    rows = design_matrix(CodedTable.of_codes(SCHEMA, codes))
    marks = rows[:, 1 : 1 + SIZE - 10]
    assert marks[:10].sum() == 0
    assert (marks[10:] == np.eye(SIZE - 10)).all()
    assert len(np.unique(rows, axis=0)) == SIZE, "no two values look alike"


def test_a_target_with_special_values_is_predicted_where_it_is_a_number() -> None:
    real = table()
    assert (known_target(real, "dose").column("dose") < 10).all()
    found = utility(real, table(seed=1), "dose", models=("tree",))
    assert set(found.synthetic) == {"tree"}


def test_a_number_of_two_values_is_classified() -> None:
    schema = Schema([Integer("died", lower=0, upper=1), Integer("dose", lower=0, upper=2, special=(9,))])
    real = CodedTable.of_codes(schema, np.random.default_rng(0).integers(0, 2, (200, 2)))
    assert utility(real, real, "died", models=("tree",)).labels
    assert not utility(real, real, "dose", models=("tree",)).labels


def test_a_target_that_is_no_number_anywhere_is_refused() -> None:
    codes = np.column_stack([np.full(50, 10), np.arange(50) % 2, np.arange(50) % 2])
    with pytest.raises(UsageError, match="'dose' is missing or a special value in every"):
        utility(CodedTable.of_codes(SCHEMA, codes), table(), "dose", models=("tree",))


@pytest.mark.parametrize("without", [(), ("dose",), ("a-b",), ("a-b", "c|d"), ("dose", "c|d")])
def test_a_space_is_found_again_by_its_name(without: tuple[str, ...]) -> None:
    space = Space("codes", "raw", without)
    assert Space.named(space.name) == space


@pytest.mark.parametrize("expansion", ["onehot", "codes"])
def test_a_lens_sees_special_values(expansion: str) -> None:
    real = table()
    lens = Lens(Space(expansion, "raw"), GameTable(SCHEMA, np.column_stack(real.columns).astype(np.int32)))
    points = lens.of_codes(np.column_stack([np.arange(SIZE), np.zeros(SIZE, dtype=int), np.zeros(SIZE, dtype=int)]))
    assert points.shape == (SIZE, sum(lens.widths))
    assert len(np.unique(points, axis=0)) == SIZE
