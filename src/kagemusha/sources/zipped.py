"""Arrays of an .npz file from anywhere: sizes are compared before anything is unpacked, and nothing is executed."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.files import StrangeFileError, open_regular

FREE, TIMES = 256 << 20, 64
"""A file may unpack to so many bytes, and so many times its own size more."""


class StrangeArrays(ValueError):
    """A file that is not read as arrays; the text says why and quotes nothing."""


def arrays_of(path: Path, names: Collection[str]) -> dict[str, Any]:
    """The arrays of these names that are in an .npz file."""
    try:
        with open_regular(path, follow=True) as file, zipfile.ZipFile(file) as archive:
            found = {n: info for n in names for info in archive.infolist() if info.filename == f"{n}.npy"}
            if sum(info.file_size for info in found.values()) > FREE + TIMES * path.stat().st_size:
                raise StrangeArrays("it unpacks to far more than its own size")
            return {name: _array(archive, info) for name, info in found.items()}
    except StrangeArrays:
        raise
    except StrangeFileError as error:
        trouble = f"it {error}"
    except OSError as error:
        trouble = error.strerror or "it cannot be read"
    except Exception:  # zipfile, zlib and numpy have many ways to give up, and quote what they found
        trouble = "it is damaged, or of another kind"
    raise StrangeArrays(trouble)


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, kind = read(member)
        size = math.prod(shape) * kind.itemsize
        if kind.hasobject or kind.fields is not None or kind.itemsize == 0 or size > info.file_size:
            raise StrangeArrays("an array in it is not of plain numbers, or announces more than there is")
        data = member.read(size + 1)
    if len(data) != size:
        raise StrangeArrays("an array in it is not as long as it announces")
    return np.frombuffer(data, dtype=kind).reshape(shape, order="F" if by_columns else "C")
