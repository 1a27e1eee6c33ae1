"""Real pictures beside doubles, for tables of pictures. INTERNAL: these are people's."""

from __future__ import annotations

from base64 import b64encode

import numpy as np

from kagemusha.folder.pictures import grid, png
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema.images import LABEL, image_shape

ACROSS, ROWS = 8, 10
MOST_SIDE = 120
"""Pictures with more pixels along a side are left out: the page would be too large."""


def side_by_side(real: CodedTable, synthetic: CodedTable) -> tuple[str, str] | None:
    """Two grids as data for a page, a label per row where there are labels; None if the tables are not of pictures."""
    shape = image_shape(real.schema)
    if shape is None or max(shape[:2]) > MOST_SIDE:
        return None
    first, second = (_grid(table, shape) for table in (real, synthetic))
    return first, second


def _grid(table: CodedTable, shape: tuple[int, int, int]) -> str:
    rows = []
    if LABEL in table.domain:
        labels = np.asarray(table.column(LABEL))
        for code in range(min(ROWS, table.domain.size(LABEL))):
            rows.append(np.flatnonzero(labels == code)[:ACROSS])
    else:
        rows = [np.arange(i, min(i + ACROSS, table.rows)) for i in range(0, min(ROWS * ACROSS, table.rows), ACROSS)]
    pixels = [name for name in table.domain.names if name != LABEL]
    shown = np.zeros((len(rows) * ACROSS, *shape), dtype=np.uint8)
    for i, at in enumerate(rows):
        mine = np.column_stack([table.column(name)[at] for name in pixels]).astype(np.uint8)
        shown[i * ACROSS : i * ACROSS + len(at)] = mine.reshape(-1, *shape)
    return "data:image/png;base64," + b64encode(png(grid(shown, ACROSS))).decode()
