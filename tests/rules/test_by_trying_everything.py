"""Contradictions, witnesses and squeezed values, against trying every row there is."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kagemusha.columns.cells import Cells
from kagemusha.encoding.rules import holds
from kagemusha.errors import SchemaError
from kagemusha.rules import witness as witness_module
from kagemusha.rules.contradictions import contradiction, dead_codes, require_consistent
from kagemusha.rules.squeeze import squeeze
from kagemusha.rules.structural_zeros import StructuralZeros, hits
from kagemusha.rules.witness import reached, witness
from kagemusha.schema import Category, Domain, Integer, Schema
from kagemusha.schema.constraints import Constraint, Inequality

COLUMNS = [
    Category("w", categories=("a", "b"), out_of_domain="clip"),
    *(Integer(n, lower=0, upper=3) for n in "xyz"),
]
GRID = np.array(list(product(range(2), *[range(4)] * 3)))
CELLS = {c.name: c.cells_of(GRID[:, i], GRID[:, i].astype(float)) for i, c in enumerate(COLUMNS)}
CELLS |= {n: Cells(np.full(len(GRID), -1), GRID[:, i + 1].astype(float)) for i, n in enumerate("xyz")}
RULES = st.sampled_from(
    [
        "x < y",
        "y < z",
        "z < x",
        "x + y <= 2",
        "x + y >= 7",
        "x >= 3",
        "y >= 3",
        "z = 0",
        "w = 'a'",
        "w = 'b'",
        "never w = 'a' and x > 1",
        "w = 'b' implies y = 0",
        "2 * x > y + z",
        "x between 1 and 2",
        "always w = 'a' or z > 2",
        "y <= 0",
    ]
)


def obeyed(schema: Schema, rules: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows of the whole grid obey the rules."""
    found = np.ones(len(GRID), dtype=np.bool_)
    for rule in rules:
        found &= holds(schema, rule.law, CELLS)
    return found


@settings(max_examples=150, deadline=None)
@given(st.lists(RULES, min_size=1, max_size=6, unique=True))
def test_the_contradiction_is_a_smallest_one(texts: list[str]) -> None:
    schema = Schema(COLUMNS, constraints=texts)
    clash = contradiction(schema)
    smallest = next(
        (
            k
            for k in range(1, len(texts) + 1)
            for some in combinations(schema.constraints, k)
            if not obeyed(schema, some).any()
        ),
        0,
    )
    assert len(clash) == smallest
    if clash:
        assert not obeyed(schema, clash).any()
        with pytest.raises(SchemaError, match=r"no row can obey (it|them together)$"):
            require_consistent(schema)
    else:
        require_consistent(schema)


@settings(max_examples=80, deadline=None)
@given(st.lists(RULES.filter(lambda r: "=" not in r or "w" in r or "<=" in r), min_size=1, max_size=4, unique=True))
def test_dead_labels_are_those_that_no_row_has(texts: list[str]) -> None:
    schema = Schema(COLUMNS, constraints=texts)
    allowed = obeyed(schema, schema.constraints)
    alive = {"ab"[code] for code in GRID[allowed, 0]}
    # orders are walls of two columns each, so a label that only several together rule out may pass for alive
    assert set(dead_codes(schema).get("w", [])) <= {"a", "b"} - alive


def test_a_guess_contradicts_nothing() -> None:
    schema = Schema(COLUMNS, constraints=["x >= 3", Constraint("x = 0", guess=True)])
    assert contradiction(schema) == ()


DOMAIN = Domain(tuple("abcd"), (2, 3, 2, 3))
EVERY_ROW = np.array(list(product(*map(range, DOMAIN.sizes))))


@st.composite
def walls(draw: st.DrawFn) -> list[StructuralZeros]:
    found = []
    for i in range(draw(st.integers(0, 4))):
        clique = DOMAIN.canonical(draw(st.sets(st.sampled_from("abcd"), min_size=1, max_size=3)))
        cells = draw(st.lists(st.booleans(), min_size=DOMAIN.cells(clique), max_size=DOMAIN.cells(clique)))
        found.append(StructuralZeros(f"rule {i}", clique, np.array(cells).reshape(DOMAIN.shape(clique))))
    return found


@settings(max_examples=200, deadline=None)
@given(walls(), st.integers(0, 99), st.sampled_from([None, 0, 1]))
def test_a_witness_obeys_and_there_is_one_if_any_row_does(
    found: list[StructuralZeros], seed: int, wanted: int | None
) -> None:
    fits = None if wanted is None else lambda chosen: (chosen["a"] + chosen["d"]) % 2 == wanted
    allowed = EVERY_ROW[~hits(found, DOMAIN, EVERY_ROW)]
    if wanted is not None:
        allowed = allowed[(allowed[:, 0] + allowed[:, 3]) % 2 == wanted]
    row = witness(DOMAIN, DOMAIN.names, found, {}, np.random.default_rng(seed), fits=fits)
    if row is None:
        assert not len(allowed)
    else:
        assert row.tolist() in allowed.tolist()


def test_likely_codes_are_tried_first() -> None:
    shares = {"b": np.array([0.0, 0.97, 0.03])}
    rows = [witness(DOMAIN, ["b"], [], shares, np.random.default_rng(seed)) for seed in range(200)]
    assert np.mean([row is not None and row[0] == 1 for row in rows]) > 0.9


def test_a_search_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness_module, "MOST_STEPS", 20)
    with pytest.raises(TimeoutError):
        witness(DOMAIN, DOMAIN.names, [], {}, np.random.default_rng(0), fits=lambda _: False)


@given(walls(), st.sets(st.sampled_from("abcd"), min_size=1, max_size=2))
def test_walls_are_reached_through_others(found: list[StructuralZeros], names: set[str]) -> None:
    near = reached(names, found)
    touched = names | {name for wall in near for name in wall.clique}
    for wall in found:
        assert (wall in near) == bool(touched & set(wall.clique))
    for wall in near:  # without its chain of others back to the names it would not be there
        alone = reached(set(wall.clique), found)
        assert {w.rule for w in near if set(w.clique) & names} & {w.rule for w in alone}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.permutations("xyz"), st.integers(-3, 3), st.booleans()), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=3, max_size=3),
    st.integers(0, 99),
)
def test_orders_of_two_columns_always_leave_a_value(orders: Any, bins: list[tuple[int, int]], seed: int) -> None:
    """If any numbers in the bins obey, those that are drawn do, and they stay in their bins."""
    columns = {n: Integer(n, lower=0, upper=9) for n in "xyz"}
    laws = [Inequality({a: 1.0, b: -1.0}, float(c), strict) for (a, b, _), c, strict in orders]
    spans = {n: (np.full(8, low), np.full(8, low + width)) for n, (low, width) in zip("xyz", bins, strict=True)}
    there = {n: np.ones(8, dtype=np.bool_) for n in "xyz"}

    def obeys(row: dict[str, int]) -> bool:
        gaps = [(sum(f * row[n] for n, f in law.factors.items()) - law.bound, law.strict) for law in laws]
        return all(gap < 0 if strict else gap <= 0 for gap, strict in gaps)

    choices = [range(low, low + width) for low, width in bins]
    assume(any(obeys(dict(zip("xyz", row, strict=True))) for row in product(*choices)))
    drawn = squeeze(laws, columns, spans, there, np.random.default_rng(seed))
    for at in range(8):
        row = {n: int(drawn[n][0][at]) for n in "xyz"}
        assert all(drawn[n][1][at] == drawn[n][0][at] + 1 for n in "xyz"), "one value and no other"
        assert all(row[n] in choice for n, choice in zip("xyz", choices, strict=True))
        assert obeys(row)
