"""One PNG file, which may be anything: looked at before it is unpacked."""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kagemusha.files import StrangeFileError, read_regular

_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_BESIDE = 1 << 20
"""Bytes that a PNG may have besides its pixels."""


def picture_of(path: Path, shape: tuple[int, int, int]) -> NDArray[np.uint8] | None:
    """The pixels of a PNG file (height × width × channels), if it can be read and has this shape."""
    height, width, channels = shape
    try:
        # four channels of sixteen bits each, hardly packed
        data = read_regular(path, _BESIDE + 16 * height * width, follow=True)
    except (OSError, StrangeFileError):
        return None
    # what a header announces decides how much memory is taken for it
    if data[: len(_HEAD)] != _HEAD or data[len(_HEAD) :][:8] != struct.pack(">II", width, height):
        return None
    try:
        from matplotlib.image import imread

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = np.asarray(imread(io.BytesIO(data), format="png"))
    except Exception:  # the decoder has many ways to give up
        return None
    picture = np.rint(raw * 255) if raw.dtype.kind == "f" else raw
    picture = picture[..., None] if picture.ndim == 2 else picture[..., :channels]
    return picture.astype(np.uint8) if picture.shape == shape else None
