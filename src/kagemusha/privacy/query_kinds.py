"""Every kind of query there is: the facts it states, how far one record moves it, which mechanisms answer it.

Queries take their sensitivity from here, and so does `verify`, years later and without the queries' code. A kind's
meaning never changes once released. The proofs are with the queries (`queries/`). A new kind is one entry in `KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from kagemusha.errors import VerifyError
from kagemusha.privacy.budget import QueryFact, RecordSensitivity, Sensitivity
from kagemusha.schema import Schema, stray_columns
from kagemusha.schema.features import cross_moment_facts, features_of, first_moment_facts, generation_facts

UNITS_PER_COUNT = 2**12
"""Fixed-point resolution of a score: one record is this many units."""

WEIGHT_STEPS = 2**12
"""The largest weight of a weighted score, in units; the others are rounded to whole ones."""

LOGARITHM_ROUNDING = 64
"""Units that cover the rounding of logarithms in mutual information, for tables of up to 2³⁶ rows."""

LENGTH_STEPS = 2**12
"""The largest norm of a record's vector, in whole steps."""

DIAGONAL, BESIDE = 5, 7
"""Weights of a scatter matrix's entries: (7/5)² ≤ 2, so entries beside the diagonal get about half its variance for
nothing."""

ACCEPTANCE_UNITS = 2**20
"""A share of 1, or the way from a column's least value to its largest, for criteria of acceptance."""

MOST_AXES = 8
"""Columns of one table; more could not be counted, and what they can move takes for ever to work out."""

Facts = Mapping[str, Any]
Rule = Callable[[Facts], RecordSensitivity]
Check = Callable[[Mapping[str, QueryFact], Schema], str]

NOISE = frozenset({"gaussian", "laplace"})
CHOICE = NOISE | {"exponential"}


def _fits(facts: Mapping[str, QueryFact], schema: Schema) -> str:
    return ""


@dataclass(frozen=True)
class QueryKind:
    """A kind of query, by what stands on a certificate."""

    facts: tuple[str, ...]
    """The facts it states."""
    sensitivity: Rule
    """How far one record moves the answer, from the facts."""
    answered_by: frozenset[str] = NOISE
    """The kinds of events that answer it."""
    fits: Check = _fits
    """Why the facts cannot be those of a query to a table with this schema; empty if they can."""
    counted: bool = False
    """Whether the answer follows from counts; other kinds read the codes of all rows."""
    kept: bool = False
    """Whether a model holds the answer."""


def record_sensitivity(kind: str, facts: Facts) -> RecordSensitivity:
    """How far one record moves a query of this kind; an unknown kind or impossible facts are a VerifyError."""
    if kind not in KINDS:
        raise VerifyError(f"unknown kind of query {kind!r}; known: {', '.join(KINDS)}")
    try:
        return KINDS[kind].sensitivity(facts)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise VerifyError(f"a query of kind {kind!r} has impossible facts") from None


def impossible(kind: str, facts: Mapping[str, QueryFact], schema: Schema | None) -> str:
    """Why no query of this kind has such facts, empty if one may; asks the schema where it is at hand."""
    if kind not in KINDS:
        return f"unknown kind of query {kind!r}"
    known = KINDS[kind]
    if set(facts) != set(known.facts):
        return f"a query of kind {kind!r} states {', '.join(known.facts)}"
    names = facts.get("columns", ())
    if not isinstance(names, tuple) or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        return "its columns are not distinct names"
    shape = facts.get("shape", ())
    if not isinstance(shape, tuple) or ("shape" in known.facts and names and len(shape) != len(names)):
        return "not one number of groups for each column"
    if max(len(names), len(shape)) > MOST_AXES:
        return f"more than {MOST_AXES} columns in one table"
    if schema is None:
        return ""
    if not all(n in schema.domain for n in names):
        return "its columns are not those of the schema"
    return known.fits(facts, schema)


# how far one record moves an answer


COUNTS = RecordSensitivity(Sensitivity(1, 1, 1), Sensitivity(2, 2, 1))
"""A record is in one cell of a marginal; exchanged, it leaves one and enters another."""


def _interaction(facts: Facts) -> RecordSensitivity:
    shape = _whole(facts["shape"], low=1)
    own = math.prod(n * (n - 1) for n in shape)
    l1, each = math.prod(2 * (n - 1) for n in shape), math.prod(n - 1 for n in shape)
    axes = range(len(shape))
    exchanged = max(
        2 * (own - math.prod(-n if i in differ else n * (n - 1) for i, n in enumerate(shape)))
        for size in range(1, len(shape) + 1)
        for differ in combinations(axes, size)
    )
    return RecordSensitivity(Sensitivity(l1, own, each), Sensitivity(2 * l1, exchanged, 2 * each))


def _scores(added: int, exchanged: int) -> Rule:
    """Each of the candidates' scores moves by at most so much, and all may move at once."""

    def moves(facts: Facts) -> RecordSensitivity:
        (count,) = _whole([facts["candidates"]], low=1)
        return RecordSensitivity(*(Sensitivity(count * d, count * d * d, d) for d in (added, exchanged)))

    return moves


def _sums(facts: Facts) -> RecordSensitivity:
    """Squared norms part by part; `entries` is the length of the vector."""
    (entries,) = _whole([facts["entries"]], low=0)
    return RecordSensitivity(*(_squared(sum(_whole(facts[how], low=0)), entries) for how in ("added", "exchanged")))


def _vectors(norm: int, exchanged: int) -> Rule:
    """One vector per record, of a squared norm that its kind bounds.

    Two of them differ by at most `exchanged` times that, squared.
    """

    def moves(facts: Facts) -> RecordSensitivity:
        (entries,) = _whole([facts["entries"]], low=1)
        return RecordSensitivity(_squared(norm, entries), _squared(exchanged * norm, entries))

    return moves


def _class_sums(facts: Facts) -> RecordSensitivity:
    """A count, multiplied by a public weight, beside a vector."""
    (weight,) = _whole([facts["weight"]], low=1)
    return _vectors(weight**2 + LENGTH_STEPS**2, 4)(facts)


def _weighted_counts(facts: Facts) -> RecordSensitivity:
    """A record adds at most `most` to one cell.

    Exchanged, it leaves one and enters another, or stays and moves by less.
    """
    (most,) = _whole([facts["most"]], low=1)
    return RecordSensitivity(Sensitivity(most, most**2, most), Sensitivity(2 * most, 2 * most**2, most))


def _broken_rules(facts: Facts) -> RecordSensitivity:
    """A record is one row and may break every rule.

    Exchanged, each rule's count moves by one at most, the rows stay.
    """
    (rules,) = _whole([facts["rules"]], low=1)
    return RecordSensitivity(Sensitivity(rules + 1, rules + 1, 1), Sensitivity(rules, rules, 1))


def _strays(facts: Facts) -> RecordSensitivity:
    """A record may count once in every entry; exchanged, each entry moves by one at most."""
    (entries,) = _whole([facts["entries"]], low=1)
    return RecordSensitivity(Sensitivity(entries, entries, 1), Sensitivity(entries, entries, 1))


def _excess(scale: int, stays: int) -> Rule:
    """A distance less what was demanded of so many records; `stays` is 0 where an exchange leaves their number."""

    def moves(facts: Facts) -> RecordSensitivity:
        (within,) = _whole([facts["within"]], low=0)
        both = (scale * (ACCEPTANCE_UNITS + within), scale * (ACCEPTANCE_UNITS + stays * within))
        return RecordSensitivity(*(Sensitivity(d, d * d, d) for d in both))

    return moves


def _unpriced(_: Facts) -> RecordSensitivity:
    """The event itself says how far a person moves it."""
    raise ValueError("no answer of its own")


def _squared(l2_squared: int, entries: int) -> Sensitivity:
    norm = math.isqrt(l2_squared - 1) + 1 if l2_squared else 0
    return Sensitivity(math.isqrt(entries * l2_squared) + 1 if l2_squared else 0, l2_squared, norm)


def _whole(values: Any, *, low: int) -> tuple[int, ...]:
    checked = tuple(values)
    if not all(isinstance(v, int) and not isinstance(v, bool) and v >= low for v in checked):
        raise ValueError(f"whole numbers of at least {low} are needed")
    return checked


# whether the schema has such a query


def _groups(facts: Mapping[str, QueryFact], schema: Schema) -> str:
    names, shape = (tuple(map(str, facts["columns"])), facts["shape"])  # type: ignore[arg-type]
    sizes = [schema.domain.size(name) for name in names]
    inside = not names or all(isinstance(n, int) and 1 <= n <= s for n, s in zip(shape, sizes, strict=True))  # type: ignore[arg-type]
    return "" if inside else "more groups than the schema has codes"


def _weights(facts: Mapping[str, QueryFact], schema: Schema) -> str:
    weight, steps = schema.weight, schema.weights
    known = weight is not None and steps is not None
    same = known and (facts["weight"], facts["most"]) == (weight.column, steps.most)  # type: ignore[union-attr]
    return "" if same else "not the weights of this schema"


def _rules(facts: Mapping[str, QueryFact], schema: Schema) -> str:
    rules = len({rule.rule for rule in schema.constraints if not rule.guess})
    return "" if facts["rules"] == rules else "not as many rules as the schema has in force"


def _of_strays(facts: Mapping[str, QueryFact], schema: Schema) -> str:
    same = facts["entries"] == len(stray_columns(schema))
    return "" if same else "not as many columns as the schema has in which a cell can be out of place"


def _demanded(facts: Mapping[str, QueryFact], schema: Schema) -> str:
    within = isinstance(found := facts["within"], int) and 0 <= found <= ACCEPTANCE_UNITS
    return "" if within and schema.demands.asked else "no criterion of this schema"


def _of_features(facts_of: Callable[[Any], Mapping[str, QueryFact]], what: str) -> Check:
    """The facts must be those of this schema's features."""
    return lambda facts, schema: "" if facts == facts_of(features_of(schema)) else f"not the {what} of the schema"


def _score(added: int, exchanged: int, *, counted: bool = True) -> QueryKind:
    return QueryKind(("candidates",), _scores(added, exchanged), CHOICE, counted=counted)


def _error(*, counted: bool = True) -> QueryKind:
    one = WEIGHT_STEPS * UNITS_PER_COUNT
    return _score(one, 2 * one, counted=counted)


def _sum(norm: int, exchanged: int) -> QueryKind:
    return QueryKind(("entries",), _vectors(norm, exchanged))


_MOMENTS = ("added", "exchanged", "entries")

KINDS: Mapping[str, QueryKind] = {
    "counts": QueryKind(("columns",), lambda _: COUNTS, counted=True, kept=True),
    "values": QueryKind(("columns",), lambda _: COUNTS, frozenset({"threshold"}), counted=True),
    "weighted-counts": QueryKind(("columns", "weight", "most"), _weighted_counts, fits=_weights, counted=True),
    "broken-rules": QueryKind(("rules",), _broken_rules, fits=_rules, counted=True),
    "strays": QueryKind(("entries",), _strays, fits=_of_strays, counted=True),
    "interaction": QueryKind(("columns", "shape"), _interaction, fits=_groups, counted=True, kept=True),
    "l1-error": _error(),
    "grouped-l1-error": _error(),
    "weighted-l1-error": _error(counted=False),
    "dependence": _score(2 * UNITS_PER_COUNT, 3 * UNITS_PER_COUNT),
    "mutual-information": _score(UNITS_PER_COUNT + LOGARITHM_ROUNDING, 2 * UNITS_PER_COUNT + LOGARITHM_ROUNDING),
    "determined-child": _score(2, 2),
    "cell-lengths": _score(LENGTH_STEPS + 1, 2 * (LENGTH_STEPS + 1), counted=False),
    "tables-within": QueryKind(("within",), _excess(2, 0), fits=_demanded, counted=True),
    "mean-within": QueryKind(("within",), _excess(1, 1), fits=_demanded, counted=True),
    "largest-error": _score(2 * ACCEPTANCE_UNITS, 2 * ACCEPTANCE_UNITS),
    "first-moments": QueryKind(_MOMENTS, _sums, fits=_of_features(first_moment_facts, "sums"), counted=True),
    "cross-moments": QueryKind(_MOMENTS, _sums, fits=_of_features(cross_moment_facts, "products"), counted=True),
    "norm-counts": _sum(1, 2),
    "class-sums": QueryKind(("weight", "entries"), _class_sums),
    "scatter": _sum(DIAGONAL**2 * LENGTH_STEPS**4, 2),
    "mixture-sizes": _sum(LENGTH_STEPS**2, 2),
    "mixture-means": _sum(LENGTH_STEPS**2, 4),
    "mixture-scatter": _sum(DIAGONAL**2 * LENGTH_STEPS**4, 4),
    "gradients": QueryKind(("lattice",), _unpriced, frozenset({"sampled-gaussian"})),
    "generated-rows": QueryKind(
        ("width", "apart", "box", "boundaries"),
        _unpriced,
        frozenset({"generation"}),
        fits=_of_features(generation_facts, "features"),
        counted=True,
    ),
}
"""By the names that stand on certificates."""
