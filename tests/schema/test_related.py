"""Declaring several tables, and every mistake that a declaration can have."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from kagemusha.errors import SchemaError
from kagemusha.schema import Schema
from kagemusha.schema.declared import FIELDS, read_declared
from kagemusha.schema.related import COUNTS_AS, PARTS, Related
from kagemusha.schema.views import grid

TEXT = """
version = 1

[tables.patients]
key = "patient_id"

[tables.patients.columns.sex]
kind = "category"
categories = ["F", "M"]

[tables.visits]
parent = "patients"
key = "patient_id"
id = "visit_id"
order = "date"
max_rows = 8
counts_as = 3

[tables.visits.columns.date]
kind = "date"
lower = 2020-01-01
upper = 2020-12-31
bins = 12

[tables.labs]
parent = "visits"
key = "visit_id"
max_rows = 4

[tables.labs.columns.value]
kind = "integer"
lower = 0
upper = 99
bins = 10
"""


def read(text: str) -> Related:
    found = read_declared(text)
    assert isinstance(found, Related)
    return found


def test_a_file_says_the_same_when_it_is_written_again() -> None:
    schema = read(TEXT)
    assert read(schema.dumps()).digest() == schema.digest()
    assert [table.name for table in schema] == ["patients", "visits", "labs"]
    assert schema.unit.column == "patient_id"


def test_a_person_counts_as_the_product_down_the_tables() -> None:
    found = read(TEXT).rows
    assert found == {
        "patients": 1,
        "visits": 3 * PARTS,
        "labs": 15 * PARTS,
        "visits-next": 3 * PARTS,
        "labs-next": 15 * PARTS,
    }


def test_views_hold_what_rows_are_drawn_given() -> None:
    schema = read(TEXT)
    assert schema.view("patients").names == ("sex", "number of visits")
    assert schema.view("visits").names == (
        *("patients: sex", "patients: number of visits", "place among siblings", "gap of date", "date"),
        "number of labs",
    )
    assert schema.view("labs").names == ("visits: date", "visits: number of labs", "patients: sex", "value")
    assert schema.view("labs-next").names[0] == "previous value"


@pytest.mark.parametrize("most", [1, 2, 3, 7, 40, 1000])
@pytest.mark.parametrize("low", [0, 1])
def test_bins_of_numbers_rise_to_the_largest(low: int, most: int) -> None:
    edges = grid(low, most)
    assert edges[0] == low
    assert all(a < b for a, b in pairwise(edges))
    assert edges[-1] == max(most, low + 1)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('parent = "visits"', 'parent = "visit"', r"tables.labs: parent = 'visit': no table of that name"),
        ('parent = "patients"', 'parent = "labs"', "a circle of parents"),
        ('parent = "visits"\n', "", "exactly one table has no parent.*patients, labs"),
        ('id = "visit_id"\n', "", "tables.visits: tables below belong to its rows.*id ="),
        ("max_rows = 8\n", "", "tables.visits: max_rows is missing"),
        ("max_rows = 8", "max_rows = 0", "max_rows = 0 is not allowed; a whole number from 1"),
        ("counts_as = 3", "counts_as = 1190", "tables.labs: counts_as, multiplied down"),
        ('order = "date"', 'order = "day"', "order = 'day': there is no such column"),
        ('key = "patient_id"\n\n', "\n", "tables.patients: key is missing"),
        ("bins = 12", "bins = 12\nmissing = true", "order = 'date' must be a whole number or a date"),
        ('id = "visit_id"', 'id = "visit_id"\nsort = "up"', "there is no field 'sort'"),
        ("version = 1", 'version = 1\nencoding = "cp932"', "has no entry 'encoding'"),
        ("version = 1", 'version = 1\ntarget = "sexe"', r"target: .sexe.: no table has such a column.*sex"),
        ("version = 1", 'version = 1\ntarget = "visit_id"', "no table has such a column in its model"),
        ("[tables.labs]", "[tables.labs-next]\n[tables.labs]", "key is missing"),
        ("[tables.labs.columns.value]", "[[tables.labs.constraint]]\nrule = 'values > 3'\n[tables.labs.columns.value]",
         "no column 'values' here, nor in a table above"),
        ('[tables.labs.columns.value]', '[tables.labs.columns.visit_id]\nkind = "integer"\nlower=0\nupper=9\n'
         "[tables.labs.columns.value]", "are identifiers"),
        ('[tables.labs]', '[tables."la/bs"]\nparent="visits"\nkey="x"\nmax_rows=1\n[tables.labs]', "letters, digits"),
    ],
)  # fmt: skip
def test_mistakes_are_named(old: str, new: str, why: str) -> None:
    assert old in TEXT
    with pytest.raises(SchemaError, match=f"(?s){why}"):
        read(TEXT.replace(old, new, 1))


def test_what_takes_one_table_says_so() -> None:
    with pytest.raises(SchemaError, match="declares several tables: synth, sample and verify take it"):
        Schema.loads(TEXT)


def test_the_schema_on_the_page_is_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "related.md"
    text, *_ = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    schema = read(text)
    assert [table.name for table in schema] == ["patients", "visits"]
    one = text.replace('key = "patient_id"\n', 'key = "patient_id"\nfirst_of = "visits"\n', 1)
    assert read(one).root.first_of == "visits"
    with pytest.raises(SchemaError, match="first_of is for the table of the persons"):
        read(text.replace('order = "date"', 'first_of = "patients"'))
    with pytest.raises(SchemaError, match="there is no table 'visit'"):
        read(one.replace('first_of = "visits"', 'first_of = "visit"'))


def test_every_field_of_a_table_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "related.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)`", page, re.M)) == set(FIELDS) - {"columns", "constraint"}
    assert f"({COUNTS_AS} if not said)" in page


def test_guesses_are_not_released() -> None:
    rules = "[[tables.patients.constraint]]\nrule = \"sex = 'F'\"\nguess = true\n"
    schema = read(TEXT.replace("[tables.visits]\n", rules + "[tables.visits]\n"))
    assert schema.root.schema.constraints
    assert not schema.released.root.schema.constraints


LONG = """
version = 1
[unit]
column = "p"
persons = ["sex", "born"]
order = "day"
max_rows = 7
[columns.p]
kind = "surrogate"
[columns.sex]
kind = "category"
categories = ["F", "M"]
[columns.born]
kind = "integer"
lower = 0
upper = 99
[columns.day]
kind = "integer"
lower = 0
upper = 99
[[constraint]]
rule = "day >= born"
[[constraint]]
rule = "sex = 'F' implies born > 0"
"""


def test_one_long_table_says_which_columns_are_the_persons() -> None:
    schema = read(LONG)
    persons, rows = schema.tables
    assert (persons.first_of, persons.key, persons.schema.names) == ("rows", "p", ("p", "sex", "born"))
    assert (rows.parent, rows.order, rows.max_rows, rows.schema.names) == ("persons", "day", 7, ("p", "day"))
    assert [rule.rule for rule in rows.rules] == ["day >= born"]
    assert [rule.rule for rule in persons.schema.constraints] == ["sex = 'F' implies born > 0"]
    assert read(schema.dumps()).digest() == schema.digest()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"sex", "born"', '"sex", "bron"', "persons: no column 'bron'"),
        ('persons = ["sex", "born"]', "persons = 3", "must be a list of columns"),
        ('column = "p"\n', "", "says whose a row is"),
        ('order = "day"', 'order = "born"', "is a column of the person"),
        ("max_rows = 7", "rows = 7", "there is no field 'rows'"),
        ("max_rows = 7", "", "max_rows is missing"),
    ],
)
def test_mistakes_of_a_long_table_are_named(old: str, new: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        read(LONG.replace(old, new))


@pytest.mark.parametrize("said", ["labs.value", "value"])
def test_a_target_is_a_column_of_one_table(said: str) -> None:
    schema = read(TEXT.replace("version = 1", f'version = 1\ntarget = "{said}"'))
    assert schema.target == "labs.value"
    assert read(schema.dumps()).digest() == schema.digest() != read(TEXT).digest()
    assert schema.released.target == schema.apart.target == "labs.value"
    with pytest.raises(SchemaError, match=r"several tables have one: patients.sex or labs.sex"):
        read(TEXT.replace("columns.value", "columns.sex")).with_target("sex")


def test_a_target_of_one_long_table_finds_its_table() -> None:
    fields = 'kind = "category"\ncategories = ["x", "y"]'
    text = f"""
version = 1
target = "ward"
[unit]
column = "p"
persons = ["sex"]
max_rows = 3
[columns.p]
kind = "surrogate"
[columns.sex]
{fields}
[columns.ward]
{fields}
"""
    assert read(text).target == "rows.ward"
