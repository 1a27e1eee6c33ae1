"""Cost against rows and columns: time and memory of counting, fitting and writing, each size in a process of its own.

    python benchmarks/scale.py rows --most 1e7 --out benchmarks/results/scale-rows.json
    python benchmarks/scale.py columns --out benchmarks/results/scale-columns.json
    python benchmarks/scale.py hand --rows 1e8          # counting against hand-written queries, in one run

Exponents are slopes of log seconds (or megabytes) against log size, by least squares over the upper half of the sizes,
where fixed costs no longer hide the growth.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any


def make(rows: int, columns: int, path: Path) -> None:
    """A table of people that never was: a few columns that are connected, whole numbers, texts and reals."""
    import duckdb

    fields = [
        "CAST(least(99, 20 + hash(i) % 60 + hash(i + 1) % 20) AS INTEGER) AS age",
        "CASE hash(i * 3 + 1) % 10 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' ELSE 'd' END AS ward",
        "CAST((hash(i * 5 + 7) % 100000) / 1000.0 AS DOUBLE) AS value",
    ]
    for j in range(3, columns):
        codes = 4 + j % 8
        fields.append(
            f"CAST((hash(i * {2 * j + 1} + {j}) % {codes} + hash(i) % 1000 // 250) % {codes} AS UTINYINT) AS x{j}"
        )
    with duckdb.connect(config={"memory_limit": "2GB", "threads": "1"}) as connection:
        connection.execute("SET preserve_insertion_order = false")
        query = f"SELECT {', '.join(fields[:columns])} FROM range({rows}) t(i)"
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def schema_of(columns: int) -> Any:
    from kagemusha.schema import Category, Integer, Real, Schema

    declared = [
        Integer("age", lower=0, upper=99, bins=20),
        Category("ward", categories=("a", "b", "c", "d")),
        Real("value", lower=0, upper=100, bins=32),
        *(Integer(f"x{j}", lower=0, upper=3 + j % 8) for j in range(3, columns)),
    ]
    return Schema(declared[:columns])


def measure(path: Path, columns: int) -> dict[str, float]:
    """One release of a table, part by part. Runs in a process of its own, so that the peak is its own."""
    import numpy as np

    from kagemusha.folder.stream import stream
    from kagemusha.folder.table_file import write_tables
    from kagemusha.sources import open_source
    from kagemusha.synthesizers.fit import fit
    from kagemusha.synthesizers.registry import create

    schema = schema_of(columns)
    found: dict[str, float] = {}
    began = time.perf_counter()

    def told(what: str) -> None:
        nonlocal began
        found[what] = round(time.perf_counter() - began, 2)
        found[f"{what} MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
        began = time.perf_counter()

    from kagemusha.privacy.budget import Budget

    source = open_source(path, schema)
    source.count([()])
    told("read")
    source.count(list(combinations(schema.domain.names, 2)))
    told("pairs")
    model = fit(create("kage"), source, Budget(1.0, 1e-9))
    told("fit")
    with tempfile.TemporaryDirectory() as folder:
        write_tables(stream(model, rng=np.random.default_rng(0)), Path(folder) / "doubles.parquet")
    told("write")
    return found


def hand(path: Path, columns: int) -> dict[str, float]:
    """Our counting of all pairs against one GROUPING SETS query and against one query a pair, on the same engine."""
    import duckdb

    from kagemusha.sources import open_source

    schema = schema_of(columns)
    names = schema.domain.names
    pairs = list(combinations(names, 2))
    binned = {"age": "least(19, greatest(0, age // 5))", "value": "least(31, CAST(floor(value / 3.125) AS INTEGER))"}
    binned["ward"] = "CASE ward WHEN 'a' THEN 0 WHEN 'b' THEN 1 WHEN 'c' THEN 2 WHEN 'd' THEN 3 ELSE 4 END"
    base = f"SELECT {', '.join(f'{binned.get(n, n)} AS {n}' for n in names)} FROM '{path}'"
    found: dict[str, float] = {}

    def timed(what: str, call: Any) -> Any:
        began = time.perf_counter()
        result = call()
        found[what] = round(time.perf_counter() - began, 2)
        return result

    source = open_source(path, schema)
    ours = timed("kagemusha", lambda: source.count(pairs))
    again = timed("kagemusha, a second time", lambda: source.count(pairs))
    del again
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute("SET enable_progress_bar = false")
        sets = ", ".join(f"({a}, {b})" for a, b in pairs)
        query = (
            f"SELECT grouping({', '.join(names)}), {', '.join(names)}, count(*) FROM ({base}) GROUP BY GROUPING "
            f"SETS ({sets})"
        )
        rows = timed("one GROUPING SETS query", lambda: connection.execute(query).fetchall())
        timed(
            "one query a pair",
            lambda: [
                connection.execute(f"SELECT {a}, {b}, count(*) FROM ({base}) GROUP BY 1, 2").fetchall()
                for a, b in pairs
            ],
        )
    assert sum(row[-1] for row in rows) == sum(int(m.counts.sum()) for m in ours)
    found["ratio to the best"] = round(
        found["kagemusha"] / min(found["one GROUPING SETS query"], found["one query a pair"]), 2
    )
    found["MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    return found


def exponent(sizes: list[int], values: list[float]) -> float:
    """The slope over the upper half."""
    upper = range(len(sizes) // 2, len(sizes))
    x, y = [math.log(sizes[i]) for i in upper], [math.log(max(values[i], 1e-3)) for i in upper]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "columns", "hand", "one"])
    parser.add_argument("--rows", type=float, default=1e5)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--most", type=float, default=1e7)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what in ("one", "hand"):
        with tempfile.TemporaryDirectory() as folder:
            path = given.file or Path(folder) / "t.parquet"
            if not path.exists():
                make(int(given.rows), given.columns, path)
            if given.what == "hand":
                print(json.dumps(hand(path, given.columns)))
                return
            child = (
                "import json, sys; from pathlib import Path; sys.path.insert(0, sys.argv[3]); import scale; "
                "print(json.dumps(scale.measure(Path(sys.argv[1]), int(sys.argv[2]))))"
            )
            arguments = [sys.executable, "-c", child, str(path), str(given.columns), str(Path(__file__).parent)]
            done = subprocess.run(arguments, check=True, capture_output=True, text=True)
            print(done.stdout.strip())
        return
    steps = [10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8]
    sizes = [n for n in steps if n <= given.most] if given.what == "rows" else [5, 10, 20, 50, 100, 200]
    results = []
    for size in sizes:
        rows, columns = (size, given.columns) if given.what == "rows" else (int(given.rows), size)
        child = [sys.executable, __file__, "one", "--rows", str(rows), "--columns", str(columns)]
        found = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
        results.append({"rows": rows, "columns": columns, **found})
        print(results[-1], flush=True)
    fitted = {k: round(exponent(sizes, [r[k] for r in results]), 2) for k in results[0] if k not in ("rows", "columns")}
    print({"exponents": fitted})
    if given.out:
        given.out.write_text(
            json.dumps({"against": given.what, "results": results, "exponents": fitted}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
