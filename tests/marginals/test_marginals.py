"""Counts, their nearest tables and workloads, against their definitions."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.marginals import Marginal, NoisyMarginal, Workload, nearest_counts
from kagemusha.marginals import tally as tally_module
from kagemusha.marginals.kernels import SMALL, count_pairs
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Domain

DOMAIN = Domain(tuple("abcd"), (3, 2, 5, 1))
SUBSETS = [tuple(c) for k in range(5) for c in combinations("abcd", k)]

# tables of counts


def test_private_counts_are_never_shown() -> None:
    assert repr(Marginal(("a",), np.array([41, 7, 3]))) == "Marginal(('a',), <private>)"
    assert "41" not in f"{Marginal(('a',), np.array([41, 7, 3]))!s}"


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((3, 2), dtype=np.int64), np.zeros(3, dtype=np.int32)])
def test_counts_are_whole_and_fit_their_columns(values: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match="int64 and one axis for each attribute"):
        Marginal(("a",), values)
    with pytest.raises(ValueError, match="int64 and one axis for each attribute"):
        NoisyMarginal(("a",), values, 1.0)


@pytest.mark.parametrize("sigma", [-1.0, float("nan")])
def test_noise_has_a_scale(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma must be at least 0"):
        NoisyMarginal(("a",), np.zeros(3, dtype=np.int64), sigma)
    assert NoisyMarginal(("a",), np.zeros(3, dtype=np.int64), 0.0).sigma == 0


NOISY = st.lists(st.floats(-50, 50), min_size=1, max_size=6)


@given(NOISY, st.floats(0.01, 200), st.integers(0, 2**32))
def test_the_nearest_counts_are_the_nearest(values: list[float], total: float, seed: int) -> None:
    """Counts, of that sum, and no other table of counts of that sum is nearer: neither a corner nor a random one."""
    given_ = np.array(values)
    found = nearest_counts(given_, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    distance = ((found - given_) ** 2).sum()
    rng = np.random.default_rng(seed)
    others = chain(
        np.eye(len(values)), rng.dirichlet(np.ones(len(values)), 30), rng.dirichlet(np.full(len(values), 0.1), 9)
    )
    for shares in others:
        assert distance <= ((shares * total - given_) ** 2).sum() + 1e-6
        nearer = found + 0.01 * (shares * total - found)  # a small step towards any of them leads away
        assert distance <= ((nearer - given_) ** 2).sum() + 1e-6


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any))
def test_counts_that_are_right_already_stay(values: list[int]) -> None:
    assert nearest_counts(np.array(values, dtype=float), sum(values)) == pytest.approx(values)
    table = np.array(values, dtype=float).reshape(1, -1)
    assert nearest_counts(table, sum(values)).shape == table.shape


# counting


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(SUBSETS), max_size=6),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_chunks_are_counted_as_one_table(cliques: list[tuple[str, ...]], chunks: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    tally = Tally(DOMAIN, cliques)
    parts = [[rng.integers(0, size, n).astype(np.uint8) for size in DOMAIN.sizes] for n in chunks]
    for part in parts:
        tally.add(part)
    rows = [row for part in parts for row in zip(*(c.tolist() for c in part), strict=True)]
    assert tally.rows == len(rows)
    for clique, marginal in zip(cliques, tally.marginals(), strict=True):
        counts = np.zeros(DOMAIN.shape(clique), dtype=np.int64)
        for row in rows:
            counts[tuple(row[DOMAIN.axis(name)] for name in clique)] += 1
        assert marginal.clique == clique
        assert np.array_equal(marginal.counts, counts)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, 1000).astype(np.uint8) for size in DOMAIN.sizes]
    whole = Tally(DOMAIN, SUBSETS)
    whole.add(columns)
    monkeypatch.setattr(tally_module, "BLOCK", 7)
    split = Tally(DOMAIN, SUBSETS)
    split.add(columns)
    for one, other in zip(whole.marginals(), split.marginals(), strict=True):
        assert np.array_equal(one.counts, other.counts)


@pytest.mark.parametrize("cells", [1, 12, SMALL, SMALL + 1, 3 * SMALL])
@pytest.mark.parametrize("rows", [0, 1, 5, 4099])
def test_the_compiled_loop_counts_pairs(cells: int, rows: int) -> None:
    rng = np.random.default_rng(cells + rows)
    size = 3 if cells % 3 == 0 else 1
    first, second = rng.integers(0, cells // size, rows), rng.integers(0, size, rows).astype(np.uint16)
    counts = np.full(cells, 2, dtype=np.int64)
    count_pairs(first, second, size, counts)
    assert np.array_equal(counts, 2 + np.bincount(first * size + second, minlength=cells))


@pytest.mark.parametrize(
    ("clique", "words"),
    [(("z",), "no modelled column is named 'z'"), (("b", "a"), "domain order"), (("a", "a"), "distinct columns")],
)
def test_what_cannot_be_counted_is_named(clique: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Tally(DOMAIN, [clique])


def test_too_many_cells_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = Domain(("a", "b"), (10**9, 10**9))
    with pytest.raises(ModelTooLarge, match=r"1 sets of columns needs 1,000,000,000,000,000,000 cells"):
        Tally(huge, [("a", "b")])
    monkeypatch.setattr(tally_module, "MAX_CELLS", 6)
    assert Tally(DOMAIN, [("a", "b"), ("a", "b")]).marginals()[0].counts.size == 6, "what is named twice counts once"
    with pytest.raises(ModelTooLarge, match="7 cells"):
        Tally(DOMAIN, [("a", "b"), ()])


# workloads

WEIGHTS = st.dictionaries(st.sampled_from([s for s in SUBSETS if s]), st.floats(0.1, 9), min_size=1, max_size=5)


@given(WEIGHTS)
def test_a_workload_by_its_definition(weights: dict[tuple[str, ...], float]) -> None:
    workload = Workload.of(DOMAIN, weights)
    closure = workload.closure()
    assert set(closure) == {s for s in SUBSETS if s and any(set(s) <= set(w) for w in weights)}
    assert len(set(closure)) == len(closure)
    assert [len(s) for s in closure] == sorted(len(s) for s in closure)
    for subset in SUBSETS:
        wanted = sum(c * len(set(subset) & set(s)) for s, c in weights.items())
        assert workload.importance(subset) == pytest.approx(wanted)
    stressed = workload.emphasise("b", 3.0)
    assert dict(stressed.weights) == {c: w * (3 if "b" in c else 1) for c, w in weights.items()}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_all_sets_of_some_columns(k: int) -> None:
    assert list(Workload.all_kway(DOMAIN, k).weights) == list(combinations("abcd", min(k, 4)))


def test_repeats_add_up_whatever_their_order() -> None:
    assert dict(Workload.of(DOMAIN, [["b", "a"], ("a", "b"), "c"]).weights) == {("a", "b"): 2.0, ("c",): 1.0}
    for order in product("ab", repeat=2):
        assert list(Workload.of(DOMAIN, [order]).weights) == [tuple(sorted(set(order)))]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Workload({}), "workload: at least one"),
        (lambda: Workload({("a",): 0.0}), r"workload: the weight of \('a',\) must be a positive number"),
        (lambda: Workload({("a",): float("nan")}), "must be a positive number"),
        (lambda: Workload({("a",): float("inf")}), "must be a positive number"),
        (lambda: Workload.all_kway(DOMAIN, 0), "degree must be at least 1, got 0"),
        (lambda: Workload.of(DOMAIN, [("a", "z")]), "no column named 'z'; columns are a, b, c, d"),
        (lambda: Workload.of(DOMAIN, {("a",): -1.0}), "must be a positive number"),
    ],
)
def test_wrong_workloads_are_named(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        make()
