"""Rules that the rows of a table suggest: orders, sums, equal columns, combinations that never occur, ranges of groups.

Rows were read, so each is a guess for a person to confirm, as every other fact of a draft. No release holds a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.columns.cells import Cells
from kagemusha.columns.labelled import Labelled
from kagemusha.columns.measured import Measured
from kagemusha.rules.unseen import EXPECTED, Suggested, name, said, suggested
from kagemusha.schema.schema import Schema

FEWEST_ROWS = 100
MOST_COLUMNS = 30
"""Of each sort: pairs of more make too many questions."""
MOST_LABELS = 200
"""Values of a category that is looked at."""
MOST = 20
"""Rules that are suggested: those that chance would break most often."""
SHARP = 3
"""Rows at the very end of a group's numbers: one that many reach is a limit, the largest of a tail is not."""


def looked_at(schema: Schema) -> tuple[list[Measured], list[Labelled]]:
    """The columns whose values are looked at: not all of a wide table, and no list that nobody reads."""
    measured = [axis for c in schema.modelled if (axis := c.axis) is not None and not axis.open_fields]
    labels = [
        found
        for c in schema.modelled
        if (found := c.as_labels) is not None and not c.open_fields and 1 < len(found.labels) <= MOST_LABELS
    ]
    return measured[:MOST_COLUMNS], labels[:MOST_COLUMNS]


def seen(schema: Schema, cells: Mapping[str, Cells]) -> list[str]:
    """Rules that all rows obey, and that chance would break; `cells` holds the values of the columns `looked_at`."""
    measured, labels = looked_at(schema)
    measured = [c for c in measured if c.name in cells]
    labels = [c for c in labels if c.name in cells]
    if not cells or len(next(iter(cells.values())).codes) < FEWEST_ROWS:
        return []
    tied = [*_sums([a for a in measured if a.sort == "number"], cells)]
    of_sums = [set(columns) for columns, _ in tied]
    found = [rule for _, rule in tied]
    found += [one for columns, one in _orders(measured, cells) if not any(columns <= those for those in of_sums)]
    for first, second in combinations(labels, 2):
        found += suggested(first, second, _table(first, second, cells))
    found += _ranges(labels, measured, cells)
    return [one.rule for one in sorted(found, key=lambda one: -one.expected)[:MOST]]


def _numbers(cells: Cells) -> NDArray[Any]:
    return np.where(cells.codes < 0, cells.numbers, np.nan).astype(np.float64)


def _orders(columns: Sequence[Measured], cells: Mapping[str, Cells]) -> Iterator[tuple[set[str], Suggested]]:
    """Pairs of the same sort of which one is never the larger, though their ranges overlap."""
    for one, other in permutations(columns, 2):
        if (one.sort, one.kind) != (other.sort, other.kind):
            continue
        a, b = _numbers(cells[one.name]), _numbers(cells[other.name])
        both = ~(np.isnan(a) | np.isnan(b))
        a, b = a[both], b[both]
        if len(a) < FEWEST_ROWS or (a > b).any() or a.max() <= b.min():
            continue
        # rows in which the first would be larger if the columns had nothing to do with each other
        expected = float((np.searchsorted(np.sort(b), a, side="left") / len(b)).sum())
        if expected >= EXPECTED:
            yield {one.name, other.name}, Suggested(f"{name(one.name)} <= {name(other.name)}", expected)


def _sums(columns: Sequence[Measured], cells: Mapping[str, Cells]) -> Iterator[tuple[set[str], Suggested]]:
    """Columns that are another one, or the sum of two, in every row."""
    numbers = {c.name: found for c in columns if np.nanstd(found := _numbers(cells[c.name])) > 0}
    explained: set[str] = set()
    for total in numbers:
        for parts in (*combinations(numbers, 1), *combinations(numbers, 2)):
            if total in parts or explained & {total, *parts}:
                continue
            off = numbers[total] - sum(numbers[part] for part in parts)
            known = ~np.isnan(off)
            if known.sum() >= FEWEST_ROWS and (np.abs(off[known]) < 1e-9).all():
                explained.add(total)
                rule = f"{name(total)} = {' + '.join(map(name, parts))}"
                yield {total, *parts}, Suggested(rule, float(known.sum()))
                break


def _table(first: Labelled, second: Labelled, cells: Mapping[str, Cells]) -> NDArray[Any]:
    shape = (first.size, second.size)
    codes = np.ravel_multi_index((cells[first.name].codes, cells[second.name].codes), shape)
    return np.bincount(codes, minlength=shape[0] * shape[1]).reshape(shape)


def _ranges(labels: Sequence[Labelled], columns: Sequence[Measured], cells: Mapping[str, Cells]) -> Iterator[Suggested]:
    """Whole numbers of a group that end sharply where those of others go on; groups with the same end in one rule."""
    for label in labels:
        codes = cells[label.name].codes
        for column in columns:
            if not column.few_whole:
                continue
            numbers = _numbers(cells[column.name])
            ends: dict[tuple[str, float], list[tuple[int, float]]] = {}
            for code in range(len(label.labels)):
                own = numbers[(codes == code) & ~np.isnan(numbers)]
                if len(own) < FEWEST_ROWS // 2:
                    continue
                for sign, end, beyond in (
                    ("<=", own.max(), np.nanmean(numbers > own.max())),
                    (">=", own.min(), np.nanmean(numbers < own.min())),
                ):
                    if (own == end).sum() >= SHARP and len(own) * beyond >= EXPECTED:
                        ends.setdefault((sign, end), []).append((code, float(len(own) * beyond)))
            for (sign, end), groups in ends.items():
                which = said(label, [code for code, _ in groups])
                yield Suggested(f"{which} implies {name(column.name)} {sign} {end:.0f}", sum(e for _, e in groups))
