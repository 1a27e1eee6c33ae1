"""What every kind of generator keeps: it comes back from its arrays, tells what it draws, and keeps conditions
exactly."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from kagemusha.errors import DataError, KagemushaError, ModelTooLarge, UsageError
from kagemusha.generators import sampled
from kagemusha.generators.classes import ClassGenerator
from kagemusha.generators.decoders import Decoder, DecoderGenerator
from kagemusha.generators.gan import GanGenerator, WrittenColumn
from kagemusha.generators.generator import MAX_ROWS, Generator
from kagemusha.generators.markov import TRADED, MarkovGenerator
from kagemusha.generators.normal import NormalGenerator, Place
from kagemusha.generators.registry import KINDS, MOST_RECORDS, load_generator
from kagemusha.generators.rows import RowsGenerator
from kagemusha.graphical import MarkovField
from kagemusha.schema import Category, Domain, Integer, Real, Schema
from kagemusha.schema.features import features_of

SCHEMA = Schema(
    [
        Real("x", lower=0.0, upper=1.0, bins=5, missing=True, special=("N",)),
        Category("c", categories=("a", "b", "d"), out_of_domain="clip"),
        Category("k", categories=("u", "v"), out_of_domain="clip"),
    ]
)
DOMAIN = SCHEMA.domain
PLACES = [Place.of(f) for f in features_of(SCHEMA)]
TOTAL = 250.0


def field(names: str = "xck", seed: int = 0) -> MarkovField:
    rng = np.random.default_rng(seed)
    domain = DOMAIN.project(names)
    pairs = list(combinations(domain.names, 2))
    return MarkovField.build(domain, TOTAL, {p: rng.normal(size=domain.shape(p)) for p in pairs})


def hidden() -> MarkovGenerator:
    """A field with one attribute more, that holds groups of the codes of x."""
    domain = Domain((*DOMAIN.names, "x (group)"), (*DOMAIN.sizes, 2))
    rng = np.random.default_rng(3)
    groups = np.array([0, 0, 1, 1, 1, 0, 1])
    hard = np.where(groups[:, None] == np.arange(2), 0.0, -np.inf)
    potentials = {
        ("x", "x (group)"): hard,
        ("c", "x (group)"): rng.normal(size=(3, 2)),
        ("c", "k"): rng.normal(size=(3, 2)),
        ("x",): rng.normal(size=7),
    }
    return MarkovGenerator(MarkovField.build(domain, TOTAL, potentials), ("x (group)",))


def classes(*, labelled: bool) -> ClassGenerator:
    rng = np.random.default_rng(1)
    columns = PLACES[:1]
    width, inner = sum(p.width for p in columns), 2
    return ClassGenerator(
        DOMAIN, TOTAL, columns, ("c",) if labelled else ("c", "k"), rng.dirichlet(np.ones(3 if labelled else 6)),
        rng.normal(0, 0.4, (3 if labelled else 6, width)), rng.normal(0, 0.3, (width, inner)),
        rng.normal(0, 0.5, (3 if labelled else 6, inner, inner)), np.full(width, 0.2),
        labels=MarkovGenerator(field("ck")) if labelled else None,
        edges={"x": np.array([-0.5, -0.1, 0.1, 0.6])}, gaps=np.array([0.4, 0.7]),
    )  # fmt: skip


def decoders() -> DecoderGenerator:
    rng = np.random.default_rng(2)
    width = sum(p.width for p in PLACES[:2])
    parts = [
        Decoder(np.array([0.3, 0.7]), rng.normal(0, 1, (2, 3)), np.tile(np.eye(3), (2, 1, 1)),
                [rng.normal(0, 1, (6, 6)), rng.normal(0, 0.5, (width, 7))])
        for _ in range(2)
    ]  # fmt: skip
    return DecoderGenerator(DOMAIN, TOTAL, PLACES[:2], "k", True, np.array([0.25, 0.75]), parts)


def gan() -> GanGenerator:
    rng = np.random.default_rng(4)
    columns = [
        WrittenColumn("x", 7, np.array([0.2, 0.8]), np.array([0.1, 0.3]), np.linspace(0.1, 0.9, 5), marks=2),
        WrittenColumn("c", 3, *[np.zeros(0)] * 3),
        WrittenColumn("k", 2, *[np.zeros(0)] * 3),
    ]
    width = sum(h.width for h in columns)
    layers = [(rng.normal(0, 0.5, (9, 8)), rng.normal(0, 0.5, 8)), (rng.normal(0, 0.5, (17, width)), np.zeros(width))]
    return GanGenerator(DOMAIN, TOTAL, columns, 4, rng.dirichlet(np.ones(5)), layers)


def normal() -> NormalGenerator:
    rng = np.random.default_rng(5)
    width = sum(p.width for p in PLACES)
    return NormalGenerator(DOMAIN, TOTAL, PLACES, rng.normal(0, 0.3, width), rng.normal(0, 0.3, (width, 4)))


def rows() -> RowsGenerator:
    rng = np.random.default_rng(6)
    return RowsGenerator(DOMAIN, np.column_stack([rng.integers(0, size, 900) for size in DOMAIN.sizes]))


def traded() -> MarkovGenerator:
    """A field that holds columns apart, and a table of two of them that rows are traded towards: each alone is as
    the field says."""
    columns = {"x": np.linspace(0, 1, 7), "c": np.array([0.5, 0.0, 1.0]), "k": np.zeros(2)}
    sparse = MarkovField.build(DOMAIN, TOTAL, {(name,): values for name, values in columns.items()})
    alone = [np.exp(columns[name]) / np.exp(columns[name]).sum() for name in "xc"]
    table = np.random.default_rng(8).random((7, 3)) + 0.1
    for _ in range(200):
        table *= (alone[0] / table.sum(axis=1))[:, None]
        table *= alone[1] / table.sum(axis=0)
    return MarkovGenerator(sparse, pairs={("x", "c"): table * TOTAL})


MADE = {
    "field": lambda: MarkovGenerator(field()),
    "hidden": hidden,
    "pairs": traded,
    "classes": lambda: classes(labelled=False),
    "labels": lambda: classes(labelled=True),
    "decoders": decoders,
    "gan": gan,
    "normal": normal,
    "rows": rows,
}
EVERY = pytest.mark.parametrize("made", MADE)
CLIQUES = [(), ("x",), ("k",), ("x", "c"), ("x", "k"), ("c", "k"), ("x", "c", "k")]


def reloaded(generator: Generator, **changes: Any) -> Generator:
    meta, arrays = generator.to_arrays()
    return load_generator(generator.kind, {**json.loads(json.dumps(meta)), **changes}, dict(arrays))


def shares(codes: np.ndarray[Any, Any], clique: tuple[str, ...]) -> np.ndarray[Any, Any]:
    counts = np.bincount(DOMAIN.flat(clique, codes.T), minlength=DOMAIN.cells(clique))
    return np.asarray(counts.reshape(DOMAIN.shape(clique)) / len(codes))


def apart(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    return float(np.abs(one - other).sum() / 2)


def test_every_kind_is_here() -> None:
    assert {make().kind for make in MADE.values()} == set(KINDS)


@EVERY
def test_it_comes_back_from_its_arrays(made: str) -> None:
    first = MADE[made]()
    again = reloaded(first)
    assert (again.kind, again.domain, again.total) == (first.kind, first.domain, first.total)
    assert again.domain == DOMAIN
    one, two = (g.sample(300, rng=np.random.default_rng(9)) for g in (first, again))
    assert np.array_equal(one, two)
    assert one.shape == (300, 3)
    assert (one >= 0).all()
    assert (one < np.array(DOMAIN.sizes)).all()
    for clique in CLIQUES:
        assert np.array_equal(first.project(clique), again.project(clique))
    assert json.dumps(first.to_arrays()[0]) == json.dumps(again.to_arrays()[0])


@EVERY
def test_it_tells_what_it_draws(made: str) -> None:
    """Expected counts are those of several hundred thousand draws, up to what chance leaves."""
    generator = MADE[made]()
    most = TRADED // 2 if made == "pairs" else generator.most_rows  # rows are traded up to so many
    drawn = generator.sample(min(400_000, most), rng=np.random.default_rng(11))
    together = generator.project_many(CLIQUES)
    for clique, table in zip(CLIQUES, together, strict=True):
        assert np.array_equal(table, generator.project(clique))
        assert table.shape == DOMAIN.shape(clique)
        assert table.sum() == pytest.approx(generator.total)
        if made != "pairs" or set(clique) <= {"x", "c"}:  # of pairs beside the field, three-way tables know nothing
            assert apart(table / generator.total, shares(drawn, clique)) < 0.015, clique


@pytest.mark.parametrize("made", [m for m in MADE if m != "pairs"])
def test_one_table_is_the_sum_of_a_larger_one(made: str) -> None:
    generator = MADE[made]()
    whole = generator.project(DOMAIN.names)
    for clique in CLIQUES:
        rest = tuple(at for at, name in enumerate(DOMAIN.names) if name not in clique)
        assert generator.project(clique) == pytest.approx(whole.sum(axis=rest), rel=1e-9, abs=1e-9)


WHERE = {
    "a code": {("c",): np.array([0.0, 1.0, 0.0])},
    "a share": {("x",): np.array([1.0, 0.5, 0.0, 0.25, 1.0, 1.0, 0.0])},
    "two columns": {("c", "k"): np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])},
    "both": {("c",): np.array([1.0, 0.2, 1.0]), ("x", "k"): np.linspace(0, 1, 14).reshape(7, 2)},
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("made", [m for m in MADE if m not in ("pairs", "rows")])
def test_a_condition_is_kept_exactly(made: str, where: str) -> None:
    """Rows under a condition have the distribution of the rows without, times how likely each fulfils it."""
    generator = MADE[made]()
    wanted = generator.project(DOMAIN.names)
    if made not in ("field", "hidden"):  # more draws than its own table rests on
        wanted = shares(generator.sample(400_000, rng=np.random.default_rng(1)), DOMAIN.names)
    chance = np.ones(DOMAIN.sizes)
    for clique, weights in WHERE[where].items():
        chance = chance * np.expand_dims(weights, tuple(at for at, n in enumerate(DOMAIN.names) if n not in clique))
    wanted = wanted * chance
    drawn = shares(generator.sample(100_000, rng=np.random.default_rng(2), where=WHERE[where]), DOMAIN.names)
    assert not drawn[chance == 0].any(), "what the condition rules out never comes"
    assert apart(drawn, wanted / wanted.sum()) < 0.02


# the distributions themselves, where they can be written down


def test_a_normal_distribution_is_cut_half_way_between_places() -> None:
    schema = Schema([Integer("n", lower=0, upper=4), Category("c", categories=("a", "b"), out_of_domain="clip")])
    places = [Place.of(f) for f in features_of(schema)]
    factor = np.diag([0.7, 0.3, 0.4])
    generator = NormalGenerator(schema.domain, 1.0, places, np.array([0.2, 0.1, 0.3]), factor)
    drawn = generator.sample(400_000, rng=np.random.default_rng(0))
    cuts = (places[0].places[1:] + places[0].places[:-1]) / 2
    wanted = np.diff(norm.cdf([-np.inf, *cuts, np.inf], 0.2, 0.7))
    assert np.bincount(drawn[:, 0]) / len(drawn) == pytest.approx(wanted, abs=0.004)
    assert (drawn[:, 1] == 0).mean() == pytest.approx(norm.cdf((0.1 - 0.3) / math.hypot(0.3, 0.4)), abs=0.004)


@pytest.mark.parametrize("edges", [None, np.array([-0.5, -0.1, 0.1, 0.6])])
@pytest.mark.parametrize("gaps", [None, np.array([0.2, 0.9])])
def test_features_stand_for_the_nearest_place_or_for_a_mark_that_passes_its_gap(edges: Any, gaps: Any) -> None:
    place = PLACES[0]
    rng = np.random.default_rng(0)
    drawn = np.column_stack([rng.uniform(-2, 2, 2_000), rng.uniform(-1, 2, (2_000, 2))])
    for (x, *marks), code in zip(drawn.tolist(), place.codes(drawn, edges=edges, gaps=gaps).tolist(), strict=True):
        above = [mark - gap for mark, gap in zip(marks, [0.5, 0.5] if gaps is None else gaps, strict=True)]
        if max(above) > 0:
            assert code == 5 + above.index(max(above))
        elif edges is None:
            assert abs(x - place.places[code]) == min(abs(x - place.places))
        else:
            assert code == sum(edge < x for edge in edges)


def test_scores_of_labels_are_drawn_by_their_softmax() -> None:
    scores = np.array([0.5, -1.0, 2.0])
    softmax = np.exp(scores) / np.exp(scores).sum()
    domain = Domain(("c",), (3,))
    part = Decoder(np.ones(1), np.zeros((1, 1)), np.zeros((1, 1, 1)), [np.column_stack([np.zeros(3), scores])])
    places = [Place("c", 3, True, 0, np.zeros(0))]
    drawn = DecoderGenerator(domain, 1.0, places, None, True, np.ones(1), [part])
    columns = [WrittenColumn("c", 3, *[np.zeros(0)] * 3)]
    adversarial = GanGenerator(domain, 1.0, columns, 1, np.zeros(0), [(np.zeros((1, 3)), scores)])
    for generator in (drawn, adversarial):
        codes = generator.sample(300_000, rng=np.random.default_rng(0))
        assert np.bincount(codes[:, 0]) / len(codes) == pytest.approx(softmax, abs=0.004)
    best = replace(drawn, drawn=False).sample(50, rng=np.random.default_rng(0))
    assert set(best.ravel().tolist()) == {2}


def test_special_values_and_gaps_are_drawn_by_their_chances() -> None:
    """Later features of a measured column are chances; together they are at most one."""
    place = PLACES[0]
    for chances, wanted in (((0.2, 0.5), (0.2, 0.5)), ((0.9, 0.9), (0.5, 0.5)), ((-3.0, 0.25), (1e-4, 0.25))):
        matrix = np.column_stack([np.zeros(3), [0.0, *chances]])
        part = Decoder(np.ones(1), np.zeros((1, 1)), np.zeros((1, 1, 1)), [matrix])
        domain = Domain(("x",), (7,))
        codes = DecoderGenerator(domain, 1.0, [place], None, True, np.ones(1), [part]).sample(
            200_000, rng=np.random.default_rng(0)
        )
        found = np.bincount(codes[:, 0], minlength=7) / len(codes)
        assert found[5:] == pytest.approx(wanted, abs=0.005)


# rows that were drawn once


def test_released_rows_are_dealt_once_each() -> None:
    generator = rows()
    assert generator.most_rows == generator.total == 900
    dealt = generator.sample(900, rng=np.random.default_rng(0))
    assert sorted(map(tuple, dealt.tolist())) == sorted(map(tuple, generator.codes.tolist()))
    inside = int((generator.codes[:, 1] == 1).sum())
    where = WHERE["a code"]
    assert (generator.sample(inside, rng=np.random.default_rng(0), where=where)[:, 1] == 1).all()
    with pytest.raises(UsageError, match=rf"only {inside} of the 900 released rows"):
        generator.sample(inside + 1, rng=np.random.default_rng(0), where=where)
    with pytest.raises(UsageError, match="rows must be at most 900, got 901"):
        generator.sample(901, rng=np.random.default_rng(0))
    assert normal().most_rows == MAX_ROWS


# what cannot be


@pytest.mark.parametrize("made", ["normal", "gan", "decoders", "classes"])
def test_a_condition_that_nothing_or_hardly_anything_fulfils(made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "MOST_TRIES", 4_000)
    monkeypatch.setattr(sampled, "TRIES_PER_ROW", 10)
    generator = MADE[made]()
    with pytest.raises(UsageError, match="no double can fulfil"):
        generator.sample(5, rng=np.random.default_rng(0), where={("c",): np.zeros(3)})
    with pytest.raises(UsageError, match=r"only [0-9,]+ of [0-9,]+ doubles fulfil"):
        generator.sample(500, rng=np.random.default_rng(0), where={("c",): np.full(3, 0.002)})


@EVERY
@pytest.mark.parametrize("total", [0, -1, float("nan"), float("inf"), MOST_RECORDS * 2, "many", None])
def test_an_impossible_number_of_records_is_refused(made: str, total: Any) -> None:
    with pytest.raises(DataError, match="number of records must be greater than 0 and at most 1e"):
        reloaded(MADE[made](), total=total)


def test_an_unknown_kind_is_refused_with_those_known() -> None:
    with pytest.raises(DataError, match="unknown kind of generator 'tree'; known: markov-field"):
        load_generator("tree", {"total": 1}, {})


MUTANTS = {
    "a number is none": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.nan, a.astype(float)),
    "a number is endless": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.inf, a.astype(float)),
    "one too many": lambda a: np.concatenate([a, a[:1]]),
    "one more axis": lambda a: a[None],
}


def refused(kind: str, meta: Any, arrays: Any) -> bool:
    """Whether it is not loaded."""
    try:
        load_generator(kind, meta, arrays)
    except (LookupError, ValueError, KagemushaError):
        return True
    return False


@EVERY
@pytest.mark.parametrize("mutant", MUTANTS)
def test_arrays_that_do_not_fit_are_refused(made: str, mutant: str) -> None:
    """Each array of each kind in turn, which must not be loaded with something else in it than the kind can draw
    from."""
    generator = MADE[made]()
    meta, arrays = generator.to_arrays()
    changed = [name for name, array in arrays.items() if array.size]
    assert changed
    for name in changed:
        broken = {**arrays, name: MUTANTS[mutant](arrays[name])}
        assert refused(generator.kind, meta, broken), f"{name} was taken"
        if not name.startswith(("edges.", "gaps")):  # these may be left out
            without = {key: array for key, array in arrays.items() if key != name}
            assert refused(generator.kind, meta, without), f"{name} is not missed"


@pytest.mark.parametrize("made", ["field", "hidden", "labels"])
def test_a_tree_that_is_too_large_is_not_built(made: str) -> None:
    generator = MADE[made]()
    with pytest.raises(ModelTooLarge):
        load_generator(generator.kind, *generator.to_arrays(), 3)
