"""Every kind of generator a model file may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kagemusha.errors import DataError
from kagemusha.models.generator import Arrays, Generator
from kagemusha.models.markov import MarkovGenerator
from kagemusha.models.normal import NormalGenerator

MOST_TREE_CELLS = 1 << 26
"""Cells of the largest junction tree that is loaded: half a gigabyte once it is used."""

_LOADERS: Mapping[str, Callable[[Mapping[str, Any], Arrays, int], Generator]] = {
    MarkovGenerator.kind: MarkovGenerator.from_arrays,
    NormalGenerator.kind: NormalGenerator.from_arrays,
}


def load_generator(kind: str, meta: Mapping[str, Any], arrays: Arrays, max_cells: int = MOST_TREE_CELLS) -> Generator:
    """Rebuild a generator of at most `max_cells` cells; an unknown kind is a DataError."""
    if kind not in _LOADERS:
        raise DataError(f"unknown kind of generator {kind!r}; known: {', '.join(_LOADERS)}")
    return _LOADERS[kind](meta, arrays, max_cells)
