"""Rules of a schema: what they rule out, and that doubles obey them whatever they are drawn from."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kagemusha.encoding import Encoder
from kagemusha.encoding.rules import holds, violations
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.folder.stream import stream
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.generators.sampled import draw_until
from kagemusha.graphical import MarkovField
from kagemusha.models.doubles import Doubles
from kagemusha.privacy.budget import Budget
from kagemusha.rules.conditions import read_where
from kagemusha.rules.contradictions import contradiction, dead_codes, require_consistent
from kagemusha.rules.zeroed import with_zeros
from kagemusha.rules.zeros_of_rules import zeros_of_rules
from kagemusha.schema import Boolean, Category, Date, Integer, Real, Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

COLUMNS = [
    Category("ward", categories=("a", "b", "c"), out_of_domain="clip"),
    Boolean("flag", missing=True),
    Integer("x", lower=0, upper=11, bins=3),
    Integer("y", lower=0, upper=11, bins=4, missing=True),
    Integer("z", lower=-3, upper=8, special=(99,)),
]


class Plain:
    """A generator that knows no rule: independent columns, drawn until they fulfil a condition."""

    kind = "plain"

    def __init__(self, schema: Schema, rng: np.random.Generator) -> None:
        self.domain, self.total = schema.domain, 1000.0
        self.shares = {n: rng.dirichlet(np.ones(self.domain.size(n))) for n in self.domain}

    def project(self, clique):
        table = np.ones(())
        for name in clique:
            table = np.multiply.outer(table, self.shares[name])
        return table * self.total

    def _draw(self, rows, rng):
        return np.column_stack([rng.choice(len(p), rows, p=p) for p in self.shares.values()])

    def sample(self, rows, *, rng, where=None):
        return draw_until(self._draw, self.domain, rows, rng, where) if where else self._draw(rows, rng)


def field_of(schema: Schema, rng: np.random.Generator) -> MarkovGenerator:
    names = schema.domain.names
    cliques = [(n,) for n in names] + [(names[i], names[i + 1]) for i in range(len(names) - 1)]
    potentials = {c: rng.normal(size=schema.domain.shape(c)) for c in cliques}
    return MarkovGenerator(MarkovField.build(schema.domain, 1000.0, potentials))


def drawn(schema: Schema, generator, rows: int):
    doubles = Doubles(schema, generator)
    return doubles.cells(doubles.codes(rows, rng=np.random.default_rng(0)), rng=np.random.default_rng(1))


ATOMS = st.sampled_from(
    ["ward = 'a'", "ward != 'b'", "ward in ('b', 'c')", "flag = true", "flag is missing", "x > 5", "x <= 3", "y < 6",
     "y between 2 and 9", "z >= 4", "z = 99", "not (x = 4 or ward = 'c')", "y is not missing"]
)  # fmt: skip
RULES = st.one_of(
    st.builds("{} implies {}".format, ATOMS, ATOMS),
    st.builds("never {} and {}".format, ATOMS, ATOMS),
    st.builds("always {} or {}".format, ATOMS, ATOMS),
    st.sampled_from(["x <= y", "x < z + 4", "y + z <= 12", "z >= x - 5", "2 * x > y", "y < x", "x + y + z <= 20"]),
    st.just("ward determines flag"),
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RULES, min_size=1, max_size=5, unique=True), st.integers(0, 2**32), st.booleans())
def test_doubles_obey_or_the_rules_are_refused_with_their_contradiction(rules, seed, graphical):
    schema = Schema(COLUMNS, constraints=rules)
    rng = np.random.default_rng(seed)
    clash = contradiction(schema)
    if clash:
        with pytest.raises(SchemaError, match="no row can obey"):
            require_consistent(schema)
        for rule in clash:  # none can be left out
            assert not contradiction(schema.with_constraints(*(r for r in clash if r is not rule)))
        return
    generator = with_zeros(field_of(schema, rng), schema) if graphical else Plain(schema, rng)
    doubles = Doubles(schema, generator)
    cells = doubles.cells(doubles.codes(300, rng=rng), rng=rng)
    for rule in schema.constraints:
        assert holds(schema, rule.law, cells).all(), rule.rule
    frame = Encoder(schema).frame(cells, like="pyarrow")
    assert frame.num_rows == 300
    assert set(violations(frame, schema).values()) == {0}


@settings(max_examples=60, deadline=None)
@given(st.lists(RULES.filter(lambda r: "determines" not in r), min_size=1, max_size=4, unique=True))
def test_walls_rule_out_what_no_values_obey_and_nothing_else(rules):
    """The twin: every combination of whole numbers, one by one."""
    schema = Schema(COLUMNS, constraints=rules)
    encoder = Encoder(schema)
    values = [["a", "b", "c"], [True, False, None], range(12), [*range(12), None], [*range(-3, 9), 99]]
    every = list(product(*values))
    table = pa.table({c.name: [row[i] for row in every] for i, c in enumerate(COLUMNS)})
    cells, codes = encoder.read(table), encoder.encode(table)
    for rule in schema.constraints:
        obeys = holds(schema, rule.law, cells)
        zeros = zeros_of_rules(schema.with_constraints(rule))
        clique = zeros[0].clique if zeros else schema.domain.canonical(rule.columns)
        axes = [schema.domain.axis(name) for name in clique]
        possible = np.zeros(schema.domain.shape(clique), dtype=bool)
        np.logical_or.at(possible, tuple(codes[obeys][:, axes].T), True)
        expected = ~possible
        found = zeros[0].impossible if zeros else np.zeros_like(expected)
        assert np.array_equal(found, expected), rule.rule
    together = np.logical_and.reduce([holds(schema, r.law, cells) for r in schema.constraints])
    assert bool(contradiction(schema)) == (not together.any())


def test_constrained_sampling_has_the_distribution_of_brute_force():
    """Doubles of a field come from its own distribution given the rules: the twin lists every row."""
    schema = Schema(
        [
            Category("ward", categories=("a", "b"), out_of_domain="clip"),
            Integer("x", lower=0, upper=3),
            Integer("y", lower=0, upper=3),
        ],
        constraints=["x <= y", "ward = 'a' implies y >= 2"],
    )
    rng = np.random.default_rng(1)
    generator = field_of(schema, rng)
    rows = np.array(list(product(range(2), range(4), range(4))))
    obeys = (rows[:, 1] <= rows[:, 2]) & ((rows[:, 0] != 0) | (rows[:, 2] >= 2))
    chance = np.exp(generator.field.log_likelihood(rows)) * obeys
    for draw in (generator, Plain(schema, rng)):
        weights = chance if draw is generator else draw.project(("ward", "x", "y")).ravel() * obeys
        codes = Doubles(schema, draw).codes(200_000, rng=rng)
        found = np.bincount(np.ravel_multi_index(tuple(codes.T), (2, 4, 4)), minlength=32) / len(codes)
        assert np.abs(found - weights / weights.sum()).sum() < 0.02
        # a wrong distribution is noticed: that of the rows without rules is far away
        assert np.abs(found - np.exp(generator.field.log_likelihood(rows))).sum() > 0.1


def test_values_inside_equal_bins_obey_too_and_are_uniform_over_what_is_left():
    schema = Schema(
        [Integer("x", lower=0, upper=9, bins=1), Integer("y", lower=0, upper=9, bins=1)], constraints=["x < y"]
    )
    cells = drawn(schema, Plain(schema, np.random.default_rng(0)), 90_000)
    counts = np.bincount((cells["x"].numbers * 10 + cells["y"].numbers).astype(int), minlength=100).reshape(10, 10)
    assert counts[np.tril_indices(10)].sum() == 0
    left = counts[np.triu_indices(10, 1)]
    assert np.abs(left - 2000).max() < 6 * np.sqrt(2000)


def test_a_generator_that_hardly_ever_obeys_is_mended_without_losing_rows():
    columns = [Category(n, categories=tuple("abcdefgh"), out_of_domain="clip") for n in "pqrs"] + [
        Integer("k", lower=0, upper=4)
    ]
    rules = ["p = 'a' implies q = 'b'", "always q = 'b'", "always r = 'c'", "always s = 'd'", "never k = 0 and r = 'c'"]
    schema = Schema(columns, constraints=rules)
    cells = drawn(schema, Plain(schema, np.random.default_rng(3)), 500)
    assert len(cells["k"].codes) == 500
    assert all(holds(schema, rule.law, cells).all() for rule in schema.constraints)


@pytest.mark.parametrize("method", ["kage", "aim", "mst", "privbayes", "independent", "gaussian", "nigao"])
@pytest.mark.parametrize("derived", [False, True])
def test_every_method_obeys_with_and_without_a_condition(method, derived):
    rng = np.random.default_rng(0)
    came = rng.integers(18262, 18628, 1500)
    ward = rng.choice(["maternity", "surgery", "children"], 1500)
    age = np.where(ward == "children", rng.integers(0, 18, 1500), rng.integers(18, 90, 1500))
    parts = rng.integers(0, 9, (2, 1500))
    table = pa.table(
        {
            "came": pa.array(came.astype("M8[D]")),
            "went": pa.array((came + rng.geometric(0.2, 1500) - 1).astype("M8[D]")),
            "ward": ward,
            "pregnant": np.where(ward == "maternity", "yes", "no"),
            "age": age,
            "a": parts[0],
            "b": parts[1],
            "sum": parts.sum(axis=0),
        }
    )
    stay = [Integer("stay", lower=0, upper=60, formula="went - came", replaces="went")] if derived else []
    schema = Schema(
        [
            Date("came", lower="2020-01-01", upper="2020-12-31", bins=6),
            Date("went", lower="2020-01-01", upper="2021-02-28", bins=7),
            *stay,
            Category("ward", categories=("maternity", "surgery", "children")),
            Category("pregnant", categories=("yes", "no")),
            Integer("age", lower=0, upper=99, bins=10),
            Integer("a", lower=0, upper=8, bins=3),
            Integer("b", lower=0, upper=8, bins=3),
            Integer("sum", lower=0, upper=16),
        ],
        constraints=[
            "came <= went",
            "ward = 'maternity' implies pregnant = 'yes'",
            "ward = 'children' implies age <= 17",
            "sum = a + b",
            "went - came <= 90",
        ],
    )
    model = fit(create(method), table, Budget(1.0, 1e-6), schema=schema, simulation=0)
    for where in (None, "ward = 'maternity'", "age > 12 and ward != 'surgery'"):
        doubles = model.sample(400, seed=1, where=where)
        assert doubles.num_rows == 400
        assert set(violations(doubles, schema).values()) == {0}
    assert (np.asarray(doubles["age"]) > 12).all()


def test_constraints_need_no_accuracy_and_leave_a_model_without_rules_as_it_is():
    schema = Schema(COLUMNS)
    generator = field_of(schema, np.random.default_rng(0))
    assert with_zeros(generator, schema) is generator
    guess = Constraint("x <= y", guess=True)
    assert with_zeros(generator, schema.with_constraints(guess)) is generator
    assert zeros_of_rules(schema.with_constraints(guess)) == []


def test_a_wall_inside_the_field_leaves_the_columns_as_they_were():
    schema = Schema(COLUMNS, constraints=["never ward = 'a' and flag = true"])
    generator = field_of(schema, np.random.default_rng(0))
    inside = with_zeros(generator, schema)
    assert inside.project(("ward", "flag"))[0, 1] == 0
    for name in schema.domain:
        before, after = generator.project((name,)), inside.project((name,))
        assert np.abs(before - after).sum() < 0.02 * generator.total


def test_the_smallest_contradiction_is_named_whatever_the_order():
    pair, circle = ["z > 5", "z < 3"], ["x <= y", "y < x", "y is not missing"]
    for rules in ([*pair, *circle], [*circle, *pair]):
        schema = Schema(COLUMNS, constraints=rules)
        assert sorted(rule.rule for rule in contradiction(schema)) == sorted(pair)
    # a number that may be missing obeys any order; of two whole numbers none lies between
    assert len(contradiction(Schema(COLUMNS, constraints=circle))) == 3
    assert not contradiction(Schema(COLUMNS, constraints=circle[:2]))


def test_values_that_no_row_can_have_are_named():
    schema = Schema(COLUMNS, constraints=["ward = 'a' implies x > 8", "ward = 'a' implies x < 4"])
    assert dead_codes(schema) == {"ward": ["a"]}
    assert not contradiction(schema)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x <= ward", "must be a number or a date"),
        ("ward = 'nobody' implies x > 3", "has no value 'nobody'"),
        ("x <= nothing", "no column 'nothing'"),
        ("ward = Maternity", "texts need"),
        ("x <=", "expected"),
        ("ward > 'a' implies x > 3", "is a category"),
        ("x determines ward", "must be a category or a boolean"),
        ("x - x <= 3", "cancel out"),
        ("x * y <= 3", "between sums"),
        ("", "a rule is needed"),
    ],
)
def test_mistakes_are_told_in_words(rule, message):
    with pytest.raises(SchemaError, match=message):
        zeros_of_rules(Schema(COLUMNS, constraints=[rule]))


def test_a_condition_that_the_rules_forbid_is_refused_in_words():
    schema = Schema(COLUMNS, constraints=["ward = 'a' implies x > 8"])
    for generator in (field_of(schema, np.random.default_rng(0)), Plain(schema, np.random.default_rng(0))):
        where = {g.clique: g.weights() for g in read_where("ward = 'a' and x < 4", schema)}
        with pytest.raises((UsageError, DataError)):
            Doubles(schema, generator).codes(10, rng=np.random.default_rng(0), where=where)


def test_doubles_in_chunks_obey_too():
    schema = Schema(COLUMNS, constraints=["x <= y", "ward = 'a' implies z >= 4", "never z = 99 and ward = 'b'"])
    table = Encoder(schema).frame(drawn(schema, Plain(schema, np.random.default_rng(0)), 800), like="pyarrow")
    for method in ("kage", "gaussian"):
        model = fit(create(method), table, Budget(1.0, 1e-6), schema=schema, simulation=0)
        chunks = list(stream(model, 3000, rng=np.random.default_rng(0), chunk=1000, jobs=1))
        assert len(chunks) == 3
        assert sum(count for chunk in chunks for count in violations(chunk, schema).values()) == 0


def test_partners_that_a_list_gives(tmp_path):
    (tmp_path / "cities.csv").write_text("Paris,FR\nLyon,FR\nRome,IT\n")
    text = """
[columns.city]
kind = "category"
categories = ["Paris", "Lyon", "Rome"]
out_of_domain = "clip"
[columns.country]
kind = "category"
categories_file = "countries.txt"
out_of_domain = "clip"
[columns.weight]
kind = "real"
lower = 0
upper = 9
[[constraint]]
rule = "city determines country"
list = "cities.csv"
"""
    (tmp_path / "countries.txt").write_text("FR\nIT\n")
    (tmp_path / "s.toml").write_text(text)
    schema = Schema.load(tmp_path / "s.toml")
    assert Schema.loads(schema.dumps()) == schema
    cells = drawn(schema, Plain(schema, np.random.default_rng(0)), 500)
    pairs = set(zip(cells["city"].codes.tolist(), cells["country"].codes.tolist(), strict=True))
    assert pairs == {(0, 0), (1, 0), (2, 1)}
    with pytest.raises(SchemaError, match="two partners"):
        Constraint("city determines country", lines=(("Paris", "FR"), ("Paris", "IT")))
    assert isinstance(schema["weight"], Real)


def test_the_certificate_says_who_vouches_for_what():
    confirmed = "Dr Ito, 2026-11-18, from the ward's manual"
    columns = [Integer("x", lower=0, upper=9, confirmed=confirmed), Integer("y", lower=0, upper=9)]
    schema = Schema(columns, constraints=[Constraint("x <= y", confirmed=confirmed)])
    assert Schema.loads(schema.dumps()) == schema
    table = pa.table({"x": [1, 2, 3] * 30, "y": [4, 5, 6] * 30})
    certificate = fit(create("independent"), table, Budget(1.0, 1e-6), schema=schema).certificate
    assert f"Public facts of x, the rule x <= y: confirmed by {confirmed}." in certificate.assumptions
