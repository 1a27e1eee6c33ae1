"""Doubles that obey: the one place through which the rows of every generator pass.

Codes first. A Markov field draws around the structural zeros of the rules exactly. From other generators, and where one
is too large for the field, rows that hit one are drawn again, a bounded number of times; what is left takes the columns
of the broken rules from a row that obeys and is alike. Then values: drawn inside the bins with densities that lead on
from bin to bin, and again for rows that break a rule by the values they would show, at last squeezed into what the
orders leave open. No row is ever dropped, none that breaks a rule leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.bins import Span, own_codes, slopes, spans
from kagemusha.columns.cells import Cells
from kagemusha.encoding import Encoder
from kagemusha.encoding.rules import holds
from kagemusha.errors import DataError, ModelTooLarge, UsageError
from kagemusha.generators.generator import Evidence, Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.models.unlisted import UnlistedValues
from kagemusha.rules.conditions import Group
from kagemusha.rules.donors import choose_donors
from kagemusha.rules.squeeze import squeeze
from kagemusha.rules.structural_zeros import StructuralZeros, hits
from kagemusha.rules.witness import witness
from kagemusha.rules.zeros_of_rules import zeros_of_rules
from kagemusha.schema import Measured, Schema
from kagemusha.schema.constraints import Inequality
from kagemusha.schema.domain import Clique
from kagemusha.schema.laws import in_force, substituted

FRESH_ROUNDS = 8
FRESH_PER_ROUND = 4
"""Rows drawn for each one that is missing."""
REDRAWS = 12
"""Times that values are drawn again inside their bins before they are squeezed."""
REFERENCE = 1 << 16
"""Rows off which marginals are read where no field knows them."""


class Doubles:
    """Draws rows of a generator under the rules of a schema."""

    def __init__(self, schema: Schema, generator: Generator) -> None:
        self.schema, self.generator, self.domain = schema, generator, schema.domain
        self._encoder = Encoder(schema)
        self._rules = in_force(schema)
        self._unseen = UnlistedValues(schema, generator)

    @cached_property
    def zeros(self) -> list[StructuralZeros]:
        """What the rules rule out on the level of codes."""
        return zeros_of_rules(self.schema, self.generator.project) if self._rules else []

    @cached_property
    def _open(self) -> list[StructuralZeros]:
        """The structural zeros that the generator itself does not know."""
        if not isinstance(self.generator, MarkovGenerator):
            return self.zeros
        known = self.generator.field.potentials
        return [
            zero
            for zero in self.zeros
            if zero.clique not in known or not np.isneginf(known[zero.clique][zero.impossible]).all()
        ]

    @cached_property
    def _reference(self) -> IntArray:
        return self.codes(REFERENCE, rng=np.random.default_rng(0))

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over each clique, rules included."""
        if self._open:
            return [self._counted(clique) for clique in cliques]
        tables = self.generator.project_many(cliques)
        return [self._unseen.moved(table, clique) for table, clique in zip(tables, cliques, strict=True)]

    def _counted(self, clique: Clique) -> FloatArray:
        flat = self.domain.flat(clique, self._reference.T)
        counts = np.bincount(flat, minlength=self.domain.cells(clique))
        counts_of_total = counts * (self.generator.total / REFERENCE)
        return np.asarray(counts_of_total, dtype=np.float64).reshape(self.domain.shape(clique))

    # codes

    def codes(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Codes of rows that hit no structural zero and fulfil `where`."""
        codes, with_zeros = self._drawn(rows, rng, where or {})
        return self._unseen.shown(codes if with_zeros else self._mended(codes, rng, where or {}), rng)

    def listed(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """The codes with a listed category in the place of every one that nobody listed."""
        return self._unseen.shown(codes, rng)

    def _drawn(self, rows: int, rng: np.random.Generator, where: Evidence) -> tuple[IntArray, bool]:
        """Rows of the generator, and whether they avoid every structural zero.

        Rows under a condition scatter more than rows without, which are traded until counts fit. So where the rules are
        the only condition, rows are drawn without it, and those that hit one once more, around it: together they
        have the distribution of rows drawn around it at once.
        """
        if where or not self._open or not isinstance(self.generator, MarkovGenerator):
            return self._around(rows, rng, where)
        codes = self.generator.sample(rows, rng=rng)
        bad = np.flatnonzero(hits(self._open, self.domain, codes))
        if not len(bad):
            return codes, True
        codes[bad], clear = self._around(len(bad), rng, where)
        return codes, clear

    def _around(self, rows: int, rng: np.random.Generator, where: Evidence) -> tuple[IntArray, bool]:
        """Rows drawn around as many structural zeros as the field has room for, and whether those are all."""
        zeros = sorted(self._open, key=lambda zero: zero.impossible.size)
        while isinstance(self.generator, MarkovGenerator) and zeros:
            try:
                evidence = _joined(where, zeros)
                return self.generator.sample(rows, rng=rng, where=evidence), len(zeros) == len(self._open)
            except ModelTooLarge:
                zeros.pop()  # the largest is kept by drawing
        return self.generator.sample(rows, rng=rng, where=where or None), False

    def _mended(self, codes: IntArray, rng: np.random.Generator, where: Evidence) -> IntArray:
        bad = np.flatnonzero(hits(self._open, self.domain, codes)) if self._open else np.zeros(0, dtype=np.int64)
        codes = codes.copy() if len(bad) else codes
        for _ in range(FRESH_ROUNDS):
            if not len(bad):
                return codes
            try:
                fresh, _ = self._drawn(min(FRESH_PER_ROUND * len(bad) + 64, 1 << 18), rng, where)
            except UsageError:  # only so many rows were released: those that obey lend to the others
                break
            fresh = fresh[~hits(self._open, self.domain, fresh)][: len(bad)]
            codes[bad[: len(fresh)]] = fresh
            bad = bad[len(fresh) :]
        return self._borrowed(codes, bad, rng, where) if len(bad) else codes

    def _borrowed(self, codes: IntArray, bad: IntArray, rng: np.random.Generator, where: Evidence) -> IntArray:
        """Rows that are left: the columns of each broken set of rules come from a row that obeys them."""
        for names, zeros in _tied(self._open):
            axes = np.array([self.domain.axis(name) for name in names])
            broken = hits(zeros, self.domain, codes)
            donors = np.flatnonzero(~broken)
            if not len(donors):
                shares = {name: self.generator.project((name,)) for name in names}
                found = self._witness(names, zeros, shares, rng)
                if found is None:
                    raise DataError(f"no double obeys {' and '.join(repr(w.rule) for w in zeros)} together")
                codes[np.ix_(np.flatnonzero(broken), axes)] = found
                continue
            wanted = np.flatnonzero(broken)
            codes[np.ix_(wanted, axes)] = codes[np.ix_(choose_donors(codes, wanted, donors, axes, rng), axes)]
        outside = ~_possible(self.domain, codes[bad], where)
        if outside.any():  # a condition and the rules speak of the same columns
            good = np.flatnonzero(~hits(self._open, self.domain, codes) & _possible(self.domain, codes, where))
            if not len(good):
                raise UsageError("where: no double can fulfil this condition and the rules of the schema")
            codes[bad[outside]] = codes[rng.choice(good, int(outside.sum()))]
        return codes

    def _witness(
        self, names: Sequence[str], zeros: Sequence[StructuralZeros], shares: Mapping[str, FloatArray], rng: Any
    ) -> Any:
        try:
            return witness(self.domain, names, zeros, shares, rng)
        except TimeoutError:
            return None

    # values

    def cells(self, codes: IntArray, *, rng: np.random.Generator, groups: Sequence[Group] = ()) -> dict[str, Cells]:
        """Values of drawn codes that fulfil the conditions of `groups`: every rule is obeyed, some codes may change."""
        where = {group.clique: group.weights() for group in groups}
        codes = self._unseen.shown(self._mended(codes, rng, where), rng)
        cells = self._values(codes, groups, rng)
        if not self._rules and not self.schema.working_order:
            return cells
        bad = self._breaking(cells)
        codes = codes.copy() if len(bad) else codes
        for _ in range(FRESH_ROUNDS):
            if not len(bad):
                return cells
            bad = self._redrawn(cells, codes, bad, groups, rng)
            if len(bad):  # such codes leave no room: others take their place
                codes[bad] = self.codes(len(bad), rng=rng, where=where)
                _put(cells, bad, self._values(codes[bad], groups, rng))
                bad = bad[self._breaking(_some(cells, bad))]
        return self._copied(cells, bad, rng) if len(bad) else cells

    def _redrawn(
        self, cells: dict[str, Cells], codes: IntArray, bad: IntArray, groups: Sequence[Group], rng: np.random.Generator
    ) -> IntArray:
        """New values inside the same bins; the rows for which there were none."""
        for attempt in range(REDRAWS + 1):
            if not len(bad):
                break
            fresh = self._values(codes[bad], groups, rng, squeezed=attempt == REDRAWS)
            _put(cells, bad, fresh)
            bad = bad[self._breaking(fresh)]
        return bad

    def _values(
        self, codes: IntArray, groups: Sequence[Group], rng: np.random.Generator, *, squeezed: bool = False
    ) -> dict[str, Cells]:
        within: dict[str, Span] = {}
        for group in groups:
            within |= group.narrow(codes[:, [self.domain.axis(name) for name in group.clique]], rng)
        if squeezed and self._orders:
            measured = self.schema.measured
            wide = {n: within.get(n) or self._spans(measured[n], codes) for law in self._orders for n in law.factors}
            there = {n: codes[:, self.domain.axis(n)] < measured[n].n_values for n in wide}
            within |= squeeze(self._orders, {n: measured[n] for n in wide}, wide, there, rng)
        return self._encoder.draw(codes, rng=rng, within=within, shapes=self.shapes)

    @cached_property
    def shapes(self) -> dict[str, FloatArray]:
        """How densities lean inside bins, from the model's own counts of each column: what was released tells it."""
        measured = [c for c in self.schema.measured.values() if c.points is None and c.n_values > 2]
        return {c.name: slopes(c, self.generator.project((c.name,))) for c in measured if not own_codes(c)}

    def _spans(self, column: Measured, codes: IntArray) -> Span:
        return spans(column, np.minimum(codes[:, self.domain.axis(column.name)], column.n_values - 1))

    @cached_property
    def _orders(self) -> list[Inequality]:
        found = (substituted(self.schema, r.law) for r in self._rules if isinstance(r.law, Inequality))
        return [law for law in found if law is not None and law.factors]

    def _breaking(self, cells: dict[str, Cells]) -> IntArray:
        """Rows that break a rule, or have a gap where the schema allows none."""
        bad = np.zeros(len(next(iter(cells.values())).codes), dtype=np.bool_)
        for rule in self._rules:
            if all(name in cells for name in rule.columns):
                bad |= ~holds(self.schema, rule.law, cells)
        for target, _ in self.schema.working_order:
            column = self.schema.axis(target)
            if not column.missing:
                bad |= cells[target].codes == len(column.special)
        return np.flatnonzero(bad)

    def _copied(self, cells: dict[str, Cells], bad: IntArray, rng: np.random.Generator) -> dict[str, Cells]:
        good = np.setdiff1d(np.arange(len(next(iter(cells.values())).codes)), bad)
        if not len(good):
            broken = [
                repr(rule.rule) for rule in self._rules if not holds(self.schema, rule.law, _some(cells, bad)).all()
            ]
            raise DataError(f"no values of the model obey {' and '.join(broken)}; are the columns' bounds too narrow?")
        _put(cells, bad, _some(cells, rng.choice(good, len(bad))))
        return cells


def _some(cells: dict[str, Cells], rows: Any) -> dict[str, Cells]:
    return {name: own[rows] for name, own in cells.items()}


def _put(cells: dict[str, Cells], rows: IntArray, fresh: dict[str, Cells]) -> None:
    for name, own in cells.items():
        own.put(rows, fresh[name])


def _joined(where: Evidence, zeros: Iterable[StructuralZeros]) -> dict[Clique, FloatArray]:
    joined: dict[Clique, FloatArray] = dict(where)
    for zero in zeros:
        joined[zero.clique] = np.where(zero.impossible, 0.0, joined.get(zero.clique, 1.0))
    return joined


def _possible(domain: Any, codes: IntArray, where: Evidence) -> NDArray[np.bool_]:
    found = np.ones(len(codes), dtype=np.bool_)
    for clique, weights in where.items():
        found &= weights[tuple(codes[:, domain.axis(name)] for name in clique)] > 0
    return found


def _tied(zeros: Sequence[StructuralZeros]) -> list[tuple[list[str], list[StructuralZeros]]]:
    """Structural zeros put together where they share columns."""
    groups: list[tuple[list[str], list[StructuralZeros]]] = []
    for zero in zeros:
        names, members = list(zero.clique), [zero]
        for other in [g for g in groups if set(g[0]) & set(names)]:
            groups.remove(other)
            names, members = list(dict.fromkeys([*other[0], *names])), other[1] + members
        groups.append((names, members))
    return groups
