"""Nigao on the P3GM paper's data: several runs of it, one of `p3gm` for its CPU time.

    python benchmarks/nigao.py --runs 3

(ε, δ) = (1, 1e-5), simulated noise, as many doubles as people (at most 20,000), scores as in `kagemusha reproduce
p3gm`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from kagemusha.reproduce.p3gm_data import IMAGES, DataSet, load
from kagemusha.reproduce.p3gm_paper import TABLE_3, TABLE_4
from kagemusha.reproduce.p3gm_runs import BUDGET, options_of
from kagemusha.reproduce.p3gm_scores import image_scores, table_scores
from kagemusha.synthesizers import create, fit

HERE = Path(__file__).parent
DATA = ("mnist", "fashion", "esr", "isolet", "adult", "credit")
MOST = 20_000


def run(data: DataSet, method: str, seed: int, **options: object) -> tuple[dict[str, float], float]:
    """Scores, and CPU seconds of the fit."""
    begun = time.process_time()
    model = fit(create(method, **options_of(method, data), **options), data.source(), BUDGET, simulation=seed)
    spent = time.process_time() - begun
    doubles = model.sample_codes(min(MOST, len(data.train)), rng=np.random.default_rng(seed))
    if data.name in IMAGES:
        return image_scores(data, doubles, seed, epochs=2, cnn=False), spent
    return table_scores(data, doubles, seed), spent


def shown(scores: list[dict[str, float]], names: tuple[str, ...]) -> str:
    """Means, and each run in brackets."""
    means = " / ".join(f"{np.mean([s[n] for s in scores]):.3f}" for n in names)
    each = ", ".join("/".join(f"{s[n]:.3f}" for n in names) for s in scores)
    return f"{means} ({each})"


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--out", type=Path, default=HERE / "results/nigao.md")
    choices = parser.parse_args()
    lines = [
        "# Nigao on the P3GM paper's data",
        "",
        f"`python benchmarks/nigao.py --runs {choices.runs}`: (1, 10⁻⁵), simulated noise, at most {MOST:,} doubles. "
        "Pictures: accuracy of an MLP after two passes; tables: AUROC / AUPRC, mean of four classifiers, fold 1 of 10. "
        "CPU seconds are those of a fit.",
        "",
        "| data | the paper's P3GM | nigao (runs) | nigao, CPU s | p3gm, CPU s | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in choices.data:
        data = load(name)
        names = ("MLP",) if name in IMAGES else ("AUROC", "AUPRC")
        paper = TABLE_4[name]["p3gm"] if name in IMAGES else TABLE_3[name]["p3gm"]
        own = [run(data, "nigao", seed) for seed in range(choices.runs)]
        begun = time.process_time()
        fit(create("p3gm", **options_of("p3gm", data)), data.source(), BUDGET, simulation=0)
        theirs, ours = time.process_time() - begun, float(np.mean([seconds for _, seconds in own]))
        printed = f"{paper:.3f}" if name in IMAGES else " / ".join(f"{x:.3f}" for x in paper)
        lines.append(
            f"| {name} | {printed} | {shown([s for s, _ in own], names)} "
            f"| {ours:.1f} | {theirs:.1f} | {theirs / ours:.1f} × |"
        )
        sys.stdout.write(lines[-1] + "\n")
        sys.stdout.flush()
        choices.out.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
