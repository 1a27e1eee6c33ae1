"""Every kind of generator a model file may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kagemusha.errors import DataError
from kagemusha.models.classes import ClassGenerator
from kagemusha.models.generator import Arrays, Generator
from kagemusha.models.markov import MarkovGenerator
from kagemusha.models.normal import NormalGenerator

_LOADERS: Mapping[str, Callable[[Mapping[str, Any], Arrays], Generator]] = {
    MarkovGenerator.kind: MarkovGenerator.from_arrays,
    NormalGenerator.kind: NormalGenerator.from_arrays,
    ClassGenerator.kind: ClassGenerator.from_arrays,
}


def load_generator(kind: str, meta: Mapping[str, Any], arrays: Arrays) -> Generator:
    """Rebuild a generator; an unknown kind is a DataError."""
    if kind not in _LOADERS:
        raise DataError(f"unknown kind of generator {kind!r}; known: {', '.join(_LOADERS)}")
    return _LOADERS[kind](meta, arrays)
