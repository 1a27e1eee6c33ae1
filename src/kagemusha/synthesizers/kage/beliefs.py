"""What noisy distances say of every pair and triple: how far it is from the model, and what measuring it would leave.

A score is a distance in records from the base model: first independent columns, then the fit so far. It is made of what
the base does not know (the signal), of what chance puts between independent columns of so many records (the floor), and
of the noise in what the base was fitted to; squares add up.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.graphical import MarkovField
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.queries.interactions import GroupedError, Interaction, grouped
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import COUNTED_CELLS, MEAN_ABSOLUTE, gaussian_sigma
from kagemusha.synthesizers.kage.constants import DOUBT, KEPT, MANY, ROW, USUAL
from kagemusha.synthesizers.kage.grouping import merge, ordered_codes, sums
from kagemusha.synthesizers.kage.levels import Level, Levels, best_level, felt, kept
from kagemusha.synthesizers.kage.measurements import Measurements


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed of every candidate, in records: pairs first, then triples."""

    queries: Sequence[Interaction]
    signal: FloatArray
    """Of a pair, its distance from independence beyond chance; of a triple, that from the model."""
    floor: FloatArray
    strength: FloatArray
    """A pair's signal from 0 to 1, where a column determines the other; 0 for triples."""
    rest: FloatArray
    """What the groups of the query hide."""
    weights: FloatArray
    """What the fit leaves of the noise over all cells, over the noise of one count."""

    @property
    def cliques(self) -> list[Clique]:
        """One for each."""
        return [query.clique for query in self.queries]

    def and_also(self, other: Beliefs) -> Beliefs:
        """These, then others."""
        arrays = ("signal", "floor", "strength", "rest", "weights")
        return Beliefs(
            [*self.queries, *other.queries],
            *(np.concatenate([vars(self)[name], vars(other)[name]]) for name in arrays),
        )


@dataclass(frozen=True, eq=False)
class PairLook:
    """The released distances of all pairs from independence."""

    pairs: Sequence[Clique]
    scores: NoisyVector
    base: FloatArray
    """What chance and the noise of columns bring to each."""
    products: Sequence[FloatArray]
    """What each pair would be if its columns were independent, over the model's groups."""
    groups: Mapping[str, IntArray]
    """Those that the scores were measured over."""

    def unknown(self, field: MarkovField, others: npt.NDArray[np.bool_]) -> FloatArray:
        """How far each pair is thought to be from the model, which was not fitted to the `others`.

        Of the squared distance from independence, the model has its own part and what it does not know the other, as
        for a projection; and where scores differ from what the model implies by no more than their noise, there is
        nothing that it does not know, but for a share DOUBT: tables as far from independence need not be alike.
        """
        tables = field.project_soon(self.pairs)
        implied = np.array([float(np.abs(t - p).sum()) for t, p in zip(tables, self.products, strict=True)])
        together = np.sqrt(implied**2 + self.base**2)
        gap = self.scores.values - together
        squared = float((gap[others] ** 2).mean()) if others.any() else 0.0
        gap = np.maximum(max(0.0, 1 - self.scores.sigma**2 / squared) * gap if squared > 0 else 0 * gap, 0.0)
        return np.asarray(np.maximum(np.sqrt(gap * (2 * together + gap)), DOUBT * implied), dtype=np.float64)


def shrink_to_mean(noisy: FloatArray, sigma: float) -> FloatArray:
    """Noisy values moved towards their mean by how much of their spread is noise (James and Stein)."""
    mean, spread = float(noisy.mean()), float(noisy.var())
    signal = max(0.0, 1 - sigma**2 / spread) if len(noisy) > 2 and spread > 0 else 1.0
    return np.asarray(mean + signal * (noisy - mean))


def look_at_pairs(
    curator: Curator,
    known: Measurements,
    pairs: Sequence[Clique],
    *,
    typical: float,
    most: int,
    spent: float,
    cost: float,
    importance: FloatArray,
) -> tuple[Measurements, PairLook, Beliefs]:
    """All pairs' distances from independence at this `cost` (ρ).

    `known` are the columns, measured at the cost `spent`; a column may have `most` groups; a pair's cell will have
    about the noise `typical`; `importance` is how much each pair counts. The model gets groups as fine as the finest
    pair worth measuring needs.
    """
    tables, total = known.tables, known.columns.total
    levels = {}
    fixed = {name for required in curator.required for name in required.clique}
    for name, first in ordered_codes(curator.schema, known.domain).items():
        # no pair has less noise in a row than one with a column of two codes
        group = merge(tables[name], 2 * ROW * typical, first, tree=known.columns.trees.get(name, ()), most=most)
        if name in fixed:  # a table that must be right is kept code by code
            group = np.arange(len(group))
        # merged for want of room, codes of an ordered column need not be neighbours any more
        in_order = first > 0 and bool((np.diff(group[:first]) >= 0).all())
        levels[name] = Levels.of(group, tables[name], int(group[first - 1]) + 1 if in_order else 0)
    products = [np.outer(levels[a].counts[0], levels[b].counts[0]) / total for a, b in pairs]
    finest = [(levels[a].groups[0], levels[b].groups[0]) for a, b in pairs]
    (scores,) = curator.answer([GroupedError(pairs, finest, products)], [cost])

    errors = column_errors(known, curator.unit, spent)
    in_columns = np.array([sum(errors[name] ** 2 for name in pair) for pair in pairs])
    floor = np.array([floor_of(product) for product in products])
    base = np.sqrt(floor**2 + in_columns)
    signal = signals(scores, base, total, importance)
    # two columns that determine each other are 2·N·(1 − 1/codes) apart from independence
    apart = np.array([2 * total * max(1 - 1 / min(p.shape), 0.5) for p in products])
    strength = np.minimum(signal / apart, 1.0)
    seen = zip(*(x.tolist() for x in (signal, floor, strength)), strict=True)
    chosen = [
        best_level(levels[a], levels[b], *x, sigma=typical, unit=curator.unit)
        for (a, b), x in zip(pairs, seen, strict=True)
    ]
    known, queries = _resolved(known, pairs, chosen, np.hypot(signal, floor), levels, typical, fixed)
    worth = np.array([min(query.shape) > 1 for query in queries])
    tables = {name: sums(table, known.groups[name]) for name, table in tables.items()}
    products = [np.outer(tables[a], tables[b]) / total for a, b in pairs]
    look = PairLook(pairs, scores, base, products, {name: x.groups[0] for name, x in levels.items()})
    weights = [
        _weight(known, q, e, s, typical, curator.unit)
        for q, e, s in zip(queries, np.hypot(signal, floor).tolist(), strength.tolist(), strict=True)
    ]
    rest = np.array([level.rest for level in chosen])
    return known, look, Beliefs(queries, worth * signal, worth * floor, strength, rest, np.array(weights))


def signals(scores: NoisyVector, base: FloatArray, total: float, importance: FloatArray) -> FloatArray:
    """What scores say beyond their base: the posterior under a prior whose mean the scores say as far as they can.

    A pair that counts more than others is believed to depend as many times as much, as far as its own score is noise:
    somebody wants to learn from it.
    """
    excess = scores.values - base
    usual, noise = USUAL * total, scores.sigma**2 / len(excess)
    above = shrink_to_mean(excess, scores.sigma) + (usual - float(excess.mean())) * noise / (noise + usual**2)
    wanted = importance * usual
    share = scores.sigma**2 / (scores.sigma**2 + wanted**2)
    above = np.where(importance > 1, np.maximum(above, (1 - share) * above + share * wanted), above)
    above = np.maximum(above, 0.0)
    return np.asarray(np.sqrt(above * (above + 2 * base)))


def _resolved(
    known: Measurements,
    pairs: Sequence[Clique],
    chosen: Sequence[Level],
    left_out: FloatArray,
    levels: Mapping[str, Levels],
    typical: float,
    fixed: Collection[str],
) -> tuple[Measurements, list[Interaction]]:
    """The model's groups, as fine as the finest pair worth measuring needs, and a query for each pair.

    Those of `fixed` columns stay the finest.
    """
    finest = {name: 0 if name in fixed else len(levels[name]) - 1 for name in known.domain}
    for pair, level, error in zip(pairs, chosen, left_out.tolist(), strict=True):
        if np.hypot(level.rest, level.noise) < error:
            for name, place in zip(pair, level.places, strict=True):
                finest[name] = min(finest[name], place)
    groups = {name: levels[name].groups[place] for name, place in finest.items()}
    ordered = {name: levels[name].ordered[place] for name, place in finest.items()}
    known = Measurements(known.domain, known.columns, groups, ordered, kept=known.kept)
    queries = []
    for pair, level in zip(pairs, chosen, strict=True):
        places = {name: max(place, finest[name]) for name, place in zip(pair, level.places, strict=True)}
        given = {name: levels[name].groups[place] for name, place in places.items() if len(levels[name]) > 1}
        queries.append(known.query(pair, typical, given))
    return known, queries


def _weight(
    known: Measurements, query: Interaction, error: float, strength: float, sigma: float, unit: PrivacyUnit
) -> float:
    """What the fit leaves of the noise over all cells of a query, over the noise of a count."""
    raw = math.sqrt(unit.sensitivity(query.sensitivity).l2_squared / unit.sensitivity(COUNTS).l2_squared)
    if len(query.clique) == 2:
        one, two = (sums(known.tables[n], g) for g, n in zip(query.groups, query.clique, strict=True))
        raw *= max(float(felt(one, two, known.columns.total, sigma)), 1e-3)
    usual = MEAN_ABSOLUTE * sigma
    return float(kept(usual * raw, error, strength)) / usual


def floor_of(product: FloatArray) -> float:
    """How far a table of independent records is from its expected counts by chance, in records."""
    share = math.prod(1 - 1 / n for n in product.shape)
    return float(np.minimum(MEAN_ABSOLUTE * np.sqrt(product), 2 * product).sum()) * math.sqrt(share)


def column_errors(known: Measurements, unit: PrivacyUnit, cost: float) -> dict[str, float]:
    """The error of every column if all of them are measured at this cost (ρ), in records.

    At most what its rare codes hold.
    """
    split = sum(size ** (2 / 3) for size in known.domain.sizes)
    found = {}
    for name, table in known.tables.items():
        sigma = gaussian_sigma(unit, cost) * math.sqrt(split / len(table) ** (2 / 3))
        found[name] = KEPT * MEAN_ABSOLUTE * float(np.minimum(sigma, table + 0.1 * sigma).sum())
    return found


def candidate_triples(domain: Domain, strengths: Mapping[Clique, float]) -> list[Clique]:
    """Triples worth a look: those with the strongest pairs if there are too many, none too large to count."""
    of_column = dict.fromkeys(domain.names, 0.0)
    for (a, b), strength in strengths.items():
        of_column[a], of_column[b] = of_column[a] + strength, of_column[b] + strength
    # of more than a hundred columns, the hundred that depend most on the others
    among = set(sorted(domain.names, key=lambda name: -of_column[name])[:100])
    triples: list[Clique] = [
        t
        for t in combinations([name for name in domain if name in among], 3)
        if min(domain.shape(t)) > 1 and domain.cells(t) <= COUNTED_CELLS // MANY
    ]
    if len(triples) > MANY:
        triples.sort(key=lambda t: -sum(strengths.get(pair, 0.0) for pair in combinations(t, 2)))
    return triples[:MANY]


def look_at_triples(
    curator: Curator, known: Measurements, field: MarkovField, pairs: Beliefs, *, spent: float, cost: float
) -> tuple[Beliefs, float] | None:
    """Triples' distances from the model at this `cost` (ρ); None where there is no triple to look at.

    Columns have had the cost `spent`. With it the mean distance.
    """
    typical = gaussian_sigma(curator.unit, curator.remaining / len(known.domain))
    triples = candidate_triples(known.domain, dict(zip(pairs.cliques, pairs.signal.tolist(), strict=True)))
    queries = [q for t in triples if min((q := known.query(t, typical)).shape) > 1 and q.scale <= 1 << 16]
    if not queries:
        return None
    cliques = [q.clique for q in queries]
    tables = zip(field.project_many(cliques), queries, strict=True)
    estimates = [grouped(table, known.on_groups(q).groups) for table, q in tables]
    (noisy,) = curator.answer([GroupedError(cliques, [q.groups for q in queries], estimates)], cost)
    errors = np.maximum(shrink_to_mean(noisy.values, noisy.sigma), 0.0)
    # noise in a triple's columns and pairs is error that measuring its interaction does not mend
    noise = {m.query.clique: KEPT * MEAN_ABSOLUTE * m.sigma * m.query.scale for m in known.interactions}
    noise |= {(name,): error for name, error in column_errors(known, curator.unit, spent).items()}
    parts = [[*combinations(t, 1), *combinations(t, 2)] for t in cliques]
    squared = np.array([sum(noise.get(part, 0.0) ** 2 for part in found) for found in parts])
    own = np.sqrt(np.maximum(errors**2 - squared, 0.0))
    none = np.zeros(len(queries))
    weights = [_weight(known, q, e, 0.0, typical, curator.unit) for q, e in zip(queries, own.tolist(), strict=True)]
    return Beliefs(queries, own, none, none, none, np.array(weights)), float(errors.mean())
