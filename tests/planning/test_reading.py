"""What `plan` says of scans and bytes is what the sources then do."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import psycopg
import pytest

from command import Run
from kagemusha.columns.dialects import PostgresDialect
from kagemusha.planning.forecast import forecast
from kagemusha.planning.reading import reading
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Date, Domain, Integer, Schema
from kagemusha.sources import open_source
from kagemusha.sources.scans import covering, scans_for
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from servers import Postgres

SCHEMA = Schema([Integer(f"n{i}", lower=0, upper=4) for i in range(6)])


@pytest.mark.parametrize("method", ["independent", "kage"])
def test_the_scans_are_those_that_were_planned(
    method: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as link:
        columns = ", ".join(f"(i / {3 + j}) % 5 AS n{j}" for j in range(6))
        link.execute(f"CREATE TABLE planned_{method} AS SELECT {columns} FROM generate_series(1, 300) i")
    source = open_source(postgres.url, SCHEMA, table=f"planned_{method}")
    asked: list[str] = []
    real = type(source._table).rows
    monkeypatch.setattr(type(source._table), "rows", lambda self, query: asked.append(query) or real(self, query))
    fit(create(method), source, Budget(1.0, 1e-9))
    planned = reading(create(method), SCHEMA)
    # kage looks once more, at triples, where pairs are precise
    assert planned.scans["PostgreSQL"] <= len(asked) <= planned.scans["PostgreSQL"] + (method == "kage")


def test_five_hundred_columns() -> None:
    planned = reading(create("mst"), Schema([Integer(f"c{i}", lower=0, upper=3) for i in range(500)]))
    assert planned.scans["PostgreSQL"] < 140
    assert planned.scans["Spark"] < 300
    assert planned.code_bytes == 500


@pytest.mark.parametrize("most", [1, 7, 40, 10**9])
def test_every_clique_is_counted_once_within_the_limit(most: int) -> None:
    domain = Domain(tuple("abcdef"), (2, 3, 4, 5, 6, 7))
    cliques = [(), *((n,) for n in domain.names), *combinations(domain.names, 2), ("a", "b", "c")]
    largest = covering(cliques)
    assert all(set(clique) <= set(host) for clique, host in largest.items())
    scans = scans_for(domain, list(dict.fromkeys(largest.values())), PostgresDialect(), most)
    counted = [clique for scan in scans for clique in scan.cliques]
    assert sorted(counted) == sorted(set(largest.values()))
    assert all(len(scan.cliques) == 1 or scan.cells <= most for scan in scans)


def test_memory_does_not_grow_with_rows() -> None:
    schema = Schema([Category(f"c{i}", categories=tuple("abcdefghij")) for i in range(34)])
    method, budget = create("kage"), Budget(1.0, 1e-9)
    cost = method.plan(schema.domain, budget)
    told = [forecast(schema, method, cost, budget, rows=rows).megabytes for rows in (8 * 10**6, 10**8, 10**9)]
    assert told[0] == told[1] == told[2] < 2000


def test_plan_tells(run: Run, tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "s.toml")
    shown = run("plan", "s.toml", "--rows", "1000000").stdout
    assert "It is read 4 times in PostgreSQL, 4 times in Spark" in " ".join(shown.split())
    told = json.loads(run("plan", "s.toml", "--rows", "1000000", "--json").stdout)["reading"]
    assert told["code_bytes"] == 6
    assert told["bytes moved"] == told["counts_bytes"] > 0
    records = json.loads(run("plan", "s.toml", "--rows", "1000000", "--method", "p3gm", "--json").stdout)["reading"]
    assert records["bytes moved"] == records["counts_bytes"] + 6_000_000


def test_plan_names_columns_whose_rows_leave_the_engine(run: Run, tmp_path: Path) -> None:
    columns = [
        Integer("visits", lower=0, upper=4, special=(99,)),
        Integer("n", lower=0, upper=4, confirmed="Ana"),
        Date("day", lower="2020-01-01", upper="2020-12-31", format="%d/%m/%Y"),
    ]
    Schema(columns).save(tmp_path / "s.toml")
    shown = " ".join(run("plan", "s.toml").stdout.split())
    named = "as they are all rows with a value in visits (special), day (format, where the column is stored as text)"
    assert named in shown
    assert json.loads(run("plan", "s.toml", "--json").stdout)["reading"]["raw"].keys() == {"visits", "day"}


def test_rows_kept_on_disk_are_the_rows(tmp_path: Path) -> None:
    from kagemusha.sources.file import FileSource
    from kagemusha.sources.spool import Spool

    rng = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    np.savetxt(path, rng.integers(0, 5, (5000, 6)), "%d", ",", header=",".join(f"n{i}" for i in range(6)), comments="")
    kept, spilt, none = (FileSource(path, SCHEMA, keep=k, disk=d) for k, d in ((10**9, True), (0, True), (0, False)))
    pair = [("n0", "n1"), ("n2", "n5")]
    for _ in range(2):
        counts = [[m.counts.tolist() for m in source.count(pair)] for source in (kept, spilt, none)]
        assert counts[0] == counts[1] == counts[2]
    assert spilt._kept is not None
    assert none._kept is None
    spool = Spool((5, 70_000), keep=0)
    for size in (3, 0, 7):
        spool.add([np.arange(size) % 5, np.arange(size) + 69_000])
    assert [c[1].tolist() for c in spool] == [list(range(69_000, 69_000 + size)) for size in (3, 0, 7)]
