"""Cuts and orders tried on every query, and persons on every near source.

`PYTHONPATH=tests python tests/queries/cuts.py 300`. Prints what docs/trust.md says: how many were tried, and how many
answers differed or moved further than their kind says.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from test_query_contract import QUERIES, Cut, people, schema_of

from exact import answer_over
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.schema import Category, Drop, Integer, Schema, Unit
from kagemusha.sources import CodesSource, open_source
from kagemusha.sources.shuffled import Shuffled


def of_queries(tables: int) -> tuple[int, int, int, int]:
    """Answers compared and different; neighbours tried and moved too far."""
    rng = np.random.default_rng(0)
    compared = different = moved = too_far = 0
    for query in QUERIES:
        schema = schema_of(query)
        for _ in range(tables):
            columns = people(schema, rng, int(rng.integers(0, 60)))
            whole = CodesSource(schema, columns)
            wanted = answer_over(query, whole)
            size = int(rng.integers(1, 20))
            for source in (Cut(schema, columns, size), Shuffled(whole, int(rng.integers(1 << 30)))):
                compared += 1
                different += bool((answer_over(query, source) != wanted).any())
            mine, other = people(schema, rng, 1), people(schema, rng, 1)
            at = int(rng.integers(0, len(columns[0]) + 1))
            with_mine, with_other = (
                [np.insert(c, at, one[0]) for c, one in zip(columns, record, strict=True)] for record in (mine, other)
            )
            inside = answer_over(query, Cut(schema, with_mine, size)).astype(object)
            for relation, neighbour in ((Adjacency.ADD_REMOVE, columns), (Adjacency.REPLACE, with_other)):
                moves = PrivacyUnit(relation).sensitivity(query.sensitivity)
                step = inside - answer_over(query, Cut(schema, neighbour, size)).astype(object)
                moved += 1
                too_far += bool((step**2).sum() > moves.l2_squared or np.abs(step).sum() > moves.l1)
    return compared, different, moved, too_far


def of_persons(tables: int) -> tuple[int, int]:
    """Pairs of tables that differ in a person, over shuffling views, files and frames; how many kept the wrong rows."""
    schema = Schema(
        [Drop("id"), Category("ward", categories=("a", "b")), Integer("stay", lower=0, upper=9)], Unit("id", 2)
    )
    tried = wrong = 0
    rng = np.random.default_rng(1)
    for _ in range(tables):
        who = rng.integers(0, 12, int(rng.integers(1, 200)))
        frame = pa.table(
            {
                "id": [f"p{i}" for i in who],
                "ward": rng.choice(["a", "b"], len(who)),
                "stay": rng.integers(0, 10, len(who)),
            }
        )
        gone = frame.filter(pa.array(who != who[0]))
        with tempfile.TemporaryDirectory() as folder:
            for inside, outside in zip(
                places(frame, Path(folder), "with"), places(gone, Path(folder), "gone"), strict=True
            ):
                counts = [open_source(w, schema, **p).count([("ward", "stay")])[0].counts for w, p in (inside, outside)]
                step = counts[0] - counts[1]
                tried += 1
                wrong += bool(step.min() < 0 or step.sum() != min(2, int((who == who[0]).sum())))
    return tried, wrong


def places(table: pa.Table, folder: Path, name: str) -> list[tuple[Any, dict[str, str]]]:
    """The same table as a frame, a Parquet file, a DuckDB table and views that shuffle, group and join."""
    pq.write_table(table, folder / f"{name}.parquet")
    base = folder / f"{name}.db"
    with duckdb.connect(str(base)) as link:
        link.register("given", table)
        link.execute("CREATE TABLE t AS SELECT * FROM given")
        link.execute("CREATE VIEW mixed AS SELECT * FROM t ORDER BY random()")
        link.execute("CREATE VIEW joined AS SELECT t.* FROM t JOIN (SELECT DISTINCT id FROM t) AS p USING (id)")
    url = f"duckdb:///{base}"
    return [(table, {}), (folder / f"{name}.parquet", {}), *((url, {"table": n}) for n in ("t", "mixed", "joined"))]


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    compared, different, moved, too_far = of_queries(count)
    tried, wrong = of_persons(max(1, count // 3))
    sys.stdout.write(
        f"{len(QUERIES)} queries: {compared:,} cuts and orders, {different} answers differed; {moved:,} neighbours "
        f"through cuts, {too_far} moved too far; {tried:,} pairs of tables with persons, {wrong} kept wrong rows\n"
    )
