"""Every field of the schema file: it comes back as it was written, it shows in the digest, and a wrong one is named."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_strategies import columns
from kagemusha.columns.registry import KINDS, column_from_fields, column_to_fields
from kagemusha.errors import SchemaError
from kagemusha.schema import (
    Boolean,
    Category,
    Column,
    Date,
    Datetime,
    Drop,
    Duration,
    Integer,
    Real,
    Schema,
    Surrogate,
    TimeOfDay,
    Unit,
    Weight,
)
from kagemusha.schema.constraints import Constraint

FULL = Schema(
    [
        Drop("id", reason="a number of the hospital's"),
        Surrogate("case", prefix="C", digits=4),
        Category("sex", categories=("F", "M"), missing=True, derived=("categories",), confirmed="Ana, codebook 2024"),
        Category("ward", categories=(1, 2, 9), other=9, dtype="uint8"),
        Category("icd", categories=("A01", "A02", "B10"), levels=(1, 2)),
        Category("city", categories=("Bonn", "Köln"), ancestors=(("NRW", "Rhein"), ("NRW", "Rhein"))),
        Category("drug", categories=("a1", "b1"), families=(("a1", "a"), ("a2", "a"), ("b1", "b"))),
        Boolean("smoker", missing=True, out_of_domain="missing"),
        Integer("age", lower=0, upper=120, bins=12, dtype="int16"),
        Integer("parts", values=(1, 2, 5)),
        Real("income", lower=1.0, upper=1e6, bins=9, scale="log", special=("N", -9), decimals=2, missing=True),
        Real("bmi", edges=(10.0, 18.5, 25.0, 60.0), out_of_domain="clip"),
        Real("w", lower=0.0, upper=9.0, missing=True),
        Date("admitted", lower="2000-01-01", upper="2024-12-31", bins=25, spelling="japanese"),
        Integer("paid", lower=0, upper=99, spelling="1,234.56"),
        Real("owed", lower=0, upper=99, spelling="1.234,56"),
        Datetime("called", lower="2000-01-01", upper="2024-12-31", bins=25, spelling="day-first"),
        Date("left", lower="2000-01-01", upper="2025-12-31", missing=True),
        Date("born", lower="1900-01-01", upper="2024-12-31", format="%Y"),
        Integer("stay", lower=0, upper=99, formula="left - admitted", replaces="left", missing=True),
        Datetime("seen", edges=("2020-01-01", "2020-06-01T12:00:00", "2024-01-01"), dtype="timestamp[ms]"),
        TimeOfDay("at", lower="08:00", upper="17:59", format="%H:%M"),
        Duration("took", lower="-02:00", upper="48:00", bins=50, missing=True),
    ],
    Unit("id", 3),
    [
        Constraint("age between 0 and 110", confirmed="law"),
        Constraint("sex = 'F' implies smoker = true", guess=True),
        Constraint("city determines ward", lines=(("Bonn", 1), ("Köln", 2))),
    ],
    "income",
    Weight("w", 1.5),
    "cp932",
)
"""Every section and every field of a schema file."""


def test_every_field_is_in_it() -> None:
    fields = {(c.kind, field) for c in FULL for field in column_to_fields(c)}
    said = {kind: {field for k, field in fields if k == kind} for kind in KINDS}
    shared = {
        "missing",
        "out_of_domain",
        "special",
        "formula",
        "replaces",
        "in_table",
        "dtype",
        "lower",
        "upper",
        "bins",
    }
    for kind, column in KINDS.items():
        left = set(column.fields) - said[kind] - shared - {"edges", "format", "scale", "values"}
        assert not left, (kind, left)
    assert {f for _, f in fields} >= {field for kind in KINDS.values() for field in kind.fields} - {"in_table"}


def test_it_comes_back_from_file_and_json(tmp_path: Path) -> None:
    FULL.save(tmp_path / "a.toml")
    again = Schema.load(tmp_path / "a.toml")
    again.save(tmp_path / "b.toml")
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
    for one in (again, Schema.from_json(FULL.to_json())):
        assert one == FULL
        assert one.digest() == FULL.digest()
        assert one.domain == FULL.domain


@settings(max_examples=150, deadline=None)
@given(st.lists(columns(), min_size=1, max_size=4), st.integers(1, 5), st.text(min_size=1, max_size=9))
def test_any_declaration_comes_back(found: list[Column], rows: int, odd: str) -> None:
    names = [odd.encode("utf-8", "ignore").decode() or "x", *(f"c {i}" for i in range(3))]
    schema = Schema([replace(c, name=name) for c, name in zip(found, names, strict=False)], Unit(max_rows=rows))
    again = Schema.loads(schema.dumps())
    assert again == schema == Schema.from_json(schema.to_json())
    assert again.digest() == schema.digest()
    assert again.dumps() == schema.dumps()


def _table(value: Any) -> str:
    """TOML of a value in a layout that this program does not write."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {_table(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + "".join(f"  {_table(v)} , # one\n" for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value + "'" if "'" not in value else '"' + value + '"'
    return str(value)


def test_the_digest_does_not_depend_on_layout_or_the_order_of_fields_but_on_that_of_columns() -> None:
    document = tomllib.loads(FULL.dumps())
    lines = ["# another hand", *(f"{k}={_table(document[k])}" for k in ("encoding", "target")), "[weight]"]
    lines += [f"{k}={_table(v)}" for k, v in reversed(document["weight"].items())]
    for rule in document["constraint"]:
        lines += ["[[constraint]]", *(f"{k}  =  {_table(v)}" for k, v in reversed(rule.items()))]
    for name, fields in document["columns"].items():
        lines += [f"[columns.'{name}']", *(f"\t{k}={_table(v)}" for k, v in reversed(fields.items()))]
    lines += ["[unit]", *(f"{k}={_table(v)}" for k, v in reversed(document["unit"].items()))]
    assert Schema.loads("\r\n".join(lines)).digest() == FULL.digest()
    turned = Schema(reversed(FULL.columns), FULL.unit, FULL.constraints, FULL.target, FULL.weight)
    assert turned.digest() != FULL.digest()


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("id", {"reason": "free text"}),
    ("case", {"prefix": "D"}),
    ("case", {"digits": 5}),
    ("sex", {"categories": ("M", "F")}),
    ("sex", {"missing": False}),
    ("sex", {"derived": ()}),
    ("sex", {"confirmed": "Bo"}),
    ("sex", {"other": "X", "out_of_domain": "other"}),
    ("ward", {"other": 2}),
    ("ward", {"dtype": "int64"}),
    ("icd", {"levels": (1,)}),
    ("city", {"ancestors": (("NRW", "Rhein"), ("NRW", "Ruhr"))}),
    ("drug", {"families": (("a1", "a"), ("b1", "b"))}),
    ("smoker", {"out_of_domain": "clip"}),
    ("age", {"lower": 1}),
    ("age", {"upper": 119}),
    ("age", {"bins": 13}),
    ("parts", {"values": (1, 2, 6), "lower": None, "upper": None}),
    ("income", {"scale": None}),
    ("income", {"special": (-9, "N")}),
    ("income", {"decimals": 1}),
    ("income", {"out_of_domain": "missing"}),
    ("bmi", {"edges": (10.0, 18.6, 25.0, 60.0)}),
    ("born", {"format": "%Y-%m"}),
    ("stay", {"formula": "left - admitted + 1"}),
    ("stay", {"in_table": True}),
    ("seen", {"dtype": "timestamp[us]"}),
    ("at", {"format": "%H:%M:%S"}),
    ("took", {"lower": "-01:00"}),
]


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=lambda v: str(v)[:40])
def test_every_change_of_a_field_changes_the_digest(name: str, change: dict[str, Any]) -> None:
    changed = FULL.replace(name, **change)
    assert changed.digest() != FULL.digest()
    assert Schema.loads(changed.dumps()) == changed


def test_every_change_of_a_section_changes_the_digest() -> None:
    first, second, third = FULL.constraints
    changed = [
        FULL.with_target("age"),
        FULL.with_target(None),
        FULL.with_unit(Unit("id", 4)),
        FULL.with_unit(Unit(max_rows=3)),
        FULL.with_weight(Weight("w", 1)),
        FULL.with_weight(None),
        FULL.with_constraints(first, second),
        FULL.with_constraints(second, first, third),
        FULL.with_constraints(replace(first, confirmed=None), second, third),
        FULL.with_constraints(first, replace(second, guess=False), third),
        FULL.with_constraints(first, second, replace(third, lines=(("Bonn", 1),))),
    ]
    assert len({schema.digest() for schema in [FULL, *changed]}) == len(changed) + 1


# what is wrong is named

WRONG: list[Any] = [
    -1,
    0,
    3,
    1.5,
    True,
    False,
    "x",
    "",
    "08:00",
    "\ud800",
    float("nan"),
    float("inf"),
    10**400,
    -(10**20),
    [],
    [1],
    ["x"],
    [[]],
    [[1]],
    [["x"]],
    [["x", "y"]],
    [3, 1],
    ["x", "x"],
    [True],
    [None],
    {},
    {"a": 1},
    [{}],
    "2020-01-01",
    ["2020-01-01", "2019-01-01"],
    [1, "x"],
]
DECLARED = {
    "category": {"categories": ["a", "b"]},
    "boolean": {},
    "integer": {"lower": 0, "upper": 9, "bins": 3},
    "real": {"lower": 0.5, "upper": 9, "bins": 3},
    "date": {"lower": "2020-01-01", "upper": "2020-12-31"},
    "datetime": {"lower": "2020-01-01", "upper": "2020-01-02", "bins": 5},
    "time": {},
    "duration": {"lower": "00:00", "upper": "48:00"},
    "drop": {},
    "surrogate": {},
}


def refusal(kind: str, fields: dict[str, Any]) -> str | None:
    """What is said against a declaration; None if it is taken, which must then come back as it was."""
    try:
        made = column_from_fields("it", {"kind": kind, **fields})
    except SchemaError as error:
        return str(error)
    assert column_from_fields("it", column_to_fields(made)) == made
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_value_of_any_field_is_refused_in_words(kind: str) -> None:
    """Whatever stands in a field of a file, it is taken or it is a `SchemaError` that names the column, and never a
    crash."""
    bases = [DECLARED[kind], {}]
    bases += [{**DECLARED[kind], "scale": "log"}] if "scale" in KINDS[kind].fields else []
    refused: set[str] = set()
    for field in (*KINDS[kind].fields, "derived", "confirmed"):
        for base in bases:
            for value in WRONG:
                message = refusal(kind, {**base, field: value})
                assert message is None or message.startswith("column 'it': "), (field, value)
                assert len(message or "") < 700, (field, value)
                refused |= {field} if re.search(rf"\b{field}\b", message or "") else set()
    assert refused == {*KINDS[kind].fields, "derived", "confirmed"}


MESSAGES: list[tuple[str, str, list[str]]] = [
    ("integer", "lower = 9\nupper = 3", ["upper", "3", "at least lower, 9"]),
    ("integer", "lower = 0\nupper = 9007199254740992", ["upper", "from -9007199254740991 to 9007199254740991"]),
    ("integer", "lower = 0\nupper = 9\nbins = 100_001", ["bins", "100001", "from 1 to 100000"]),
    ("integer", "values = [1, 3]\nbins = 2", ["bins", "left out where values are given"]),
    ("integer", "values = [1, 3]\nupper = 4", ["upper", "4", "or 3"]),
    ("integer", "values = [3, 1]", ["values", "rising"]),
    ("integer", "values = [1.5]", ["values", "whole numbers"]),
    ("integer", "lower = -1\nupper = 9\nbins = 3\nscale = 'log'", ["lower", "-1", "at least 0", "logarithmic"]),
    ("integer", "lower = 0\nupper = 9\nscale = 'log'", ["scale", "beside bins"]),
    ("integer", "lower = 0\nupper = 9\nscale = 'ln'", ["scale", "'ln'", "'log'"]),
    ("integer", "lower = 0\nupper = 9\nspecial = [99, '99']", ["special", "without repeats"]),
    ("integer", "lower = 0\nupper = 9\nspecial = ['nan']", ["special", "missing = true"]),
    ("integer", "lower = 0\nupper = 9\nspecial = ['1e']", ["special", "no reader takes for one"]),
    ("integer", "lower = 0\nupper = 9\nreplaces = 'a'", ["replaces", "no formula"]),
    ("integer", "lower = 0\nupper = 9\nin_table = true", ["in_table", "no formula"]),
    ("integer", "lower = 0\nupper = 9\nspecial = [1]\nformula = 'b'", ["special", "left out where a formula"]),
    ("integer", f"lower = 0\nupper = 9\nspecial = {[*range(100, 165)]}", ["special", "65 values", "at most 64"]),
    ("real", "lower = 0\nupper = 9\nbins = 3\nscale = 'log'", ["lower", "greater than 0"]),
    ("real", "lower = 0\nupper = 1\ndecimals = 16", ["decimals", "16", "from 0 to 15"]),
    (
        "real",
        "lower = 0\nupper = 1\nout_of_domain = 'redraw'",
        ["out_of_domain", "'clip' or 'missing'", "no such place"],
    ),
    ("real", "lower = 0\nupper = 1\nout_of_domain = 'missing'", ["out_of_domain", "missing = true"]),
    ("category", "categories = ['a']\nlevels = [3, 1]", ["levels", "rising lengths, such as [1, 3]"]),
    (
        "category",
        "categories = ['a']\nancestors = [['x'], ['y']]",
        ["ancestors", "2 lines", "a line for each category"],
    ),
    ("category", "categories = ['a', 'b']\nancestors = [['x'], ['y', 'z']]", ["ancestors", "lines of one length"]),
    ("category", "categories = ['a']\nfamilies = [['a']]", ["families", "a code and its groups"]),
    ("category", "categories = ['a']\nother = 1.5", ["other", "1.5", "texts, whole numbers or booleans"]),
    ("time", "lower = '25:00'", ["lower", "25:00"]),
    ("time", "lower = '09:00'\nupper = '08:00'", ["upper", "at least lower"]),
    ("time", "format = '%H'", ["format", "'%H:%M'"]),
    ("duration", "lower = '00:00'\nupper = 'long'", ["upper", "long"]),
    ("date", "lower = '2020-01-01'\nupper = '2020-02-30'", ["upper", "2020-02-30", "a date such as 2020-01-31"]),
    ("date", "edges = ['2020-01-01']", ["edges", "at least two rising"]),
    ("datetime", "lower = '2020-01-01'\nupper = '2024-01-01'", ["bins", "given"]),
    ("surrogate", "digits = 19", ["digits", "19", "from 1 to 18"]),
    ("drop", "reason = 3", ["reason", "3", "a text"]),
    ("drop", "confirmed = 3", ["confirmed", "who, and from which source"]),
    ("drop", "derived = ['lower']", ["derived", "'lower'", "kind, reason"]),
]


@pytest.mark.parametrize(("kind", "text", "words"), MESSAGES, ids=lambda v: v[:30] if isinstance(v, str) else "")
def test_a_message_names_column_field_and_range(kind: str, text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f'[columns."the one"]\nkind = "{kind}"\n{text}\n')
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / "s.toml")
    for word in ["s.toml", "column 'the one'", *words]:
        assert word in str(caught.value)


LISTS: list[tuple[str, bytes | None, str]] = [
    ("categories_file = 'l.csv'\ncategories = ['a']", b"a", "lists no categories itself"),
    ("categories_file = 'none.csv'", None, "none.csv cannot be read"),
    ("categories_file = 3", None, "the list must be the name of a file"),
    ("categories_file = 'l.csv'", b"", "0 lines"),
    ("categories_file = 'l.csv'", b"a\xff", "no CSV in UTF-8"),
    ("categories_file = 'l.csv'", b"a\na", "without repeats"),
    ("families_file = 'l.csv'", b"a\nb", "a code and its groups"),
]


@pytest.mark.parametrize(("fields", "content", "why"), LISTS)
def test_lists_beside_the_schema_that_cannot_be_read(
    fields: str, content: bytes | None, why: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "l.csv").write_bytes(content)
    (tmp_path / "s.toml").write_text(f'[columns.it]\nkind = "category"\n{fields}\n')
    with pytest.raises(SchemaError, match="'it'") as caught:
        Schema.load(tmp_path / "s.toml")
    assert why in str(caught.value)


def test_lists_beside_the_schema_are_read(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_bytes(b'\xef\xbb\xbfA01,A0,A\n\n"B,1",B,B\n')
    path = tmp_path / "s.toml"
    path.write_text('[columns.it]\nkind = "category"\ncategories_file = "l.csv"\nhierarchy = "file"\n')
    assert Schema.load(path)["it"] == Category("it", categories=("A01", "B,1"), ancestors=(("A", "A0"), ("B", "B")))
    path.write_text('[columns.it]\nkind = "category"\nfamilies_file = "l.csv"\ncategories = ["A", "B"]\n')
    assert Schema.load(path)["it"].find("A01") == 0  # type: ignore[attr-defined]
    with pytest.raises(SchemaError, match="only where the schema itself is a file"):
        Schema.loads(path.read_text())
