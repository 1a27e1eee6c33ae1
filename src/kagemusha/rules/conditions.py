"""Exact conditional sampling: what a condition on raw values means for codes, and for values inside a bin.

A condition may cut through bins. Each bin is then split into pieces that lie wholly inside or outside; a code weighs as
much as its pieces inside; and a value is later drawn from those pieces only. So the rows come from the exact
conditional distribution of the model (inside a bin its density leads on to the neighbours'), and none is thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.bins import Span, spans, up_to
from kagemusha.errors import UsageError
from kagemusha.schema import Modelled, Schema
from kagemusha.schema.conditions import Both, Compare, Condition, Either, Listed, Missing, Not
from kagemusha.schema.domain import Clique
from kagemusha.schema.grammar import parse_condition
from kagemusha.schema.truth import listed_codes

MAX_PIECES = 5_000_000
"""No condition that ties columns together is laid out over more combinations than this."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """A column's codes, cut where the condition cuts; pieces are in order of their code."""

    column: Modelled
    codes: IntArray
    shares: FloatArray
    span: Span | None

    @property
    def is_cut(self) -> bool:
        """Whether any code has more than one piece."""
        return len(self.codes) > self.column.size

    def holds(self, test: Compare | Missing) -> NDArray[np.bool_]:
        """For which pieces the test holds."""
        # pieces are cut so that a test holds for all of a piece or for nothing of it
        cells = self.column.cells_of(self.codes, None if self.span is None else self.span[0])
        if isinstance(test, Missing):
            return np.asarray(self.column.lacking(cells) != test.negated)
        return self.column.truth(cells, test.operator, test.value)


@dataclass(frozen=True, eq=False)
class Group:
    """A part of the condition that ties some columns together, independent of the other parts."""

    clique: Clique
    pieces: tuple[Pieces, ...]
    inside: FloatArray
    """Over the pieces of all columns: share of the piece if it fulfils the condition, else 0."""

    def weights(self) -> FloatArray:
        """Over codes: how much of each combination fulfils the condition."""
        table = self.inside
        for axis, pieces in enumerate(self.pieces):
            first = np.searchsorted(pieces.codes, np.arange(pieces.column.size))
            table = np.add.reduceat(table, first, axis=axis)
        return table

    def narrow(self, codes: IntArray, rng: np.random.Generator) -> dict[str, Span]:
        """For rows of codes over the clique, the part of each bin to draw from, jointly for all columns."""
        if not any(p.is_cut for p in self.pieces):
            return {}
        shape = tuple(p.column.size for p in self.pieces)
        of_piece = np.ravel_multi_index(np.ix_(*(p.codes for p in self.pieces)), shape).ravel()
        order = np.argsort(of_piece, kind="stable")
        cumulative = np.concatenate([[0.0], np.cumsum(self.inside.ravel()[order])])
        wanted = np.ravel_multi_index(tuple(codes.T), shape)
        start = np.searchsorted(of_piece[order], wanted, side="left")
        end = np.searchsorted(of_piece[order], wanted, side="right")
        target = cumulative[start] + rng.random(len(codes)) * (cumulative[end] - cumulative[start])
        chosen = np.searchsorted(cumulative, target, side="right") - 1
        chosen = order[np.clip(chosen, start, end - 1)]
        index = np.unravel_index(chosen, self.inside.shape)
        return {
            name: (p.span[0][i], p.span[1][i])
            for name, p, i in zip(self.clique, self.pieces, index, strict=True)
            if p.span is not None and p.is_cut
        }


def read_where(text: str, schema: Schema, shapes: Mapping[str, FloatArray] | None = None) -> list[Group]:
    """What a condition means for this schema, as independent groups of columns.

    `shapes` say how bins lean (`bins.slopes`).
    """
    condition = parse_condition(text)
    for name in condition.columns:
        if name not in schema.domain:
            raise UsageError(f"where: {_unknown(name, schema)}; columns are {', '.join(schema.domain.names)}")
    return [group_of(schema, together, shapes) for together in _tied(_conjuncts(condition))]


def _unknown(name: str, schema: Schema) -> str:
    """Why a condition cannot speak of a column."""
    explained = {replaced: by for by, replaced in schema.replaced.items()}
    if name in explained:
        return (
            f"{name} is worked out for each double when {explained[name]} is known: speak of {explained[name]} instead"
        )
    if name in schema.formulas:
        return f"{name} is worked out for each double from other columns: speak of those instead"
    return f"no column named {name!r}"


def _conjuncts(condition: Condition) -> list[Condition]:
    """What all has to hold, however it was put in parentheses."""
    if not isinstance(condition, Both):
        return [condition]
    return [part for inner in condition.parts for part in _conjuncts(inner)]


def _tied(parts: Sequence[Condition]) -> list[list[Condition]]:
    """The parts of a conjunction, put together where they share columns."""
    groups: list[tuple[set[str], list[Condition]]] = []
    for part in parts:
        names, members = set(part.columns), [part]
        for other in [g for g in groups if g[0] & names]:
            groups.remove(other)
            names, members = names | other[0], other[1] + members
        groups.append((names, members))
    return [members for _, members in groups]


def group_of(schema: Schema, parts: Sequence[Condition], shapes: Mapping[str, FloatArray] | None = None) -> Group:
    """Conditions that all have to hold, laid out over the codes of their columns together."""
    condition: Condition = Both(tuple(parts))
    clique = schema.domain.canonical(condition.columns)
    columns = {column.name: column for column in schema.modelled}
    pieces = tuple(_pieces(columns[name], _tests(condition, name), (shapes or {}).get(name)) for name in clique)
    size = math.prod(len(p.codes) for p in pieces)
    if size > MAX_PIECES:
        raise UsageError(f"where: {' and '.join(clique)} together have {size:,} combinations, more than {MAX_PIECES:,}")
    inside = _truth(condition, clique, pieces).astype(np.float64)
    for axis, p in enumerate(pieces):
        inside = inside * p.shares.reshape([-1 if i == axis else 1 for i in range(len(pieces))])
    return Group(clique, pieces, inside)


def _truth(condition: Condition, clique: Clique, pieces: Sequence[Pieces]) -> NDArray[np.bool_]:
    if isinstance(condition, Compare | Missing):
        axis = clique.index(condition.column)
        shape = [len(p.codes) if i == axis else 1 for i, p in enumerate(pieces)]
        line = pieces[axis].holds(condition).reshape(shape)
        return np.broadcast_to(line, tuple(len(p.codes) for p in pieces))
    if isinstance(condition, Not):
        return ~_truth(condition.part, clique, pieces)
    if isinstance(condition, Listed):
        return _listed(condition, clique, pieces)
    combine = np.logical_and if isinstance(condition, Both) else np.logical_or
    truth: NDArray[np.bool_] = combine.reduce([_truth(part, clique, pieces) for part in condition.parts])
    return truth


def _listed(condition: Listed, clique: Clique, pieces: Sequence[Pieces]) -> NDArray[np.bool_]:
    """True for the combinations of codes that stand in the list; columns of labels have a piece for each code."""
    columns = [pieces[clique.index(name)].column for name in condition.columns]
    table = np.zeros([c.size for c in columns], dtype=np.bool_)
    for line in listed_codes(columns, condition):
        table[line] = True
    inside = sorted(condition.columns, key=clique.index)
    table = table.transpose([condition.columns.index(name) for name in inside])
    shape = [len(p.codes) if name in condition.columns else 1 for name, p in zip(clique, pieces, strict=True)]
    return np.broadcast_to(table.reshape(shape), tuple(len(p.codes) for p in pieces))


def _tests(condition: Condition, name: str) -> list[Compare]:
    if isinstance(condition, Not):
        return _tests(condition.part, name)
    if isinstance(condition, Both | Either):
        return [test for part in condition.parts for test in _tests(part, name)]
    return [condition] if isinstance(condition, Compare) and condition.column == name else []


def _pieces(column: Modelled, tests: Sequence[Compare], shape: FloatArray | None = None) -> Pieces:
    axis = column.axis
    if axis is None:
        shares = np.ones(column.size)
        if column.unseen_code is not None:  # no double shows it, so none can fulfil anything by it
            shares[column.unseen_code] = 0.0
        return Pieces(column, np.arange(column.size), shares, None)
    starts, ends = spans(axis, np.arange(axis.n_values))
    if axis.points is not None:  # nothing inside a bin but one number
        extra = np.arange(column.n_values, column.size)
        low, high = (np.concatenate([end, np.zeros(len(extra), end.dtype)]) for end in (starts, ends))
        return Pieces(column, np.arange(column.size), np.ones(column.size), (low, high))
    cuts = np.unique([cut for test in tests for cut in axis.cuts(test.operator, test.value)]) if tests else np.array([])
    inner = cuts[(cuts > starts[0]) & (cuts < ends[-1])].astype(starts.dtype)
    low = np.union1d(starts, inner)
    high = np.append(low[1:], ends[-1])
    codes = np.searchsorted(starts, low, side="right") - 1
    width = (ends - starts)[codes]
    slope = np.zeros(len(codes)) if shape is None else shape[codes]
    before, after = (up_to((edge - starts[codes]) / width, slope) for edge in (low, high))
    shares = after - before
    extra = np.arange(column.n_values, column.size)
    filler = np.zeros(len(extra), dtype=low.dtype)
    # codes without a value (missing) get an empty span that nothing is drawn from
    return Pieces(
        column,
        np.concatenate([codes, extra]),
        np.concatenate([shares, np.ones(len(extra))]),
        (np.concatenate([low, filler]), np.concatenate([high, filler + 1])),
    )
