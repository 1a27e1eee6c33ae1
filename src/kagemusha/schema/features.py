"""Columns as a few numbers each, their *features*: functions of codes, fixed by the declaration alone.

A labelled column gives its one-hot code, a measured one its place between the bounds (−1 to 1) and, where values may be
missing or special, a mark for each of these. Sums and products of features over all records are sums over one- and
two-way marginals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.columns.modelled import Modelled
from kagemusha.schema.schema import Schema

STEPS = 2**10
"""Features are multiples of 1/STEPS, so that every sum is an integer."""

_PAIRS_OF_CODES = 1024
"""Up to so many codes the distance between two records is looked up for every pair of codes."""


@dataclass(frozen=True, eq=False)
class Features:
    """One column's features: a row for each code, in units of 1/STEPS."""

    name: str
    labelled: bool
    table: IntArray

    @classmethod
    def of(cls, column: Modelled) -> Features:
        """The features of a declared column."""
        return cls(column.name, column.axis is None, column.feature_table(STEPS))

    @cached_property
    def statistics(self) -> IntArray:
        """What is summed over records for the column alone, in units of 1/STEPS²: features, and the place squared."""
        linear = STEPS * self.table
        return linear if self.labelled else np.column_stack([linear, self.table[:, 0] ** 2])

    @cached_property
    def largest(self) -> int:
        """The largest squared norm of a code's features."""
        return int((self.table**2).sum(axis=1).max())

    @cached_property
    def largest_distance(self) -> int:
        """The largest squared distance between two codes' statistics."""
        rows = self.statistics
        norms = (rows**2).sum(axis=1)
        if self.labelled:
            return 2 * int(norms.max())  # one-hot codes are orthogonal
        if len(rows) > _PAIRS_OF_CODES:
            return 4 * int(norms.max())
        return int((norms[:, None] + norms[None, :] - 2 * rows @ rows.T).max())

    @cached_property
    def apart(self) -> int:
        """The largest squared distance of two codes' features, or of one to nothing at all; in ones, rounded up."""
        return 2 if self.labelled else 4

    @cached_property
    def box(self) -> int:
        """The squared diagonal of the smallest box around all codes' features and the origin, rounded up."""
        return int(self.table.shape[1]) if self.labelled else 4 + int(self.table.shape[1]) - 1

    @cached_property
    def boundaries(self) -> int:
        """Edges between codes that a drawn feature may lie on.

        Of every two labels, and where a label's score is cut off.
        """
        size, width = self.table.shape
        return int(size * (size + 3) // 2 if self.labelled else size + width)


def features_of(schema: Schema) -> tuple[Features, ...]:
    """Features of every modelled column."""
    return tuple(map(Features.of, schema.modelled))


def first_moment_facts(features: Sequence[Features]) -> Mapping[str, int | tuple[int, ...]]:
    """Squared norms of what one record adds to the sums of features, and to the number of records."""
    added = STEPS**4 + sum(int((f.statistics**2).sum(axis=1).max()) for f in features)
    exchanged = sum(f.largest_distance for f in features)
    entries = 1 + sum(f.statistics.shape[1] for f in features)
    return {"added": (added,), "exchanged": (exchanged,), "entries": entries}


def cross_moment_facts(features: Sequence[Features]) -> Mapping[str, int | tuple[int, ...]]:
    """Squared norms of what one record adds to the sums of products of features."""
    added = exchanged = entries = 0
    for a, b in combinations(features, 2):
        product = a.largest * b.largest
        added += product
        exchanged += (2 if a.labelled and b.labelled else 4) * product
        entries += a.table.shape[1] * b.table.shape[1]
    return {"added": (added,), "exchanged": (exchanged,), "entries": entries}


def generation_facts(features: Sequence[Features]) -> Mapping[str, int]:
    """What rows drawn from a normal distribution of features cost depends on."""
    return {
        "width": sum(f.table.shape[1] for f in features),
        "apart": sum(f.apart for f in features),
        "box": sum(f.box for f in features),
        "boundaries": sum(f.boundaries for f in features),
    }
