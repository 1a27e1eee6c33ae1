"""Whatever holds the table, the counts are the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from kagemusha.encoding import Encoder
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.marginals import tally as counting
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Boolean, Category, Date, Datetime, Domain, Drop, Integer, Real, Schema, Surrogate
from kagemusha.sources import FileSource, Source, open_source, open_table, read_header

SCHEMA = Schema(
    [
        Surrogate("id"),
        Category("sex", categories=("F", "M"), missing=True),
        Category("ward", categories=(1, 2, 3), out_of_domain="clip"),
        Boolean("smoker", missing=True),
        Integer("age", lower=0, upper=120, bins=300, missing=True),
        Real("bmi", lower=10, upper=60),
        Date("born", lower="1900-01-01", upper="2024-12-31", bins=25, format="%d/%m/%Y", missing=True),
        Date("died", lower="1990-01-01", upper="2024-12-31", bins=25, missing=True),
        Datetime("seen", lower="2020-01-01", upper="2024-01-01", bins=9),
        Drop("note"),
    ]
)
ROWS = 3000
CLIQUES = [(), *((n,) for n in SCHEMA.domain), *combinations(SCHEMA.domain.names, 2), ("sex", "ward", "age")]


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(7)
    return np.stack([rng.integers(0, size, ROWS) for size in SCHEMA.domain.sizes], axis=1)


@pytest.fixture(scope="module")
def table(codes):
    decoded = Encoder(SCHEMA).decode(codes, rng=np.random.default_rng(8), like="pyarrow")
    return decoded.append_column("note", pa.array(['free, "text"\n'] * ROWS))


@pytest.fixture(params=["pandas", "polars", "pyarrow", "csv", "csv.gz", "tsv", "parquet", "streamed"])
def source(request, table, tmp_path):
    path = tmp_path / f"table [1]* 'x'.{request.param}"
    match request.param:
        case "pandas":
            return open_source(table.to_pandas(), SCHEMA)
        case "polars":
            return open_source(pl.from_arrow(table).lazy(), SCHEMA)
        case "pyarrow":
            return open_source(table, SCHEMA)
        case "parquet":
            pa.parquet.write_table(table, path)
        case "tsv":
            pl.from_arrow(table).write_csv(path, separator="\t")
        case "csv.gz":
            with pa.CompressedOutputStream(str(path), "gzip") as stream:
                pa.csv.write_csv(table, stream)
        case _:
            path = path.with_suffix(".csv")
            pa.csv.write_csv(table, path)
    if request.param == "streamed":
        return FileSource(path, SCHEMA, keep=0)
    assert set(read_header(path)) == set(SCHEMA.names)
    return open_source(str(path), SCHEMA)


def test_counts(source, codes):
    assert isinstance(source, Source)
    for _ in range(2):
        for marginal in source.count(CLIQUES):
            axes = [SCHEMA.domain.axis(name) for name in marginal.clique]
            expected = np.zeros(SCHEMA.domain.shape(marginal.clique), dtype=np.int64)
            np.add.at(expected, tuple(codes[:, axes].T), 1 if axes else ROWS)
            assert np.array_equal(marginal.counts, expected), marginal.clique
    assert source.rows() == ROWS


def test_records(source, codes):
    columns, persons = source.records()
    assert np.array_equal(np.sort(np.column_stack(columns), axis=0), np.sort(codes, axis=0))
    assert np.array_equal(persons, np.arange(ROWS)), "without a unit every row is a person"


def test_output_looks_like_the_input(source, codes):
    native = Encoder(SCHEMA).decode(codes[:5], rng=np.random.default_rng(0), like=source.native_like())
    assert len(native) == 5
    assert "private" in repr(source) or "table" in repr(source)


def test_wrong_cliques(source):
    with pytest.raises(UsageError, match="'nobody'"):
        source.count([("nobody",)])
    with pytest.raises(UsageError, match="order"):
        source.count([("ward", "sex")])
    with pytest.raises(ModelTooLarge, match="cells"):
        source.count([SCHEMA.domain.names])


EMPTY = {
    "pandas": pd.DataFrame({"a": [], "b": []}),
    "pandas typed": pd.DataFrame({"a": pd.Series([], dtype="int64"), "b": pd.Series([], dtype="datetime64[ns]")}),
    "polars": pl.DataFrame({"a": [], "b": []}),
    "polars typed": pl.DataFrame(schema={"a": pl.Int8, "b": pl.Date}).lazy(),
    "pyarrow": pa.table({"a": pa.nulls(0), "b": pa.nulls(0)}),
    "pyarrow chunks": pa.table({"a": pa.chunked_array([], pa.int64()), "b": pa.chunked_array([], pa.string())}),
}


@pytest.mark.parametrize("kind", [*EMPTY, "csv", "parquet"])
def test_an_empty_table_is_a_table(kind, tmp_path):
    schema = Schema([Integer("a", lower=0, upper=1), Date("b", lower="2020-01-01", upper="2020-12-31", missing=True)])
    table = EMPTY.get(kind, tmp_path / f"t.{kind}")
    if kind == "csv":
        table.write_text("a,b\n")
    elif kind == "parquet":
        pa.parquet.write_table(EMPTY["pyarrow"], table)
    for source in (open_source(table, schema), open_table(table, schema).with_schema(schema)):
        assert source.rows() == 0
        assert [int(m.counts.sum()) for m in source.count([(), ("a",), ("a", "b")])] == [0, 0, 0]
        columns, persons = source.records()
        assert [len(column) for column in columns] == [0, 0]
        assert len(persons) == 0
    assert open_table(table, Schema([Category("a"), schema["b"]])).count_values("a").labels == ()


@pytest.mark.parametrize("kinds", [(np.uint8, np.uint8), (np.uint16, np.int32)])
@pytest.mark.parametrize("sizes", [(7, 11, 3), (250, 200, 3)])
def test_the_compiled_count_is_the_plain_count(kinds, sizes, monkeypatch):
    rng = np.random.default_rng(0)
    domain = Domain(("a", "b", "c"), sizes)
    columns = [rng.integers(0, size, 1003).astype(kinds[i % 2]) for i, size in enumerate(domain.sizes)]
    cliques = [("a", "b"), ("a", "b", "c"), ("c",), ()]
    results = []
    for threshold in (10**18, 0):
        monkeypatch.setattr(counting, "COMPILE_FROM", threshold)
        monkeypatch.setattr(counting, "BLOCK", 100)
        tally = Tally(domain, cliques)
        tally.add(columns)
        results.append([marginal.counts for marginal in tally.marginals()])
    for plain, compiled in zip(*results, strict=True):
        assert np.array_equal(plain, compiled)
