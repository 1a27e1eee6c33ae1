"""Pictures as wide tables: a column for each pixel, 0 to 255, and the label where there is one.

The shape is declared, never taken from what one picture happens to be: `kagemusha schema images 28 28 --classes 10`
writes the schema. No pictures are an empty table. In a folder, a picture that cannot be read as one of that shape is a
record all the same, a black one, as a cell that cannot be read is a missing value: whether there is such a one must not
show.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.schema import Schema
from kagemusha.schema.images import LABEL, image_shape
from kagemusha.sources.codes import CodesSource
from kagemusha.sources.picture_file import picture_of
from kagemusha.sources.zipped import StrangeArrays, arrays_of


def open_images(path: Path, schema: Schema) -> CodesSource:
    """The pictures of an .npz file (arrays x and y, or x_train and y_train) or of a folder of PNG files.

    In a folder, the label of a picture is the name of the folder inside it that it lies in. Errors name no picture's
    content.
    """
    shape = image_shape(schema)
    if shape is None:
        raise SchemaError("the schema is not one of pictures; write one with `kagemusha schema images HEIGHT WIDTH`")
    if schema.unit.column is not None:
        raise SchemaError(
            "pictures tell no persons apart: each is a person of its own, so the schema's unit has no column"
        )
    x, y = _from_folder(path, shape) if path.is_dir() else _from_npz(path)
    if x.ndim and not len(x):
        x, y = np.empty((0, *shape), dtype=np.uint8), np.empty(0, dtype=np.int64)
    if x.ndim == 3:
        x = x[..., None]
    if x.ndim != 4 or x.shape[1:] != shape or x.dtype != np.uint8:
        raise DataError(f"{path}: the schema declares pictures of {' × '.join(map(str, shape))} numbers from 0 to 255")
    columns = list(x.reshape(len(x), math.prod(shape)).T)
    if LABEL in schema.domain:
        if y is None or y.shape != (len(x),) or y.dtype.kind not in "iu":
            raise DataError(f"{path}: the schema declares labels, but there is no array of whole numbers y beside x")
        # a label beyond the declared ones is counted with the first, as a table's would be
        classes = schema.domain.size(LABEL)
        columns.append(np.where((y >= 0) & (y < classes), y, 0).astype(np.int64))
    return CodesSource(schema, columns, name=str(path.resolve()))


def _from_npz(path: Path) -> tuple[Any, Any]:
    try:
        found = arrays_of(path, ("x", "y", "x_train", "y_train"))
    except StrangeArrays as error:
        raise DataError(f"{path}: not an .npz file of arrays: {error}") from None
    for pair in (("x", "y"), ("x_train", "y_train")):
        if pair[0] in found:
            return found[pair[0]], found.get(pair[1])
    raise DataError(f"{path}: no array named x (or x_train) in it")


def _from_folder(path: Path, shape: tuple[int, int, int]) -> tuple[Any, Any]:
    try:
        import matplotlib.image  # noqa: F401
    except ImportError:
        raise UsageError("reading PNG files needs matplotlib: pip install 'kagemusha[eval]'") from None
    files = sorted(p for p in path.rglob("*.png") if p.is_file())
    pictures = np.zeros((len(files), *shape), dtype=np.uint8)
    labels: IntArray = np.zeros(len(files), dtype=np.int64)
    for i, file in enumerate(files):
        picture = picture_of(file, shape)
        if picture is not None:
            pictures[i] = picture
        if file.parent != path and re.fullmatch("[0-9]{1,9}", file.parent.name):
            labels[i] = int(file.parent.name)
    return pictures, labels
