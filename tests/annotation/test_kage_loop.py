"""The loop with kage: what it asks, what it pays, and where labels have a say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kagemusha.annotation.desk import SimulatedDesk
from kagemusha.annotation.guide import LEAST, importance
from kagemusha.annotation.judges import ForestTrainer
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import GaussianEvent
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.query import ReadsRecords
from kagemusha.release.curator import Curator
from kagemusha.schema import Category, Schema
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.kage import Kage
from kagemusha.synthesizers.kage.choice import topped_up
from kagemusha.synthesizers.kage.grouping import ordered_codes, trees_of
from kagemusha.synthesizers.kage.rounds import Run

from .people import SCHEMA, oracle, settings, table

QUICK = ForestTrainer(trees=6)
DOMAIN = Domain(("a", "b", "c"), (3, 4, 2))
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]


def run(budget: Budget | None = None, **choices: object) -> Any:
    loop = settings(loop="kage", **choices).at(SimulatedDesk(oracle), trained=QUICK)
    return fit(loop, table(3000), budget or Budget(1.0, 1e-6), schema=SCHEMA, simulation=3)


def test_every_charge_is_gaussian_and_for_what_kage_asks() -> None:
    certificate = run().certificate
    assert certificate.accounting is Accounting.GDP
    assert certificate.method == "kage-bald"
    assert all(isinstance(event, GaussianEvent) for event in certificate.events)
    plain = fit(Kage(), table(3000), Budget(1.0, 1e-6), schema=SCHEMA, simulation=3).certificate
    kinds = {event.query.kind for event in certificate.events}
    assert kinds <= {event.query.kind for event in plain.events} == {"counts", "grouped-l1-error", "interaction"}
    assert len({event.what for event in certificate.events}) < len(certificate.events), "pairs are measured again"


def test_no_question_reads_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge scores doubles only: neither the Curator nor anybody else shows it a real record."""
    asked: list[object] = []
    plain = Curator._exact

    def watched(self: Curator, query: Any, counted: Any) -> Any:
        asked.append(query)
        return plain(self, query, counted)

    monkeypatch.setattr(Curator, "_exact", watched)
    run()
    assert asked
    assert not any(isinstance(query, ReadsRecords) for query in asked)


def test_columns_are_estimated_as_kage_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the schema says about their codes: an order, or a tree."""
    seen = []
    plain = Run.fit_model

    def watched(self: Run, **options: bool) -> None:
        seen.append(self.known.columns)
        plain(self, **options)

    monkeypatch.setattr(Run, "fit_model", watched)
    run()
    ordered = ordered_codes(SCHEMA, SCHEMA.domain)
    assert len(seen) > 2
    assert all(columns.ordered == ordered and columns.trees == trees_of(SCHEMA) for columns in seen)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_charges_add_up_to_the_promise(adjacency: Any) -> None:
    """The audit: μ from the certificate's own events is what the budget allows, not more."""
    budget = Budget(1.0, 1e-6, adjacency=adjacency)
    loop = settings(loop="kage").at(SimulatedDesk(oracle), trained=QUICK)
    certificate = fit(loop, table(2000), budget, schema=SCHEMA).certificate
    mu = sum(float(e.l2_squared) / e.sigma**2 for e in certificate.events) ** 0.5
    from scipy.stats import norm

    delta = norm.cdf(mu / 2 - 1.0 / mu) - np.exp(1.0) * norm.cdf(-mu / 2 - 1.0 / mu)
    assert 0.98e-6 < delta <= 1e-6


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 1)), min_size=1, max_size=8),
    st.floats(0.01, 20),
)
def test_instalments_go_to_those_furthest_below_their_share(pairs: list[tuple[float, float]], cost: float) -> None:
    had = {i: had for i, (had, _) in enumerate(pairs)}
    wanted = {i: share for i, (_, share) in enumerate(pairs)}
    split = topped_up(had, wanted, cost)
    assert sum(split.values()) == pytest.approx(cost, rel=1e-4)
    assert min(split.values()) > 0
    after = {i: (had[i] + split.get(i, 0.0)) / wanted[i] for i in wanted}
    level = max(after[i] for i in split)
    for i in wanted:  # whoever gets something ends at the level, nobody who is below it gets nothing
        assert after[i] >= level * (1 - 1e-3)


def test_what_earlier_rounds_overpaid_is_not_given_back() -> None:
    assert topped_up({0: 5.0}, {0: 0.5, 1: 0.5}, 1.0) == {1: pytest.approx(1.0)}
    assert topped_up({}, {0: 0.25, 1: 0.75}, 2.0) == {0: pytest.approx(0.5), 1: pytest.approx(1.5)}


def test_pairs_that_tell_where_the_judge_is_unsure_count_most() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(size, size=4000) for size in DOMAIN.sizes]
    weights = np.where((columns[0] == 1) & (columns[2] == 0), 4000, 100)
    found = dict(zip(PAIRS, importance(DOMAIN, PAIRS, columns, weights), strict=True))
    assert found["a", "c"] == UNITS_PER_COUNT
    assert found["b", "c"] < found["a", "c"]
    assert all(LEAST * UNITS_PER_COUNT - 1 <= n <= UNITS_PER_COUNT for n in found.values())


def test_where_nothing_is_told_all_pairs_count_alike() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(size, size=50) for size in DOMAIN.sizes]
    assert importance(DOMAIN, PAIRS, columns, np.full(50, 7)) == [UNITS_PER_COUNT] * 3


def test_labels_move_the_budget() -> None:
    """The same noise, another expert: other pairs get more."""

    def costs(**choices: object) -> dict[str, float]:
        found: dict[str, float] = {}
        for event in run(Budget(3.0, 1e-6), labels=60, **choices).certificate.events:
            found[event.what] = found.get(event.what, 0.0) + float(event.rho)
        return found

    guided, unguided = costs(), costs(weights="none")
    assert sum(guided.values()) == pytest.approx(sum(unguided.values()), rel=1e-6)
    pairs = [what for what in guided if what.startswith("interaction")]
    assert any(guided[what] != pytest.approx(unguided.get(what, 0.0), rel=0.02) for what in pairs)


def test_a_table_of_one_column_has_only_columns_to_ask() -> None:
    schema = Schema([Category("a", categories=("x", "y", "z"), out_of_domain="clip")])
    import pyarrow as pa

    rows = pa.table({"a": np.random.default_rng(0).choice(["x", "y", "z"], 200)})
    loop = settings(loop="kage", labels=10).at(SimulatedDesk(lambda codes: codes[:, 0] % 2), trained=QUICK)
    model = fit(loop, rows, Budget(1.0, 1e-6), schema=schema)
    assert 0.9 < model.certificate.epsilon <= 1.0
