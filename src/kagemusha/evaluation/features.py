"""Codes as numbers a learning algorithm can use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kagemusha.errors import UsageError
from kagemusha.evaluation.distances import positions, span_of
from kagemusha.quality.projectable import CodedTable

Matrix = NDArray[np.float32]


def design_matrix(table: CodedTable, *, without: str | None = None) -> Matrix:
    """One row per record: one-hot labels, numbers scaled to 0 … 1, marks for missing and special ones."""
    blocks = [np.zeros((table.rows, 0), dtype=np.float32)]
    for column in table.schema.modelled:
        if column.name == without:
            continue
        codes = table.column(column.name).astype(np.int64)
        axis = column.axis
        if axis is not None:
            scaled = (positions(axis) - float(axis.low)) / span_of(axis)
            # a missing or special value gets the middle of the axis; a mark of its own beside it says which it is
            marks = np.arange(column.n_values, column.size)
            values = np.append(scaled, [0.5] * len(marks))
            blocks.append(values[codes][:, None].astype(np.float32))
            blocks.append((codes[:, None] == marks).astype(np.float32))
        else:
            block = np.zeros((table.rows, column.size), dtype=np.float32)
            block[np.arange(table.rows), codes] = 1
            blocks.append(block)
    return np.concatenate(blocks, axis=1)


def has_labels(table: CodedTable, target: str) -> bool:
    """Whether the target is classified: a label, or a number of two values. Else it is a number to predict."""
    column = table.modelled[target]
    return column.axis is None or column.n_values <= 2


def _knows(table: CodedTable, target: str) -> NDArray[np.bool_]:
    """Which rows have a target: neither missing nor, of a number, a special value that stands for no number."""
    column, codes = table.modelled[target], table.column(target)
    if column.axis is not None:
        return np.asarray(codes < column.n_values)
    return (
        np.ones(table.rows, dtype=np.bool_) if column.missing_code is None else np.asarray(codes != column.missing_code)
    )


def known_target(table: CodedTable, target: str) -> CodedTable:
    """The rows that have a target; a UsageError if none has."""
    known = _knows(table, target)
    if not known.any():
        raise UsageError(f"target {target!r} is missing or a special value in every row")
    return table if known.all() else table.take(np.flatnonzero(known))
