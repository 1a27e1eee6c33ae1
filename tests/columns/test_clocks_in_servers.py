"""Times and intervals of servers are counted there, by the codes that frames give them."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from kagemusha.encoding import Encoder
from kagemusha.schema import Duration, Schema, TimeOfDay
from kagemusha.sources import open_source
from servers import Postgres

SCHEMA = Schema(
    [
        TimeOfDay("at", missing=True),
        Duration("stay", lower="-02:00", upper="48:00", bins=50, missing=True),
        Duration("text", lower="00:00", upper="48:00", bins=48, missing=True),
    ]
)
ROWS = [
    (time(8, 30), timedelta(hours=1.5), "26:30:00"),
    (time(23, 59, 59, 999_999), timedelta(days=1, hours=2), "1 day 02:00:00"),
    (time(0), timedelta(hours=-1, seconds=-0.5), "nothing"),
    (None, None, None),
    (time(12, 0, 0, 500_000), timedelta(days=400_000), "08:15"),
]


def test_postgres_counts_what_a_frame_does(postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as link:
        link.execute("DROP TABLE IF EXISTS clocks")
        link.execute('CREATE TABLE clocks ("at" time, stay interval, "text" text)')
        link.cursor().executemany("INSERT INTO clocks VALUES (%s, %s, %s)", ROWS)
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    arrays = [pa.array(columns[0]), pa.array(columns[1], type=pa.duration("us")), pa.array(columns[2])]
    codes = Encoder(SCHEMA).encode(pa.table(dict(zip(SCHEMA.names, arrays, strict=True))))
    with open_source(postgres.url, SCHEMA, table="clocks") as source:
        for axis, marginal in enumerate(source.count([(name,) for name in SCHEMA.domain])):
            wanted = np.bincount(codes[:, axis], minlength=len(marginal.counts))
            assert marginal.counts.tolist() == wanted.tolist(), marginal.clique


@pytest.mark.slow
def test_spark_counts_what_a_frame_does(spark: Any) -> None:
    schema = Schema([column for column in SCHEMA if column.name != "at"])
    rows = [row[1:] for row in ROWS if row[1] is None or row[1] < timedelta(days=100_000)]
    frame = spark.createDataFrame(rows, "stay interval day to second, text string")
    columns = [list(column) for column in zip(*rows, strict=True)]
    arrays = {"stay": pa.array(columns[0], type=pa.duration("us")), "text": pa.array(columns[1])}
    codes = Encoder(schema).encode(pa.table(arrays))
    with open_source(frame, schema) as source:
        for axis, marginal in enumerate(source.count([("stay",), ("text",)])):
            assert marginal.counts.tolist() == np.bincount(codes[:, axis], minlength=len(marginal.counts)).tolist()
