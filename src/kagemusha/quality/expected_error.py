"""The error of the doubles, derived from what was released alone: safe to publish.

For each set of columns an interval that holds the L1 error ‖p_r(D) − p_r(D̂)‖₁ / |D| (0 to 2), and for each pair a
verdict. How the intervals come about is in docs/decisions/040-evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge
from kagemusha.models.model import Model
from kagemusha.pages import card
from kagemusha.progress import Progress, silent
from kagemusha.quality.projectable import CodedTable, in_batches
from kagemusha.quality.released import NoisyTable, ReleasedNumbers, group_sizes, group_sums, merged_mass, nearer
from kagemusha.schema import Clique

LEVEL = 0.9
"""How often an interval is made to hold the error; where it was measured is in docs/decisions/040-evaluation.md."""

WITHIN_90 = 1.6448536269514722
"""Deviations of Gaussian noise that 90 of 100 answers stay within, and 95 of 100 below."""

UNKNOWN = 2 / math.e
"""E|X − 1| of an exponential X with mean 1: what is believed of a share nobody measured."""

USE, CARE = 0.10, 0.30
"""A pair whose upper end is at most USE may be used; at most CARE, with care. Half of it is the share of doubles that
are in a wrong cell: 5 and 15 of 100."""

DROWNED = 3.0
"""Cells whose expected count is below this many deviations of their noise learn from each other."""

POOLED = 0.3
"""A model joins all measurements, so it may be better than one of them alone lets expect; seldom by more than this."""

MOST_PAIRS = 5000
"""Pairs looked at, those with measurements first: all of them in tables of up to a hundred columns. The page says if
there are more."""

LARGEST = 2**22
"""Pairs with more cells are not laid out; what is known of them comes from their columns."""

EVIDENCE_CELLS = 2**27
"""Cells of all pairs together: so the work has an end, whatever the columns are. Pairs beyond it are not looked at, and
the page says so."""

BATCH = 2**21
"""Cells judged together, between two words about how far it is."""

DRAWN_CELLS = 2_000_000
"""Cells of one table drawn again and again: the more there are, the less their sum varies and the fewer draws it
takes."""

FEWEST_DRAWS = 6

EVIDENCE_ROWS = 1_000_000

VERDICTS = ("use", "use with care", "do not use")


@dataclass(frozen=True)
class ErrorInterval:
    """Where the error of one set of columns lies, as a share of records from 0 to 2."""

    clique: Clique
    low: float
    high: float
    known_from: str
    """counts, interaction, score, selection, or columns (nothing was measured about how they go together)."""
    right_from: float | None = None
    """Groups of at least so many people are counted right to within 10 % in nine of ten cases; None: no group is
    known to be."""
    share: float = 0.0
    """Share of all people who are in such groups."""

    @property
    def verdict(self) -> str:
        """Use, use with care, or do not use."""
        return VERDICTS[int(self.high > USE) + int(self.high > CARE)]


@dataclass(frozen=True)
class ExpectedError:
    """Intervals for all columns and pairs of a release."""

    columns: Sequence[ErrorInterval]
    pairs: Sequence[ErrorInterval]

    def __repr__(self) -> str:
        pairs = ", ".join(f"{n} {verdict!r}" for verdict, n in self.counted().items())
        return f"<ExpectedError of {len(self.columns)} columns and {len(self.pairs)} pairs: {pairs}>"

    def _repr_html_(self) -> str:
        worst = sorted(self.pairs, key=lambda pair: -pair.high)[:5]
        facts = {f"pairs: {verdict}": str(n) for verdict, n in self.counted().items()}
        facts |= {" × ".join(p.clique): f"error {p.low:.3f} to {p.high:.3f}: {p.verdict}" for p in worst}
        return card("What the doubles can be used for", facts)

    def counted(self) -> Mapping[str, int]:
        """How many pairs have each verdict."""
        return {verdict: sum(pair.verdict == verdict for pair in self.pairs) for verdict in VERDICTS}

    def right_from(self, width: int) -> float | None:
        """From which size on groups by so many columns are right to 10 %, in half of all columns or pairs."""
        sizes = sorted(i.right_from or math.inf for i in (self.columns if width == 1 else self.pairs))
        middle = sizes[(len(sizes) - 1) // 2] if sizes else math.inf
        return middle if math.isfinite(middle) else None

    def of(self, clique: Clique) -> ErrorInterval:
        """The interval of one column or pair."""
        return next(i for i in (*self.columns, *self.pairs) if set(i.clique) == set(clique))


def expected_error(
    model: Model,
    *,
    rows: int | None = None,
    draws: int = 200,
    seed: int = 0,
    only: Clique = (),
    progress: Progress = silent,
) -> ExpectedError:
    """Intervals for every column and every pair, from the model alone.

    They hold for the model and for a table of `rows` doubles drawn from it (as many as there were people unless
    given); `only` asks for one pair and its columns. Post-processing of what was released: it costs no privacy, and the
    result may be published.
    """
    evidence = ReleasedNumbers(model)
    rng = np.random.default_rng(seed)
    drawn = CodedTable.of_codes(model.schema, model.sample_codes(min(rows or model.rows, EVIDENCE_ROWS), rng=rng))
    found: dict[Clique, ErrorInterval] = {}
    cliques = _cliques(evidence)
    if only:
        cliques = [*((name,) for name in only), *([model.domain.canonical(only)] if len(only) == 2 else [])]
    for batch in in_batches(model.domain, cliques, most=BATCH):
        progress(f"judging {len(cliques):,} columns and pairs", len(found) / len(cliques))
        tables = _laid_out(model, [c for c in batch if model.domain.cells(c) <= LARGEST])
        doubles = dict(zip(tables, drawn.project_many(list(tables)), strict=True))
        for clique in batch:
            if clique not in tables:
                found[clique] = _coupling(evidence, clique, sum(found[(n,)].high for n in clique))
                continue
            options = intervals(evidence, clique, tables[clique], found, rng, draws)
            if clique in model.ceilings:
                options.append(ErrorInterval(clique, 0.0, model.ceilings[clique] / evidence.total, "selection"))
            rounding = float(np.abs(tables[clique] / evidence.total - doubles[clique] / drawn.rows).sum())
            joined = tightest(options, rounding)
            size, share = group_sizes(
                tables[clique], evidence.tables(clique), joined.high * evidence.total, evidence.total / drawn.rows
            )
            found[clique] = replace(joined, right_from=size, share=share)
    ends = {c: nearer(len(c), i.known_from, i.low, i.high) for c, i in found.items()}
    near = [replace(i, low=ends[c][0], high=ends[c][1]) for c, i in found.items()]
    return ExpectedError([i for i in near if len(i.clique) == 1], [i for i in near if len(i.clique) == 2])


def _laid_out(model: Model, cliques: Sequence[Clique]) -> dict[Clique, FloatArray]:
    """The model's tables; those it cannot compute within its own limits are left out."""
    try:
        return dict(zip(cliques, model.project_many(cliques), strict=True))
    except ModelTooLarge:
        if len(cliques) == 1:
            return {}
    return {c: t for clique in cliques for c, t in _laid_out(model, [clique]).items()}


def _cliques(evidence: ReleasedNumbers) -> list[Clique]:
    """Every column, then pairs, those with measurements first."""
    domain = evidence.model.domain
    pairs = list(combinations(domain.names, 2))
    if len(pairs) > MOST_PAIRS or sum(map(domain.cells, pairs)) > EVIDENCE_CELLS:
        pairs = sorted(pairs, key=lambda pair: (not evidence.covers(pair), domain.cells(pair)))[:MOST_PAIRS]
        # what is too large to be laid out costs nothing: its columns say what can be known
        work = np.cumsum([domain.cells(pair) if domain.cells(pair) <= LARGEST else 0 for pair in pairs])
        pairs = [pair for pair, done in zip(pairs, work, strict=True) if done <= EVIDENCE_CELLS]
    return [*((name,) for name in domain), *pairs]


def tightest(options: Sequence[ErrorInterval], rounding: float) -> ErrorInterval:
    """The tightest end of each side, widened by what drawing rows adds."""
    best = min(options, key=lambda option: option.high)
    low = min(best.high, max(option.low for option in options))
    return ErrorInterval(best.clique, max(0.0, low - rounding), min(2.0, best.high + rounding), best.known_from)


def intervals(
    evidence: ReleasedNumbers,
    clique: Clique,
    table: FloatArray,
    columns: Mapping[Clique, ErrorInterval],
    rng: np.random.Generator,
    draws: int,
) -> list[ErrorInterval]:
    """Every interval that can be had; each holds on its own."""
    total = evidence.total
    found = [measured_interval(clique, table, noisy, total, rng=rng, draws=draws) for noisy in evidence.tables(clique)]
    if len(clique) == 1:
        return [*found, ErrorInterval(clique, 0.0, 2.0, "columns")]
    slack = sum(columns[(name,)].high for name in clique)
    found.append(_coupling(evidence, clique, slack))
    scored = _scored(evidence, clique, table, slack)
    return found if scored is None else [*found, scored]


def measured_interval(
    clique: Clique, table: FloatArray, noisy: NoisyTable, total: float, *, rng: np.random.Generator, draws: int
) -> ErrorInterval:
    """From noisy counts y = p + σZ: what the error of the model's table can be, given y.

    Above: p is drawn again and again from its posterior given y, p ≥ 0 and an exponential prior around the model.
    Below: a share of those errors; or | ‖m − y‖₁ − ‖σZ‖₁ |, by the triangle inequality.
    """
    model, y, sigma = group_sums(table, noisy.groups), noisy.values, noisy.sigma
    distance = float(np.abs(model - y).sum())
    noise = math.sqrt(2 / math.pi) * sigma * y.size
    spread = sigma * math.sqrt((1 - 2 / math.pi) * y.size)
    draws = max(FEWEST_DRAWS, min(draws, DRAWN_CELLS // y.size))
    errors = posterior_errors(model.ravel(), y.ravel(), sigma, rng=rng, draws=draws)
    low = max(POOLED * float(np.quantile(errors, (1 - LEVEL) / 2)), abs(distance - noise) - 2 * WITHIN_90 * spread)
    high = float(np.quantile(errors, 1 - (1 - LEVEL) / 4)) + UNKNOWN * merged_mass(table, noisy.groups)
    high = min(high, distance + noise + 2 * WITHIN_90 * spread + 2 * merged_mass(table, noisy.groups))
    return ErrorInterval(
        clique, min(low, high) / total, high / total, "counts" if noisy.groups is None else "interaction"
    )


def posterior_errors(
    model: FloatArray, noisy: FloatArray, sigma: float, *, rng: np.random.Generator, draws: int
) -> FloatArray:
    """L1 errors of the model against draws of the private counts from their posterior.

    A cell's posterior is a normal around y − σ²/μ, cut at zero: the likelihood of y with an exponential prior of mean
    μ. For large cells μ is what the model expects. What it expects of small ones is noise itself (those it puts at zero
    are not empty), so these learn from each other: μ is the mean of their y, as large as it may well be; and if their y
    spread hardly more than noise, they are believed to be nearly alike, by a normal prior instead.
    """
    from scipy.special import log_ndtr, ndtri_exp

    sigma = max(sigma, 1e-9)
    centre, spread = noisy - sigma**2 / np.maximum(model, 0.02 * sigma), np.full(len(model), sigma)
    small = _drowned(model, noisy, sigma)
    if small.any():
        y = noisy[small]
        mean = max(0.02 * sigma, float(y.mean()) + WITHIN_90 * sigma / math.sqrt(len(y)))
        variance = max(1e-12 * sigma**2, float(y.var()) - sigma**2)
        if variance < mean**2:
            share = variance / (variance + sigma**2)
            centre[small], spread[small] = share * y + (1 - share) * mean, sigma * math.sqrt(share)
        else:
            centre[small] = y - sigma**2 / np.maximum(model[small], mean)
    tail = log_ndtr(centre / spread)
    errors = np.empty(draws)
    for i in range(draws):
        counts = centre - spread * ndtri_exp(tail + np.log(rng.random(len(model))))
        errors[i] = np.abs(model - np.maximum(counts, 0.0)).sum()
    return errors


def _drowned(model: FloatArray, noisy: FloatArray, sigma: float) -> NDArray[np.bool_]:
    """Cells that noise hardly lets tell apart: the smallest, and those that could well be one of them."""
    small = model < DROWNED * sigma
    for _ in range(3):
        if small.any():
            small |= noisy < noisy[small].mean() + DROWNED * max(sigma, float(noisy[small].std()))
    return small


def _scored(evidence: ReleasedNumbers, pair: Clique, table: FloatArray, slack: float) -> ErrorInterval | None:
    """From the released distance between the pair and independence, by the triangle inequality."""
    scores = evidence.model.scores
    if scores is None or pair not in evidence.scores:
        return None
    groups = tuple(scores.groups[name] for name in pair)
    distance = evidence.scores[pair] / evidence.total
    reach = WITHIN_90 * scores.sigma / evidence.total
    own = (
        float(np.abs(group_sums(table, groups) - group_sums(evidence.independence(pair), groups)).sum())
        / evidence.total
    )
    split = UNKNOWN * merged_mass(table, groups) / evidence.total
    high = max(0.0, distance + reach) + own + slack + split
    low = max(0.0, distance - reach - own - slack, own - max(0.0, distance + reach) - slack)
    return ErrorInterval(pair, min(low, high), high, "score")


def _coupling(evidence: ReleasedNumbers, pair: Clique, slack: float) -> ErrorInterval:
    """The most that any table with these columns can differ: nobody outside the largest code is misplaced twice."""
    largest = [float(t.max()) / evidence.total for t in evidence.model.project_many([(n,) for n in pair])]
    high = min(2.0, *(4 * (1 - share) for share in largest)) + slack
    return ErrorInterval(pair, 0.0, min(2.0, high), "columns")
