"""Tables that must be right, as files of a release: noisy counts with intervals, and what the doubles have instead.

`count` is what was measured: the real count plus noise, so it may be below 0 and its sums are not exactly those of
another table. `low` and `high` hold the real count in 95 of 100 cells. `doubles` is the expected count of doubles: of
all tables that a population can have the one nearest to what was measured.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.certificate.check import Check
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.folder.table_file import escaped
from kagemusha.models.model import Model
from kagemusha.privacy.accountants import ACCOUNTANTS
from kagemusha.schema.domain import Clique

HEADER = ("count", "low", "high", "doubles")

GAUSSIAN_95, LAPLACE_95 = 1.96, 2.1184
"""Deviations that hold 95 of 100 draws: of Laplace noise −ln(0.05)/√2."""


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """One of them."""

    clique: Clique
    labels: Sequence[Sequence[str]]
    counts: IntArray
    sigma: float
    reach: float
    """How far the noise goes in 95 of 100 cells."""
    doubles: FloatArray

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cell by cell: what it is called, its count, where the real one lies, and the doubles' count."""
        cells = zip(self.counts.ravel().tolist(), self.doubles.ravel().tolist(), strict=True)
        for names, (count, doubles) in zip(product(*self.labels), cells, strict=True):
            low, high = (max(0, end) for end in (math.floor(count - self.reach), math.ceil(count + self.reach)))
            yield (*names, str(count), str(low), str(high), f"{doubles:.1f}")

    def file_name(self, number: int) -> str:
        """A name that any system can have; names of columns in other letters are left out of it."""
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", "-".join(self.clique)).strip("-")[:60].strip("-")
        return f"tables/{number}-{plain}.csv" if plain else f"tables/{number}.csv"


def published_tables(model: Model) -> list[PublishedTable]:
    """The tables that the model's schema requires, from what was measured for them."""
    domain, pure = model.domain, ACCOUNTANTS[model.certificate.accounting].pure
    cliques = [domain.canonical(one.table) for one in model.schema.demands.required]
    found = []
    # they were measured before anything else
    for clique, one in zip(cliques, model.measurements, strict=False):
        labels = [model.schema.modelled_column(name).code_names for name in clique]
        reach = (LAPLACE_95 if pure else GAUSSIAN_95) * one.sigma
        found.append(PublishedTable(clique, labels, one.values, one.sigma, reach, model.project(clique)))
    return found


def table_files(model: Model, *, safe: bool = False) -> dict[str, bytes]:
    """File name → content; `safe` if spreadsheets must not run anything in it."""
    return {one.file_name(i): _text(one, safe) for i, one in enumerate(published_tables(model), 1)}


def _text(one: PublishedTable, safe: bool) -> bytes:
    written = escaped if safe else str
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*map(written, one.clique), *HEADER])
    for row in one.rows():
        names, numbers = row[: len(one.clique)], row[len(one.clique) :]
        writer.writerow([*map(written, names), *numbers])
    return text.getvalue().encode("utf-8")


def tables_check(folder: Path, files: Sequence[str], model: Model, *, safe: bool) -> Check | None:
    """Every required table is there, says what was measured, and the doubles' counts are the model's; None for none."""
    what = "tables that must be right"
    wanted = table_files(model, safe=safe)
    cliques = [model.domain.canonical(one.table) for one in model.schema.demands.required]
    if [m.clique for m in model.measurements[: len(cliques)]] != cliques:
        return Check(what, False, "the model does not hold what was measured of them")
    if set(wanted) != set(files):
        return Check(what, False, "are not those that the schema requires")
    if not wanted:
        return None
    for name, content in wanted.items():
        try:
            same = _same(read_regular(folder / name).decode("utf-8"), content.decode("utf-8"))
        except (StrangeFileError, OSError, ValueError, csv.Error) as error:
            return Check(what, False, f"{name} cannot be read ({type(error).__name__})")
        if not same:
            return Check(what, False, f"{name} does not say what the model holds")
    return Check(what, True, "say what was measured, and what the doubles have")


def _same(given: str, wanted: str) -> bool:
    """Equal, but for the last digit of the doubles' counts: another processor may round that otherwise."""
    rows, ours = (list(csv.reader(io.StringIO(text, newline=""))) for text in (given, wanted))
    if len(rows) != len(ours) or any(a[:-1] != b[:-1] for a, b in zip(rows, ours, strict=True)) or rows[0] != ours[0]:
        return False
    ends = np.array([[float(a[-1]), float(b[-1])] for a, b in zip(rows[1:], ours[1:], strict=True)]).reshape(-1, 2)
    return bool(np.allclose(ends[:, 0], ends[:, 1], rtol=1e-6, atol=0.11))
