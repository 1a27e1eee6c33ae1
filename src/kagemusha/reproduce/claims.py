"""What a paper claims and whether runs bear it out: one type and one rule for every page.

A claim is about a difference of means over independent trainings (or over what else is independent). Its 95 % interval
decides: above the margin the claim “is larger” holds, below it the claim does not hold, and if the interval contains
the margin, the runs cannot tell. “Alike” holds if the whole interval lies within the margin on both sides, and does not
hold if the whole interval lies outside. A single training never tells.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.extras import need
from kagemusha.reproduce.tables import markdown_table

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot tell"
VERDICTS = (HOLDS, FAILS, OPEN)
LEVEL = 0.95

Values = Sequence[float] | FloatArray


@dataclass(frozen=True)
class Interval:
    """A mean and its interval, from `n` independent trainings."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        if not math.isfinite(self.low):
            return f"{self.mean:+.4f} (n = {self.n})"
        return f"{self.mean:+.4f} ({self.low:+.4f} to {self.high:+.4f}, n = {self.n})"

    def less(self, amount: float) -> Interval:
        """Moved down."""
        return Interval(self.mean - amount, self.low - amount, self.high - amount, self.n)


class Measured(Protocol):
    """A number with an interval that need not be symmetric, such as a share."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def standard_error(values: Values) -> float:
    """Of the mean; not a number if there is one value only."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def interval(values: Values, *, level: float = LEVEL) -> Interval:
    """Of the mean, by Student's t; unbounded for a single value."""
    return _interval(float(np.mean(values)), standard_error(values), len(values) - 1, len(values), level)


def paired(more: Values, less: Values, *, level: float = LEVEL) -> Interval:
    """Of the mean difference, pair by pair."""
    return interval(np.asarray(more, dtype=float) - np.asarray(less, dtype=float), level=level)


def unpaired(more: Values, less: Values, *, by: float = 1.0, level: float = LEVEL) -> Interval:
    """Of `by` times the mean of `more` less the mean of `less`, by Welch's t."""
    mean, n = by * float(np.mean(more)) - float(np.mean(less)), min(len(more), len(less))
    first, second = by * standard_error(more), standard_error(less)
    error = math.hypot(first, second)
    if not math.isfinite(error) or error == 0:
        return _interval(mean, error, n - 1, n, level)
    freedom = error**4 / (first**4 / (len(more) - 1) + second**4 / (len(less) - 1))
    return _interval(mean, error, freedom, n, level)


def apart(more: Measured, less: Measured, n: int) -> Interval:
    """Of the difference of two numbers with intervals of their own (Newcombe's hybrid of both)."""
    mean = more.value - less.value
    if n < 2:
        return Interval(mean, -math.inf, math.inf, n)
    down = math.hypot(more.value - more.low, less.high - less.value)
    up = math.hypot(more.high - more.value, less.value - less.low)
    return Interval(mean, mean - down, mean + up, n)


def of_measured(one: Measured, n: int, *, less: float = 0.0) -> Interval:
    """A number's own interval."""
    low, high = (one.low, one.high) if n > 1 else (-math.inf, math.inf)
    return Interval(one.value, low, high, n).less(less)


def _interval(mean: float, error: float, freedom: float, n: int, level: float) -> Interval:
    if n < 2 or not math.isfinite(error):
        return Interval(mean, -math.inf, math.inf, n)
    reach = float(need("scipy.stats").t.ppf((1 + level) / 2, freedom)) * error
    return Interval(mean, mean - reach, mean + reach, n)


@dataclass(frozen=True)
class Claim:
    """A sentence, what was found, the difference that was judged, and the verdict."""

    where: str
    """Place in the paper, or "ours"."""
    text: str
    found: str
    verdict: str
    difference: Interval | None = None
    """None for what is exact, and for a claim of several parts."""
    ours: bool = False
    """Whether it is about what we add to the paper."""
    parts: int = 0
    """How many differences were judged, where it is more than one."""

    @property
    def holds(self) -> bool:
        """Whether it holds without any doubt left by the runs."""
        return self.verdict == HOLDS


def larger(where: str, text: str, found: str, difference: Interval, *, margin: float = 0, ours: bool = False) -> Claim:
    """The difference is above the margin."""
    verdict = HOLDS if difference.low > margin else FAILS if difference.high < margin else OPEN
    return Claim(where, text, found, verdict, difference, ours)


def smaller(where: str, text: str, found: str, difference: Interval, *, margin: float = 0, ours: bool = False) -> Claim:
    """The difference is below the margin."""
    verdict = HOLDS if difference.high < margin else FAILS if difference.low > margin else OPEN
    return Claim(where, text, found, verdict, difference, ours)


def alike(where: str, text: str, found: str, difference: Interval, *, margin: float, ours: bool = False) -> Claim:
    """The difference lies within the margin on both sides."""
    inside = -margin < difference.low and difference.high < margin
    outside = difference.low > margin or difference.high < -margin
    return Claim(where, text, found, HOLDS if inside else FAILS if outside else OPEN, difference, ours)


def exact(where: str, text: str, found: str, holds: bool, *, ours: bool = False) -> Claim:
    """Something without chance: digits that agree, a proof's bound that is kept."""
    return Claim(where, text, found, HOLDS if holds else FAILS, None, ours)


def untried(where: str, text: str, found: str, *, ours: bool = False) -> Claim:
    """A claim whose runs were not made."""
    return Claim(where, text, found, OPEN, None, ours)


def every(where: str, text: str, parts: Sequence[Claim], found: str = "", *, ours: bool = False) -> Claim:
    """A claim of several parts: it holds if all do, and does not hold if one does not.

    Intervals of the parts are best made at `level_of_each(len(parts))`.
    """
    words = Counter(part.verdict for part in parts)
    verdict = FAILS if words[FAILS] else OPEN if words[OPEN] or not parts else HOLDS
    return Claim(where, text, found or counted(parts), verdict, None, ours, len(parts))


def level_of_each(parts: int) -> float:
    """The level of each of several intervals that are to hold together at LEVEL (Bonferroni)."""
    return 1 - (1 - LEVEL) / max(1, parts)


def counted(claims: Sequence[Claim]) -> str:
    """How many hold, do not, and cannot be decided."""
    words = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{words[word]} {word}" for word in VERDICTS) + f", of {len(claims)}"


def claim_table(claims: Sequence[Claim]) -> str:
    """Every claim on a line."""
    rows = []
    for c in claims:
        several = f"{c.parts} parts" if c.parts else "exact" if c.verdict != OPEN else "–"
        difference = several if c.difference is None else str(c.difference)
        rows.append([c.where, c.text, c.found, difference, f"**{c.verdict}**" if c.verdict == FAILS else c.verdict])
    return markdown_table(["where", "claim", "found", "difference judged (95 %)", "verdict"], rows)


def to_json(claims: Sequence[Claim]) -> str:
    """As a file keeps them."""
    rows = [{k: _plain(v) for k, v in asdict(claim).items()} for claim in claims]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> list[Claim]:
    """What `to_json` wrote."""
    found = []
    for row in json.loads(text):
        judged = row.pop("difference")
        if judged is not None:
            low, high = (judged["low"], judged["high"])
            judged = Interval(
                judged["mean"], -math.inf if low is None else low, math.inf if high is None else high, judged["n"]
            )
        found.append(Claim(**row, difference=judged))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
