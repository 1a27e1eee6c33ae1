"""Codes as numbers a learning algorithm can use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kagemusha.evaluation.distances import positions, span_of
from kagemusha.quality.projectable import CodedTable

Matrix = NDArray[np.float32]


def design_matrix(table: CodedTable, *, without: str | None = None) -> Matrix:
    """One row a record: one-hot labels, numbers scaled to 0 … 1, a mark for missing numbers."""
    blocks = [np.zeros((table.rows, 0), dtype=np.float32)]
    for column in table.schema.modelled:
        if column.name == without:
            continue
        codes = table.column(column.name).astype(np.int64)
        axis = column.axis
        if axis is not None:
            scaled = (positions(axis) - float(axis.low)) / span_of(axis)
            # a gap gets the middle of the axis; the mark beside it says that it is one
            values = np.append(scaled, [0.5] * (column.size - column.n_values))
            blocks.append(values[codes][:, None].astype(np.float32))
            if column.missing_code is not None:
                blocks.append((codes == column.missing_code)[:, None].astype(np.float32))
        else:
            block = np.zeros((table.rows, column.size), dtype=np.float32)
            block[np.arange(table.rows), codes] = 1
            blocks.append(block)
    return np.concatenate(blocks, axis=1)


def has_labels(table: CodedTable, target: str) -> bool:
    """Whether the target is a label to classify; else it is a number to predict."""
    return table.modelled[target].axis is None


def known_target(table: CodedTable, target: str) -> CodedTable:
    """The rows whose target is not missing."""
    missing = table.modelled[target].missing_code
    codes = table.column(target)
    if missing is None or not (codes == missing).any():
        return table
    return table.take(np.flatnonzero(codes != missing))
