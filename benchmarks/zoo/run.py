"""Kage and the other marginal methods on every table of the zoo.

    python benchmarks/zoo/run.py [--half train] [--tables a,b] [--methods kage,aim] [--epsilons 0.1,1,10] [--seeds 3]

Each run is a process of its own with a limit of CPU seconds; its line goes into benchmarks/results/zoo.csv and is not
made again (--fresh kage forgets that method's lines first). Noise is simulated from the seed, δ = 1e-9, add-remove. A
method that passes the limit at a table and ε is not run there again. `report.py` turns the lines into a page.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pyarrow as pa
from measures import auc, errors

import kagemusha
from kagemusha.planning.forecast import STARTED, forecast
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from tables import ZOO, Table

RESULTS = Path(__file__).parents[1] / "results" / "zoo.csv"
FIELDS = (
    "table", "half", "method", "epsilon", "seed", "status", "one", "two", "three", "auc", "fit_cpu", "sample_cpu",
    "megabytes", "plan_seconds", "plan_megabytes", "predicted", "code",
)  # fmt: skip
METHODS = ("kage", "aim", "aim-gdp", "mst", "privbayes")
MOST_GENERATED = 1_000_000
HELD_OUT = 0.3
"""Share of the rows of a table with a target that no method sees."""
DELTA = 1e-9


def code() -> str:
    """A digest of the code that decides kage's errors: its own and that of its models."""
    package = Path(kagemusha.__file__).parent
    files = sorted(f for room in ("synthesizers/kage", "graphical") for f in (package / room).rglob("*.py"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:8]


def schema_of(table: Table) -> Schema:
    return Schema(
        [
            Integer(f"c{i}", lower=0, upper=size - 1)
            if ordered
            else Category(f"c{i}", categories=tuple(range(size)), out_of_domain="clip")
            for i, (size, ordered) in enumerate(zip(table.sizes, table.ordered, strict=True))
        ]
    )


def _resident() -> float:
    with open("/proc/self/status") as status:
        found = {line.split()[0]: line.split()[1] for line in status if line.startswith("Vm")}
    return float(found["VmRSS:"]) / 1e3


def once(table: Table, method: str, epsilon: float, seed: int) -> dict[str, object]:
    """One fit, its rows and what they are worth."""
    codes, held = table.codes, None
    options: dict[str, object] = {}
    if table.target is not None:
        mixed = np.random.default_rng(0).permutation(len(codes))
        cut = int(len(codes) * HELD_OUT)
        codes, held = codes[mixed[cut:]], codes[mixed[:cut]]
        if method in ("kage", "aim", "aim-gdp"):
            options["target"] = f"c{table.target}"
    schema = schema_of(table)
    frame = pa.table({f"c{i}": codes[:, i] for i in range(codes.shape[1])})
    budget = Budget(epsilon, DELTA)
    synthesizer = create(method, **options)
    cost = synthesizer.plan(schema.domain, budget)
    plan = forecast(schema, synthesizer, cost, budget, rows=len(codes), parquet=True)
    planned = math.fsum(phase.at_most for phase in plan.phases[1:-1])  # neither starting nor judging is measured here
    before = _resident()
    cpu = time.process_time()
    model = fit(synthesizer, frame, budget, schema=schema, simulation=seed)
    fitted = time.process_time()
    rows = model.sample_codes(min(len(codes), MOST_GENERATED), rng=np.random.default_rng(seed))
    drawn = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    one, two, three = errors(codes, rows, table.sizes)
    return {
        "status": "ok",
        "one": f"{one:.5f}",
        "two": f"{two:.5f}",
        "three": f"{three:.5f}",
        "auc": "" if held is None else f"{auc(rows, held, table.target or 0, table.ordered):.4f}",
        "fit_cpu": f"{fitted - cpu:.2f}",
        "sample_cpu": f"{drawn - fitted:.2f}",
        "megabytes": f"{peak - before:.0f}",
        "plan_seconds": f"{planned:.1f}",
        "plan_megabytes": f"{plan.megabytes - STARTED:.0f}",
        "predicted": f"{getattr(model, 'expected', None) or 0:.5f}",
        "code": code() if method == "kage" else "",
    }


def warm_up(methods: Sequence[str]) -> None:
    """Compile, or load what was compiled, before processes are forked."""
    codes = np.random.default_rng(0).integers(0, 3, (300, 5)).astype(np.int32)
    for method in methods:
        once(Table(codes, [3] * 5, [True] * 5), method, 10.0, 0)


def bounded(table: Table, method: str, epsilon: float, seed: int, limit: int) -> dict[str, object]:
    """`once` in a forked process with so many CPU seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(
            resource.RLIMIT_CPU, (limit + int(time.process_time()), limit + 5 + int(time.process_time()))
        )
        try:
            found = once(table, method, epsilon, seed)
        except BaseException as error:
            found = {"status": f"{type(error).__name__}: {str(error)[:80]}"}
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else {"status": f"over {limit} s"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("train", "test", "both"), default="both")
    parser.add_argument("--tables", default="", help="names with commas between; all unless given")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--limit", type=int, default=300, help="CPU seconds of one run, the measuring of errors included"
    )
    parser.add_argument("--fresh", default="", help="methods whose lines are made again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()

    lines: list[dict[str, str]] = []
    if args.out.exists():
        with args.out.open() as file:
            lines = list(csv.DictReader(file))
    fresh = args.fresh.split(",")
    wanted = [e for e in ZOO if args.half in (e.half, "both") and (not args.tables or e.name in args.tables.split(","))]
    done = {(r["table"], r["method"], r["epsilon"], r["seed"]) for r in lines if r["method"] not in fresh}
    over = {(r["table"], r["method"], r["epsilon"]) for r in lines if r["status"] != "ok" and r["method"] not in fresh}
    warm_up(args.methods.split(","))
    for entry in wanted:
        table = None
        for method in args.methods.split(","):
            for epsilon in args.epsilons.split(","):
                for seed in map(str, range(args.seeds)):
                    if (entry.name, method, epsilon, seed) in done or (entry.name, method, epsilon) in over:
                        continue
                    table = table or entry.load()
                    found = bounded(table, method, float(epsilon), int(seed), args.limit)
                    if found["status"] != "ok":
                        over.add((entry.name, method, epsilon))
                    key = {"table": entry.name, "half": entry.half, "method": method, "epsilon": epsilon, "seed": seed}
                    lines = [r for r in lines if any(r[k] != v for k, v in key.items())]
                    lines.append({**dict.fromkeys(FIELDS, ""), **key, **{k: str(v) for k, v in found.items()}})
                    print(" ".join(str(lines[-1][k]) for k in FIELDS), flush=True)
                    lines.sort(key=lambda r: [r[k] for k in ("half", "table", "method", "epsilon", "seed")])
                    with args.out.open("w", newline="") as file:
                        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                        writer.writeheader()
                        writer.writerows(lines)


if __name__ == "__main__":
    main()
