"""How far one record moves each kind of query, from whole numbers that stand on the certificate.

Queries take their reach from here, and so does `verify`, years later and without the queries' code. A kind's meaning
never changes once released. The proofs are with the queries (`queries/`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from kagemusha.errors import VerifyError
from kagemusha.privacy.unit import Reach, Sensitivity

UNITS_PER_COUNT = 2**12
"""Fixed-point resolution of a score: one record is this many units."""

WEIGHT_STEPS = 2**12
"""The largest weight of a weighted score, in units; the others are rounded to whole ones."""

LOGARITHM_ROUNDING = 64
"""Units that cover the rounding of logarithms in mutual information, for tables of up to 2³⁶ rows."""

LENGTH_STEPS = 2**12
"""The largest norm of a record's vector, in whole steps."""

DIAGONAL, BESIDE = 5, 7
"""Weights of a scatter matrix's entries: (7/5)² ≤ 2, so entries beside the diagonal get about half its variance for nothing."""

COUNTS = Reach(Sensitivity(1, 1, 1), Sensitivity(2, 2, 1))
"""A record is in one cell of a marginal; exchanged, it leaves one and enters another."""


def reach_of(kind: str, facts: Mapping[str, Any]) -> Reach:
    """The reach of a query of this kind; an unknown kind or impossible facts are a VerifyError."""
    if kind not in _REACHES:
        raise VerifyError(f"unknown kind of query {kind!r}; known: {', '.join(_REACHES)}")
    try:
        return _REACHES[kind](facts)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise VerifyError(f"a query of kind {kind!r} has impossible facts") from None


def _counts(_: Mapping[str, Any]) -> Reach:
    return COUNTS


def _interaction(facts: Mapping[str, Any]) -> Reach:
    shape = _whole(facts["shape"], low=1)
    own = math.prod(n * (n - 1) for n in shape)
    l1, each = math.prod(2 * (n - 1) for n in shape), math.prod(n - 1 for n in shape)
    axes = range(len(shape))
    exchanged = max(
        2 * (own - math.prod(-n if i in differ else n * (n - 1) for i, n in enumerate(shape)))
        for size in range(1, len(shape) + 1)
        for differ in combinations(axes, size)
    )
    return Reach(Sensitivity(l1, own, each), Sensitivity(2 * l1, exchanged, 2 * each))


def _scores(added: int, exchanged: int) -> Callable[[Mapping[str, Any]], Reach]:
    """Each of the candidates' scores moves by at most so much, and all may move at once."""

    def reach(facts: Mapping[str, Any]) -> Reach:
        (count,) = _whole([facts["candidates"]], low=1)
        return Reach(*(Sensitivity(count * d, count * d * d, d) for d in (added, exchanged)))

    return reach


def _sums(facts: Mapping[str, Any]) -> Reach:
    """Squared norms part by part; `entries` is the length of the vector."""
    (entries,) = _whole([facts["entries"]], low=0)
    return Reach(*(_from_squared(sum(_whole(facts[how], low=0)), entries) for how in ("added", "exchanged")))


def _records(norm: int, exchanged: int) -> Callable[[Mapping[str, Any]], Reach]:
    """One vector per record, of a squared norm that its kind bounds; two of them differ by at most `exchanged` times that, squared."""

    def reach(facts: Mapping[str, Any]) -> Reach:
        (entries,) = _whole([facts["entries"]], low=1)
        return Reach(_from_squared(norm, entries), _from_squared(exchanged * norm, entries))

    return reach


def _class_sums(facts: Mapping[str, Any]) -> Reach:
    """A count, multiplied by a public weight, beside a vector."""
    (weight,) = _whole([facts["weight"]], low=1)
    return _records(weight**2 + LENGTH_STEPS**2, 4)(facts)


def _weighted_counts(facts: Mapping[str, Any]) -> Reach:
    """A record adds at most `most` to one cell; exchanged, it leaves one and enters another, or stays and moves by less."""
    (most,) = _whole([facts["most"]], low=1)
    return Reach(Sensitivity(most, most**2, most), Sensitivity(2 * most, 2 * most**2, most))


def _broken_rules(facts: Mapping[str, Any]) -> Reach:
    """A record is one row and may break every rule; exchanged, each rule's count moves by one at most, the rows stay."""
    (rules,) = _whole([facts["rules"]], low=1)
    return Reach(Sensitivity(rules + 1, rules + 1, 1), Sensitivity(rules, rules, 1))


def _from_squared(l2_squared: int, entries: int) -> Sensitivity:
    norm = math.isqrt(l2_squared - 1) + 1 if l2_squared else 0
    return Sensitivity(math.isqrt(entries * l2_squared) + 1 if l2_squared else 0, l2_squared, norm)


def _whole(values: Any, *, low: int) -> tuple[int, ...]:
    checked = tuple(values)
    if not all(isinstance(v, int) and not isinstance(v, bool) and v >= low for v in checked):
        raise ValueError(f"whole numbers of at least {low} are needed")
    return checked


_ERROR = _scores(WEIGHT_STEPS * UNITS_PER_COUNT, 2 * WEIGHT_STEPS * UNITS_PER_COUNT)

_REACHES: dict[str, Callable[[Mapping[str, Any]], Reach]] = {
    "counts": _counts,
    "values": _counts,
    "weighted-counts": _weighted_counts,
    "broken-rules": _broken_rules,
    "interaction": _interaction,
    "l1-error": _ERROR,
    "grouped-l1-error": _ERROR,
    "weighted-l1-error": _ERROR,
    "dependence": _scores(2 * UNITS_PER_COUNT, 3 * UNITS_PER_COUNT),
    "mutual-information": _scores(UNITS_PER_COUNT + LOGARITHM_ROUNDING, 2 * UNITS_PER_COUNT + LOGARITHM_ROUNDING),
    "determined-child": _scores(2, 2),
    "first-moments": _sums,
    "cross-moments": _sums,
    "norm-counts": _records(1, 2),
    "class-sums": _class_sums,
    "scatter": _records(DIAGONAL**2 * LENGTH_STEPS**4, 2),
    "mixture-sizes": _records(LENGTH_STEPS**2, 2),
    "mixture-means": _records(LENGTH_STEPS**2, 4),
    "mixture-scatter": _records(DIAGONAL**2 * LENGTH_STEPS**4, 4),
    "cell-lengths": _scores(LENGTH_STEPS + 1, 2 * (LENGTH_STEPS + 1)),
}
