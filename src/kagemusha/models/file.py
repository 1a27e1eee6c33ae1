"""Model files: a zip of one JSON text and plain arrays. Loading one executes nothing and is bounded before it begins.

A stranger's file may lie about all its sizes. So the zip's own directory is sized first; a member counts with what it
announces, is read in pieces and never further than that; and all of them together may not unpack to more than a few
times what the file takes on disk. `write_model` keeps that rule by storing what would be packed too tightly.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kagemusha.errors import DataError
from kagemusha.files import StrangeFileError, open_regular, parse_json, write_whole
from kagemusha.generators.generator import Arrays

FORMAT = "kagemusha-model/1"
FREE_BYTES, PACKED = 16 << 20, 8
"""A file may unpack to so many bytes, and to so many times its own size beyond them."""

DTYPES = ("<f8", "<i8")
"""What arrays may be made of: floats and whole numbers of eight bytes."""

_DESCRIPTION = "model.json"
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_END = struct.Struct("<4s4H2LH")
"""The last 22 bytes of a zip without a comment: its directory's entries and bytes."""
_MOST_MEMBERS, _MOST_DIRECTORY = 60_000, 16 << 20
_ZIP64 = b"PK\x06\x07"
_PIECE = 1 << 20

_DAMAGE = (
    *(OSError, EOFError, LookupError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""What reading a damaged file can raise; RuntimeError covers the encryption and packing that zipfile does not know."""


def write_model(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model file whole or not at all."""
    plain = {n: np.asarray(a, dtype="<i8" if a.dtype.kind in "iub" else "<f8", order="C") for n, a in arrays.items()}
    header = {
        "format": FORMAT,
        **description,
        "arrays": {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in plain.items()},
    }
    buffer = io.BytesIO()
    unpacked = 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _contents(header, plain):
            unpacked += len(data)
            # what is packed more tightly than a reader would believe is stored as it is
            tight = unpacked > FREE_BYTES // 2 + PACKED // 2 * buffer.tell()
            # a fixed time stamp: the same model gives the same bytes
            info = zipfile.ZipInfo(name, _FIXED_TIME)
            archive.writestr(info, data, zipfile.ZIP_STORED if tight else zipfile.ZIP_DEFLATED)
    write_whole(path, buffer.getvalue())


def _contents(header: Mapping[str, Any], arrays: Arrays) -> Iterator[tuple[str, bytes]]:
    yield _DESCRIPTION, json.dumps(header, indent=1, ensure_ascii=False).encode()
    for name, array in arrays.items():
        part = io.BytesIO()
        np.lib.format.write_array(part, array, version=(1, 0), allow_pickle=False)
        yield f"arrays/{name}.npy", part.getvalue()


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The description and arrays of a model file; a damaged, foreign or oversized file is a DataError."""
    try:
        with open_regular(path, follow=True) as file:
            size = _checked_size(file)
            with zipfile.ZipFile(file) as archive:
                members = _members(archive, FREE_BYTES + PACKED * size)
                text = _read(archive, members.pop(_DESCRIPTION))
                header = parse_json(text)
                if header.get("format") != FORMAT:
                    raise StrangeFileError(f"format {header.get('format')!r} is not {FORMAT!r}")
                announced = {f"arrays/{name}.npy": (name, _spec(spec)) for name, spec in header["arrays"].items()}
                if set(announced) != set(members):
                    raise StrangeFileError("its arrays are not those it announces")
                arrays = {name: _array(archive, members[at], *spec) for at, (name, spec) in announced.items()}
        return header, arrays
    except FileNotFoundError:
        raise DataError(f"model {path}: no such file") from None
    except StrangeFileError as error:
        raise DataError(f"model {path}: {error}") from None
    except _DAMAGE as error:
        raise DataError(f"model {path}: not a model file ({type(error).__name__})") from None


def _checked_size(file: BinaryIO) -> int:
    """The file's size, after a look at how large a directory the zip announces: that is read as a whole."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END.size - 20))
    tail = file.read(_END.size + 20)
    mark, *_, entries, directory, _, comment = _END.unpack(tail[-_END.size :])
    if mark != b"PK\x05\x06" or comment or tail[: -_END.size].startswith(_ZIP64):
        raise StrangeFileError("not a model file (its end is not that of a plain zip)")
    if entries > _MOST_MEMBERS or directory > _MOST_DIRECTORY:
        raise StrangeFileError(f"it has more than {_MOST_MEMBERS:,} arrays, or names as long")
    return size


def _members(archive: zipfile.ZipFile, most: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name, if all are packed as we pack and announce no more than `most` bytes together."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    plain = all(info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos)
    if len(members) < len(infos) or not plain:
        raise StrangeFileError("it is not packed as a model file is")
    if sum(info.file_size for info in infos) > most:
        raise StrangeFileError(f"it would unpack to more than {most / 1e6:,.0f} MB, too much for a file of its size")
    return members


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        data = stream.read(info.file_size)
        if len(data) != info.file_size or stream.read(1):
            raise StrangeFileError("a part has another size than it announces")
    return data


def _spec(spec: Mapping[str, Any]) -> tuple[str, tuple[int, ...]]:
    dtype, shape = spec["dtype"], spec["shape"]
    whole = isinstance(shape, list) and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape)
    if dtype not in DTYPES or not whole or len(shape) > 32:
        raise StrangeFileError(f"an array is not made of {' or '.join(DTYPES)}, or has no shape")
    return dtype, tuple(shape)


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """One array, read in pieces into room of the announced size; the member must be exactly as large."""
    wrong = StrangeFileError("an array is not what the description announces")
    with archive.open(info) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise wrong
        found, fortran, kind = np.lib.format.read_array_header_1_0(stream, max_header_size=4096)
        begin = stream.tell()
        if found != shape or fortran or kind.str != dtype or info.file_size - begin != 8 * math.prod(shape):
            raise wrong
        array = np.empty(math.prod(shape), dtype=dtype)
        room, at = array.view(np.uint8), 0
        while piece := stream.read(_PIECE):
            room[at : at + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            at += len(piece)
        if at != array.nbytes:
            raise wrong
    return array.reshape(shape)
