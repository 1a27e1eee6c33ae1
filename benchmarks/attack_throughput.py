"""Plays per second on all of Adult, and what a second worker adds.

    KAGEMUSHA_DATA=… python benchmarks/attack_throughput.py --out benchmarks/results/attack_throughput.csv

One play is one training of one world, one synthetic table of 30,162 rows, and the statistics of the paper's three
inferences and the support test for one target. Both runs of a method train the same way; starting workers is part of
the time. Every process computes on one thread. On a busy machine the speed-up says little, so CPU seconds stand beside
it: a second worker should hardly add to them.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import csv
import resource
import time
from pathlib import Path

from kagemusha.attacks.game import Game, Rules
from kagemusha.attacks.inference.registry import inferences
from kagemusha.attacks.runner import play
from kagemusha.reproduce.mia_games import CODES, ONEHOT, Sizes, adult, makers, targets

UNITS = {"stat": 3200, "bayes-net": 1600, "kage": 120}
"""Plays of each method: half a minute to a minute each with one worker."""
ATTACKS = ("mvl-orig", "mvl-syn", "neighbour", "support")


def cpu() -> float:
    """CPU seconds of this process and of workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/attack_throughput.csv"))
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer plays")
    given = parser.parse_args()
    data = adult()
    rows = []
    for name, count in UNITS.items():
        space = CODES if name == "stat" else ONEHOT
        trainings = max(2, int(count * given.scale) // 4)
        rules = Rules(trainings=trainings, references=trainings)
        chosen, maker = targets(data.table, space, ("selective",)), makers(data, Sizes())[name]
        game = Game(data.table, chosen, maker, inferences(ATTACKS), space=space, rules=rules)
        runs = len(game.runs())
        load = os.getloadavg()[0]
        seconds, spent = {}, {}
        for jobs in (1, 2):
            begun, before = time.perf_counter(), cpu()
            play(game, jobs=jobs)
            seconds[jobs], spent[jobs] = time.perf_counter() - begun, cpu() - before
        rows.append(
            {
                "method": name,
                "plays": runs,
                "plays a second, 1 worker": f"{runs / seconds[1]:.2f}",
                "plays a second, 2 workers": f"{runs / seconds[2]:.2f}",
                "speed-up": f"{seconds[1] / seconds[2]:.2f}",
                "CPU s, 1 worker": f"{spent[1]:.1f}",
                "CPU s, 2 workers": f"{spent[2]:.1f}",
                "plays a CPU second": f"{runs / spent[1]:.2f}",
                "load before": f"{load:.1f}",
                "cores": os.cpu_count(),
            }
        )
        given.out.parent.mkdir(parents=True, exist_ok=True)
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
