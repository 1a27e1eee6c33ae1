"""The schema of pictures: a column for each pixel, 0 to 255, and the label where there is one.

The shape is declared.
"""

from __future__ import annotations

from kagemusha.columns.category import Category
from kagemusha.columns.integer import Integer
from kagemusha.errors import UsageError
from kagemusha.schema.domain import LABEL as LABEL
from kagemusha.schema.domain import pixel_names
from kagemusha.schema.schema import Schema

LEVELS = 256
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


def image_shape(schema: Schema) -> tuple[int, int, int] | None:
    """Height, width and channels, if the schema is one of pictures; None otherwise."""
    return schema.domain.picture_shape
