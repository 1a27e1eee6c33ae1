"""Rows drawn given what is known of each, against the sum over all rows there could be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from kagemusha.errors import DataError
from kagemusha.graphical import MarkovField
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.schema import Domain

DOMAIN = Domain(("a", "b", "c", "d", "e", "f"), (2, 3, 2, 3, 2, 2))
CLIQUES = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d", "e"), ("e",), ("b", "f"), ("d", "f")]


def field(seed: int) -> MarkovField:
    """A loopy field with a combination that cannot occur."""
    rng = np.random.default_rng(seed)
    potentials = {c: rng.normal(0, 1.5, DOMAIN.shape(c)) for c in CLIQUES}
    potentials["c", "d"][0, 1] = -np.inf
    return MarkovField.build(DOMAIN, 100.0, potentials)


def joint(model: MarkovField, known: dict[str, int]) -> np.ndarray:
    """P(all columns | known), by writing down every row."""
    table = np.zeros(DOMAIN.sizes)
    for row in product(*(range(size) for size in DOMAIN.sizes)):
        if all(row[DOMAIN.axis(name)] == code for name, code in known.items()):
            table[row] = np.exp(model.log_likelihood(np.array([row]))[0])
    return table / table.sum()


def line(known: dict[str, int]) -> np.ndarray:
    return np.array([known.get(name, 0) for name in DOMAIN])


@pytest.mark.parametrize("names", [(), ("a",), ("b", "d"), ("a", "b", "e"), ("a", "b", "c", "d", "e")])
@pytest.mark.parametrize("seed", range(3))
def test_chances_are_those_of_all_rows_written_down(names: tuple[str, ...], seed: int) -> None:
    model = field(seed)
    plan = ConditionalField(model, names)
    rng = np.random.default_rng(seed)
    knowns = [{n: int(rng.integers(DOMAIN.size(n))) for n in names} for _ in range(5)]
    knowns = [k for k in knowns if (k.get("c"), k.get("d")) != (0, 1)]
    codes = np.stack([line(known) for known in knowns])
    for name in plan.free:
        found = plan.chances(codes, name)
        for row, known in zip(found, knowns, strict=True):
            others = tuple(i for i, n in enumerate(DOMAIN) if n != name)
            np.testing.assert_allclose(row, joint(model, known).sum(axis=others), atol=1e-12)


def test_expected_cells_and_log_z_are_those_of_all_rows_written_down() -> None:
    model, known = field(5), {"b": 1, "e": 0}
    plan = ConditionalField(model, known)
    log_z, found = plan.expected(plan.lines(np.stack([line(known)] * 3)))
    whole = joint(model, known)
    for part, table in zip(plan.parts, found, strict=True):
        names = (*part.known, *part.free)
        others = tuple(i for i, n in enumerate(DOMAIN) if n not in names)
        expected = whole.sum(axis=others).transpose(np.argsort(np.argsort([DOMAIN.axis(n) for n in names])))
        np.testing.assert_allclose(table.reshape(DOMAIN.shape(names)), 3 * expected, atol=1e-12)
    row = np.array([np.unravel_index(whole.argmax(), whole.shape)])
    free = sum(float(model.potentials[p.clique][tuple(row[0, DOMAIN.axis(n)] for n in p.clique)]) for p in plan.parts)
    assert log_z == pytest.approx(3 * (free - np.log(whole.max())))


def test_rows_of_which_the_same_is_known_have_the_same_chances() -> None:
    model, rng = field(2), np.random.default_rng(1)
    plan = ConditionalField(model, ("b", "f"))
    some = np.stack([line({"b": b, "f": f}) for b in range(3) for f in range(2)])
    many = some[rng.integers(0, len(some), 1_000)]
    nothing = ConditionalField(model, ())
    np.testing.assert_allclose(nothing.chances(many, "a"), nothing.chances(many[:1], "a").repeat(1_000, axis=0))
    for name in plan.free:
        alone = np.stack([plan.chances(one[None], name)[0] for one in some])
        place = 2 * many[:, 1] + many[:, 5]
        np.testing.assert_allclose(plan.chances(many, name), alone[place], atol=1e-12)


def test_draws_have_these_chances_and_keep_what_is_known() -> None:
    model, rng = field(7), np.random.default_rng(0)
    knowns = [{"b": 0, "d": 2}, {"b": 2, "d": 0}]
    codes = np.stack([line(knowns[i % 2]) for i in range(40_000)])
    plan = ConditionalField(model, ("b", "d"))
    before = codes.copy()
    plan.draw(codes, rng)
    for i, known in enumerate(knowns):
        mine = codes[i::2]
        assert (mine[:, [1, 3]] == before[i::2][:, [1, 3]]).all()
        counts = np.zeros(DOMAIN.sizes)
        np.add.at(counts, tuple(mine.T), 1)
        assert np.abs(counts / len(mine) - joint(model, known)).sum() < 0.05
    assert not ((codes[:, 2] == 0) & (codes[:, 3] == 1)).any()


def test_what_the_field_rules_out_cannot_be_drawn_around() -> None:
    potentials = {("a", "b"): np.array([[-np.inf] * 3, [0.0] * 3])}
    model = MarkovField.build(Domain(("a", "b"), (2, 3)), 1.0, potentials)
    with pytest.raises(DataError, match="rules out every row"):
        ConditionalField(model, ("a",)).draw(np.zeros((2, 2), dtype=np.int64), np.random.default_rng(0))
