"""What follows from a schema: its domain, what one record moves in sums of features, remarks, rules as columns,
pictures."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_strategies import columns
from kagemusha.errors import SchemaError, UndeclaredDomain, UsageError
from kagemusha.schema import (
    Boolean,
    Category,
    Date,
    Datetime,
    Domain,
    Drop,
    Fact,
    Integer,
    Modelled,
    Real,
    Schema,
    Surrogate,
    Unit,
)
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.features import (
    STEPS,
    Features,
    cross_moment_facts,
    features_of,
    first_moment_facts,
    generation_facts,
)
from kagemusha.schema.images import MOST_PIXELS, image_schema, image_shape, pixel_names
from kagemusha.schema.judging import broken, judged_schema, rules_in_force
from kagemusha.schema.lint import check, likely_unit, looks_like_identifier, looks_like_names

# the domain

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@given(SIZES, st.data())
def test_cells_are_numbered_in_c_order(sizes: list[int], data: st.DataObject) -> None:
    domain = Domain(tuple(f"x{i}" for i in range(len(sizes))), tuple(sizes))
    names = data.draw(st.lists(st.sampled_from(domain.names), max_size=4))
    clique = domain.canonical(names)
    assert clique == tuple(name for name in domain.names if name in names)
    assert domain.shape(clique) == tuple(sizes[domain.names.index(name)] for name in clique)
    assert domain.cells(clique) == int(np.prod(domain.shape(clique)))
    small = domain.project(names)
    assert (small.names, small.sizes) == (clique, domain.shape(clique))
    rows = np.array([[data.draw(st.integers(0, size - 1)) for size in sizes] for _ in range(4)]).T
    flat = domain.flat(clique, rows)
    for at, row in enumerate(rows.T):
        place = tuple(int(row[domain.axis(name)]) for name in clique)
        assert flat[at] == (np.ravel_multi_index(place, domain.shape(clique)) if clique else 0)


def test_cells_of_a_large_table_do_not_overflow() -> None:
    domain = Domain(tuple("abc"), (10**7,) * 3)
    assert domain.cells("abc") == 10**21


@pytest.mark.parametrize(
    ("names", "sizes", "words"),
    [(("a",), (1, 2), "1 names but 2 sizes"), (("a", "a"), (1, 2), "distinct"), (("a",), (0,), "at least one code")],
)
def test_a_wrong_domain(names: tuple[str, ...], sizes: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Domain(names, sizes)


def test_only_an_open_fact_of_the_model_stands_in_the_way() -> None:
    schema = Schema([Category("a", categories=("x",)), Integer("b", lower=0), Drop("c"), Real("d", upper=1)])
    assert schema.open_facts() == (Fact("b", "upper"), Fact("d", "lower"))
    with pytest.raises(UndeclaredDomain, match="'b': upper"):
        _ = schema.domain
    assert str(Fact("b", "upper")) == "b.upper"
    closed = schema.replace("b", upper=9).replace("d", lower=0)
    assert closed.domain.sizes == (2, 10, 32)


def test_columns_are_asked_for_by_what_they_are() -> None:
    schema = Schema([Category("a", categories=("x",)), Integer("b", lower=0, upper=1), Drop("c"), Surrogate("e")])
    assert schema.axis("b").name == "b"
    assert set(schema.measured) == {"b"}
    assert [c.name for c in schema.with_codes] == ["a", "b"]
    for name, words in (("a", "number or a date"), ("c", "number or a date")):
        with pytest.raises(SchemaError, match=words):
            schema.axis(name)
    with pytest.raises(SchemaError, match="'c' is drop"):
        schema.modelled_column("c")


def test_who_vouches_for_what_is_one_sentence_each() -> None:
    rules = [Constraint("b > 1", confirmed="Ana"), Constraint("b > 2", confirmed="Bo", guess=True)]
    schema = Schema(
        [Boolean("a", confirmed="Ana"), Integer("b", lower=0, upper=9, confirmed="Law 3"), Drop("c", confirmed="Ana")],
        constraints=rules,
    )
    assert schema.vouchers() == (
        "Public facts of a, c, the rule b > 1: confirmed by Ana.",
        "Public facts of b: confirmed by Law 3.",
    )


# features: what one record moves in sums of them

TINY = st.sampled_from(
    [
        Category("c", categories=("a", "b", "d")),
        Category("c", categories=("a",), out_of_domain="clip"),
        Boolean("b", missing=True),
        Integer("i", lower=0, upper=3),
        Integer("i", lower=5, upper=5),
        Integer("i", lower=-9, upper=9, bins=3, special=(77,), missing=True),
        Real("r", edges=(0.0, 0.1, 5.0)),
        Date("d", lower="2020-01-01", upper="2020-12-31", bins=2, missing=True),
    ]
)


def statistics(features: Features, code: int) -> list[int]:
    """Written down once more: what a record with this code adds for its column alone."""
    row = [int(v) for v in features.table[code]]
    return [STEPS * v for v in row] + ([] if features.labelled else [row[0] ** 2])


def norm(values: list[int]) -> int:
    return sum(v * v for v in values)


@settings(max_examples=100, deadline=None)
@given(st.lists(TINY, min_size=1, max_size=3))
def test_what_a_record_moves_is_what_trying_all_records_finds(found: list[Modelled]) -> None:
    every = [Features.of(column) for column in found]
    records = list(product(*(range(column.size) for column in found)))
    sums = [[STEPS**2, *(v for f, code in zip(every, r, strict=True) for v in statistics(f, code))] for r in records]
    facts = first_moment_facts(every)
    assert facts["added"] == (max(map(norm, sums)),)
    exchanged = max(norm([a - b for a, b in zip(one, other, strict=True)]) for one in sums for other in sums)
    (said,) = facts["exchanged"]  # type: ignore[misc]
    assert exchanged <= said
    if all(not f.labelled or len(f.table) > 1 for f in every):
        assert exchanged == said
    assert facts["entries"] == len(sums[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(TINY, min_size=2, max_size=3))
def test_products_move_no_more_than_is_said(found: list[Modelled]) -> None:
    every = [Features.of(column) for column in found]
    records = list(product(*(range(column.size) for column in found)))

    def products(record: tuple[int, ...]) -> list[int]:
        rows = [f.table[code] for f, code in zip(every, record, strict=True)]
        return [int(v) for a, b in combinations(rows, 2) for v in np.outer(a, b).ravel()]

    sums = [products(record) for record in records]
    facts = cross_moment_facts(every)
    (added,), (exchanged,) = facts["added"], facts["exchanged"]  # type: ignore[misc]
    assert max(map(norm, sums)) <= added
    assert max(norm([a - b for a, b in zip(one, other, strict=True)]) for one in sums for other in sums) <= exchanged
    assert facts["entries"] == len(sums[0])


@settings(max_examples=100, deadline=None)
@given(columns())
def test_features_lie_in_the_box_that_is_said(column: Modelled) -> None:
    features = Features.of(column)
    rows = np.vstack([features.table, np.zeros((1, features.table.shape[1]), dtype=np.int64)])
    assert np.abs(rows).max() <= STEPS
    diagonal = ((rows.max(axis=0) - rows.min(axis=0)) ** 2).sum()
    assert diagonal <= features.box * STEPS**2
    norms = (rows**2).sum(axis=1)
    apart = (norms[:, None] + norms[None, :] - 2 * rows @ rows.T).max()
    assert apart <= features.apart * STEPS**2
    assert features.largest == norms.max()
    facts = generation_facts([features, features])
    assert facts["width"] == 2 * features.table.shape[1]
    assert facts["boundaries"] >= 2 * column.size


def test_the_place_on_an_axis_rises_from_end_to_end() -> None:
    schema = Schema([Integer("i", lower=0, upper=99, bins=10, missing=True, special=("N",)), Boolean("b")])
    axis, labels = features_of(schema)
    place = axis.table[:10, 0]
    assert (np.diff(place) > 0).all()
    assert abs(int(place[0] + place[-1])) <= STEPS // 50, "the middle of the domain is about 0"
    assert axis.table[10:].tolist() == [[0, STEPS, 0], [0, 0, STEPS]]
    assert labels.table.tolist() == [[STEPS, 0], [0, STEPS]]


# remarks


def test_names_that_say_what_they_are() -> None:
    for name in ("id", "patient_id", "MRN", "Case No", "PatientID", "row-key", "visit_nr", "uuid"):
        assert looks_like_identifier(name), name
    for name in ("video", "identity", "number_of_visits", "keyboard", "age"):
        assert not looks_like_identifier(name), name
    for name in ("name", "last_name", "Surname", "patientName", "full name", "names"):
        assert looks_like_names(name), name
    for name in ("username_hash", "renamed", "drug"):
        assert not looks_like_names(name), name


def test_a_column_that_names_persons_is_asked_about_once() -> None:
    columns = [Drop("case_no"), Surrogate("patient_id"), Boolean("x")]
    schema = Schema(columns)
    assert likely_unit(schema) == "case_no"
    (finding,) = check(schema)
    assert (finding.column, finding.level) == ("case_no", "warning")
    assert 'column = "case_no"' in str(finding)
    assert check(schema.with_unit(Unit("patient_id", 2))) == []
    assert likely_unit(Schema([Category("patient_id", categories=("a",))])) is None, "who is modelled is no name"
    repeats = Drop("patient_id", reason="it has several rows for a value")
    assert likely_unit(Schema([columns[0], repeats, columns[2]])) == "patient_id"


@pytest.mark.parametrize("name", ["1", "-3", "2,5", "17.0", "+4"])
def test_a_name_that_is_a_number_may_be_a_record(name: str) -> None:
    levels = {f.level for f in check(Schema([Boolean(name)])) if "header" in f.text}
    assert levels == {"warning"}
    assert not [f for f in check(Schema([Boolean(f"x{name}")])) if "header" in f.text]


def test_every_level_of_remark() -> None:
    schema = Schema(
        [Boolean("a", derived=("missing",)), Category("b"), Integer("c", lower=0), Integer("d", lower=0, upper=9)],
        constraints=[Constraint("d > 1", guess=True), Constraint("d > 2")],
    )
    found = {(f.column, f.level): f.text for f in check(schema)}
    assert set(found) == {("a", "derived"), ("b", "open"), ("c", "open"), ("rules", "warning")}
    assert found["a", "derived"].endswith(": missing")
    assert found["c", "open"].endswith(": upper")
    assert "d > 1" in found["rules", "warning"]
    assert "d > 2" not in found["rules", "warning"]


def test_an_order_of_dates_says_how_to_keep_their_difference() -> None:
    days = [Datetime(n, lower="2020-01-01", upper="2020-12-31", bins=12) for n in ("came", "left")]
    schema = Schema(days, constraints=["came <= left"])
    (finding,) = (f for f in check(schema) if "difference" in f.text)
    assert finding.column == "left"
    assert 'formula = "left - came" and replaces = "left"' in finding.text
    stay = Integer("stay", lower=0, upper=366, formula="left - came", replaces="left")
    assert not [f for f in check(Schema([*days, stay], constraints=["came <= left"])) if "difference" in f.text]
    assert not [f for f in check(schema.with_constraints(Constraint("came <= left", guess=True))) if "differ" in f.text]


# rules as columns


def test_the_judged_table_has_a_column_for_each_rule() -> None:
    columns = [Integer("x", lower=0, upper=9, derived=("upper",)), Integer("y", lower=0, upper=9), Drop("id")]
    labels = [Category("v", categories=("a",)), Category("w", categories=("b",))]
    rules = ["x < 5", "y < 5", "v determines w", Constraint("y < 1", guess=True), "y < 5"]
    judged = judged_schema(Schema([*columns, *labels], Unit("id", 2), rules))
    assert judged.names == (broken_name("x < 5"), broken_name("y < 5"), "v", "w", "id")
    assert judged.unit == Unit("id", 2)
    assert [c.name for c in judged if c.derived] == [broken_name("x < 5")], "what is taken from the data shows"
    assert judged["v"] == labels[0]
    assert judged["id"].kind == "drop"
    with pytest.raises(UsageError, match="no rule in force"):
        rules_in_force(Schema(columns, constraints=[Constraint("x < 5", guess=True)]))


def broken_name(rule: str) -> str:
    return broken(Constraint(rule))


# pictures


@pytest.mark.parametrize(("height", "width", "channels", "classes"), [(1, 1, 1, 0), (2, 3, 1, 4), (3, 2, 3, 2)])
def test_the_shape_of_pictures_is_read_from_their_schema(height: int, width: int, channels: int, classes: int) -> None:
    schema = image_schema(height, width, channels=channels, classes=classes)
    assert len(schema) == height * width * channels + (classes > 0)
    assert set(schema.domain.sizes[: height * width * channels]) == {256}
    assert image_shape(schema) == (height, width, channels)
    if classes:
        assert schema.domain.size("label") == classes
    shuffled = Schema(reversed(schema.columns))
    assert (image_shape(shuffled) is None) == (height * width * channels > 1)
    assert image_shape(Schema([*schema.columns, Boolean("more")])) is None


@pytest.mark.parametrize(("height", "width", "channels"), [(0, 1, 1), (1, 0, 1), (1, 1, 2), (MOST_PIXELS + 1, 1, 1)])
def test_pictures_of_no_shape_are_refused(height: int, width: int, channels: int) -> None:
    with pytest.raises(UsageError, match=r"1 or 3 channels and at most 100,000 numbers"):
        image_schema(height, width, channels=channels)


def test_pixels_are_named_row_by_row() -> None:
    assert pixel_names(2, 2) == ["r0c0", "r0c1", "r1c0", "r1c1"]
    assert pixel_names(1, 1, 3) == ["r0c0k0", "r0c0k1", "r0c0k2"]
    assert image_shape(Schema([Integer(n, lower=0, upper=1) for n in ("r0c0", "r1c1")])) is None, "two are not there"
