"""Which ε for a wanted error? The method is tried out on a stand-in for the private table, which is public.

A stand-in is drawn from a model that was released already, or from a public table of the same schema, or it is made up from the
schema: columns of falling frequency that follow a few hidden kinds of people. Every try is a simulation; nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.quality.projectable import CodedTable, compared, require_columns
from kagemusha.schema import Clique, Domain, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.protocol import Synthesizer

SMALLEST, LARGEST = 0.01, 64.0
"""Where ε is looked for."""

TRIES = 8
MOST_ROWS = 300_000
"""A stand-in for a longer table has so many rows, and what follows from it is a little too careful."""

NEAR = 0.04
MOST_CELLS = 2**22
KINDS = 5


@dataclass(frozen=True)
class Solved:
    """An ε, and the error that it brought on the stand-in."""

    epsilon: float
    error: float
    reached: bool
    """False if no ε in reach brings the wanted error; this is then the nearest."""
    tried: Sequence[tuple[float, float]]
    """Every ε that was tried, and its error."""


def made_up(schema: Schema, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of a table that such a schema might belong to."""
    kind = rng.integers(0, KINDS, rows)
    columns = []
    for size in schema.domain.sizes:
        shares = np.arange(1.0, size + 1) ** -rng.uniform(0.5, 1.5)
        order = np.arange(size)
        shifts = np.where(rng.random(KINDS) < 0.5, 0, rng.integers(0, size, KINDS))
        drawn = rng.choice(size, rows, p=shares / shares.sum())
        columns.append(order[(drawn + shifts[kind]) % size])
    return np.stack(columns, axis=1)


def pairs_of(domain: Domain, texts: Sequence[str]) -> list[Clique]:
    """The pairs that texts such as "age,ward" name; all that can be laid out if there are none."""
    if not texts:
        return [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= MOST_CELLS]
    found = []
    for text in texts:
        names = tuple(name.strip() for name in text.split(","))
        if len(names) != 2 or names[0] == names[1]:
            raise UsageError(f"--pairs takes two columns with a comma between them, such as age,ward; got {text!r}")
        found.append(domain.canonical(require_columns(domain, names)))
    return found


def mean_error(real: CodedTable, doubles: CodedTable, pairs: Sequence[Clique]) -> float:
    """Mean L1 error over pairs, as a share of records."""
    return float(np.mean([np.abs(p - q).sum() for _, p, q in compared(real, doubles, pairs)]))


def solve_epsilon(
    synthesizer: Synthesizer,
    schema: Schema,
    codes: IntArray,
    budget: Budget,
    wanted: float,
    pairs: Sequence[Clique],
    *,
    seeds: int = 2,
    progress: Progress = silent,
) -> Solved:
    """The ε at which the mean error of these pairs is the wanted one, on the stand-in; δ and unit are those of `budget`."""
    if not pairs:
        raise UsageError("there is no pair of columns whose error could be wanted")
    table = CodedTable.of_codes(schema, codes)
    source = CodesSource(schema, table.columns, remember=True)
    tried: dict[float, float] = {}

    def error_at(epsilon: float) -> float:
        progress(f"trying ε = {epsilon:.3g}", len(tried) / TRIES)
        found = []
        for seed in range(seeds):
            model = fit(synthesizer, source, replace(budget, epsilon=epsilon), simulation=seed)
            doubles = model.sample_codes(len(codes), rng=np.random.default_rng(seed))
            found.append(mean_error(table, CodedTable.of_codes(schema, doubles), pairs))
        tried[epsilon] = float(np.mean(found))
        return tried[epsilon]

    low, high = _bracket(error_at, tried, wanted, budget.epsilon)
    while len(tried) < TRIES and not _near(tried, wanted) and tried[low] > wanted > tried[high]:
        middle = _between(low, tried[low], high, tried[high], wanted)
        low, high = (middle, high) if error_at(middle) > wanted else (low, middle)
    best = min(tried, key=lambda epsilon: abs(math.log(max(tried[epsilon], 1e-12) / wanted)))
    reached = abs(tried[best] / wanted - 1) <= 3 * NEAR
    epsilon = best
    if tried[low] > wanted > tried[high]:
        epsilon, reached = _between(low, tried[low], high, tried[high], wanted), True
    return Solved(float(f"{epsilon:.3g}"), tried[best], reached, sorted(tried.items()))


def _near(tried: Mapping[float, float], wanted: float) -> bool:
    return any(abs(error / wanted - 1) <= NEAR for error in tried.values())


def _bracket(
    error_at: Callable[[float], float], tried: Mapping[float, float], wanted: float, start: float
) -> tuple[float, float]:
    """Two ε with the wanted error between theirs, if there are such."""
    low = high = min(max(start, SMALLEST), LARGEST)
    error_at(low)
    while tried[low] <= wanted and low > SMALLEST and len(tried) < TRIES:
        high, low = low, max(SMALLEST, low / 4)
        error_at(low)
    while tried[high] > wanted and high < LARGEST and len(tried) < TRIES:
        low, high = high, min(LARGEST, 4 * high)
        error_at(high)
    return low, high


def _between(low: float, error_low: float, high: float, error_high: float, wanted: float) -> float:
    """Where a straight line in logarithms has the wanted error, not too near to either end."""
    span = math.log(error_low) - math.log(max(error_high, 1e-9))
    share = 0.5 if span <= 0 else (math.log(error_low) - math.log(wanted)) / span
    return math.exp(math.log(low) + min(0.9, max(0.1, share)) * (math.log(high) - math.log(low)))
