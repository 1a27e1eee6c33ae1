"""Every kind: how many codes, where stray and missing values go, what is refused."""

from __future__ import annotations

from datetime import date

import pytest

from kagemusha.errors import SchemaError
from kagemusha.schema import Boolean, Category, Date, Datetime, Drop, Integer, Real, Surrogate


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (Category("c", categories=("a", "b")), 3),
        (Category("c", categories=("a", "b"), missing=True), 4),
        (Category("c", categories=("a", "b"), out_of_domain="clip"), 2),
        (Category("c", categories=("a", "b"), missing=True, out_of_domain="missing"), 3),
        (Category("c", categories=("a", "b"), other="b"), 2),
        (Category("c", categories=(2, 3, True)), 4),
        (Boolean("b"), 2),
        (Boolean("b", missing=True), 3),
        (Integer("i", lower=0, upper=9), 10),
        (Integer("i", lower=0, upper=9, bins=3), 3),
        (Integer("i", lower=0, upper=9, bins=50), 10),
        (Integer("i", edges=(0, 18, 65, 120), missing=True), 4),
        (Integer("i", lower=5, upper=5), 1),
        (Real("r", lower=0, upper=1), 32),
        (Real("r", edges=(0, 0.5, 2.0)), 2),
        (Date("d", lower=date(2020, 1, 1), upper="2020-12-31"), 366),
        (Date("d", lower=date(2020, 1, 1), upper="2021-12-31", format="%Y-%m"), 24),
        (Date("d", lower=date(2020, 1, 1), upper="2021-12-31", format="%Y"), 2),
        (Datetime("t", lower=date(2020, 1, 1), upper="2020-01-01T00:00:59"), 60),
        (Datetime("t", lower=date(2020, 1, 1), upper="2020-01-02", format="%Y-%m-%d %H", bins=5), 5),
    ],
)
def test_the_number_of_codes_follows_from_the_declaration(column, size):
    assert column.size == size


def test_integer_bins_share_the_numbers_evenly():
    column = Integer("i", lower=-3, upper=120, bins=7)
    widths = [b - a for a, b in zip(column.starts, [*column.starts[1:], 121], strict=True)]
    assert sum(widths) == 124
    assert max(widths) - min(widths) <= 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Category("c", categories=()), ["'c'", "categories", "at least one"]),
        (lambda: Category("c", categories=("a", "a")), ["'c'", "'a'", "repeats"]),
        (lambda: Category("c", categories=(1, "1")), ["repeats"]),
        (lambda: Category("c", categories=(1, 2, True)), ["True", "1 reads the same"]),
        (lambda: Category("c", categories=("1", "true")), ["'true'", "'1' reads the same"]),
        (lambda: Category("c", categories=("1.0", 1)), ["1", "'1.0' reads the same"]),
        (lambda: Category("c", categories=("2020-01-05", "2020-01-05 00:00:00")), ["reads the same", "with a time"]),
        (lambda: Category("c", categories=(2**53, 2**53 + 1)), ["'c'", str(2**53 + 1), "float64", "letter"]),
        (lambda: Category("c", categories=(str(2**53), str(2**53 + 1))), ["'c'", "float64", "letter"]),
        (lambda: Category("c", categories=(10**5000,)), ["'c'", "300 digits"]),
        (lambda: Category("c", categories=("a", "NaN")), ["'c'", "'NaN'", "missing = true"]),
        (lambda: Category("c", categories={"a": 1}), ["'c'", "categories", "list"]),
        (lambda: Category("c", categories={"a"}), ["'c'", "categories", "list"]),
        (lambda: Category("c", categories=(1.5,)), ["1.5", "whole numbers"]),
        (lambda: Category("c", categories=("a\0",)), ["NUL"]),
        (lambda: Category("c", categories=("\ud800",)), ["half"]),
        (lambda: Category("c", categories=("a",), out_of_domain="missing"), ["missing = true"]),
        (lambda: Category("c", categories=("a",), missing="yes"), ["missing", "'yes'", "true or false"]),
        (lambda: Boolean("b", out_of_domain="other"), ["'b'", "'other'", "'clip'"]),
        (lambda: Integer("i", lower=0, upper=9, out_of_domain="other"), ["out_of_domain", "'clip'"]),
        (lambda: Integer("i", lower=0.5, upper=9), ["lower", "0.5", "whole number"]),
        (lambda: Integer("i", lower=True, upper=9), ["lower", "True"]),
        (lambda: Integer("i", lower=9, upper=0), ["upper", "0", "9"]),
        (lambda: Integer("i", lower=0, upper=10**12), ["bins"]),
        (lambda: Integer("i", lower=0, upper=10**30, bins=3), ["upper"]),
        (lambda: Integer("i", lower=0, upper=9, bins=0), ["bins", "0", "1 to"]),
        (lambda: Integer("i", edges=(0, 5, 5)), ["edges", "rising"]),
        (lambda: Integer("i", edges=(0, 5), bins=2), ["bins", "edges"]),
        (lambda: Integer("i", edges=(0, 5), lower=1), ["lower", "1", "0"]),
        (lambda: Integer("i", edges=7), ["edges", "7"]),
        (lambda: Real("r", lower=0, upper=float("nan")), ["upper", "nan", "finite"]),
        (lambda: Real("r", lower=0, upper=float("inf")), ["upper", "inf", "finite"]),
        (lambda: Real("r", lower=1, upper=1), ["upper", "greater"]),
        (lambda: Real("r", lower=1, upper=1.0000000000000004, bins=32), ["bins", "width"]),
        (lambda: Real("r", lower=0, upper=1, decimals=99), ["decimals", "99"]),
        (lambda: Date("d", lower="yesterday", upper="2020-01-01"), ["lower", "yesterday"]),
        (lambda: Date("d", lower="2021-01-01", upper="2020-01-01"), ["upper"]),
        (lambda: Date("d", lower="1950-01-01", upper="2020-01-01", format="%d/%m/%y"), ["lower", "1950"]),
        (lambda: Date("d", lower="1950-01-01", upper="2020-01-01", format="%Q"), ["format", "%Q"]),
        (lambda: Date("d", lower="1950-01-01", upper="2020-01-01", format="%Y %H"), ["format", "date"]),
        (lambda: Date("d", lower="1950-01-01", upper="2020-01-01", format="%Y-%d-%m"), ["format", "ISO 8601"]),
        (lambda: Date("d", lower="1950-01-01", upper="2020-01-01", format="%Y%Y"), ["format", "reads back"]),
        (
            lambda: Datetime("d", lower="1950-01-01", upper="2020-01-01", format="%y%m%d%H%M%S%f"),
            ["format", "15 digits"],
        ),
        (lambda: Datetime("d", lower="2020-01-01T00:00:00+02:00", upper="2021-01-01"), ["lower", "zone"]),
        (lambda: Drop("x", reason=3), ["reason", "3"]),
        (lambda: Surrogate("x", digits=0), ["digits", "0"]),
        (lambda: Boolean("b", derived=("lower",)), ["derived", "lower"]),
        (lambda: Boolean(""), ["name"]),
        (lambda: Boolean("b", dtype="int8"), ["'b'", "dtype", "one type only"]),
        (lambda: Real("r", lower=0, upper=1, dtype="int32"), ["'r'", "dtype", "float32, float64, decimal"]),
        (lambda: Integer("i", lower=0, upper=128, dtype="int8"), ["'i'", "dtype", "'int8'", "int16, int32"]),
        (lambda: Integer("i", lower=-1, upper=9, dtype="uint8"), ["dtype", "int8, int16"]),
        (lambda: Integer("i", dtype="int32"), ["dtype", "int64"]),
        (lambda: Integer("i", lower=0, upper=9, dtype=8), ["dtype", "8", "int8"]),
        (lambda: Category("c", categories=(1, 300), out_of_domain="clip", dtype="int8"), ["dtype", "int16"]),
        (lambda: Category("c", categories=(1, 2), other="x", dtype="int8"), ["dtype", "whole numbers", "other"]),
        (lambda: Category("c", dtype="int8"), ["dtype", "open"]),
        (lambda: Date("d", lower="1600-01-01", upper="2020-01-01", dtype="timestamp[ns]"), ["dtype", "date32"]),
        (lambda: Date("d", lower="1950-01-01", upper="2020-01-01", format="%Y", dtype="date32"), ["dtype", "format"]),
        (lambda: Datetime("d", lower="2020-01-01", upper="2020-01-02", dtype="date32"), ["dtype", "timestamp[s]"]),
    ],
)
def test_a_wrong_declaration_names_column_field_and_what_is_allowed(make, words):
    with pytest.raises(SchemaError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
