"""What a method cannot carry it refuses in its plan: a model too large is never found out after the budget is spent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from family import run, table
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import ModelTooLarge
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import markov_field
from kagemusha.ledger import open_ledger
from kagemusha.privacy.budget import Budget
from kagemusha.release.discovery import largest_domain
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers import candidates
from kagemusha.synthesizers.fit import fit as fit_to
from kagemusha.synthesizers.kage import rounds
from kagemusha.synthesizers.registry import create


@pytest.mark.parametrize("method", ["kage", "aim", "aim-gdp", "mst", "privbayes"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_planned_model_is_built_whatever_the_limit(method: str, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 25), min_size=1, max_size=5))
    domain = Domain(tuple("abcde"[: len(sizes)]), tuple(sizes))
    room = data.draw(st.integers(sum(sizes), 6 * sum(sizes)))
    limit = {"max_cells": room} if method == "kage" else {"max_megabytes": 8e-6 * room + 1e-9}
    budget = Budget(data.draw(st.sampled_from([0.05, 3.0, 1000.0])), 1e-9)
    degree = {"degree": 2} if method == "privbayes" else {}
    synthesizer = create(method, **limit, **degree)
    synthesizer.plan(domain, budget)
    generator = run(synthesizer, domain, table(domain, 500, 0), budget).fitted.generator
    assert isinstance(generator, MarkovGenerator)
    assert generator.sample(50, rng=np.random.default_rng(0)).shape == (50, len(sizes))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_columns_that_fill_the_first_limits_of_kage_alone(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "LADDER", (2.5e-6, 5e-6, 7.5e-6))
    domain = Domain(tuple("abcd"), (12, 9, 11, 10))
    generator = run(create("kage"), domain, table(domain, 5000, 1), Budget(epsilon, 1e-9)).fitted.generator
    assert isinstance(generator, MarkovGenerator)
    assert generator.project(("a", "d")).sum() == pytest.approx(generator.total)


def test_marginals_that_no_memory_holds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triples far apart in the tree, asked for after pairs are paid."""
    monkeypatch.setattr(markov_field, "QUERY_CELLS", 30)
    monkeypatch.setattr(markov_field, "DRAWN", 2000)
    domain = Domain(tuple("abcdef"), (4,) * 6)
    result = run(create("kage", max_cells=60), domain, table(domain, 20_000, 2), Budget(100.0, 1e-9))
    assert sum(float(e.rho or 0) for e in result.spy.charged) == pytest.approx(result.budget_filter.total, rel=1e-6)


def test_sets_that_cannot_be_counted_together_leave_the_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "COUNTED_CELLS", 300)
    domain = Domain(tuple("abc"), (10, 10, 20))
    held = create("aim").candidates(domain).cliques
    assert ("a", "b") in held
    assert ("a", "c") not in held or ("b", "c") not in held
    with pytest.raises(ModelTooLarge, match="scoring this workload counts"):
        create("aim", workload=[["a", "c"], ["b", "c"]]).plan(domain, Budget(1.0, 1e-9))


OPEN = Schema([Category("code"), Integer("age"), Category("sex", categories=("F", "M"))])


def visits(rows: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "code": [f"v{k:03}" for k in rng.integers(0, 100, rows) + 20 * (rng.random(rows) < 0.5)],
            "age": rng.integers(0, 90, rows),
            "sex": rng.choice(["F", "M"], rows),
        }
    )


def test_discovery_finds_no_more_than_the_method_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(20.0, 1e-6)
    whole = fit_to(create("independent"), visits(), budget, schema=OPEN, discover=0.5, simulation=0)
    assert whole.domain.size("code") > 100
    ceiling = largest_domain(OPEN, 100)
    assert all(whole.domain.size(name) <= ceiling.size(name) + 25 * (name == "code") for name in ceiling)
    small = create("kage", max_cells=160)
    model = fit_to(small, visits(), budget, schema=OPEN, discover=0.5, simulation=0)
    assert 8 <= model.domain.size("code") <= 70
    held = set(model.schema["code"].categories)  # type: ignore[attr-defined]
    common = visits()["code"].value_counts()
    # those that very many records hold are the ones that stay
    assert common[list(held)].mean() > 1.3 * common[[c for c in common.index if c not in held]].mean()


def test_an_open_schema_no_method_could_carry_is_refused_before_anything_is_reserved(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    with pytest.raises(ModelTooLarge, match="the columns alone need"):
        fit_to(
            create("kage", max_cells=40),
            visits(100),
            Budget(1.0, 1e-6),
            schema=OPEN,
            discover=0.3,
            ledger=ledger,
            dataset="d",
        )
    assert ledger.releases() == []
