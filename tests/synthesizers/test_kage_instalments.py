"""Two instalments: what the first one's model implies is not measured, what it gets wrong is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from family import run

from kagemusha.graphical import MarkovField
from kagemusha.privacy.budget import Budget
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.kage import rounds
from kagemusha.synthesizers.kage.beliefs import PairLook
from kagemusha.synthesizers.kage.choice import Choice, choose
from kagemusha.synthesizers.kage.constants import DOUBT, INSTALMENTS
from kagemusha.synthesizers.registry import create

DOMAIN = Domain(tuple("abcdef"), (5,) * 6)


def chain(rows: int, *, shortcut: bool) -> np.ndarray:
    """Every column is mostly the one before it; with a shortcut, the last one copies the first now and then."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (rows, 6))
    for i in range(1, 6):
        codes[:, i] = np.where(rng.random(rows) < 0.75, codes[:, i - 1], codes[:, i])
    if shortcut:
        codes[:, 5] = np.where(rng.random(rows) < 0.6, (codes[:, 0] + 2) % 5, codes[:, 5])
    return codes


def test_both_instalments_together_are_the_whole_budget() -> None:
    result = run(create("kage"), DOMAIN, chain(20_000, shortcut=True), Budget(0.4, 1e-9))
    measured = [m.query.clique for m in result.fitted.interactions if len(m.query.clique) == 2]
    assert len(set(measured)) == len(measured), "a pair that was measured twice is reported once"
    assert set(measured) >= {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "f")}
    asked = [event for event in result.spy.charged if event.what.startswith("interaction of")]
    assert len(asked) > len(measured), "some were measured in both"
    spent = sum(float(event.rho or 0) for event in result.spy.charged)
    assert spent == pytest.approx(result.budget_filter.total, rel=1e-6)


def test_distances_that_the_model_implies_leave_nothing_to_know() -> None:
    codes = chain(50_000, shortcut=True)
    domain = DOMAIN
    pairs = list(combinations(domain.names, 2))

    def counts(pair: tuple[str, str]) -> np.ndarray:
        table = np.zeros((5, 5))
        np.add.at(table, tuple(codes[:, domain.axis(n)] for n in pair), 1)
        return table

    tables = [counts(pair) for pair in pairs]
    products = [np.outer(t.sum(axis=1), t.sum(axis=0)) / t.sum() for t in tables]
    scores = np.array([np.abs(t - p).sum() for t, p in zip(tables, products, strict=True)])
    edges = {
        (a, b): np.log(counts((a, b)) / counts((a, b)).sum(axis=1, keepdims=True))
        for a, b in zip("abcd", "bcde", strict=True)
    }
    field = MarkovField.build(domain, 50_000, {("a",): np.log(counts(("a", "b")).sum(axis=1)), **edges})
    others = np.array([pair not in edges for pair in pairs])

    def unknown(sigma: float, base: np.ndarray) -> np.ndarray:
        return PairLook(pairs, NoisyVector(scores, sigma), base, products, {}).unknown(field, others)

    nothing = np.zeros(len(pairs))
    found = dict(zip(pairs, unknown(50.0, nothing), strict=True))
    true = {p: float(np.abs(t - f).sum()) for p, t, f in zip(pairs, tables, field.project_many(pairs), strict=True)}
    for a, b in combinations("abcde", 2):
        assert found[a, b] < 1.5 * DOUBT * scores[pairs.index((a, b))] + 50, "the chain says it"
    assert found["a", "f"] == pytest.approx(true["a", "f"], rel=0.3)
    drowned = unknown(1e9, nothing)
    assert (drowned <= DOUBT * scores.max()).all(), "noise could explain every difference"
    assert drowned[pairs.index(("a", "c"))] > 0.5 * DOUBT * scores[pairs.index(("a", "c"))], "but some doubt stays"
    by_chance = unknown(50.0, scores)[pairs.index(("a", "f"))]
    assert by_chance < found["a", "f"], "what chance and noisy columns bring is not unknown dependence"


def test_what_groups_hide_is_the_same_distance_over_codes_and_over_groups() -> None:
    """The model is independent within groups, as the product is: their distance is not larger over codes."""
    rng = np.random.default_rng(0)
    model = rng.dirichlet(np.ones(6)).reshape(3, 2)
    product = np.outer(model.sum(axis=1), model.sum(axis=0))
    group, within = np.array([0, 0, 1, 2, 2, 2]), rng.random(6)
    within /= np.bincount(group, within)[group]
    fine = (model[group] * within[:, None], product[group] * within[:, None])
    assert np.abs(fine[0] - fine[1]).sum() == pytest.approx(np.abs(model - product).sum())


def test_the_second_choice_keeps_the_room_that_the_first_model_needs() -> None:
    """Ten columns that all depend on each other: a smaller model would not know what the first one knows."""
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(60_000, 3))
    seen = hidden @ rng.normal(size=(3, 10)) + rng.normal(size=(60_000, 10))
    codes = np.clip((seen / seen.std(axis=0) * 2 + 5).astype(np.int64), 0, 9)
    cells = {}

    def noted(pairs: object, tree: object, limits: object, **more: object) -> Choice:
        choice = choose(pairs, tree, limits, **more)  # type: ignore[arg-type]
        cells[len(cells)] = choice.cells
        return choice

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "choose", noted)
        result = run(create("kage"), Domain(tuple("abcdefghij"), (10,) * 10), codes, Budget(10.0, 1e-9))
    assert len(cells) == len(INSTALMENTS)
    assert list(cells.values()) == sorted(cells.values())
    assert cells[0] > 50_000
    assert result.fitted.generator.field.tree.cells > 100_000  # type: ignore[attr-defined]
