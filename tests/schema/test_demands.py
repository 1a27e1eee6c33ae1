"""What a schema demands of a release: read, written, and refused where it makes no sense."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kagemusha.errors import SchemaError
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.demands import Criterion, Demands, RequiredTable

COLUMNS = """
[columns.ward]
kind = "category"
categories = ["a", "b"]

[columns.sex]
kind = "category"
categories = ["F", "M"]

[columns.stay]
kind = "integer"
lower = 0
upper = 30

[columns.day]
kind = "date"
lower = 2024-01-01
upper = 2024-12-31
bins = 4
"""
DEMANDS = Demands(
    (RequiredTable(("ward", "sex")), RequiredTable(("stay",), weight=2)),
    (Criterion(0.05, tables=("ward", "sex")), Criterion(0.2, mean="stay", share=0.05)),
)
FILE = (
    COLUMNS
    + """
[[require]]
table = ["ward", "sex"]

[[require]]
table = ["stay"]
weight = 2

[[accept]]
tables = ["ward", "sex"]
within = 0.05

[[accept]]
mean = "stay"
within = 0.2
share = 0.05
"""
)


def test_a_file_says_what_is_demanded() -> None:
    schema = Schema.loads(FILE)
    assert schema.demands == DEMANDS
    assert Schema.loads(schema.dumps()) == schema
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.with_target("sex").demands == DEMANDS


def test_demands_are_declared_like_everything_else() -> None:
    plain, demanding = Schema.loads(COLUMNS), Schema.loads(FILE)
    assert plain.digest() != demanding.digest()
    assert replace(demanding, demands=Demands()).digest() == plain.digest()


def test_shares_are_tenths_and_never_more_than_half_together() -> None:
    assert DEMANDS.shares == pytest.approx([0.1, 0.2])
    many = Demands(tuple(RequiredTable((name,), weight=4) for name in ("ward", "sex")))
    assert many.shares == pytest.approx([0.25, 0.25])
    assert DEMANDS.tested == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[require]]\ntable = ["ward", "hat"]', "no column 'hat'"),
        ('[[require]]\ntable = "ward"', "must list 1 to 6 different columns"),
        ('[[require]]\ntable = ["ward", "ward"]', "different columns"),
        ('[[require]]\ntable = ["ward"]\nweight = 0', "weight = 0 is not allowed"),
        ('[[require]]\ntable = ["ward"]\n\n[[require]]\ntable = ["ward"]', "there twice"),
        ('[[require]]\ntables = ["ward"]', "table is missing"),
        ('[[require]]\ntable = ["ward"]\nshare = 1', "there is no field 'share'"),
        ('[require]\ntable = ["ward"]', "a list is needed"),
        ('[[accept]]\ntables = ["ward"]\nwithin = 0.1', "must list 2 to"),
        ('[[accept]]\ntables = ["ward", "sex"]\nwithin = 1.5', "at most 1"),
        ("[[accept]]\nwithin = 0.1", "say what is demanded"),
        ('[[accept]]\ntables = ["ward", "sex"]\nmean = "stay"\nwithin = 0.1', "say what is demanded"),
        ('[[accept]]\nmean = "ward"\nwithin = 0.1', "no column of numbers"),
        ('[[accept]]\nmean = "day"\nwithin = 0.1', "no column of numbers"),
        (2 * '[[accept]]\nmean = "stay"\nwithin = 0.1\nshare = 0.4\n\n', "add up"),
        ('[[accept]]\nmean = "stay"\nwithin = true', "must be a number"),
        ("[[accept]]\nrules = false", "say what is demanded"),
        ("[[accept]]\nrules = true\nwithin = 0.1", "rules = true stands alone"),
        ("[[accept]]\nrules = true\nshare = 0.1", "rules = true stands alone"),
        ('[[accept]]\nrules = true\nmean = "stay"', "say what is demanded"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema.loads(COLUMNS + text)


def test_columns_that_are_no_longer_modelled_are_noticed() -> None:
    columns = [Category("ward", categories=("a", "b")), Integer("stay", lower=0, upper=9)]
    with pytest.raises(SchemaError, match="no column 'sex'"):
        Schema(columns, demands=DEMANDS)


def test_that_no_rule_is_broken_is_demanded_for_nothing() -> None:
    schema = Schema.loads(COLUMNS + "[[accept]]\nrules = true\n")
    (criterion,) = schema.demands.accept
    assert (criterion.columns, criterion.share, schema.demands.tested, schema.demands.asked) == ((), 0.0, 0.0, ())
    assert criterion.words == "no double breaks a rule of the schema"
    assert Schema.loads(schema.dumps()).demands == schema.demands
    assert "rules = true" in schema.dumps()
