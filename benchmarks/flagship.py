"""Kage against our own AIM in one process, imports and compilation left out, for every budget.

    KAGEMUSHA_DATA=… python benchmarks/flagship.py [--seeds 3]

Simulated noise with fixed seeds, so that the figures can be had again. Writes benchmarks/results/flagship.md.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from aim_vs_rivals import errors
from kagemusha.privacy.budget import Budget
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from tables import TABLES, declared

EPSILONS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def measure(table: str, method: str, epsilon: float, seeds: int) -> np.ndarray:
    """CPU and wall seconds of the fit, then the 1-, 2- and 3-way error of generated rows; means over seeds."""
    codes, sizes = TABLES[table]()
    schema = declared(table, sizes)
    frame = pa.table({name: codes[:, i] for i, name in enumerate(schema.names)})
    found = []
    for seed in range(seeds):
        cpu, wall = time.process_time(), time.perf_counter()
        model = fit(create(method), frame, Budget(epsilon, 1e-9), schema=schema, simulation=seed)
        cost = [time.process_time() - cpu, time.perf_counter() - wall]
        rows = model.sample_codes(len(codes), rng=np.random.default_rng(seed))
        found.append([*cost, *errors(codes, rows, sizes)])
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="runs each; one is made where ε is 100 or more")
    seeds = parser.parse_args().seeds
    for method in ("kage", "aim"):
        measure("bank", method, 10.0, 1)  # compiles, or loads what was compiled
    load = os.getloadavg()[0]
    lines = [
        "# Kage against our own AIM",
        "",
        f"`python benchmarks/flagship.py --seeds {seeds}` on {os.cpu_count()} cores, load {load:.1f} at the start. One "
        "process, compiled before; CPU and wall seconds are those of the fit. δ = 1e-9, add-remove, simulated noise, "
        f"error of generated rows: 1-way / 2-way / 3-way. {seeds} runs each, one where ε ≥ 100.",
        "",
        "| table | ε | kage | CPU s | aim | CPU s | aim ÷ kage: CPU | wall | 2-way | 3-way |",
        "|" + " --- |" * 10,
    ]
    for table, epsilons in (("adult-wide", (1.0,)), ("adult", EPSILONS), ("bank", EPSILONS)):
        for epsilon in epsilons:
            runs = seeds if epsilon < 100 else 1
            kage, aim = (measure(table, method, epsilon, runs) for method in ("kage", "aim"))
            ratio = aim / kage
            told = [" / ".join(f"{e:.4f}" for e in one[2:]) for one in (kage, aim)]
            lines.append(
                f"| {table} | {epsilon:g} | {told[0]} | {kage[0]:.2f} | {told[1]} | {aim[0]:.2f} "
                f"| {ratio[0]:.1f} | {ratio[1]:.1f} | {ratio[3]:.2f} | {ratio[4]:.2f} |"
            )
            print(lines[-1], flush=True)
    Path(__file__).with_name("results").joinpath("flagship.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
