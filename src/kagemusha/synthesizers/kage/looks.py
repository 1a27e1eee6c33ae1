"""The looks at everything, with which kage begins: every column, then how far every pair is from independence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.queries.interactions import GroupedError, Interaction
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE, gaussian_sigma
from kagemusha.synthesizers.kage.choice import Pairs
from kagemusha.synthesizers.kage.dependence import Dependence, Levels, column_errors, dependence
from kagemusha.synthesizers.kage.grouping import merge
from kagemusha.synthesizers.kage.resolution import FELT, kept, resolved
from kagemusha.synthesizers.kage.state import Measurements, ordered_codes

ALONE = 2.0
"""A code gets a place of its own in the model above this many deviations of a typical pair cell."""

ORDERED_ALONE = 0.5
"""The same for the groups of neighbours of an ordered column."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What the looks at everything showed: columns, and how far every pair is from independence. All of it released."""

    marginals: Sequence[NoisyMarginal]
    known: Measurements
    queries: Sequence[Interaction]
    """One for each pair."""
    scores: NoisyVector | None
    """None where there is no pair."""
    typical: float
    """The noise that a cell of a pair may have."""
    products: Sequence[FloatArray]
    """What each pair would be if its columns were independent, over the model's groups."""
    dependence: Dependence
    rest: FloatArray
    """What the wide groups of each pair's question hide, in records."""
    groups: Mapping[str, IntArray]
    """Those that the scores were measured over."""

    @classmethod
    def of_columns(cls, marginals: Sequence[NoisyMarginal], known: Measurements) -> Looks:
        """Where there is no pair to look at."""
        none = np.zeros(0)
        return cls(
            marginals, known, (), None, 0.0, (), Dependence(none, none, none, none, none), none, known.groups
        )  # fmt: skip

    @property
    def pairs(self) -> list[Clique]:
        """The pairs that were looked at."""
        return [query.clique for query in self.queries]


def look_at_pairs(
    curator: Curator,
    marginals: Sequence[NoisyMarginal],
    known: Measurements,
    pairs: Sequence[Clique],
    *,
    typical: float,
    most: int,
    spent: float,
    cost: float,
    target: str | None = None,
) -> Looks:
    """All pairs' distances from independence at this `cost` (ρ), for wide columns also over a few wide groups.

    `known` are the columns, measured at the cost `spent`; a column may have `most` groups; `target` is
    a column that somebody wants to predict.
    """
    n_values = ordered_codes(curator.schema, known.domain)
    trees = known.columns.trees
    groups = {
        name: merge(
            table, ALONE, ORDERED_ALONE, typical, n_values[name], tree=trees.get(name, ()), most=most
        )
        for name, table in known.tables.items()
    }  # fmt: skip
    # merged for want of room, codes of an ordered column need not be neighbours any more
    ordered = {
        n: int(g[n_values[n] - 1]) + 1 if n_values[n] and (np.diff(g) >= 0).all() else 0 for n, g in groups.items()
    }
    levels = {n: Levels.of(g, known.tables[n], ordered[n]) for n, g in groups.items()}
    total = known.columns.total
    products = [np.outer(levels[a].counts[0], levels[b].counts[0]) / total for a, b in pairs]
    wide = [i for i, pair in enumerate(pairs) if any(levels[name].wide for name in pair)]
    asked = [GroupedError(pairs, [(groups[a], groups[b]) for a, b in pairs], products)]
    if wide:
        asked.append(
            GroupedError(
                [pairs[i] for i in wide],
                [tuple(levels[name].groups[levels[name].wide] for name in pairs[i]) for i in wide],
                [np.outer(*(levels[name].counts[levels[name].wide] for name in pairs[i])) / total for i in wide],
            )
        )
    each = cost / (len(pairs) + len(wide))
    scores, *wider = curator.answer(asked, [each * len(query.candidates) for query in asked])
    seen = dependence(
        pairs,
        products,
        scores,
        column_errors(known, curator.unit, spent),
        total,
        levels,
        dict(zip(wide, wider[0].values.tolist(), strict=True)) if wide else {},
        wider[0].sigma if wide else 0.0,
        np.array([target in pair for pair in pairs]),
    )
    found = resolved(known, pairs, seen, levels, typical)
    return Looks(
        marginals, found.known, found.queries, scores, typical, found.products, seen, found.rest, groups
    )  # fmt: skip


ONE_WAY = 0.5
"""How much the mean error of columns counts beside that of pairs."""


def believed(
    looks: Looks, unit: PrivacyUnit, left: float, before: float, importance: Callable[[Clique], float]
) -> Pairs:
    """Errors and what noise would do to them if all that is `left` (ρ) were spent.

    `before` is what columns had, over that.
    """
    known, queries, seen = looks.known, looks.queries, looks.dependence
    worth = np.array([min(q.shape) > 1 for q in queries])
    column = column_errors(known, unit, left)
    return Pairs(
        [q.clique for q in queries],
        np.where(worth, seen.signal, 0.0),
        seen.strength,
        _weights(looks),
        np.array([sum(column[n] ** 2 for n in q.clique) for q in queries]),
        ONE_WAY * sum(column.values()) * len(queries) / len(known.domain),
        np.array([importance(q.clique) for q in queries]),
        noise=MEAN_ABSOLUTE * gaussian_sigma(unit, left),
        before=before,
        floor=np.where(worth, seen.floor, 0.0),
        rest=looks.rest,
    )


def _weights(looks: Looks) -> FloatArray:
    """What a pair's noise comes to, over the noise of one count: in records, all its cells together have √(Δ²/2ρ)."""
    raw = np.array([math.prod(math.sqrt(n * (n - 1)) for n in q.shape) for q in looks.queries])
    felt = np.array([_felt(looks.known, q, looks.typical) for q in looks.queries])
    usual = MEAN_ABSOLUTE * looks.typical
    return kept(usual * raw * felt, looks.dependence.left_out, looks.dependence.strength) / usual


def _felt(known: Measurements, query: Interaction, sigma: float) -> float:
    """The share of a pair's cells that feel noise of this deviation.

    Those that expect no more records than it have little to lose.
    """
    one, two = (np.bincount(g, known.tables[n]) for g, n in zip(query.groups, query.clique, strict=True))
    expected = np.outer(one, two) / known.columns.total
    return max(float(np.minimum(1.0, expected / (FELT * sigma)).mean()), 1e-3)
