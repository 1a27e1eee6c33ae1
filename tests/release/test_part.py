"""A part of a table: some columns for one method, on the same release, watched by the same audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kagemusha.errors import BudgetExceeded
from kagemusha.ledger import open_ledger
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.release.curator import Curator, Observer
from kagemusha.release.release import Release
from kagemusha.schema import Unit
from kagemusha.sources import PartSource, open_source
from kagemusha.synthesizers.contract import example_schema, example_table

NAMES = ("sex", "ward")


def test_a_part_is_the_same_rows_with_fewer_columns() -> None:
    whole = open_source(example_table(), example_schema())
    part = PartSource(whole, ["ward", "sex"])
    assert part.domain.names == NAMES
    assert part.schema.names == NAMES
    assert part.rows() == whole.rows()
    assert (part.count([NAMES])[0].counts == whole.count([NAMES])[0].counts).all()
    (sex, ward), persons = part.records()
    whole_columns, whole_persons = whole.records()
    assert (persons == whole_persons).all()
    assert (sex == whole_columns[0]).all()
    assert (ward == whole_columns[3]).all()


def test_persons_stay_told_apart() -> None:
    schema = example_schema().with_unit(Unit(max_rows=3))
    part = PartSource(open_source(example_table(), schema), ["sex"])
    assert part.schema.unit == schema.unit


class Told(Observer):
    """Remembers what was asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def answered(self, queries: Any, events: Any, answers: Any) -> None:
        self.heard += [query.what for query in queries]


def test_a_part_spends_from_the_whole_and_tells_it() -> None:
    """An audit that looked over the shoulder of the whole alone would miss what a part releases."""
    budget, book = Budget(1.0, 1e-6), open_ledger()
    request = ReleaseRequest(dataset="t", policy="default", method="x", budget=budget, accounting=Accounting.GDP)
    with Release(request, Filter(budget, Accounting.GDP), book, SimulatedNoise(np.random.default_rng(0))) as release:
        told = Told()
        whole = Curator(open_source(example_table(), example_schema()), release, observer=told)
        whole.measure([("age",)], 0.25 * whole.total)
        part = whole.part(NAMES)
        assert part.domain.names == NAMES
        assert part.total == pytest.approx(0.75 * whole.total, rel=1e-6)
        part.measure([("sex",)], 0.5 * part.total)
        assert whole.remaining == part.remaining == pytest.approx(0.5 * part.total, rel=1e-6)
        with pytest.raises(BudgetExceeded):
            part.measure([("ward",)], 0.6 * part.total)
    assert told.heard == ["counts of age", "counts of sex"]
