"""Model files: a zip of one JSON text and plain arrays. Loading one executes nothing.

Every array is read with pickling refused, and nothing larger than what the file's own JSON announces is unpacked.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.errors import DataError
from kagemusha.files import write_whole
from kagemusha.models.generator import Arrays, PairScores
from kagemusha.queries.interactions import Interaction, NoisyInteraction

FORMAT = "kagemusha-model/1"
_DESCRIPTION = "model.json"
_MAX_BYTES = 8 << 30
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)

_DAMAGE = (
    *(OSError, EOFError, KeyError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What reading a damaged file can raise; RuntimeError covers the encryption and packing that zipfile does not know."""


def write_model(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model file whole or not at all."""
    header = {
        "format": FORMAT,
        **description,
        "arrays": {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in arrays.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, _DESCRIPTION, json.dumps(header, indent=1, ensure_ascii=False).encode())
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            _add(archive, f"arrays/{name}.npy", part.getvalue())
    write_whole(path, buffer.getvalue())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # a fixed time stamp: the same model gives the same bytes
    archive.writestr(zipfile.ZipInfo(name, _FIXED_TIME), data, zipfile.ZIP_DEFLATED)


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The description and arrays of a model file; a damaged or foreign file is a DataError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(info.file_size for info in archive.infolist()) > _MAX_BYTES:
                raise DataError(f"model {path}: it would unpack to more than {_MAX_BYTES >> 30} GiB")
            header = json.loads(archive.read(_DESCRIPTION))
            if header.get("format") != FORMAT:
                raise DataError(f"model {path}: format {header.get('format')!r} is not {FORMAT!r}")
            arrays = {name: _array(archive, name, spec) for name, spec in header["arrays"].items()}
        return header, arrays
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"model {path}: no such file") from None
    except _DAMAGE as error:
        raise DataError(f"model {path}: not a model file ({type(error).__name__})") from None


def _array(archive: zipfile.ZipFile, name: str, spec: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    expected = np.dtype(spec["dtype"])
    if expected.hasobject:
        raise ValueError("an array of objects could carry code")
    part = io.BytesIO(archive.read(f"arrays/{name}.npy"))
    array: np.ndarray[Any, Any] = np.lib.format.read_array(part, allow_pickle=False)
    if array.dtype != expected or list(array.shape) != list(spec["shape"]):
        raise ValueError("an array is not what the description announces")
    return array


def write_interactions(interactions: Sequence[NoisyInteraction]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    arrays: dict[str, Any] = {}
    for i, released in enumerate(interactions):
        arrays[f"interaction.{i}"] = released.values
        for axis, group in enumerate(released.query.groups):
            arrays[f"interaction.{i}.group.{axis}"] = group
    return [{"clique": list(r.query.clique), "sigma": r.sigma} for r in interactions], arrays


def read_interactions(described: Sequence[Mapping[str, Any]], arrays: Arrays) -> tuple[NoisyInteraction, ...]:
    """What `write_interactions` described."""
    found = []
    for i, one in enumerate(described):
        clique = tuple(map(str, one["clique"]))
        groups = tuple(arrays[f"interaction.{i}.group.{axis}"].astype(np.int64) for axis in range(len(clique)))
        found.append(NoisyInteraction(Interaction(clique, groups), arrays[f"interaction.{i}"], float(one["sigma"])))
    return tuple(found)


def write_scores(scores: PairScores | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    if scores is None:
        return None, {}
    columns = list(scores.groups)
    arrays: dict[str, Any] = {"scores": scores.values}
    arrays |= {f"scores.group.{i}": scores.groups[name] for i, name in enumerate(columns)}
    return {"pairs": [list(p) for p in scores.pairs], "sigma": scores.sigma, "columns": columns}, arrays


def read_scores(described: Mapping[str, Any] | None, arrays: Arrays) -> PairScores | None:
    """What `write_scores` described."""
    if described is None:
        return None
    return PairScores(
        pairs=tuple(tuple(map(str, pair)) for pair in described["pairs"]),
        values=arrays["scores"],
        sigma=float(described["sigma"]),
        groups={str(n): arrays[f"scores.group.{i}"].astype(np.int64) for i, n in enumerate(described["columns"])},
    )
