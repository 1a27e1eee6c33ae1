"""The catalogue of a real PostgreSQL: types, enums, checks and keys become a schema, and no row is read."""

from __future__ import annotations

import pytest

import kagemusha as kg
from kagemusha.schema import Category
from servers import Postgres

STATEMENTS = """
CREATE TYPE mood AS ENUM ('sad', 'so so', 'it''s fine');
CREATE TABLE wards (ward text PRIMARY KEY);
CREATE TABLE visits (
  id bigint PRIMARY KEY, ward text REFERENCES wards, age smallint NOT NULL CHECK (age >= 0 AND age <= 120),
  stay integer CHECK (stay > 0) CHECK (stay < 100), sex char(1) CHECK (sex IN ('f', 'm')), mood mood NOT NULL,
  seen date CHECK (seen BETWEEN '2020-01-01' AND '2024-12-31'), cost numeric(8, 2), paid boolean, tags text[],
  odd integer CHECK (odd < 5 OR odd > 9)
);
INSERT INTO wards VALUES ('CANARY');
INSERT INTO visits VALUES (1, 'CANARY', 40, 3, 'f', 'sad', '2021-01-01', 99.5, true, '{}', 3);
"""


def test_types_checks_and_keys(postgres: Postgres) -> None:
    import psycopg

    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE facts")
    url = postgres.url.rsplit("/", 1)[0] + "/facts"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(STATEMENTS)
    found = kg.schema_from(url, table="visits")
    assert {c.name: c.kind for c in found} == {
        "id": "drop", "ward": "drop", "age": "integer", "stay": "integer", "sex": "category", "mood": "category",
        "seen": "date", "cost": "real", "paid": "boolean", "tags": "drop", "odd": "integer",
    }  # fmt: skip
    assert (found.axis("age").lower, found.axis("age").upper, found["age"].may_lack) == (0, 120, False)
    assert (found.axis("stay").lower, found.axis("stay").upper) == (1, 99)
    assert (str(found.axis("seen").lower), str(found.axis("seen").upper)) == ("2020-01-01", "2024-12-31")
    for name, values in {"sex": ("f", "m"), "mood": ("sad", "so so", "it's fine")}.items():
        column = found[name]
        assert isinstance(column, Category)
        assert column.categories == values
    assert found.axis("odd").lower is None  # what is said with OR is left to a person
    text = found.dumps()
    assert "CANARY" not in text
    assert "the catalogue of postgresql://" in text
    assert "canary-" not in text  # the password


def test_a_draft_may_come_from_a_server_too(postgres: Postgres) -> None:
    import psycopg

    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE drafted (age int, sex text, seen date, took interval)")
        connection.execute(
            "INSERT INTO drafted SELECT i % 90, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, date '2020-01-01' + i, "
            "i * interval '1 minute' FROM generate_series(1, 300) AS i"
        )
    draft = kg.propose(postgres.url, table="drafted")
    assert [c.kind for c in draft] == ["integer", "category", "date", "duration"]
    assert all(column.derived for column in draft)
    with pytest.raises(kg.KagemushaError, match="say which table is meant"):
        kg.propose(postgres.url)
