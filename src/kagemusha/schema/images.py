"""The schema of pictures: a column for each pixel, 0 to 255, and the label where there is one. The shape is declared."""

from __future__ import annotations

import re

from kagemusha.columns.category import Category
from kagemusha.columns.integer import Integer
from kagemusha.errors import UsageError
from kagemusha.schema.schema import Schema

LEVELS = 256
LABEL = "label"
MOST_PIXELS = 100_000


def image_schema(height: int, width: int, *, classes: int = 0, channels: int = 1) -> Schema:
    """The schema of pictures of this shape; with `classes`, the last column is a label from 0."""
    if not (height >= 1 and width >= 1 and channels in (1, 3) and height * width * channels <= MOST_PIXELS):
        raise UsageError(
            f"pictures have at least 1 × 1 pixels, 1 or 3 channels and at most {MOST_PIXELS:,} numbers, got "
            f"{height} × {width} × {channels}"
        )
    pixels = [Integer(name, lower=0, upper=LEVELS - 1) for name in pixel_names(height, width, channels)]
    labels = [Category(LABEL, categories=tuple(map(str, range(classes))), out_of_domain="clip")] if classes else []
    return Schema([*pixels, *labels])


def pixel_names(height: int, width: int, channels: int = 1) -> list[str]:
    """Row by row: r0c0, r0c1, …; with three channels r0c0k0, r0c0k1, …."""
    tail = [""] if channels == 1 else [f"k{k}" for k in range(channels)]
    return [f"r{r}c{c}{k}" for r in range(height) for c in range(width) for k in tail]


def image_shape(schema: Schema) -> tuple[int, int, int] | None:
    """Height, width and channels, if the schema is one of pictures; None otherwise."""
    names = [name for name in schema.domain.names if name != LABEL]
    found = [re.fullmatch(r"r(\d{1,6})c(\d{1,6})(?:k(\d))?", name) for name in names]
    if not found or not all(found):
        return None
    last = found[-1]
    assert last is not None
    height, width, channels = int(last[1]) + 1, int(last[2]) + 1, int(last[3] or 0) + 1
    if height * width * channels != len(names) or names != pixel_names(height, width, channels):
        return None
    return height, width, channels
