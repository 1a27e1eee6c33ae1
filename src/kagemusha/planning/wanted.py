"""Which ε for a wanted error? The method is tried out on a stand-in for the private table, which is public.

A stand-in is drawn from a model that was released already, or from a public table of the same schema, or it is made up
from the schema: columns of falling frequency that follow a few hidden kinds of people. Every try is a simulation;
nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.generators.rows import RowsGenerator
from kagemusha.models.doubles import Doubles
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.quality.projectable import CodedTable, compared, require_columns
from kagemusha.schema import Clique, Domain, Schema
from kagemusha.sources.codes import KEPT_CELLS, CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.protocol import Synthesizer

SMALLEST, LARGEST = 0.01, 64.0
"""Where ε is looked for."""

STEP = 4
"""From one ε to the next while none is known that brings the error."""

TRIES = 10
"""Runs around the ε that was found first."""

APART = 1.2
"""How far beside it they are made."""

STEEPEST, FLATTEST = -1.5, -0.15
"""How fast errors can fall with ε, in logarithms."""

STAND_IN_ROWS = 300_000
"""A stand-in for a longer table has so many rows, and what follows from it is a little too careful."""

NEAR = 0.2
"""Tries whose errors are this far from the wanted one, in logarithms, weigh a quarter of those that hit it."""

STAND_IN_CELLS = 2**22
KINDS = 5

STAND_INS = 3
"""Tables that stand in in turn, where they can be drawn: one alone has its own peculiarities."""


@dataclass(frozen=True)
class Solved:
    """An ε, and the error that it brought on the stand-ins."""

    epsilon: float
    error: float
    reached: bool
    """False if no ε in reach brings the wanted error; this is then the nearest."""
    tried: Sequence[tuple[float, float]]
    """Every ε that was tried, and the error of that run."""


def made_up(schema: Schema, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of a table that such a schema might belong to; they obey its rules."""
    kind = rng.integers(0, KINDS, rows)
    columns = []
    for size in schema.domain.sizes:
        shares = np.arange(1.0, size + 1) ** -rng.uniform(0.5, 1.5)
        shifts = np.where(rng.random(KINDS) < 0.5, 0, rng.integers(0, size, KINDS))
        columns.append((rng.choice(size, rows, p=shares / shares.sum()) + shifts[kind]) % size)
    codes = np.stack(columns, axis=1)
    if not schema.constraints:
        return codes
    # rows that break a rule would be an error that no ε mends
    return Doubles(schema, RowsGenerator(schema.domain, codes)).codes(rows, rng=rng)


def like(model: Model, rows: int, *, rng: np.random.Generator) -> IntArray:
    """Codes of a table that such a model might have come from.

    Doubles are traded until their counts fit the model, so they scatter less around it than people do, and a method
    would find them easier than a table. Drawn again with replacement they scatter as independent people.
    """
    codes = model.sample_codes(rows, rng=rng)
    return codes[rng.integers(0, len(codes), len(codes))]


def pairs_of(domain: Domain, texts: Sequence[str]) -> list[Clique]:
    """The pairs that texts such as "age,ward" name; all that can be laid out if there are none."""
    if not texts:
        return [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= STAND_IN_CELLS]
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
    stand_ins: Sequence[IntArray],
    budget: Budget,
    wanted: float,
    pairs: Sequence[Clique],
    *,
    progress: Progress = silent,
) -> Solved:
    """The ε at which the mean error of these pairs is the wanted one, on stand-ins; δ and unit are those of `budget`.

    One run alone is off by a tenth and more. So every try has a seed of its own, and ε is where a line through the
    tries around it has the wanted error, in logarithms; each next try is made there.
    """
    if not pairs:
        raise UsageError("there is no pair of columns whose error could be wanted")
    tables = [CodedTable.of_codes(schema, codes) for codes in stand_ins]
    sources = [CodesSource(schema, table.columns, remember=KEPT_CELLS // len(tables)) for table in tables]
    tried: list[tuple[float, float]] = []

    def error_at(epsilon: float) -> float:
        progress(f"trying ε = {epsilon:.3g}", min(1.0, len(tried) / (TRIES + 3)))
        seed = len(tried)
        table = tables[seed % len(tables)]
        model = fit(synthesizer, sources[seed % len(tables)], replace(budget, epsilon=epsilon), simulation=seed)
        doubles = model.sample_codes(table.rows, rng=np.random.default_rng(seed))
        error = mean_error(table, CodedTable.of_codes(schema, doubles), pairs)
        tried.append((epsilon, max(error, 1e-12)))
        return error

    low, high = _bracket(error_at, wanted, budget.epsilon)
    if low == high:
        return Solved(high, tried[-1][1], False, sorted(tried))
    epsilon = _crossing(tried, wanted, low, high)
    for at in range(TRIES):
        # a little to both sides in turn, so that the tries tell how steep the line is
        error_at(min(LARGEST, max(SMALLEST, epsilon * (APART if at % 2 else 1 / APART))))
        epsilon = _crossing(tried, wanted, low, high)
    near = [error for tried_at, error in tried if 1 / APART**2 <= tried_at / epsilon <= APART**2]
    return Solved(
        float(f"{epsilon:.3g}"), float(np.exp(np.mean(np.log(near)))) if near else wanted, True, sorted(tried)
    )


def _bracket(error_at: Callable[[float], float], wanted: float, start: float) -> tuple[float, float]:
    """Two ε with the wanted error between theirs; twice the end of the range if there are none."""
    low = high = min(max(start, SMALLEST), LARGEST)
    if error_at(low) <= wanted:
        while low > SMALLEST:
            high, low = low, max(SMALLEST, low / STEP)
            if error_at(low) > wanted:
                return low, high
        return low, low
    while high < LARGEST:
        low, high = high, min(LARGEST, STEP * high)
        if error_at(high) <= wanted:
            return low, high
    return high, high


def _crossing(tried: Sequence[tuple[float, float]], wanted: float, low: float, high: float) -> float:
    """Where a line through the tries, in logarithms, has the wanted error.

    Those with errors nearest to it weigh most.
    """
    x, y = np.log(np.array(tried)).T
    y = y - math.log(wanted)
    weight = 1 / (NEAR + np.abs(y)) ** 2
    middle = (weight @ x) / weight.sum(), (weight @ y) / weight.sum()
    spread = weight @ (x - middle[0]) ** 2
    slope = (weight @ ((x - middle[0]) * (y - middle[1]))) / spread if spread > 0 else -1.0
    slope = min(max(slope, STEEPEST), FLATTEST)
    # chance may have led the first tries to the wrong side
    return math.exp(min(max(middle[0] - middle[1] / slope, math.log(low / STEP)), math.log(high * STEP)))
