"""Our distances and guesses beside those of Anonymeter and SDMetrics: the same people, the same doubles, the same run.

    KAGEMUSHA_DATA=… python benchmarks/attack_agreement.py --work DIR

Half of Adult is synthesised; 500 of its people and 500 others are attacked. Known are eight labels and fnlwgt, secret
is the income. Both rivals add up mismatches and differences over the range; we take Euclidean distances. With a single
number both have the same nearest double, and each distance follows from the other. Anonymeter runs in an environment of
its own below DIR, since it needs numpy < 2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sdmetrics.single_table import CategoricalKNN
from sdmetrics.single_table.privacy.dcr_utils import calculate_dcr

from kagemusha.attacks.attribute import vote
from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.synthesis.outside import _decode
from kagemusha.attacks.table import GameTable, PlayedDoubles, World
from kagemusha.reproduce.mia_games import Adult, Sizes, adult, makers

HERE = Path(__file__).parent
NUMBER, SECRET = "fnlwgt", "income"
PEOPLE, ROWS = 500, 5000


def environment(work: Path) -> Path:
    """Anonymeter's own Python."""
    folder = work / "venv-anonymeter"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "anonymeter"], check=True)
        (folder / "ready").touch()
    return folder / "bin/python"


def gower(squared: np.ndarray) -> np.ndarray:
    """Mismatches and the difference of the one number, from twice the mismatches and its square."""
    mismatches = np.floor((squared + 1e-9) / 2)
    return mismatches + np.sqrt(np.maximum(0.0, squared - 2 * mismatches))


def compare(data: Adult, name: str, python: Path, work: Path) -> list[list[str]]:
    """One synthesizer: rows of the table."""
    rng = np.random.default_rng(5)
    first, second = np.array_split(rng.permutation(data.table.rows), 2)
    half = GameTable(data.table.schema, data.table.codes[first])
    sampler = makers(data, Sizes())[name].fit(World(half), rng=np.random.default_rng(6))
    doubles = sampler.sample(ROWS, rng=np.random.default_rng(7)).codes
    assert doubles is not None
    names = data.table.schema.domain.names
    number, secret = names.index(NUMBER), names.index(SECRET)
    # one range for all three tools: the whole column's
    doubles[:2, number] = data.table.codes[:, number].min(), data.table.codes[:, number].max()
    labels = [c.name for c in data.table.schema.modelled if c.name != SECRET and c.size < 100 and not hasattr(c, "low")]
    known = [*labels, NUMBER]
    people, others = half.codes[:PEOPLE], data.table.codes[second[:PEOPLE]]
    frames = [_decode(data.table.schema, codes).to_pandas() for codes in (people, others, doubles)]
    frames = [f.astype(dict.fromkeys((*labels, SECRET), object)) for f in frames]

    job: dict[str, Any] = {"known": known, "secret": SECRET, "told": str(work / "anonymeter.json")}
    for key, frame in zip(("people", "others", "doubles"), frames, strict=True):
        frame.to_csv(work / f"{key}.csv", index=False)
        job[key] = str(work / f"{key}.csv")
    subprocess.run([python, HERE / "rivals/run_anonymeter.py", json.dumps(job)], check=True)
    told = json.loads((work / "anonymeter.json").read_text())

    begun = time.process_time()
    kinds = {n: {"sdtype": "numerical" if n == NUMBER else "categorical"} for n in known}
    dcr = calculate_dcr(frames[0][known], frames[2][known], {"columns": kinds}).to_numpy() * len(known)
    slow = time.process_time() - begun
    knn = [1 - CategoricalKNN.compute(f, frames[2], key_fields=labels, sensitive_fields=[SECRET]) for f in frames[:2]]

    begun = time.process_time()
    without = tuple(n for n in names if n not in known)
    lens = Lens(Space("onehot", "minmax", without), data.table)
    made = PlayedDoubles(codes=doubles)
    ours = gower(np.array([lens.distances(made, row).min() for row in people]))
    right = [int((vote(made, codes, lens, secret, nearest=1) == codes[:, secret]).sum()) for codes in (people, others)]
    quick = time.process_time() - begun
    plain = Lens(Space("onehot", "raw", (*without, NUMBER)), data.table)
    five = [float((vote(made, c, plain, secret, nearest=5) == c[:, secret]).mean()) for c in (people, others)]

    theirs = np.array(told["distances"])
    rows = [
        ["distance to the closest double, mean", f"{ours.mean():.6f}", f"{theirs.mean():.6f}", f"{dcr.mean():.6f}"],
        [
            "largest difference from ours, over people",
            "–",
            f"{np.abs(ours - theirs).max():.1e}",
            f"{np.abs(ours - dcr).max():.1e}",
        ],
        ["income by the nearest double, right of 500 people", str(right[0]), str(told["right"]), "–"],
        ["the same for 500 others", str(right[1]), str(told["right without"]), "–"],
        [
            "income by five nearest on labels alone, people / others",
            f"{five[0]:.3f} / {five[1]:.3f}",
            "–",
            f"{knn[0]:.3f} / {knn[1]:.3f}",
        ],
        [
            "CPU seconds of distances (and guesses)",
            f"{quick:.2f}",
            f"{told['seconds']:.2f}",
            f"{slow:.2f} (distances alone)",
        ],
    ]
    return [[name, *row] for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=HERE / "results/attack_agreement.md")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    python, data = environment(given.work), adult()
    rows = [row for name in ("bayes-net", "kage") for row in compare(data, name, python, given.work)]
    lines = [
        "# Attacks beside Anonymeter and SDMetrics",
        "",
        "`python benchmarks/attack_agreement.py --work DIR`: the same people and doubles in one run. Distances are "
        "mismatches of eight labels plus the difference of fnlwgt over its range. The last comparison but one has many "
        "ties (labels alone), which each tool breaks as it likes. Anonymeter's seconds include compiling.",
        "",
        "| doubles of | figure | ours | Anonymeter | SDMetrics |",
        "| --- | --- | --- | --- | --- |",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]
    given.out.write_text("\n".join(lines), encoding="utf-8")
    sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
