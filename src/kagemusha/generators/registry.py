"""Every kind of generator a model file may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kagemusha.errors import DataError
from kagemusha.generators.classes import ClassGenerator
from kagemusha.generators.decoders import DecoderGenerator
from kagemusha.generators.gan import GanGenerator
from kagemusha.generators.generator import Arrays, Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.generators.normal import NormalGenerator
from kagemusha.generators.rows import RowsGenerator

MOST_TREE_CELLS = 1 << 26
"""Cells of the largest junction tree that is loaded: half a gigabyte once it is used."""

MOST_RECORDS = 1e15
"""More records than any table has."""

_DENSE: Mapping[str, Callable[[Mapping[str, Any], Arrays], Generator]] = {
    NormalGenerator.kind: NormalGenerator.from_arrays,
    DecoderGenerator.kind: DecoderGenerator.from_arrays,
    GanGenerator.kind: GanGenerator.from_arrays,
    RowsGenerator.kind: RowsGenerator.from_arrays,
}
"""Generators no larger than their arrays, which were bounded when they were read."""

_WITH_TREES: Mapping[str, Callable[[Mapping[str, Any], Arrays, int], Generator]] = {
    MarkovGenerator.kind: MarkovGenerator.from_arrays,
    ClassGenerator.kind: ClassGenerator.from_arrays,
}
"""Generators with a junction tree, which may be far larger."""

KINDS = (*_WITH_TREES, *_DENSE)


def load_generator(kind: str, meta: Mapping[str, Any], arrays: Arrays, max_cells: int = MOST_TREE_CELLS) -> Generator:
    """Rebuild a generator; an unknown kind, or one of an impossible number of records, is a DataError.

    A junction tree of more than `max_cells` cells is `ModelTooLarge`.
    """
    if kind not in KINDS:
        raise DataError(f"unknown kind of generator {kind!r}; known: {', '.join(KINDS)}")
    total = meta["total"]
    if not (isinstance(total, int | float) and 0 < total <= MOST_RECORDS):
        raise DataError(f"the number of records must be greater than 0 and at most {MOST_RECORDS:g}")
    if kind in _WITH_TREES:
        return _WITH_TREES[kind](meta, arrays, max_cells)
    return _DENSE[kind](meta, arrays)
