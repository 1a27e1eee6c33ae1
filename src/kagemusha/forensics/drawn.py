"""Whether a released table can have been drawn from the released model: another one has other counts.

Rows of a model scatter around what it expects, no more than independent draws would. The counts of each column of
labels or whole numbers are held against that (χ²). Whoever puts the private table in the place of the doubles shows in
it wherever the noise of the model is larger than the scatter of its rows: small tables and small ε above all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.certificate.check import Check
from kagemusha.errors import KagemushaError
from kagemusha.folder.table_file import escaped
from kagemusha.generators.classes import ClassGenerator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.generators.sampled import SampledGenerator
from kagemusha.models.model import Model
from kagemusha.schema import Drop, Modelled, Schema

WHAT = "rows of the table"

LEAST_CHANCE = 1e-9
"""A table of the model is called another's this often, at most."""

FEWEST = 5.0
"""Rows that a cell is expected to hold; smaller ones count together."""

MOST_COLUMNS = 200
"""Columns that are looked at."""

DRAWN_CELLS = 1 << 24
"""Cells of the largest junction tree that is asked: a stranger's model must not fill the memory of whoever checks
it."""


def drawn_check(path: Path, model: Model, *, safe: bool = False) -> Check:
    """Count the table's columns and compare; `safe` if its texts were escaped for spreadsheets."""
    from kagemusha.sources import open_source

    written = escaped if safe else str
    columns = [c for c in model.schema.modelled if c.comes_back and c.name not in model.schema.formulas][:MOST_COLUMNS]
    asked = model.generator.labels if isinstance(model.generator, ClassGenerator) else model.generator
    if isinstance(asked, MarkovGenerator) and asked.field.tree.cells > DRAWN_CELLS:
        return Check(WHAT, True, "not compared with the model, which is too large to be asked here", caution=True)
    if not columns:
        return Check(
            WHAT, True, "not compared with the model: it has no columns of labels or whole numbers", caution=True
        )
    try:
        source = open_source(path, _schema_of_file(model.schema, columns, written))
        counted = source.count([(written(c.name),) for c in columns])
    except KagemushaError as error:
        return Check(WHAT, False, f"cannot be read as the schema says ({error})")
    except Exception as error:  # a stranger's table can fail in the reader's own ways
        return Check(WHAT, False, f"cannot be read as the schema says ({type(error).__name__})")
    chances = {
        c.name: upper_tail(m.counts, model.project((c.name,)), seen=_seen(model))
        for c, m in zip(columns, counted, strict=True)
    }
    worst = min(chances, key=chances.__getitem__)
    if chances[worst] < LEAST_CHANCE / len(chances):
        return Check(WHAT, False, f"were not drawn from the model: column {worst!r} has other counts")
    return Check(WHAT, True, "may well have been drawn from the model")


def upper_tail(counts: IntArray, expected: FloatArray, *, seen: float = math.inf) -> float:
    """The probability that rows drawn independently lie as far from what was expected, or farther.

    `seen` is how many drawn rows the expectation was itself read off; infinite if it is exact.
    """
    from scipy.special import gammaincc

    rows = float(counts.sum())
    expected = np.asarray(expected, dtype=np.float64) * (rows / float(expected.sum()))
    small = expected < FEWEST
    pairs = [*zip(counts[~small].tolist(), expected[~small].tolist(), strict=True)]
    if small.any():
        pairs.append((float(counts[small].sum()), max(FEWEST, float(expected[small].sum()))))
    squared = sum((count - mean) ** 2 / mean for count, mean in pairs)
    # two draws differ by the scatter of both; what is rare in the smaller one scatters even more
    wider = 1 + 4 * rows / seen
    return float(gammaincc(max(1, len(pairs) - 1) / 2, squared / wider / 2))


def _seen(model: Model) -> float:
    """Rows off which a generator reads its marginals; infinite where it knows them."""
    generator = model.generator
    return generator.reference_rows if isinstance(generator, SampledGenerator) else math.inf


def _schema_of_file(schema: Schema, columns: list[Modelled], written: Callable[[str], str]) -> Schema:
    """The schema as the synthetic file has it: nothing that was dropped, every text as it was written."""
    wanted = {c.name: replace(c.as_written(written), name=written(c.name), derived=()) for c in columns}
    kept = [c.name for c in schema.table_columns if c.in_doubles]
    return Schema([wanted.get(name) or Drop(written(name)) for name in kept])
