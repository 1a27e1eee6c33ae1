"""All pairs of ten columns: how long counting takes beside what one would write by hand for the same file.

    python benchmarks/counting.py [rows]

Makes a table on the spot (four text categories, four whole numbers in 20 bins, two reals in 32), writes it as CSV
and as Parquet, and counts the 45 pairs. Every way runs in a process of its own, so that its peak memory is its
own; all run in turn, `REPEATS` times, and the median is kept. The files are removed at the end.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from kagemusha.schema import Category, Integer, Real, Schema

REPEATS = 3
VALUES = tuple(f"value-{i}" for i in range(12))
SCHEMA = Schema(
    [
        *(Category(f"c{j}", categories=VALUES, out_of_domain="clip") for j in range(4)),
        *(Integer(f"i{j}", lower=0, upper=99, bins=20) for j in range(4)),
        *(Real(f"r{j}", lower=0, upper=100, bins=32) for j in range(2)),
    ]
)
PAIRS = list(combinations(SCHEMA.domain.names, 2))
WAYS = {
    "csv": ("kagemusha", "kagemusha, nothing kept", "DuckDB by hand", "numpy by hand"),
    "parquet": ("kagemusha", "kagemusha, nothing kept", "DuckDB by hand", "numpy by hand"),
    "frame": ("kagemusha", "numpy by hand"),
}
HAND_SQL = [
    *(f"list_position({list(VALUES)}, c{j}) - 1" for j in range(4)),
    *(f"i{j} // 5" for j in range(4)),
    *(f"least(31, floor(greatest(0, r{j}) * 0.32))::INTEGER" for j in range(2)),
]


def make(folder: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    block = 1_000_000
    csv = parquet = None
    for begin in range(0, rows, block):
        n = min(block, rows - begin)
        columns = {f"c{j}": pa.array(VALUES).take(pa.array(rng.integers(0, 12, n))) for j in range(4)}
        columns |= {f"i{j}": pa.array(rng.integers(0, 100, n)) for j in range(4)}
        columns |= {f"r{j}": pa.array(np.round(rng.normal(50, 15, n), 2)) for j in range(2)}
        table = pa.table(columns)
        csv = csv or pc.CSVWriter(folder / "t.csv", table.schema)
        parquet = parquet or pq.ParquetWriter(folder / "t.parquet", table.schema)
        csv.write_table(table)
        parquet.write_table(table)
    csv.close()
    parquet.close()


def by_kagemusha(path: Path, keep: int | None = None) -> list[np.ndarray]:
    from kagemusha.sources import FileSource

    source = FileSource(path, SCHEMA) if keep is None else FileSource(path, SCHEMA, keep=keep)
    return [marginal.counts for marginal in source.count(PAIRS)]


def by_duckdb(path: Path) -> list[np.ndarray]:
    """Types declared, codes by short arithmetic, then one GROUP BY a pair over a table of codes."""
    import duckdb

    types = {f"c{j}": "VARCHAR" for j in range(4)} | {f"i{j}": "INTEGER" for j in range(4)}
    types |= {f"r{j}": "DOUBLE" for j in range(2)}
    source = f"'{path}'"
    if path.suffix == ".csv":
        source = f"read_csv('{path}', columns = {types}, header = true, auto_detect = false, delim = ',')"
    codes = ", ".join(f"({sql})::UTINYINT AS k{i}" for i, sql in enumerate(HAND_SQL))
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE codes AS SELECT {codes} FROM {source}")
    counts = []
    for first, second in PAIRS:
        a, b = SCHEMA.domain.axis(first), SCHEMA.domain.axis(second)
        cells = connection.execute(f"SELECT k{a} x, k{b} y, count(*) n FROM codes GROUP BY ALL").fetchnumpy()
        table = np.zeros(SCHEMA.domain.shape((first, second)), dtype=np.int64)
        table[cells["x"], cells["y"]] = cells["n"]
        counts.append(table)
    return counts


def by_numpy(path: Path) -> list[np.ndarray]:
    """The whole file through pyarrow's reader, codes by short arithmetic, one bincount a pair."""
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    table = pc.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    return pairs_by_numpy(table)


def pairs_by_numpy(table: object) -> list[np.ndarray]:
    codes = []
    for name in SCHEMA.names:
        column = table[name].combine_chunks()  # type: ignore[index]
        if name[0] == "c":
            coded = column.dictionary_encode()
            order = np.array([VALUES.index(value) for value in coded.dictionary.to_pylist()])
            codes.append(order[coded.indices.to_numpy()])
        elif name[0] == "i":
            codes.append(column.to_numpy() // 5)
        else:
            codes.append(np.clip(column.to_numpy() * 0.32, 0, 31).astype(np.int64))
    counts = []
    for first, second in PAIRS:
        a, b = SCHEMA.domain.axis(first), SCHEMA.domain.axis(second)
        shape = SCHEMA.domain.shape((first, second))
        index = codes[a] * shape[1] + codes[b]
        counts.append(np.bincount(index, minlength=shape[0] * shape[1]).reshape(shape))
    return counts


def run(kind: str, way: str, folder: Path) -> None:
    """One measurement, printed as JSON: seconds, peak memory in MB, and a sum that tells the counts apart."""
    path = folder / f"t.{kind if kind != 'frame' else 'parquet'}"
    table = None
    if kind == "frame":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    before = usage.ru_utime + usage.ru_stime
    start = time.perf_counter()
    if table is not None and way == "kagemusha":
        from kagemusha.sources import open_source

        counts = [marginal.counts for marginal in open_source(table, SCHEMA).count(PAIRS)]
    elif table is not None:
        counts = pairs_by_numpy(table)
    elif way.startswith("kagemusha"):
        counts = by_kagemusha(path, None if way == "kagemusha" else 0)
    else:
        counts = by_duckdb(path) if way.startswith("DuckDB") else by_numpy(path)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    peak, work = usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime - before
    mark = sum(int((table * np.arange(table.size).reshape(table.shape)).sum()) for table in counts)
    print(json.dumps({"seconds": seconds, "work": work, "peak": peak, "mark": mark}))


def main(rows: int) -> None:
    load = os.getloadavg()[0]
    lines = [
        "# Counting all 45 pairs of ten columns",
        "",
        f"{rows:,} rows, median of {REPEATS} runs in turn, {os.cpu_count()} cores, load before the runs {load:.1f}. "
        "Made by `benchmarks/counting.py`. The ratio is to the faster hand-written way of the same file, in the "
        "same run; on a busy machine the processor seconds are the steadier ones. Times include start-up of the "
        "libraries and, for kagemusha, loading the compiled kernel.",
        "",
        "| table | way | seconds | ratio | processor seconds | ratio | peak memory (MB) |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as name:
        # In a process of its own: a child would inherit this one's peak memory.
        subprocess.run([sys.executable, __file__, "--make", name, str(rows)], check=True)
        for kind, ways in WAYS.items():
            found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
            for _ in range(REPEATS):
                for way in ways:
                    command = [sys.executable, __file__, "--one", kind, way, name]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    found[way].append(json.loads(done.stdout))
            marks = {result["mark"] for results in found.values() for result in results}
            assert len(marks) == 1, f"{kind}: the ways disagree"
            medians = {
                measure: {way: statistics.median(r[measure] for r in found[way]) for way in ways}
                for measure in ("seconds", "work")
            }
            best = {m: min(v for way, v in medians[m].items() if "hand" in way) for m in medians}
            for way in ways:
                peak = max(result["peak"] for result in found[way])
                cells = [f"{medians[m][way]:.2f} | {medians[m][way] / best[m]:.2f}" for m in medians]
                lines.append(f"| {kind} | {way} | {' | '.join(cells)} | {peak:,.0f} |")
    lines += ["", f"Load after the runs {os.getloadavg()[0]:.1f}."]
    report = "\n".join(lines) + "\n"
    print(report)
    (Path(__file__).parent / "results" / "counting.md").write_text(report)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    elif sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
