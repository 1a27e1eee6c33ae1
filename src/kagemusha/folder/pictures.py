"""Doubles of pictures as one picture: a grid in a PNG file, drawn from the model alone."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from kagemusha.certificate.inventory import PICTURES
from kagemusha.models.model import Model
from kagemusha.schema.domain import LABEL

ACROSS = 10
MOST_SIDE = 4000
"""Pixels of the grid along a side; larger pictures are shown fewer at a time."""


def picture_files(model: Model, shape: tuple[int, int, int]) -> dict[str, bytes]:
    """File name → content, of a model of pictures."""
    across = max(1, min(ACROSS, MOST_SIDE // max(shape[:2])))
    codes = model.sample_codes(across * across, rng=np.random.default_rng())
    at = [model.domain.axis(name) for name in model.domain.names if name != LABEL]
    return {PICTURES: png(grid(codes[:, at].reshape(-1, *shape).astype(np.uint8), across))}


def grid(pictures: np.ndarray[Any, np.dtype[np.uint8]], across: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Pictures (count × height × width × channels) side by side, so many in a row."""
    rows = [np.concatenate(list(pictures[i : i + across]), axis=1) for i in range(0, len(pictures), across)]
    return np.concatenate(rows, axis=0)


def png(picture: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """A PNG file of one picture (height × width × 1 or 3)."""
    height, width, channels = picture.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)
    kind = 0 if channels == 1 else 2
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
