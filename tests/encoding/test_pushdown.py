"""Engines make the codes of every column whose meaning can be written in SQL, whatever else is said of it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings

from column_strategies import columns
from kagemusha import fit
from kagemusha.columns.dialects import PostgresDialect, SparkDialect
from kagemusha.columns.pushed import pushed
from kagemusha.columns.stored import Stored
from kagemusha.encoding import Encoder
from kagemusha.encoding.travels import travels
from kagemusha.errors import SchemaError
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Boolean, Category, Date, Datetime, Drop, Integer, Modelled, Real, Schema, Unit
from kagemusha.sources import open_source
from servers import Postgres

KINDS: list[Modelled] = [
    Category("x", categories=("a", "b"), missing=True),
    Category("x", categories=(1, 2), other=9),
    Boolean("x", missing=True),
    Integer("x", lower=0, upper=9),
    Integer("x", lower=0, upper=99, bins=7, missing=True),
    Integer("x", values=(1, 2, 5)),
    Integer("x", lower=0, upper=900, bins=7, scale="log"),
    Real("x", lower=0, upper=20, bins=4),
    Real("x", edges=(0.0, 0.1, 10.5), missing=True, out_of_domain="missing"),
    Real("x", lower=0.5, upper=900, bins=7, scale="log"),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9),
    Date("x", lower="1950-01-01", upper="2030-12-31", bins=9, format="%d/%m/%Y"),
    Datetime("x", lower="1960-01-01", upper="2030-12-31", bins=50),
]
OTHER: dict[str, tuple[Any, ...]] = {
    "name": ("y",),
    "confirmed": ("Ana, codebook 2024",),
    "derived": (("kind",),),
    "dtype": ("int16", "timestamp[ms]"),
    "decimals": (0, 3),
    "ancestors": ((("g",), ("h",)),),
}
"""Values of every field that changes no code."""
STORED: list[Stored] = ["text", "integer", "float", "decimal", "boolean", "date", "timestamp", "binary"]


def variants(column: Modelled, field: str) -> list[Modelled]:
    found = []
    for value in OTHER[field]:
        try:
            found.append(replace(column, **{field: value}))
        except SchemaError:
            continue  # not a value of this kind
    return found


def test_every_field_beside_codes_is_tried() -> None:
    tried = {field for column in KINDS for field in column.beside_codes if variants(column, field)}
    assert tried == set(OTHER) == {field for column in KINDS for field in column.beside_codes}


@pytest.mark.parametrize("column", KINDS, ids=repr)
@pytest.mark.parametrize("dialect", [PostgresDialect(), SparkDialect()], ids=lambda d: d.name)
def test_fields_beside_codes_change_nothing(column: Modelled, dialect: Any) -> None:
    for field in sorted(column.beside_codes):
        for changed in variants(column, field):
            for stored in STORED:
                assert pushed(changed, stored, "c0", dialect) == pushed(column, stored, "c0", dialect), field


@settings(max_examples=60, deadline=None)
@given(columns())
def test_no_random_column_is_read_here_for_being_confirmed(column: Modelled) -> None:
    dialect = PostgresDialect()
    vouched = replace(column, confirmed="Ana")
    assert all(pushed(vouched, s, "c0", dialect) == pushed(column, s, "c0", dialect) for s in STORED)


@pytest.mark.parametrize(
    "changed",
    [
        Category("x", categories=("a", "b", "c")),
        Category("x", categories=("a", "b"), out_of_domain="clip"),
        Category("x", categories=("a", "b"), missing=True),
        Category("x", categories=("a", "b"), levels=(1,)),
        Category("x", categories=("a", "b"), families=(("c", "a"),)),
    ],
    ids=repr,
)
def test_fields_of_codes_change_the_expression(changed: Modelled) -> None:
    plain = Category("x", categories=("a", "b"))
    assert pushed(changed, "text", "c0", PostgresDialect()) != pushed(plain, "text", "c0", PostgresDialect())


@pytest.mark.parametrize(
    "changed",
    [
        Integer("x", lower=1, upper=9),
        Integer("x", lower=0, upper=8),
        Integer("x", lower=0, upper=9, bins=3),
        Integer("x", lower=0, upper=9, bins=3, scale="log"),
        Integer("x", edges=(0, 4, 9)),
        Integer("x", values=(0, 9)),
        Integer("x", lower=0, upper=9, special=(99,)),
        Integer("x", lower=0, upper=9, missing=True),
        Integer("x", lower=0, upper=9, missing=True, out_of_domain="missing"),
    ],
    ids=repr,
)
def test_fields_of_numbers_change_the_expression(changed: Modelled) -> None:
    plain = Integer("x", lower=0, upper=9)
    assert pushed(changed, "integer", "c0", PostgresDialect()) != pushed(plain, "integer", "c0", PostgresDialect())


def test_a_field_that_nobody_has_written_in_sql_keeps_rows_out_of_it() -> None:
    known = {f.name for c in KINDS for f in fields(c)}
    unknown = known - {f for c in KINDS for f in (*c.in_engines, *c.beside_codes)}
    assert unknown == {"special", "formula", "replaces", "spelling", "in_table", "levels", "families"}
    assert Category("x", categories=("a",), levels=(1,)).not_in_sql == ("levels",)
    assert pushed(Integer("x", lower=0, upper=9, special=(99,)), "integer", "c0", PostgresDialect()).settled == (
        "(c0 IS NULL)"
    )


NUMBERS = [None, 0, 1, 2, 3, 4, 5, 6, 9, 10, 50, 899, 900, 901, -7]


@pytest.mark.parametrize("column", [c for c in KINDS if isinstance(c, Integer | Real)], ids=repr)
def test_postgres_gives_the_codes_of_the_reference(column: Modelled, postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("DROP TABLE IF EXISTS pushed_numbers")
        link.execute("CREATE TABLE pushed_numbers (x double precision)")
        link.cursor().executemany("INSERT INTO pushed_numbers VALUES (%s)", [(v,) for v in NUMBERS])
    schema = Schema([replace(column, confirmed="Ana")])
    with open_source(postgres.url, schema, table="pushed_numbers") as source:
        assert source._sure == "TRUE" or not source._any_doubt
        (counts,) = source.count([("x",)])
    import pyarrow as pa

    codes = Encoder(schema).encode_column("x", pa.array(NUMBERS, type=pa.float64()))
    assert counts.counts.tolist() == np.bincount(codes, minlength=column.size).tolist()


def test_a_confirmed_schema_leaves_no_row_and_the_certificate_says_so(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema([Integer("n", lower=0, upper=4, confirmed="Ana"), Integer("m", lower=0, upper=2, confirmed="Ana")])
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("DROP TABLE IF EXISTS vouched")
        link.execute("CREATE TABLE vouched AS SELECT i % 5 AS n, i % 3 AS m FROM generate_series(1, 300) i")
    source = open_source(postgres.url, schema, table="vouched")
    came: list[str] = []
    real = type(source._table).batches
    monkeypatch.setattr(type(source._table), "batches", lambda self, query: came.append(query) or real(self, query))
    model = fit("independent", source, Budget(1.0, 1e-9))
    assert not came
    told = travels(schema, records=False, discovered=False)
    assert told in model.certificate.assumptions
    assert "What left the engine: counts. " in told


def test_what_leaves_is_said() -> None:
    plain = Schema([Integer("n", lower=0, upper=4)])
    special = Schema([Drop("id"), Integer("n", lower=0, upper=4, special=(9,))], unit=Unit("id"))
    assert "codes of all rows" not in travels(plain, records=False, discovered=False)
    assert "codes of all rows" in travels(plain, records=True, discovered=False)
    assert "any value in n (special)" in travels(special, records=False, discovered=True)
    assert "to be bounded together" in travels(special, records=False, discovered=True)
