"""Private discovery: categories and bounds that a schema leaves open, found with a stated share of the budget.

Categories by partition selection: every value's count gets Gaussian noise, and values whose noisy count reaches a
threshold are released; of the rest, groups that stand out (block, chapter), where the schema says what belongs
together; what is left falls into the column's bucket for what is not listed. Bounds and bins by noisy counts on public
grids (`grid.py`). Names, kinds and whether values may be missing stay declared: a person says them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import QueryRecord
from kagemusha.privacy.events import ThresholdEvent, threshold_failure
from kagemusha.privacy.filter import DELTA_UNIT
from kagemusha.privacy.query_kinds import record_sensitivity
from kagemusha.release.curator import NOBODY, Curator, Observer, require_readable
from kagemusha.release.grid import BINS, Edges, close_column, second_grid
from kagemusha.release.release import Release, affordable
from kagemusha.release.share import WHOLE, Share
from kagemusha.schema import Category, Column, Domain, Drop, Measured, Modelled, Schema
from kagemusha.sources import OpenTable, Source

DELTA_SHARE = 0.1
"""Share of δ that pays for the thresholds of categories."""

CODES = 0.6
"""Share of a column's cost for its values where they have groups; groups hold more people and get the rest."""

MOST_CATEGORIES = 1 << 16
"""Categories of a column that are found at most; fewer where a method could not carry so many."""

COARSE = 0.3
"""Share of a measured column's cost for the coarse grid; the fine one gets the rest."""


def delta_share(*schemas: Schema) -> float:
    """The share of δ that discovery of this schema sets aside, or of all tables together."""
    return DELTA_SHARE if any(c.as_labels is not None for s in schemas for c in open_columns(s)) else 0.0


def require_discoverable(schema: Schema, share: float, accounting: Accounting, *, finite: bool) -> None:
    """Refuse, before anything is spent, what discovery cannot do."""
    if not 0 < share < 1:
        raise UsageError(f"discover must be a share of the budget between 0 and 1, got {share}")
    if not finite:
        raise UsageError("discovery needs a finite epsilon to take a share of")
    for column in open_columns(schema):
        if column.name in schema.formulas:
            raise UsageError(f"column {column.name!r} is worked out of others, so its bounds must be declared")
        named = [r.rule for r in schema.constraints if not r.guess and column.name in r.columns]
        if named and column.as_labels is not None:
            # what discovery will find may lack a value that the rule names, and then it is too late to ask
            raise UsageError(f"column {column.name!r}: the rule {named[0]!r} speaks of it, so declare its categories")
    if ACCOUNTANTS[accounting].declared:
        raise UsageError(
            "this method declares all its steps before the first one, so it cannot go on from what discovery finds: "
            "declare categories and bounds, or find them in a release of their own"
        )
    if ACCOUNTANTS[accounting].pure and delta_share(schema):
        raise PrivacyError(
            "categories cannot be discovered under pure DP: a value that one person holds would have to stay hidden "
            "with certainty. Declare the categories, or choose an accounting with δ > 0"
        )


def require_readable_open(table: OpenTable) -> None:
    """Read the table once and keep nothing: one that cannot be read must fail before anything is reserved."""
    require_readable(table.with_schema(_stand_in(table.schema)))


def largest_domain(schema: Schema, categories: int) -> Domain:
    """The largest domain that discovery may end with if it finds at most so many categories of a column."""
    more, domain = most_added(schema, categories), _stand_in(schema).domain
    return Domain(domain.names, tuple(max(1, domain.size(n) + more.get(n, 0)) for n in domain.names))


def most_added(schema: Schema, categories: int) -> dict[str, int]:
    """By how many codes each open column may grow beyond its stand-in, if so many categories of one are found."""
    found = {c.name: c for c in _stand_in(schema).modelled}
    more = {}
    for column in open_columns(schema):
        # a cell that holds several quantiles is cut off on both sides
        axis = column.axis
        more[column.name] = categories if axis is None else 2 * (axis.bins or BINS) - found[column.name].n_values
    return more


def _stand_in(schema: Schema) -> Schema:
    """The schema with stand-ins for what it leaves open: the other bucket alone, the first grid."""
    return schema.with_columns(*(c.first_cut() for c in open_columns(schema)))


class Finder:
    """Reads a table whose domain is still open, at a price; hands over to the Curator once it is closed."""

    def __init__(
        self, table: OpenTable, release: Release, *, observer: Observer = NOBODY, share: Share = WHOLE
    ) -> None:
        self._table, self._release = table, release
        self._observer, self._share = observer, share

    @property
    def schema(self) -> Schema:
        """The schema with its open facts."""
        return self._table.schema

    @property
    def total(self) -> float:
        """The whole budget of the release."""
        return self._release.filter.total

    @property
    def accounting(self) -> Accounting:
        """How costs add up in this release."""
        return self._release.accounting

    @property
    def delta_units(self) -> int:
        """What is left of the δ set aside for thresholds, in units of 10⁻¹⁸."""
        held = self._release.filter
        return held.limit.delta_units - held.spent.delta_units

    def find_values(self, name: str, cost: float, failure: float, most: int = MOST_CATEGORIES) -> list[str]:
        """The values of a labelled column that many records hold, in alphabetical order; at most so many of them.

        Sensitivity: one record holds one value, so the counts move as those of a marginal do. A value that one person
        alone holds passes the threshold with probability at most `failure`, which the event checks. If more than `most`
        pass, those with the largest noisy counts are kept: both are read off numbers that are private by then.
        """
        return self._found(name, lambda label: label, cost, failure, f"values of {name}", "", most)

    def find_groups(
        self,
        column: Category,
        level: int,
        known: Sequence[str],
        cost: float,
        failure: float,
        most: int = MOST_CATEGORIES,
    ) -> list[str]:
        """The groups of a level that many records belong to whose value is none of those `known`.

        What is known was released before. Given it, one record still counts in one group at most, so that reach and
        threshold are those of values.
        """
        listed = frozenset(known)

        def group(label: str) -> str | None:
            above = (label, *column.groups_of(label))
            # what belongs to something known is counted there
            return None if listed.intersection(above) or level >= len(above) else above[level]

        digest = hashlib.sha256(json.dumps([level, sorted(listed)]).encode()).hexdigest()
        return self._found(column.name, group, cost, failure, f"groups of {column.name}, level {level}", digest, most)

    def _found(
        self,
        name: str,
        place: Callable[[str], str | None],
        cost: float,
        failure: float,
        what: str,
        digest: str,
        most: int,
    ) -> list[str]:
        """The places of values that many records share, in alphabetical order; a value has one place at most."""
        query = QueryRecord.of("values", {"columns": (name,)}, digest)
        unit = self._release.unit.of_rows(self._share.rows)
        moves = unit.sensitivity(record_sensitivity(query.kind, {}))
        sigma = math.sqrt(moves.l2_squared / (2 * affordable(cost)))
        rows, (named, asked) = unit.rows, query.asked(what, self._share.table, self._share.rows)
        event = ThresholdEvent(
            what=named,
            sigma=sigma,
            l2_squared=moves.l2_squared,
            threshold=threshold(sigma, failure, rows),
            failure=failure,
            noise=self._release.gaussian_kind,
            rows=rows,
            query=asked,
        )

        def read(_: Sequence[int]) -> list[bytes]:
            found = self._table.count_values(name)
            sums: dict[str, int] = {}
            for label, count in zip(found.labels, found.counts.tolist(), strict=True):
                if (at := place(label)) is not None:
                    sums[at] = sums.get(at, 0) + count
            noisy = np.array([*sums.values()], dtype=np.int64) + self._release.draw(event, len(sums))
            passed = [
                (-count, label) for label, count in zip(sums, noisy.tolist(), strict=True) if count >= event.threshold
            ]
            return [json.dumps(sorted(label for _, label in sorted(passed)[:most])).encode()]

        labels: list[str] = json.loads(self._release.answers([event], read)[0])
        self._observer.passed(name, event, labels)
        return labels

    def curator(self, schema: Schema) -> tuple[Curator, Source]:
        """The same release going on behind a schema that leaves nothing open."""
        source = self._table.with_schema(schema)
        return Curator(source, self._release, observer=self._observer, share=self._share), source


def threshold(sigma: float, failure: float, rows: int = 1) -> int:
    """The smallest whole threshold that one person's `rows` rows alone pass with probability at most `failure`."""
    reach = rows + 1 + math.floor(-NormalDist().inv_cdf(failure / rows) * sigma)
    while threshold_failure(reach, sigma, rows) > failure:
        reach += 1
    return reach


def close_schema(finder: Finder, share: float, most: int = MOST_CATEGORIES, failure: float | None = None) -> Schema:
    """Close a schema with `share` of the budget, equally over the open columns.

    A column gets at most so many categories. `failure` is the δ of each labelled one; by default they share all of it.
    """
    schema = finder.schema
    columns = open_columns(schema)
    cost = share * finder.total / len(columns)
    labelled = [c for c in columns if isinstance(c, Category)]
    measured = [axis for c in columns if (axis := c.axis) is not None]
    closed: list[Column] = []
    failure = failure if failure is not None else each_failure(finder.delta_units, len(labelled))
    for column in labelled:
        closed.append(column.listing(_categories(finder, column, cost, failure, most)))
    if measured:
        closed += _bounded(finder, measured, cost)
    return schema.with_columns(*closed)


def each_failure(units: int, columns: int) -> float:
    """The δ of each of so many columns; one unit less, because a cost is rounded up to whole units."""
    return (units // columns - 1) / DELTA_UNIT if columns else 0.0


def _categories(finder: Finder, column: Category, cost: float, failure: float, most: int) -> list[str]:
    """Values; then, of those too rare to be released, their groups, small ones first, at the same δ in all."""
    if not column.depth:
        return finder.find_values(column.name, cost, failure, most)
    steps = column.depth + 1
    each = math.floor(failure * DELTA_UNIT / steps - 1) / DELTA_UNIT
    if each <= 0:
        raise UsageError(
            f"column {column.name!r}: δ is too small to be shared by {steps} levels; declare the categories"
        )
    room = max(1, most // steps)
    found = finder.find_values(column.name, CODES * cost, each, room)
    for level in range(1, steps):
        found += finder.find_groups(column, level, found, (1 - CODES) * cost / column.depth, each, room)
    return sorted(found)


def open_columns(schema: Schema) -> list[Modelled]:
    """The columns that leave something open."""
    return [c for c in schema.modelled if c.open_fields]


def _bounded(finder: Finder, columns: Sequence[Measured], cost: float) -> list[Column]:
    """Two rounds of noisy counts on public grids."""
    coarse = [c.first_cut().edges or () for c in columns]
    counts = _counts(finder, columns, coarse, COARSE * cost, "coarse public grid")
    fine = [second_grid(c, g, *found) for c, g, found in zip(columns, coarse, counts, strict=True)]
    counts = _counts(finder, columns, fine, (1 - COARSE) * cost, "fine public grid")
    return [close_column(c, g, *found) for c, g, found in zip(columns, fine, counts, strict=True)]


def _counts(
    finder: Finder, columns: Sequence[Measured], grids: Sequence[Edges], cost: float, word: str
) -> list[tuple[FloatArray, float]]:
    """Noisy counts of each column between the edges of its grid, and their noise."""
    cut = [c.cut(g) for c, g in zip(columns, grids, strict=True)]
    found = {c.name: c for c in cut}
    # nothing else is read: neither rules nor formulas are asked about
    table = [found.get(c.name) or Drop(c.name) for c in finder.schema.table_columns]
    curator, _ = finder.curator(Schema(table, finder.schema.unit, encoding=finder.schema.encoding))
    mechanism = "laplace" if ACCOUNTANTS[finder.accounting].pure else "gaussian"
    noisy = curator.measure([(c.name,) for c in cut], cost, mechanism=mechanism, word=word)
    return [(m.values[: c.n_values].astype(np.float64), m.sigma) for c, m in zip(cut, noisy, strict=True)]
