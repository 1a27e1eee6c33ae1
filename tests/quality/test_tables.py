"""Tables as they are evaluated, sizes of groups that hold, and drawings: against definitions written down once more."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.quality import projectable
from kagemusha.quality.population import NotListed
from kagemusha.quality.projectable import CodedTable, compared, in_batches, same_columns, shares
from kagemusha.quality.released import STEP, SURE, group_sizes, group_sums, merged_mass, right_from
from kagemusha.quality.svg import Curve, curves, heat_map, picture, rect, shade, shorten, text
from kagemusha.quality.words import not_listed_in_words
from kagemusha.schema import Boolean, Integer, Schema

SCHEMA = Schema([Integer("a", lower=0, upper=2), Integer("b", lower=0, upper=3), Boolean("c")])
SETS = [order for k in range(4) for order in permutations("abc", k)]


def table(seed: int, rows: int = 50) -> CodedTable:
    rng = np.random.default_rng(seed)
    return CodedTable.of_codes(SCHEMA, np.column_stack([rng.integers(0, s, rows) for s in SCHEMA.domain.sizes]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(SETS), max_size=5), st.integers(0, 99))
def test_axes_come_in_the_order_asked_and_twice_the_same(cliques: list[tuple[str, ...]], seed: int) -> None:
    found = table(seed)
    for _ in range(2):  # the second time from what is kept
        for clique, counts in zip(cliques, found.project_many(cliques), strict=True):
            wanted = np.zeros([SCHEMA.domain.size(n) for n in clique])
            for row in zip(*(found.column(n).tolist() for n in clique), strict=True) if clique else [()] * found.rows:
                wanted[row] += 1
            assert np.array_equal(counts, wanted), clique


def test_only_small_tables_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projectable, "KEPT_CELLS", 5)
    found = table(0)
    first = [found.project(clique) for clique in (("a",), ("b",), ("c",))]
    assert set(found._kept._kept) == {("a",), ("c",)}
    assert all(np.array_equal(found.project(c), t) for c, t in zip((("a",), ("b",), ("c",)), first, strict=True))


def test_parts_of_a_table() -> None:
    found = table(1)
    some = found.take(np.array([3, 1, 3]))
    assert some.column("b").tolist() == [found.column("b")[i] for i in (3, 1, 3)]
    sampled = found.sampled(20, np.random.default_rng(0))
    assert sampled.rows == 20
    assert (found.project(("a", "b", "c")) >= sampled.project(("a", "b", "c"))).all(), "without repeats"
    assert found.sampled(None, np.random.default_rng(0)) is found
    assert found.sampled(50, np.random.default_rng(0)) is found
    keys = found.keys(("a", "c"))
    pairs = list(zip(found.column("a").tolist(), found.column("c").tolist(), strict=True))
    assert all((keys[i] == keys[j]) == (pairs[i] == pairs[j]) for i in range(50) for j in range(50))
    assert found.digest == table(1).digest
    assert found.digest not in (table(2).digest, some.digest)
    assert "50 rows" in repr(found)


def test_what_is_no_table_or_column_is_named() -> None:
    with pytest.raises(DataError, match="no rows"):
        table(0, rows=0)
    with pytest.raises(UsageError, match="2 columns of codes, but the schema models 3"):
        CodedTable(SCHEMA, table(0).columns[:2])
    with pytest.raises(UsageError, match="no column named 'z'; columns are a, b, c"):
        table(0).project(("a", "z"))
    wide = Schema([Integer(n, lower=0, upper=9_999_998) for n in "abc"])
    with pytest.raises(UsageError, match="a, b, c have too many combinations"):
        CodedTable.of_codes(wide, np.zeros((1, 3), dtype=np.int64)).keys(("a", "b", "c"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Schema(SCHEMA.columns[:2]), "different columns: c is in only one"),
        (SCHEMA.replace("b", upper=4), "column 'b' has different codes"),
        (Schema(reversed(SCHEMA.columns)), "in another order"),
    ],
)
def test_what_cannot_be_compared_is_told_why(other: Schema, words: str) -> None:
    codes = np.zeros((1, len(other)), dtype=np.int64)
    with pytest.raises(SchemaError, match=words):
        same_columns(table(0), CodedTable.of_codes(other, codes))


@given(st.lists(st.sampled_from([s for s in SETS if s]), max_size=9), st.integers(1, 40))
def test_batches_keep_order_and_fit(cliques: list[tuple[str, ...]], most: int) -> None:
    batches = list(in_batches(SCHEMA.domain, cliques, most=most))
    assert [c for batch in batches for c in batch] == cliques
    sizes = [[SCHEMA.domain.cells(c) for c in batch] for batch in batches]
    assert all(batch and (sum(batch) <= most or len(batch) == 1) for batch in sizes)
    assert all(sum(one) + other[0] > most for one, other in pairwise(sizes)), "none could be joined"


def test_both_sides_are_shares() -> None:
    one, other = table(1), table(2, rows=9)
    for clique, p, q in compared(one, other, [("a",), ("b", "c")]):
        assert np.array_equal(p, one.project(clique) / 50)
        assert np.array_equal(q, other.project(clique) / 9)
    assert shares(np.zeros(3)).tolist() == [0, 0, 0]


# groups


@given(st.integers(0, 99), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_sums_over_groups_and_what_they_hide(seed: int, labels: list[int]) -> None:
    counts = np.random.default_rng(seed).integers(0, 9, (4, 3)).astype(float)
    names = sorted(set(labels))
    groups = (np.array([names.index(one) for one in labels]), np.arange(3))
    sums = group_sums(counts, groups)
    for g, name in enumerate(names):
        assert sums[g].tolist() == counts[[one == name for one in labels]].sum(axis=0).tolist()
    shared = [labels.count(one) > 1 for one in labels]
    assert merged_mass(counts, groups) == counts[shared].sum()
    assert merged_mass(counts, None) == 0


def naive(sizes: list[float], right: list[float]) -> float | None:
    """The definition, size by size."""
    reached, size = None, max(sizes, default=0.0)
    while size >= 1:
        near = [r for s, r in zip(sizes, right, strict=True) if size <= s < 2 * size]
        if near and sum(near) < SURE * len(near):
            break
        reached, size = size, size / STEP
    return None if reached is None else min(s for s in sizes if s >= reached)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 2_000), st.sampled_from([0, 1, 1, 1])), max_size=30))
def test_the_size_from_which_groups_are_right(cells: list[tuple[int, int]]) -> None:
    sizes, right = [float(s) for s, _ in cells], [float(r) for _, r in cells]
    assert right_from(np.array(sizes), np.array(right)) == naive(sizes, right)


def test_groups_that_cannot_be_off_are_right_and_others_are_not() -> None:
    counts = np.array([1000.0, 100.0, 10.0, 1.0])
    size, share = group_sizes(counts, [], error=20.0, scale=0.0)
    assert (size, share) == (100.0, 1100 / 1111)
    assert group_sizes(counts, [], error=1e6, scale=0.0) == (None, 0.0)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_what_noise_may_explain_is_not_said(low: float, more: float) -> None:
    words = not_listed_in_words(NotListed("city", low, low + more))
    assert bool(words) == (low >= 1)
    assert not words or f"{low:,.0f} to {low + more:,.0f} people" in words


# drawings

HOSTILE = ["<script>", 'a"b', "a & b", "é" * 40, "]]>", "'"]


def test_drawings_are_well_formed_whatever_the_names() -> None:
    values = np.random.default_rng(0).random((6, 6))
    values[0, 1] = math.nan
    lines = [Curve(name, [1.0, 10.0], [0.1, 0.3], [0.01, 0.0]) for name in HOSTILE]
    for drawn in (
        heat_map(HOSTILE, values, HOSTILE[0], most=1.0),
        curves(lines, HOSTILE[1], x_name=HOSTILE[2], y_name=HOSTILE[0], logarithmic=True),
        curves([Curve("one", [], [])], "empty", x_name="x", y_name="y"),
        picture(3, 4, HOSTILE[1], [text(1, 2, HOSTILE[2], turn=90), rect(0, 0, -1, 2, "#fff", HOSTILE[0])]),
    ):
        root = ElementTree.fromstring(f"<div>{drawn}</div>")
        assert not [e for e in root.iter() if e.tag == "script"]
        assert "nan" not in drawn.replace("nan</title>", "")
        for svg in root.iter("svg"):
            assert svg.get("aria-label") or svg.get("aria-hidden")
        assert all(float(e.get("width", "0")) >= 0 for e in root.iter("rect"))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 10))
def test_more_is_darker(one: float, other: float, most: float) -> None:
    def light(colour: str) -> int:
        return sum(int(colour[i : i + 2], 16) for i in (1, 3, 5))

    low, high = sorted((one, other))
    assert light(shade(high * most, most)) <= light(shade(low * most, most)) + 1
    assert shade(most, most) == shade(9 * most, most) == "#082554"
    assert shade(-1, most) == shade(math.nan, most) == shade(1, 0) == "#ffffff"


@given(st.text(max_size=30), st.integers(1, 20))
def test_long_words_are_cut(words: str, most: int) -> None:
    cut = shorten(words, most)
    assert len(cut) <= max(most, 1)
    assert cut == words or (len(words) > most and cut == words[: most - 1] + "…")
