"""How much of each promise an audit can prove: many tiny runs in two worlds, at (1, 10⁻²) and a risk of 10⁻⁴.

    python benchmarks/audit_power.py --out benchmarks/results/audit.csv

For methods accounted for by Gaussian DP (kage, gaussian, nigao) the implied μ is the promise itself. aim, mst and
privbayes are accounted for by zCDP, whose conversion to (ε, δ) leaves room: at (1, 10⁻²) even a single Gaussian answer
has μ = √(2ρ) = 0.4548, 85.4 % of the implied μ. "reachable" is what endless runs could prove on the table, "by answers"
and "by choices" its two parts (μ² adds up).
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from kagemusha.attacks.audit import audit
from kagemusha.attacks.worst_case import STRONGEST
from kagemusha.privacy.budget import Budget
from kagemusha.synthesizers.registry import create

RUNS = {"mst": 250_000, "kage": 25_000, "gaussian": 25_000, "nigao": 15_000, "privbayes": 200_000, "aim": 20_000}
"""Runs in each world: a run of mst ends after its only answer, one of aim takes a dozen fits."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/audit.csv"))
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer runs")
    parser.add_argument("--methods", default=",".join(RUNS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    budget = Budget(1.0, 1e-2)
    rows = []
    for method in given.methods.split(","):
        begun = time.process_time()
        runs = max(20, int(given.scale * RUNS[method]))
        found = audit(lambda method=method: create(method), budget, runs=runs, seed=given.seed, risk=1e-4)
        rows.append(
            {
                "method": method,
                "table": STRONGEST[method],
                "runs a world": runs,
                "implied mu": f"{found.promised_mu:.4f}",
                "proved mu": f"{found.found.mu:.4f}",
                "share proved": f"{found.found.mu / found.promised_mu:.3f}",
                "reachable mu": f"{found.reachable_mu:.4f}",
                "by answers": f"{found.reach[0] ** 0.5:.4f}",
                "by choices": f"{found.reach[1] ** 0.5:.4f}",
                "proved epsilon": f"{found.found.epsilon:.4f}",
                "above": found.found.mu > found.promised_mu,
                "CPU seconds": f"{time.process_time() - begun:.0f}",
            }
        )
        given.out.parent.mkdir(parents=True, exist_ok=True)
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
