"""A table as large as a nation's: 55 million people, 60 columns, one release at ε = 1 by the command line.

    python benchmarks/national.py --rows 5.5e7 --out benchmarks/results/national.json
    python benchmarks/national.py --spark --rows 1e6        # the same counts through executors of a cluster

The table is made on the spot and removed at the end; so are the doubles. Smaller tables come first, so that the cost
of a row and of a column can be told from what every release costs. Each release is a process of its own: processor
seconds and peak memory are its own, and the plan made before it stands beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

from scale import make, schema_of

LIMIT = 3_000
"""Megabytes that the largest release may take."""


def released(rows: int, columns: int, doubles: int, folder: Path) -> dict[str, Any]:
    """One release: what was planned, and what it took."""
    table, schema = folder / "people.parquet", folder / "people.toml"
    began = time.perf_counter()
    make(rows, columns, table)
    made = time.perf_counter() - began
    schema_of(columns).save(schema)
    plan = ["plan", schema, "--rows", rows, "--method", "kage", "--delta", 1e-9, "--json"]
    planned = json.loads(
        subprocess.run(
            [sys.executable, "-m", "kagemusha", *map(str, plan)], capture_output=True, text=True, check=True
        ).stdout
    )
    found = {"rows": rows, "columns": columns, "made s": round(made), "Parquet MB": round(table.stat().st_size / 1e6)}
    found |= {"planned MB": round(planned["megabytes"]), "planned s": round(planned["seconds"])}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    script = (
        "import json, resource, sys; from kagemusha.cli import main; code = 0\n"
        "try:\n    main()\nexcept SystemExit as end:\n    code = end.code or 0\n"
        "print('peak', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    arguments = ["synth", table, "--schema", schema, "--out", folder / "doubles", "--rows", doubles]
    arguments += [
        "--method",
        "kage",
        "--epsilon",
        1,
        "--delta",
        1e-9,
        "--ledger",
        folder / f"{rows}-{columns}.db",
        "--force",
    ]
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(done.stderr.rpartition("peak ")[2]) / 1e3
    found |= {"s": round(time.perf_counter() - began), "CPU s": round(cpu), "peak MB": round(peak), "doubles": doubles}
    table.unlink()
    return found


def spark(rows: int, columns: int, folder: Path, executors: int) -> dict[str, Any]:
    """All pairs through Spark's own cluster manager with executors in processes of their own, and from the file."""
    from pyspark.sql import SparkSession

    from kagemusha.sources import open_source

    table, schema = folder / "people.parquet", schema_of(columns)
    make(rows, columns, table)
    pairs = list(combinations(schema.domain.names, 2))
    session = (
        SparkSession.builder.master(f"local-cluster[{executors},1,1024]")
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(2 * executors))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    began = time.perf_counter()
    ours = open_source(session.read.parquet(str(table)), schema).count(pairs)
    through = time.perf_counter() - began
    here = open_source(table, schema).count(pairs)
    executors_seen = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    same = all((a.counts == b.counts).all() for a, b in zip(ours, here, strict=True))
    session.stop()
    return {
        "rows": rows,
        "columns": columns,
        "pairs": len(pairs),
        "executors": len(executors_seen) - 1,  # the driver is listed, too
        "s": round(through, 1),
        "the same counts": same,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=5.5e7)
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--doubles", type=float, default=1e6)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows, columns, doubles = int(given.rows), given.columns, int(given.doubles)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.spark:
            found = [spark(rows, columns, folder, given.executors)]
        else:
            found = []
            for size in ((rows // 50, columns), (rows // 10, columns // 3), (rows // 10, columns), (rows, columns)):
                found.append(released(*size, doubles, folder))
                print(found[-1], flush=True)
            assert found[-1]["peak MB"] <= LIMIT, f"more than {LIMIT} MB"
    if given.spark:
        print(found[0])
    if given.out:
        load = round(os.getloadavg()[0], 1)
        given.out.write_text(json.dumps({"load": load, "releases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
