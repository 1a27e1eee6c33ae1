"""Pictures as wide tables: a column for each pixel, 0 to 255, and the label where there is one.

The shape is declared, never taken from what one picture happens to be: `kagemusha schema images 28 28 --classes 10` writes the
schema, and a picture of another shape is refused.
"""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.schema import Schema
from kagemusha.schema.images import LABEL, image_shape
from kagemusha.sources.codes import CodesSource
from kagemusha.urls import scheme_of


def is_images(path: Path) -> bool:
    """Whether a path is one of pictures: an .npz file, or a folder."""
    return path.suffix.lower() == ".npz" or path.is_dir()


def holds_pictures(table: Any) -> bool:
    """Whether something that may be a path is one of pictures."""
    return isinstance(table, str | PathLike) and scheme_of(table) is None and is_images(Path(table))


def open_images(path: Path, schema: Schema) -> CodesSource:
    """The pictures of an .npz file (arrays x and y, or x_train and y_train) or of a folder of PNG files.

    In a folder, the label of a picture is the name of the folder inside it that it lies in. Errors name no picture's content.
    """
    shape = image_shape(schema)
    if shape is None:
        raise SchemaError("the schema is not one of pictures; write one with `kagemusha schema images HEIGHT WIDTH`")
    if schema.unit.column is not None:
        raise SchemaError(
            "pictures tell no persons apart: each is a person of its own, so the schema's unit has no column"
        )
    x, y = _from_folder(path, shape) if path.is_dir() else _from_npz(path)
    if x.ndim == 3:
        x = x[..., None]
    if x.ndim != 4 or x.shape[1:] != shape or x.dtype != np.uint8:
        raise DataError(f"{path}: the schema declares pictures of {' × '.join(map(str, shape))} numbers from 0 to 255")
    columns = list(x.reshape(len(x), -1).T)
    if LABEL in schema.domain:
        if y is None or y.shape != (len(x),) or y.dtype.kind not in "iu":
            raise DataError(f"{path}: the schema declares labels, but there is no array of whole numbers y beside x")
        # a label beyond the declared ones is counted with the first, as a table's would be
        classes = schema.domain.size(LABEL)
        columns.append(np.where((y >= 0) & (y < classes), y, 0).astype(np.int64))
    return CodesSource(schema, columns, name=str(path.resolve()))


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
