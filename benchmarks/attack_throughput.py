"""Plays per second on all of Adult, and what a second worker adds.

    KAGEMUSHA_DATA=… python benchmarks/attack_throughput.py --out benchmarks/results/attack_throughput.csv

One play is one training of one world, one synthetic table of 30,162 rows, and the statistics of the paper's three inferences and the
support test for two targets. Both runs of a method play the same units. On a busy machine the speed-up says little: the load is in the table.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

from kagemusha.attacks.game import Game, Rules
from kagemusha.attacks.inference.registry import inferences
from kagemusha.attacks.runner import play
from kagemusha.reproduce.mia_games import CODES, ONEHOT, Sizes, adult, makers, targets

UNITS = {"stat": 60, "bayes-net": 40, "kage": 12}
ATTACKS = ("mvl-orig", "mvl-syn", "neighbour", "support")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/attack_throughput.csv"))
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer plays")
    given = parser.parse_args()
    data = adult()
    rows = []
    for name, count in UNITS.items():
        space = CODES if name == "stat" else ONEHOT
        chosen = targets(data.table, space, ("selective",))
        trainings = max(2, int(count * given.scale) // 4)
        game = Game(
            data.table,
            chosen,
            makers(data, Sizes())[name],
            inferences(ATTACKS),
            space=space,
            rules=Rules(trainings=trainings, references=trainings),
        )
        warm = Game(
            data.table, chosen, game.maker, game.inferences, space=space, rules=Rules(trainings=2, references=1), seed=9
        )
        play(warm, jobs=1)
        seconds = {}
        for jobs in (1, 2):
            if jobs == 2:
                play(warm, jobs=2)  # workers are started and have loaded what they need
            begun = time.perf_counter()
            play(game, jobs=jobs)
            seconds[jobs] = time.perf_counter() - begun
        units = len(game.units())
        rows.append(
            {
                "method": name,
                "plays": units,
                "plays a second, 1 worker": f"{units / seconds[1]:.2f}",
                "plays a second, 2 workers": f"{units / seconds[2]:.2f}",
                "speed-up": f"{seconds[1] / seconds[2]:.2f}",
                "load before": f"{os.getloadavg()[0]:.1f}",
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
