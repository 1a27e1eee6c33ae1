"""What `plan` says beforehand against what `synth` then takes, in CPU seconds and peak memory of a process of its own.

    python benchmarks/plan_vs_actual.py [TABLE…] [--out benchmarks/results/plan.md]

Time is told twice: about, and at most. Constants of the forecast were set on the tables marked *set* and on the
training half of the zoo; the others were looked at only to report.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

if "--write" in sys.argv:  # what measures stays small: a child's peak memory is at least what its parent had
    import numpy as np
    import pandas as pd

    from kagemusha.schema import Category, Integer, Schema
    from kagemusha.schema.constraints import Constraint
    from tables import TABLES as REAL
else:
    REAL = dict.fromkeys(("adult", "adult-wide", "bank"))

COMMAND = [sys.executable, "-c", "from kagemusha.cli import main; main()"]

PHASES = """
import json, resource, sys, time
from pathlib import Path
import kagemusha.door as door
from kagemusha.schema import Schema
marks = []
def mark(what, done):
    marks.append((what, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))
data, schema, epsilon, out = sys.argv[1:5]
mark("imports", 0)
model = door.fit("kage", data, float(epsilon), schema=schema, ledger=out + ".db", progress=mark)
mark("fitted", 1)
door.publish(model, out, ledger=out + ".db", file_kind=Path(data).suffix[1:], progress=mark)
mark("end", 1)
print(json.dumps(marks))
"""


def made(rows: int, sizes: list[int], seed: int) -> tuple[np.ndarray, list[int]]:
    """Columns that follow five hidden kinds of people, with codes of falling frequency."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 5, rows)
    columns = []
    for size in sizes:
        shares = (1.0 / np.arange(1, size + 1)) ** rng.uniform(0.3, 1.3)
        orders = np.stack([rng.permutation(size) if rng.random() < 0.6 else np.arange(size) for _ in range(5)])
        columns.append(orders[kind, rng.choice(size, rows, p=shares / shares.sum())])
    return np.column_stack(columns), list(sizes)


def numeric(name: str, columns: int, bins: int) -> tuple[np.ndarray, list[int]]:
    """A real table of measurements, in even bins between its ends."""
    frame = pd.read_parquet(Path(os.environ["KAGEMUSHA_DATA"]) / f"{name}.parquet")
    values = frame.select_dtypes("number").iloc[:, :columns].to_numpy(float)
    low, high = values.min(axis=0), values.max(axis=0)
    return np.clip((bins * (values - low) / np.maximum(high - low, 1e-9)).astype(int), 0, bins - 1), [bins] * columns


def pixels(rows: int, columns: int, bins: int) -> tuple[np.ndarray, list[int]]:
    """Some pixels of pictures of clothes."""
    with np.load(Path(os.environ["KAGEMUSHA_DATA"]) / "fashion_mnist.npz") as file:
        pictures = next(file[name] for name in file.files if file[name].ndim >= 2)
    flat = pictures[:rows].reshape(rows, -1)
    places = np.linspace(200, flat.shape[1] - 200, columns).astype(int)
    return (flat[:, places].astype(int) * bins // 256), [bins] * columns


def chain(rows: int, sizes: list[int], seed: int) -> tuple[np.ndarray, list[int]]:
    """Each column follows the one before it in half of the rows."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, sizes[0], rows)]
    for size in sizes[1:]:
        columns.append(np.where(rng.random(rows) < 0.5, (3 * columns[-1] + 1) % size, rng.integers(0, size, rows)))
    return np.column_stack(columns), sizes


def answers(rows: int, questions: int, seed: int, points: int = 2) -> tuple[np.ndarray, list[int]]:
    """Questions, answered on a scale by what people are like in four respects."""
    rng = np.random.default_rng(seed)
    people, hard = rng.normal(size=(rows, 4)), rng.normal(size=(4, questions))
    told = people @ hard + rng.normal(size=(rows, questions)) - rng.normal(size=questions)
    return np.clip(points / 2 + told, 0, points - 1).astype(int), [points] * questions


def ruled(rows: int, sizes: list[int], seed: int) -> tuple[np.ndarray, list[int]]:
    """A table whose second, fourth and sixth columns are in order, as `RULES` say."""
    codes, sizes = made(rows, sizes, seed)
    codes[:, [1, 3, 5]] = np.sort(codes[:, [1, 3, 5]], axis=1)
    codes[codes[:, 0] == 0, 2] = 0
    return codes, sizes


RULES = {"120k x 9, rules": ("c1 <= c3", "c3 <= c5", "c0 = 0 implies c2 = 0")}

# The forecast was made anew with all tables marked *set* in sight; those marked *told* were added afterwards, and
# nothing was set on them.
TABLES = {
    "adult": (REAL["adult"], "set"),
    "adult-wide": (REAL["adult-wide"], "set"),
    "bank": (REAL["bank"], "set"),
    "esr": (lambda: numeric("esr", 60, 8), "set"),
    "creditcard": (lambda: numeric("creditcard_sample", 29, 16), "set"),
    "2k x 5": (lambda: made(2_000, [2, 3, 5, 8, 10], 1), "set"),
    "200k x 12": (lambda: made(200_000, [2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 50], 2), "set"),
    "1M x 6": (lambda: made(1_000_000, [2, 5, 10, 20, 40, 80], 3), "set"),
    "20k x 100": (lambda: made(20_000, [2 + i % 12 for i in range(100)], 4), "set"),
    "50k x 8, 30k codes": (lambda: made(50_000, [30_000, 10, 50, 5, 200, 7, 12, 3], 5), "set"),
    "10k x 40": (lambda: made(10_000, [16] * 40, 6), "set"),
    "5k x 20": (lambda: made(5_000, [32] * 20, 7), "set"),
    "300k x 20": (lambda: made(300_000, [2 + i for i in range(20)], 8), "set"),
    "100k x 10, 5k codes": (lambda: made(100_000, [5_000, 1_000, 2, 2, 8, 20, 30, 5, 9, 4], 9), "set"),
    "isolet": (lambda: numeric("isolet", 30, 12), "set"),
    "chain 60k x 16": (lambda: chain(60_000, [4 + i % 9 for i in range(16)], 10), "told"),
    "answers 40k x 50": (lambda: answers(40_000, 50, 11), "set"),
    "120k x 9, rules": (lambda: ruled(120_000, [3, 20, 8, 20, 12, 20, 30, 5, 7], 12), "told"),
    "answers 15k x 35": (lambda: answers(15_000, 35, 14, points=5), "told"),
    "pixels 10k x 24": (lambda: pixels(10_000, 24, 10), "told"),
    "500k x 15": (lambda: made(500_000, [3, 60, 4, 9, 14, 2, 25, 6, 6, 11, 2, 40, 8, 5, 18], 13), "told"),
}


def write(name: str, folder: Path) -> None:
    """The table as a file, and its schema; prints the file's name and its rows."""
    codes, sizes = TABLES[name][0]()
    names = [f"c{i}" for i in range(len(sizes))]
    kind = "parquet" if len(codes) >= 250_000 else "csv"
    table = folder / f"table.{kind}"
    frame = pd.DataFrame(codes, columns=names)
    if kind == "csv":
        frame.to_csv(table, index=False)
    else:
        frame.to_parquet(table)
    columns = [
        Integer(n, lower=0, upper=s - 1) if i % 2 and s < 1000 else Category(n, categories=tuple(range(s)))
        for i, (n, s) in enumerate(zip(names, sizes, strict=True))
    ]
    Schema(columns, constraints=[Constraint(rule) for rule in RULES.get(name, ())]).save(folder / "table.toml")
    print(table.name, len(codes))


def measured(arguments: list[str], folder: Path) -> tuple[float, float, str]:
    """CPU seconds, peak megabytes and output of a process of its own."""
    with (folder / "told").open("wb") as told:
        child = subprocess.Popen(arguments, cwd=folder, stdout=told)
        _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{arguments} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3, (folder / "told").read_text()


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--phases", action="store_true", help="show what each part of the work took, instead")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write(given.tables[0], given.write)
        return
    lines = []
    for name in given.tables or TABLES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            written = [sys.executable, str(Path(__file__).resolve()), "--write", str(folder), name]
            table, rows = subprocess.run(written, capture_output=True, text=True, check=True).stdout.split()
            if given.phases:
                *_, told = measured([sys.executable, "-c", PHASES, table, "table.toml", given.epsilon, "out"], folder)
                print(json.dumps({"table": name, "phases": json.loads(told.splitlines()[-1])}), flush=True)
                continue
            asked = ["plan", "table.toml", "--rows", rows, "--epsilon", given.epsilon, "--json"]
            plan = json.loads(measured([*COMMAND, *asked], folder)[2])
            seconds, megabytes, _ = measured(
                [*COMMAND, "synth", table, "--schema", "table.toml", "--epsilon", given.epsilon, "--out", "out"],
                folder,
            )
        told = plan["seconds"]
        line = (name, TABLES[name][1], told["about"], told["at_most"], seconds, plan["megabytes"], megabytes)
        print(*line, flush=True)
        lines.append(line)
    if given.out and lines:
        given.out.write_text(report(lines))


def report(lines: list[tuple[str, str, float, float, float, float, float]]) -> str:
    """The table for the repository."""
    memory = [line[5] / line[6] for line in lines]
    halves = [_halves(lines, which) for which in ("set", "told") if any(line[1] == which for line in lines)]
    head = (
        "# What `plan` says, and what `synth` takes\n\n"
        f"CPU seconds and peak memory of a process of its own, kage at ε = 1, load {os.getloadavg()[0]:.1f} "
        f"(`benchmarks/plan_vs_actual.py`). "
        "Constants were set on the tables marked *set* and looked at on the others.\n\n"
        "| tables | about / taken | from … to | within 2 × | at most / taken | passed |\n"
        "| --- | --- | --- | --- | --- | --- |\n" + "".join(halves) + "\n"
        f"Memory: planned / taken has the median {median(memory):.2f}, from {min(memory):.2f} to {max(memory):.2f}; "
        f"passed on {sum(r < 1 for r in memory)}.\n\n"
        "| table | | about s | at most s | taken s | planned MB | taken MB |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
    )
    return head + "".join(
        f"| {name} | {which} | {a:.1f} | {b:.1f} | {c:.1f} | {d:.0f} | {e:.0f} |\n"
        for name, which, a, b, c, d, e in lines
    )


def _halves(lines: list[tuple[str, str, float, float, float, float, float]], which: str) -> str:
    """Medians of both figures over what was taken, for the tables that were set on or the others."""
    chosen = [line for line in lines if line[1] == which]
    about, most = [line[2] / line[4] for line in chosen], [line[3] / line[4] for line in chosen]
    near, passed = sum(0.5 <= r <= 2 for r in about), sum(r < 1 for r in most)
    return (
        f"| {which} ({len(chosen)}) | {median(about):.2f} | {min(about):.2f} … {max(about):.2f} | "
        f"{near} of {len(chosen)} | {median(most):.2f} | {passed} of {len(chosen)} |\n"
    )


if __name__ == "__main__":
    main()
