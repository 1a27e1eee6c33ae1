"""A column to predict in one of several tables: which models look after it, and what that buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from kagemusha.ledger.open import opened
from kagemusha.models.related import RelatedModel
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema, Surrogate
from kagemusha.schema.related import Related, Table
from kagemusha.synthesizers.below import KageBelow, methods_of, target_in
from kagemusha.synthesizers.registry import create
from kagemusha.synthesizers.related_fit import fit_related


def schema(target: str | None = None) -> Related:
    letters = {name: Category(name, categories=("u", "v", "w")) for name in ("a", "b", "c", "d", "e", "f")}
    persons = Schema([Surrogate("p"), letters["a"], letters["b"]])
    visits = Schema([Surrogate("p"), Surrogate("v"), Integer("day", lower=0, upper=9), letters["c"], letters["d"]])
    labs = Schema([Surrogate("v"), letters["e"], letters["f"]])
    tables = [
        Table("persons", persons, "p"),
        Table("visits", visits, "p", "persons", "v", "day", max_rows=4),
        Table("labs", labs, "v", "visits", max_rows=3),
    ]
    return Related(tables, target)


def tables(persons: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    letter = lambda rows: rng.choice(list("uvw"), rows)  # noqa: E731
    mostly = lambda of: np.where(rng.random(len(of)) < 0.6, of, letter(len(of)))  # noqa: E731
    who = np.repeat(np.arange(persons), rng.integers(0, 4, persons))
    of = np.repeat(np.arange(len(who)), rng.integers(0, 3, len(who)))
    day = rng.integers(0, 10, len(who))
    a = letter(persons)
    b = mostly(a)
    c = mostly(b[who])
    visits = {"p": who, "v": np.arange(len(who)), "day": day, "c": c, "d": mostly(c)}
    return {
        "persons": pd.DataFrame({"p": np.arange(persons), "a": a, "b": b}),
        "visits": pd.DataFrame(visits),
        "labs": pd.DataFrame({"v": of, "e": letter(len(of)), "f": letter(len(of))}),
    }


def fitted(target: str | None, monkeypatch: pytest.MonkeyPatch) -> RelatedModel:
    for name, value in (("next_rows.DRAWN", 50), ("next_rows.ROUNDS", 1), ("related_fit.PARENTS", 50)):
        monkeypatch.setattr(f"kagemusha.synthesizers.{name}", value)
    return fit_related(
        create("kage"), tables(), schema(target), Budget(30.0, 1e-6), ledger=opened(None), named=False, simulation=1
    )


def precision(model: RelatedModel, view: str, column: str) -> float:
    """What all interactions of a column were asked with, together."""
    return sum(one.sigma**-2 for one in model.models[view].interactions if column in one.query.clique)


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("visits.d", {"visits": "d", "labs": "visits: d"}),
        ("b", {"persons": "b", "visits": "persons: b", "labs": "persons: b"}),
        ("labs.f", {"labs": "f"}),
    ],
)
def test_every_model_that_knows_the_column_looks_after_it(target: str, named: dict[str, str]) -> None:
    related = schema(target)
    assert {t.name: found for t in related if (found := target_in(related, t)) is not None} == named
    for name, method in methods_of(create("kage"), related).items():
        emphasised = [c for c in related.view(name).names if method.importance((c, "nothing else")) > 1]  # type: ignore[attr-defined]
        siblings = [method.siblings] if isinstance(method, KageBelow) else []
        assert set(emphasised) == {*siblings, *([named[name]] if name in named else [])}


def test_its_pairs_are_asked_with_less_noise_and_so_is_what_follows_as_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without, aimed = fitted(None, monkeypatch), fitted("visits.d", monkeypatch)
    assert precision(aimed, "visits", "d") > 1.2 * precision(without, "visits", "d")
    assert precision(aimed, "visits-next", "d") > 1.2 * precision(without, "visits-next", "d")
    asked = {one.query.clique for one in aimed.models["visits-next"].interactions}
    assert asked - {one.query.clique for one in without.models["visits-next"].interactions} == {("previous c", "d")}


def test_a_persons_target_is_looked_after_in_the_persons_model(monkeypatch: pytest.MonkeyPatch) -> None:
    without, aimed = fitted(None, monkeypatch), fitted("persons.b", monkeypatch)
    assert precision(aimed, "persons", "b") >= precision(without, "persons", "b")
    assert precision(aimed, "visits", "persons: b") > 1.2 * precision(without, "visits", "persons: b")


def test_rows_follow_the_column_that_tells_the_target() -> None:
    """In these visits d is what c was one visit earlier, which no column tells of itself."""
    rng = np.random.default_rng(3)
    persons = 4000
    who = np.repeat(np.arange(persons), 4)
    c = rng.choice(list("uvw"), len(who))
    d = np.where(np.arange(len(who)) % 4 == 0, rng.choice(list("uvw"), len(who)), np.roll(c, 1))
    day = np.arange(len(who)) % 4
    given = tables(persons)
    given["visits"] = pd.DataFrame({"p": who, "v": np.arange(len(who)), "day": day, "c": c, "d": d})
    given["labs"] = given["labs"].head(0)
    found = {}
    for target in (None, "visits.d"):
        model = fit_related(
            create("kage"), given, schema(target), Budget(8.0, 1e-6), ledger=opened(None), named=False, simulation=1
        )
        visits = model.sample(1000, seed=1)["visits"]
        same = visits["p"].to_numpy()[1:] == visits["p"].to_numpy()[:-1]
        found[target] = float(np.mean((visits["d"].to_numpy()[1:] == visits["c"].to_numpy()[:-1])[same]))
    assert found[None] < 0.45
    assert found["visits.d"] > 0.7
