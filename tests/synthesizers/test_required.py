"""Tables that must be right: every method that can measures them directly, and its doubles have what was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kagemusha.errors import KagemushaError, ModelTooLarge, UsageError
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.filter import Cost, cost_of, limit_of
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.demands import Criterion, Demands, RequiredTable
from kagemusha.sources import open_source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create, names
from kagemusha.synthesizers.required import METHODS, require_room

SCHEMA = Schema(
    [
        Category("ward", categories=("a", "b", "c", "d"), out_of_domain="clip"),
        Category("sex", categories=("F", "M"), out_of_domain="clip"),
        Integer("age", lower=0, upper=99, bins=10),
        Integer("stay", lower=0, upper=29, bins=15),
        Category("died", categories=("no", "yes"), out_of_domain="clip"),
    ]
)
OVERLAPPING = Demands((RequiredTable(("sex", "ward")), RequiredTable(("ward", "age")), RequiredTable(("age", "sex"))))
WIDE = Demands((RequiredTable(("ward", "sex", "age", "died"), weight=2),))


def people(rows: int = 4_000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    ward = rng.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05])
    sex = (rng.random(rows) < 0.3 + 0.15 * ward).astype(int)
    age = np.clip(rng.normal(40 + 10 * ward, 15, rows), 0, 99).astype(int)
    return pd.DataFrame(
        {
            "ward": np.array(list("abcd"))[ward],
            "sex": np.array(["F", "M"])[sex],
            "age": age,
            "stay": np.minimum(29, rng.poisson(3 + age / 20)),
            "died": np.where(rng.random(rows) < age / 400, "yes", "no"),
        }
    )


def model_of(
    method: str, demands: Demands, budget: Budget | None = None, *, schema: Schema = SCHEMA, seed: int = 1
) -> Model:
    declared = replace(schema, demands=demands)
    return fit(create(method), people(), budget or Budget(1.0, 1e-6), schema=declared, simulation=seed)


def counted(model: Model, clique: tuple[str, ...]) -> np.ndarray:
    codes = model.sample_codes(rng=np.random.default_rng(0))
    flat = model.domain.flat(clique, codes.T)
    return np.bincount(flat, minlength=model.domain.cells(clique)).reshape(model.domain.shape(clique))


@pytest.mark.parametrize("method", [*METHODS, "aim-lap"])
@pytest.mark.parametrize("demands", [OVERLAPPING, WIDE], ids=["overlapping", "wide"])
def test_doubles_have_the_possible_tables_next_to_the_measured_ones(method: str, demands: Demands) -> None:
    model = model_of(method, demands)
    for one, measured in zip(demands.required, model.measurements, strict=False):
        clique = SCHEMA.domain.canonical(one.table)
        assert measured.clique == clique
        expected, doubles = model.project(clique), counted(model, clique)
        # as near to what was measured as its noise is large, and no nearer than a possible table can be
        off = np.abs(expected - measured.values)
        assert off.max() <= 4.5 * measured.sigma, "the doubles' table is not the measured one"
        assert np.abs(doubles - expected).sum() <= 0.03 * model.rows, "rows are not drawn from it"


@pytest.mark.parametrize("method", METHODS)
def test_tables_that_overlap_agree_where_they_do(method: str) -> None:
    model = model_of(method, OVERLAPPING)
    one, two = model.project(("sex", "ward")).sum(axis=0), model.project(("ward", "age")).sum(axis=1)
    assert one == pytest.approx(two, abs=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_nearer_than_without(method: str) -> None:
    """That is what is paid for; kage may have bought the same pair anyway."""
    wanted = Demands((RequiredTable(("ward", "sex"), weight=2),))
    (real,) = open_source(people(), SCHEMA).count([("ward", "sex")])

    def error(demands: Demands) -> float:
        models = (model_of(method, demands, Budget(0.3, 1e-6), seed=seed) for seed in range(4))
        return float(np.mean([np.abs(m.project(("ward", "sex")) - real.counts).sum() for m in models]))

    assert error(wanted) < error(Demands())


@pytest.mark.parametrize("method", METHODS)
def test_the_budget_holds_with_everything_that_is_demanded(method: str) -> None:
    demands = replace(OVERLAPPING, accept=(Criterion(0.1, tables=("ward", "sex", "died")), Criterion(2, mean="age")))
    budget = Budget(1.0, 1e-6)
    certificate = model_of(method, demands, budget).certificate
    spent = sum((cost_of(event, certificate.accounting) for event in certificate.events), Cost(0))
    limit = limit_of(budget, certificate.accounting)
    assert 0.999 * limit.units <= spent.units <= limit.units, "all of it is spent, and nothing more"
    words = [event.what for event in certificate.events]
    assert words[:3] == [f"required counts of {pair}" for pair in ("ward × sex", "ward × age", "sex × age")]
    demanded = ("all two-way tables of ward, sex, died within 10 %", "the mean of age within 2")
    assert words[-2:] == [f"excess over {criterion}" for criterion in demanded]


def test_rules_hold_inside_required_tables() -> None:
    ruled = replace(SCHEMA, constraints=["ward = 'd' implies sex = 'M'"])
    model = model_of("kage", Demands((RequiredTable(("ward", "sex")),)), schema=ruled)
    assert model.project(("ward", "sex"))[3, 0] == pytest.approx(0, abs=1e-9)
    assert counted(model, ("ward", "sex"))[3, 0] == 0


def test_pure_dp_measures_with_laplace_noise() -> None:
    declared = replace(SCHEMA, demands=OVERLAPPING)
    method = create("aim", noise="laplace", accounting="pure")
    model = fit(method, people(), Budget(2.0, 0.0), schema=declared, simulation=1)
    assert {type(event).__name__ for event in model.certificate.events[:3]} == {"LaplaceEvent"}


@pytest.mark.parametrize("method", sorted(set(names()) - set(METHODS)))
def test_other_methods_refuse_before_anything_is_paid(method: str) -> None:
    synthesizer = create(method)
    if synthesizer.field_cells(SCHEMA.domain):  # a sibling of one that can
        return
    with pytest.raises(UsageError, match=r"keeps no tables .* these do: kage, aim"):
        require_room(synthesizer, replace(SCHEMA, demands=WIDE), SCHEMA.domain)


def test_methods_that_are_named_can() -> None:
    for method in METHODS:
        require_room(create(method), replace(SCHEMA, demands=WIDE), SCHEMA.domain)


def test_what_no_model_can_hold_is_refused_before_anything_is_paid() -> None:
    wide = Schema(
        [Integer(name, lower=0, upper=299) for name in "abcd"], demands=Demands((RequiredTable(tuple("abcd")),))
    )
    frame = pd.DataFrame({name: [1, 2] for name in "abcd"})
    with pytest.raises((ModelTooLarge, KagemushaError), match="8,100,000,000 cells together"):
        fit(create("kage"), frame, Budget(1.0, 1e-6), schema=wide, simulation=0)
