"""A person with 40 rows: what a release of related tables gives away of them, and no more than was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kagemusha.arrays import IntArray
from kagemusha.ledger.open import opened
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import GaussianEvent, LaplaceEvent
from kagemusha.queries.query import Query
from kagemusha.release.curator import Curator, Observer
from kagemusha.schema import Category, Schema, Surrogate
from kagemusha.schema.related import PARTS, Related, Table
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.related_fit import fit_related

LINEAR = ("counts", "interaction")
"""Kinds of queries that are sums over records: what a person adds is the same beside any others."""


def schema() -> Related:
    persons = Schema([Surrogate("id"), Category("sex", categories=("F", "M"), out_of_domain="clip")])
    rows = Schema([Surrogate("id"), *(Category(c, categories=("u", "v"), out_of_domain="clip") for c in "ab")])
    return Related([Table("persons", persons, "id"), Table("rows", rows, "id", "persons", max_rows=8, counts_as=2)])


def person() -> dict[str, pd.DataFrame]:
    rows = pd.DataFrame({"id": [-1] * 40, "a": ["v"] * 40, "b": ["v"] * 40})
    return {"persons": pd.DataFrame({"id": [-1], "sex": ["M"]}), "rows": rows}


def others() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(200), rng.integers(0, 4, 200))
    rows = pd.DataFrame({"id": who, "a": rng.choice(["u", "v"], len(who)), "b": rng.choice(["u", "v"], len(who))})
    return {"persons": pd.DataFrame({"id": range(200), "sex": rng.choice(["F", "M"], 200)}), "rows": rows}


class Given(Observer):
    """Adds up (what the person adds to an answer)² / variance of its noise: μ² of what the answers give away."""

    def __init__(self) -> None:
        self.alone = open_related(person(), schema())
        self.square = 0.0

    def answered(
        self, queries: Sequence[Query[Any]], events: Sequence[GaussianEvent | LaplaceEvent], answers: Sequence[IntArray]
    ) -> None:
        for query, event in zip(queries, events, strict=True):
            if query.kind in LINEAR:
                assert event.query is not None
                counted = self.alone.source(event.query.table).count(query.cliques())
                added = query.exact(counted, lambda part: np.zeros(0, dtype=np.int64))
                self.square += float(added @ added) / event.deviation**2


def given_away(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """μ of the answers of one release, and as promised."""
    watcher, plain = Given(), Curator.__init__

    def watched(self: Curator, *given: Any, **how: Any) -> None:
        plain(self, *given, **{**how, "observer": watcher})

    monkeypatch.setattr(Curator, "__init__", watched)
    for name, value in (("next_rows.DRAWN", 20), ("next_rows.ROUNDS", 1), ("related_fit.PARENTS", 20)):
        monkeypatch.setattr(f"kagemusha.synthesizers.{name}", value)
    budget = Budget(epsilon, 1e-5)
    tables = {name: pd.concat([table, person()[name]]) for name, table in others().items()}
    fit_related(create("kage"), tables, schema(), budget, ledger=opened(None), named=False, simulation=1)
    return math.sqrt(watcher.square), gdp_mu(epsilon, 1e-5)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_answers_give_away_most_of_what_is_promised_and_never_more(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, promised = given_away(epsilon, monkeypatch)
    assert 0.6 * promised < found <= promised


def test_whole_rows_would_give_away_more_than_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lambda self, table: np.full(self.linked[table.name].rows, PARTS)  # noqa: E731
    monkeypatch.setattr(RelatedSource, "parts", whole)
    found, promised = given_away(1.0, monkeypatch)
    assert found > 3 * promised
