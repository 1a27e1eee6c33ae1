"""The code of a value must not depend on its company: made frames, CSV and Parquet files, held to `code_of`.

    python tests/encoding/fuzz.py --frames 100000 --files 20000

Every frame is a list of values, most of one type and some of another, in a container of a random kind; every value in
it must get the code that the reference gives it alone. Every file is written twice, with and without some records
more; the records of both must get the same codes (and those of Parquet the reference's).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from containers import DECLARED, FAMILIES, FILES, FRAMES, destroyed, frame, read_back, write

from kagemusha.columns.parse import TextReader
from kagemusha.encoding.frames import column_values, open_frame
from kagemusha.encoding.reference import code_of
from kagemusha.errors import SchemaError
from kagemusha.schema import Drop, Modelled, Schema
from kagemusha.sources import FileSource

NAMES = list(FAMILIES)
MORE_COMMON = ["int", "float", "text", "date", "bool", "big", "compact", "gap", "midnight", "datetime"]
COLUMNS = 8
"""Columns of a made file."""


class Company:
    """Draws values in company, and knows the code that each has alone."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.reader = TextReader()
        self._known: dict[Any, int] = {}

    def code(self, column: Modelled, value: Any) -> int:
        """The reference's code; kept, since the same few values come again and again."""
        key = (id(column), type(value), repr(value))
        if key not in self._known:
            self._known[key] = code_of(column, value, self.reader)
        return self._known[key]

    def pick(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[int(self.rng.integers(len(items)))]

    def values(self, most: int, more: int) -> tuple[list[Any], list[Any], set[str]]:
        """Values of one type (some missing), values of any type, and the names of all these types."""
        own = self.pick(MORE_COMMON if self.rng.random() < 0.7 else NAMES)
        odd = [self.pick(NAMES) for _ in range(more)]
        many = [self.pick(FAMILIES["gap" if self.rng.random() < 0.1 else own]) for _ in range(most)]
        return many, [self.pick(FAMILIES[name]) for name in odd], {own, *odd}


def check_frame(company: Company) -> str:
    """One frame: "held", or which container could not be built; a wrong code raises."""
    column = company.pick(DECLARED)
    many, odd, families = company.values(int(company.rng.integers(1, 6)), int(company.rng.integers(0, 4)))
    values = [*many, *odd]
    company.rng.shuffle(values)  # type: ignore[arg-type]
    container = company.pick(list(FRAMES))
    if destroyed(container, families, column):
        return "destroyed"
    made = frame(container, values)
    if made is None:
        return "not a table"
    try:
        codes = column.encode(column_values(open_frame(made), "x"), company.reader).tolist()
    except SchemaError:  # lists and records alone: no flat value is refused
        assert all(isinstance(value, dict | list) or value is None for value in values), values
        return "nested"
    expected = [company.code(column, value) for value in values]
    assert codes == expected, f"{container}: {values!r} in {column!r}: {codes}, alone {expected}"
    return "held"


def check_read_back(company: Company) -> str:
    """Texts that pandas reads from a CSV, with and without one that changes the type of all."""
    column = company.pick(DECLARED)
    safe = [t for t in FAMILIES["text"] if '"' not in t and len(t) < 17 and "1.50" not in t]
    many = [company.pick(safe if company.rng.random() < 0.5 else ["1", "5", "01", "1.0", " 1"]) for _ in range(3)]
    odd = company.pick([*safe, "", "", "x", "1.5"])
    codes = [
        column.encode(column_values(open_frame(read_back(texts)), "x"), company.reader).tolist()
        for texts in (many, [*many, odd])
    ]
    if any(spelt in getattr(column, "texts", ()) for spelt in ("01", "True")):
        return "two labels, one number"  # distinguished as texts only, and pandas leaves no text
    assert codes[1][: len(many)] == codes[0], f"read_csv: {many!r} + {odd!r} in {column!r}: {codes}"
    return "held"


def check_file(company: Company, folder: Path) -> str:
    """One file and the same with some records more."""
    container = company.pick(list(FILES))
    sets = [company.values(4, int(company.rng.integers(1, 3))) for _ in range(COLUMNS)]
    columns = [company.pick(DECLARED) for _ in sets]
    fit = [i for i, s in enumerate(sets) if not destroyed(container, s[2], columns[i]) and _fits(container, s)]
    sets, columns = [sets[i] for i in fit], [columns[i] for i in fit]
    paths = folder / f"few.{container}", folder / f"more.{container}"
    long = max((len(odd) for _, odd, _ in sets), default=0)
    few = [many for many, _, _ in sets]
    more = [[*many, *(odd * 2)[:long]] for many, odd, _ in sets]
    kept = [
        i for i in range(len(sets)) if write(container, [few[i]], paths[0]) and write(container, [more[i]], paths[1])
    ]
    if not kept:
        return "not a table"
    found = []
    for path, table in zip(paths, (few, more), strict=True):
        assert write(container, [table[i] for i in kept], path)
        schema = Schema([*(_named(columns[i], f"x{at}") for at, i in enumerate(kept)), Drop("k")])
        found.append(np.column_stack(FileSource(path, schema).records()[0]))
    for at, i in enumerate(kept):
        codes = [table[:, at].tolist() for table in found]
        what = f"{container}: {few[i]!r} + {more[i][4:]!r} in {columns[i]!r}"
        assert codes[1][:4] == codes[0], f"{what}: {codes}"
        if container.endswith("parquet"):
            expected = [company.code(columns[i], value) for value in more[i]]
            assert codes[1] == expected, f"{what}: {codes[1]}, alone {expected}"
    return "held"


def _named(column: Modelled, name: str) -> Modelled:
    from dataclasses import replace

    return replace(column, name=name)


def _fits(container: str, made: tuple[list[Any], list[Any], set[str]]) -> bool:
    # Parquet has no whole numbers of more than 64 bits: polars writes their bytes, which nothing marks as a number.
    # The text of a complex number is none that a column of numbers could be meant by.
    if container.endswith("csv"):
        return not any(isinstance(value, complex) for value in [*made[0], *made[1]])
    return not (container == "polars.parquet" and made[2] & {"huge", "unsigned"})


def run(frames: int, files: int, seed: int, *, say: bool = False) -> Counter[str]:
    """Make and check so many; an AssertionError shows the first that does not hold."""
    company = Company(seed)
    seen: Counter[str] = Counter()
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for n in range(frames):
                back = n % 10 == 9
                result = check_read_back(company) if back else check_frame(company)
                seen[f"{'read_csv' if back else 'frame'}: {result}"] += 1
                if say and n % 10_000 == 9_999:
                    print(f"{n + 1} frames, {time.monotonic() - begun:.0f} s", file=sys.stderr)
            for n in range(files):
                seen[f"file: {check_file(company, Path(folder))}"] += 1
                if say and n % 1_000 == 999:
                    print(f"{n + 1} pairs of files, {time.monotonic() - begun:.0f} s", file=sys.stderr)
    finally:
        company.reader.close()
    return seen


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=20_000, help="pairs of files, half of them CSV, half Parquet")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for what, count in sorted(run(given.frames, given.files, given.seed, say=True).items()):
        print(f"{what:40} {count:>9,}")


if __name__ == "__main__":
    main()
