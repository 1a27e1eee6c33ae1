"""AIM three times on one small table: as the paper prints it, ours, and its authors' own on mbi.

Same table, (ε, δ) and run. MBI_MECHANISMS=…/mbi/mechanisms python benchmarks/printed_aim.py --work /tmp/rivals

MBI_MECHANISMS is the folder of that name in mbi's repository. Every job is a process of its own, its CPU time whole
(imports and compilation included). Writes benchmarks/results/printed_aim.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from aim_vs_rivals import HERE, Job, run

SYSTEMS = {
    ("kagemusha", "aim"): "ours: fit by 1/σ²",
    ("kagemusha", "aim-printed"): "as printed: fit by 1/σ",
    ("mbi", "aim"): "mbi's (2.0.0)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds a job may take")
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    lines = [
        "# AIM as printed, ours, and its authors' own",
        "Made by `python benchmarks/printed_aim.py`: five small columns of Adult (30,162 rows), W(2), ε = 1, δ = 10⁻⁹, "
        f"add-remove, {chosen.seeds} runs each, mean ± sd. CPU seconds are those of the whole process; ours draw exact "
        "noise and keep a ledger, mbi's noise is floating-point. mbi's package on PyPI holds no AIM: its authors' file "
        "was taken from their repository (a92f266), without its command line and with one argument renamed for mbi "
        "2.0.0.",
        "| | 1-way | 2-way | 3-way | CPU s | ratio to ours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    ours = 0.0
    for (system, method), words in SYSTEMS.items():
        found = [
            run(Job(system, method, "adult-small", 1.0, seed), chosen.work, chosen.limit)
            for seed in range(chosen.seeds)
        ]
        for result in found:
            print(json.dumps(result), flush=True)
        ended = [r for r in found if r["finished"]]
        if not ended:
            lines.append(f"| {words} | did not end within {chosen.limit} CPU s | | | | |")
            continue
        errors = np.array([r["errors"] for r in ended])
        seconds = float(np.mean([r["cpu"] for r in ended]))
        ours = ours or seconds
        spread = errors.std(axis=0, ddof=1) if len(ended) > 1 else np.zeros(3)
        told = [f"{m:.4f} ± {s:.4f}" for m, s in zip(errors.mean(axis=0), spread, strict=True)]
        lines.append(f"| {words} | {' | '.join(told)} | {seconds:.1f} | {seconds / ours:.1f} |")
    out = HERE / "results" / "printed_aim.md"
    out.write_text("\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:]) + "\n", encoding="utf-8")
    print(out.read_text())


if __name__ == "__main__":
    main()
