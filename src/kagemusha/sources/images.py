"""Pictures as wide tables: a column for each pixel, 0 to 255, and the label where there is one.

The shape is declared, never taken from what one picture happens to be: `kagemusha schema images 28 28 --classes 10` writes the
schema, and a picture of another shape is refused.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources.coded import CodedSource

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
    import re

    found = [re.fullmatch(r"r(\d{1,6})c(\d{1,6})(?:k(\d))?", name) for name in names]
    if not found or not all(found):
        return None
    last = found[-1]
    assert last is not None
    height, width, channels = int(last[1]) + 1, int(last[2]) + 1, int(last[3] or 0) + 1
    if height * width * channels != len(names) or names != pixel_names(height, width, channels):
        return None
    return height, width, channels


def is_images(path: Path) -> bool:
    """Whether a path is one of pictures: an .npz file, or a folder."""
    return path.suffix.lower() == ".npz" or path.is_dir()


def open_images(path: Path, schema: Schema) -> CodedSource:
    """The pictures of an .npz file (arrays x and y, or x_train and y_train) or of a folder of PNG files.

    In a folder, the label of a picture is the name of the folder inside it that it lies in. Errors name no picture's content.
    """
    shape = image_shape(schema)
    if shape is None:
        raise SchemaError("the schema is not one of pictures; write one with `kagemusha schema images HEIGHT WIDTH`")
    x, y = _from_folder(path, shape) if path.is_dir() else _from_npz(path)
    if x.ndim == 3:
        x = x[..., None]
    if x.ndim != 4 or x.shape[1:] != shape or x.dtype != np.uint8:
        raise DataError(f"{path}: the schema declares pictures of {' × '.join(map(str, shape))} numbers from 0 to 255")
    columns = [np.ascontiguousarray(c) for c in x.reshape(len(x), -1).T]
    if LABEL in schema.domain:
        if y is None or y.shape != (len(x),) or y.dtype.kind not in "iu":
            raise DataError(f"{path}: the schema declares labels, but there is no array of whole numbers y beside x")
        # a label beyond the declared ones is counted with the first, as a table's would be
        classes = schema.domain.size(LABEL)
        columns.append(np.where((y >= 0) & (y < classes), y, 0).astype(np.int64))
    return CodedSource(schema, columns, name=str(path.resolve()))


def _from_npz(path: Path) -> tuple[Any, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            for pair in (("x", "y"), ("x_train", "y_train")):
                if pair[0] in file:
                    return file[pair[0]], file.get(pair[1])
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise DataError(f"{path}: not an .npz file of arrays") from None
    raise DataError(f"{path}: no array named x (or x_train) in it")


def _from_folder(path: Path, shape: tuple[int, int, int]) -> tuple[Any, Any]:
    try:
        from matplotlib.image import imread
    except ImportError:
        raise UsageError("reading PNG files needs matplotlib: pip install 'kagemusha[eval]'") from None
    files = sorted(p for p in path.rglob("*.png") if p.is_file())
    if not files:
        raise DataError(f"{path}: no PNG files in it")
    pictures = np.empty((len(files), *shape), dtype=np.uint8)
    labels: IntArray = np.zeros(len(files), dtype=np.int64)
    for i, file in enumerate(files):
        try:
            raw = np.asarray(imread(file))
        except (OSError, ValueError, SyntaxError):
            raise DataError(f"{path}: a file in it is not a PNG picture") from None
        picture = np.rint(raw * 255) if raw.dtype.kind == "f" else raw
        picture = picture[..., None] if picture.ndim == 2 else picture[..., : max(shape[2], 1)]
        if picture.shape != shape:
            raise DataError(f"{path}: a picture in it is not of the declared {' × '.join(map(str, shape))} numbers")
        pictures[i] = picture
        labels[i] = int(file.parent.name) if file.parent != path and file.parent.name.isdigit() else 0
    return pictures, labels
