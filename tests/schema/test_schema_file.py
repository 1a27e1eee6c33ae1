"""The schema as a whole: its file, its JSON, its digest, and what is derived or open."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date

import pytest

from kagemusha.errors import OutputError, SchemaError, UndeclaredDomain
from kagemusha.schema import (
    Boolean,
    Category,
    Date,
    Datetime,
    Drop,
    Fact,
    Integer,
    Real,
    Schema,
    Surrogate,
    Unit,
)
from kagemusha.schema.lint import check

SCHEMA = Schema(
    [
        Category("sex", categories=("F", "M"), missing=True, derived=("categories", "missing")),
        Category('odd "name"\n', categories=(2, 3, True, 'a "b" \\ \x01 é', "")),
        Boolean("smoker", missing=True),
        Integer("age", lower=0, upper=120, bins=12, derived=("upper",)),
        Integer("income", edges=(0, 10_000, 50_000), dtype="int32"),
        Category("ward", categories=(1, 2, 9), other=9, dtype="uint8"),
        Date("admitted", lower="2000-01-01", upper="2024-12-31", bins=25, dtype="timestamp[ns]"),
        Real("bmi", lower=10, upper=60, decimals=1),
        Date("born", lower=date(1900, 1, 1), upper=date(2024, 12, 31), bins=25, format="%d/%m/%Y"),
        Datetime("seen", edges=("2020-01-01", "2020-06-01T12:00:00", "2024-01-01")),
        Drop("note", reason="free text"),
        Surrogate("id", prefix="K", digits=4),
    ]
)


def test_file_and_json_say_the_same():
    assert Schema.loads(SCHEMA.dumps()) == SCHEMA
    assert Schema.from_json(SCHEMA.to_json()) == SCHEMA


def test_a_target_is_a_column_of_the_model():
    aimed = SCHEMA.with_target("income")
    assert Schema.loads(aimed.dumps()) == aimed
    assert Schema.from_json(aimed.to_json()) == aimed
    assert aimed.digest() != SCHEMA.digest()
    assert aimed.with_unit(Unit("id", 2)).replace("age", bins=6).with_constraints().confirm().target == "income"
    assert aimed.with_target(None) == SCHEMA
    with pytest.raises(SchemaError, match=r"target: column 'incme' is not in the schema; did you mean 'income'\?"):
        SCHEMA.with_target("incme")
    with pytest.raises(SchemaError, match="target: column 'note' is not in the model"):
        SCHEMA.with_target("note")
    with pytest.raises(SchemaError, match="target: the name of a column is needed"):
        Schema.loads(SCHEMA.dumps().replace("version = 1", "version = 1\ntarget = 3"))


def test_save_and_load(tmp_path):
    SCHEMA.save(tmp_path / "s.toml")
    assert Schema.load(tmp_path / "s.toml").digest() == SCHEMA.digest()
    with pytest.raises(OutputError, match="cannot be written"):
        SCHEMA.save(tmp_path / "no" / "s.toml")


def test_the_digest_ignores_layout_and_sees_every_fact():
    text = SCHEMA.dumps()
    bare = re.sub(r"(?m)^#.*$|  # derived.*$", "", text)
    assert Schema.loads(bare).digest() == SCHEMA.digest()
    assert Schema.loads(text.replace("upper = 120", "upper = 121")).digest() != SCHEMA.digest()
    assert SCHEMA.confirm().digest() != SCHEMA.digest()


def test_derived_lines_carry_a_comment():
    lines = SCHEMA.dumps().splitlines()
    assert sum("derived from data: replace by public knowledge" in line for line in lines) == 3


def test_names_domain_and_facts():
    assert SCHEMA.names[-1] == "id"
    assert [column.name for column in SCHEMA.modelled] == list(SCHEMA.domain.names)
    assert "note" not in SCHEMA.domain
    assert Fact("age", "upper") in SCHEMA.derived_facts()
    assert not SCHEMA.confirm().derived_facts()


def test_open_facts_name_the_two_ways_out():
    schema = Schema([Category("city"), Integer("age", lower=0)])
    assert schema.open_facts() == (Fact("city", "categories"), Fact("age", "upper"))
    with pytest.raises(UndeclaredDomain, match=r"'city': categories .*declare it.*private discovery"):
        _ = schema.domain
    assert Schema.loads(schema.dumps()) == schema
    assert {finding.level for finding in check(schema)} == {"open"}


def test_replace_and_with_columns():
    changed = SCHEMA.replace("age", upper=99)
    assert changed["age"].upper == 99
    assert changed.names == SCHEMA.names
    added = SCHEMA.with_columns(Drop("age"), Boolean("new"))
    assert added["age"].kind == "drop"
    assert added.names[-1] == "new"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no column"]),
        ("a = \nb = 1", ["TOML", "line 1"]),
        ("[columns.a]\nkind = 'catgory'", ["'a'", "did you mean 'category'"]),
        ("[columns.a]\nkind = 'real'\nlowr = 1", ["'a'", "'lowr'", "did you mean 'lower'"]),
        ("[columns.a]\nkind = 'real'\nzzz = 1", ["'zzz'", "lower, upper"]),
        ("[columns.a]\nlower = 1", ["'a'", "kind is missing"]),
        ("[columns]\na = 1", ["'a'", "table of fields"]),
        ("[columns.a]\nkind = 7", ["'a'", "7"]),
        ("[column.a]\nkind = 'drop'", ["did you mean 'columns'"]),
        ("version = 9\n[columns.a]\nkind = 'drop'", ["version", "9"]),
        ("[columns.a]\nkind = 'integer'\nlower = 'x'", ["'a'", "lower", "'x'"]),
        ("[columns.a]\nkind = 'category'\ncategories = 'x'", ["'a'", "categories", "list"]),
        ("[columns.a]\nkind = 'category'\ncategories = {x = 1}", ["'a'", "categories", "list"]),
        ("[columns.a]\nkind = 'drop'\nderived = 'kind'", ["derived", "list"]),
        ("[columns.a]\nkind = 'drop'\nderived = {kind = 1}", ["derived", "list"]),
        ("[columns.a]\nkind = 'integer'\nlower = 0\nupper = 900\ndtype = 'int8'", ["'a'", "dtype", "int16"]),
        ("[columns.a]\nkind = 'integer'\nlower = " + "9" * 10_000, ["4,300 digits"]),
        ("[columns.a]\nkind = 'integer'\nlower = " + "9" * 4_000, ["'a'", "lower", "whole number"]),
        ("version = " + "9" * 4_000, ["version", "..."]),
        ("a = " + "[" * 20_000 + "]" * 20_000, ["nested too deeply"]),
        ("[columns.a]\nkind = 'integer'\nlower" + ".x" * 30 + " = 1", ["'a'", "lower"]),
        ("[columns.a]\nkind = 'integer'\nlower" + ".x" * 500_000 + " = 1", ["line 3", "more than 40 parts"]),
        ("[columns.a]\nkind = 'integer'\nlower = {a = 1, b" + " . 'x'" * 50_000 + " = 1}", ["line 3", "40 parts"]),
        ("[columns.a" + '."x"' * 50_000 + "]", ["line 1", "40 parts"]),
    ],
)
def test_a_wrong_file_says_where(tmp_path, text, words):
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    for word in [*words, "s.toml"]:
        assert word in str(caught.value)


def test_unreadable_files(tmp_path):
    with pytest.raises(SchemaError, match=r"none\.toml"):
        Schema.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.load(tmp_path / "latin.toml")


def test_wrong_columns():
    with pytest.raises(SchemaError, match="'a' is declared twice"):
        Schema([Drop("a"), Boolean("a")])
    with pytest.raises(SchemaError, match="at least one"):
        Schema([])
    with pytest.raises(SchemaError, match="every column is dropped"):
        _ = Schema([Drop("a")]).domain
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        _ = SCHEMA["agge"]
    with pytest.raises(SchemaError, match="list of columns"):
        Schema.from_json({"version": 1})


def test_check_warns_of_huge_domains():
    schema = Schema(
        [
            Category("c", categories=tuple(range(10_001))),
            Integer("i", lower=0, upper=1000),
            Real("r", lower=0, upper=1, bins=32, decimals=0),
            Integer("one", lower=1, upper=1),
            Boolean("b", derived=("missing",)),
            Category("icd", categories=("250", "250.0x", "250.00", "251")),
        ]
    )
    texts = {finding.column: str(finding) for finding in check(schema)}
    assert "10,001 categories" in texts["c"]
    assert "1,001 bins" in texts["i"]
    assert "decimals" in texts["r"]
    assert "only one code" in texts["one"]
    assert "confirmed by nobody" in texts["b"]
    assert "'250' and '250.00' are one number" in texts["icd"]


def test_importing_the_schema_loads_no_engine():
    code = (
        "import sys, kagemusha.schema, kagemusha.encoding, kagemusha.sources;"
        "print(sorted({'pandas','duckdb','pyarrow','polars','narwhals','numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_unit_survives_the_journey_and_changes_the_digest() -> None:
    unit = SCHEMA.with_unit(Unit("sex", 3))
    assert Schema.loads(unit.dumps()) == unit == Schema.from_json(unit.to_json())
    assert "[unit]" in unit.dumps()
    assert "[unit]" not in SCHEMA.dumps()
    assert len({SCHEMA.digest(), unit.digest(), SCHEMA.with_unit(Unit(max_rows=3)).digest()}) == 3
    for changed in (unit.confirm(), unit.with_columns(Drop("more")), unit.replace("sex", missing=False, derived=())):
        assert changed.unit == unit.unit


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[unit]\nmax_rows = 0", "max_rows"),
        ("[unit]\nmax_rows = 1.5", "max_rows"),
        ("[unit]\nmax_rows = true", "max_rows"),
        ('[unit]\ncolumn = "b"', "'b'"),
        ("[unit]\ncolumn = 3", "column"),
        ("[unit]\nrows = 3", "rows"),
        ("unit = 3", "unit"),
    ],
)
def test_a_wrong_unit_names_its_field(text: str, named: str) -> None:
    with pytest.raises(SchemaError, match=named):
        Schema.loads(f'{text}\n[columns.a]\nkind = "drop"\n')
