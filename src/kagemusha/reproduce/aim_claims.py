"""The AIM paper's claims in its own words, each judged by a difference and its standard error.

A difference of two means of runs with other noise has the standard error √(s₁²/n₁ + s₂²/n₂). “Better” holds from two
standard errors on, fails from two on the other side, and is not settled between. “No difference” fails from two on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.reproduce.aim_paper import ACCURACY, RUNS
from kagemusha.reproduce.aim_runs import PAPER, Result
from kagemusha.reproduce.aim_steps import BudgetCurve, Steps

HOLDS, FAILS, OPEN = "holds", "does not hold", "not settled"
AIMS = tuple(name for name in PAPER if name != "bayes")
NEAR = 0.10
"""“Almost the same” ε: within a tenth."""
KEPT = 0.8
"""“Keeps” the mutual information of a pair: at least this much of it."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, what was found, from how many runs, the difference judged, and the verdict."""

    where: str
    text: str
    found: str
    n: int
    mean: float
    error: float
    verdict: str

    @property
    def holds(self) -> bool:
        """Whether it holds without any doubt left by the runs."""
        return self.verdict == HOLDS


def of(results: Sequence[Result], arm: str) -> list[Result]:
    """An arm's runs."""
    return [r for r in results if r.arm == arm]


def standard_error(values: Sequence[float] | FloatArray) -> float:
    """Of the mean; not a number if there is one value only."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def difference(high: Sequence[float], low: Sequence[float], *, by: float = 1.0) -> tuple[float, float]:
    """Mean of `high`, times `by`, less the mean of `low`, with its standard error."""
    mean = by * float(np.mean(high)) - float(np.mean(low))
    return mean, math.hypot(by * standard_error(high), standard_error(low))


def better(mean: float, error: float) -> str:
    """The verdict on “larger than nothing”."""
    if not math.isfinite(error):
        return OPEN
    return HOLDS if mean >= 2 * error and mean > 0 else FAILS if mean <= -2 * error else OPEN


def alike(mean: float, error: float) -> str:
    """The verdict on “no difference”."""
    return OPEN if not math.isfinite(error) else HOLDS if abs(mean) <= 2 * error else FAILS


def _smaller(where: str, text: str, small: Sequence[float], large: Sequence[float]) -> Claim:
    mean, error = difference(large, small)
    found = f"{np.mean(small):.4f} against {np.mean(large):.4f}"
    return Claim(where, text, found, min(len(small), len(large)), mean, error, better(mean, error))


def error_claims(table: str, results: Sequence[Result], *, form: str = "") -> list[Claim]:
    """Figures 1 and 2; `form` is " printed" for the arms fitted as printed."""

    def way(arm: str, k: int = 2) -> list[float]:
        return [r.errors[k - 1] for r in of(results, arm if arm == "bayes" else arm + form)]

    where = f"§4.1, {table.title()}"
    claims = [_smaller(where, f"2-way error: {arm} is better than PrivBayes", way(arm), way("bayes")) for arm in AIMS]
    claims += [
        _smaller(where, f"2-way error: aim-k2 is better than {arm}", way("aim-k2"), way(arm))
        for arm in ("aim-k3", "aim-lap")
    ]
    claims += [
        _smaller(where, f"2-way error: aim-lap is the worst AIM: {arm} is better", way(arm), way("aim-lap"))
        for arm in ("aim-k3", "aim-noinit")
    ]
    mean, error = difference(way("aim-noinit"), way("aim-k2"))
    found = f"{np.mean(way('aim-noinit')):.4f} against {np.mean(way('aim-k2')):.4f}"
    text = "2-way error: aim-noinit and aim-k2 do not differ"
    claims.append(Claim(where, text, found, len(way("aim-k2")), mean, error, alike(mean, error)))
    others = [_smaller(where, "", way(arm, k), way("bayes", k)) for arm in AIMS for k in (1, 3)]
    worst = min(others, key=lambda c: c.mean / c.error if c.error > 0 else 0.0)
    holding = sum(c.holds for c in others)
    verdict = HOLDS if holding == len(others) else FAILS if any(c.verdict == FAILS for c in others) else OPEN
    text = "1- and 3-way error: every AIM is better than PrivBayes"
    found = f"{holding} of {len(others)} differences; the smallest, in standard errors, is shown"
    return [*claims, Claim(where, text, found, worst.n, worst.mean, worst.error, verdict)]


def accuracy_claims(table: str, results: Sequence[Result]) -> list[Claim]:
    """Tables 2 and 3: the ranking, and how far lap falls."""
    learners = [name for name in ACCURACY[table] if all(name in r.accuracy for r in of(results, "aim-k2"))]
    if not learners:
        return []

    def score(arm: str, only: str | None = None) -> list[float]:
        names = [only] if only else learners
        return [float(np.mean([r.accuracy[name] for name in names])) for r in of(results, arm)]

    where = f"Table {2 if table == 'adult' else 3}, {table.title()}"

    def higher(text: str, high: str, low: str, only: str | None = None) -> Claim:
        mean, error = difference(score(high, only), score(low, only))
        found = f"{np.mean(score(high, only)):.4f} against {np.mean(score(low, only)):.4f}"
        return Claim(where, text, found, len(score(high)), mean, error, better(mean, error))

    over = f"accuracy, mean of {len(learners)} learners: "
    claims = [higher(f"{over}{arm} is better than PrivBayes", arm, "bayes") for arm in AIMS]
    claims += [
        higher(f"{over}aim-k2 is better than {arm}", "aim-k2", arm) for arm in ("aim-k3", "aim-noinit", "aim-lap")
    ]
    for name in learners:
        printed = ACCURACY[table][name]["aim-k2"][0] - ACCURACY[table][name]["aim-lap"][0]
        mean, error = difference(score("aim-k2", name), score("aim-lap", name))
        text = f"§1, accuracy of {name}: with Laplace noise it drops greatly (printed: by {printed:.4f})"
        verdict = better(mean - printed / 2, error)
        claims.append(Claim(where, text, f"drops by {mean:.4f}", len(score("aim-k2")), mean, error, verdict))
    return claims


@dataclass(frozen=True)
class ClaimCell:
    """One number of Tables 2 and 3, ours beside it: two-sided, in standard errors of the difference."""

    table: str
    learner: str
    method: str
    printed: tuple[float, float]
    n: int
    mean: float
    error: float

    @property
    def distance(self) -> float:
        """Ours less theirs, in standard errors; theirs is of three runs."""
        spread = math.hypot(self.error, self.printed[1] / math.sqrt(RUNS))
        return (self.mean - self.printed[0]) / spread if spread > 0 else math.nan

    @property
    def verdict(self) -> str:
        """Whether both can be the same number."""
        if not math.isfinite(self.distance):
            return OPEN
        return "agrees" if abs(self.distance) <= 2 else "higher" if self.distance > 0 else "lower"


def cells(table: str, results: Sequence[Result]) -> list[ClaimCell]:
    """All fifteen of a table, as far as they were run."""
    found = []
    for learner, row in ACCURACY[table].items():
        for method in PAPER:
            ours = [r.accuracy[learner] for r in of(results, method) if learner in r.accuracy]
            if ours:
                mean = float(np.mean(ours))
                found.append(ClaimCell(table, learner, method, row[method], len(ours), mean, standard_error(ours)))
    return found


def contradictions() -> list[str]:
    """Where the paper's own tables do not say what its text says."""
    found = []
    for table, rows in ACCURACY.items():
        for learner, row in rows.items():
            below = [m for m in AIMS if row[m][0] < row["bayes"][0]]
            if below:
                drop = ", ".join(f"{m} {row[m][0]:.4f} < bayes {row['bayes'][0]:.4f}" for m in below)
                found.append(f"{table.title()}, {learner}: {drop}, though “AIM was better than PrivBayes in both”")
    return found


def information_claims(table: str, results: Sequence[Result]) -> list[Claim]:
    """Figures 6 to 8: mutual information."""

    def gap(arm: str) -> list[float]:
        return [r.information_error for r in of(results, arm)]

    where = f"§4.3, {table.title()}"
    claims = []
    for arm in ("aim-k2", "aim-noinit"):
        claims.append(_smaller(where, f"{arm} keeps mutual information better than PrivBayes", gap(arm), gap("bayes")))
        mean, error = difference(gap("bayes"), gap(arm), by=0.5)
        text = f"“substantially” better, read as at most half of PrivBayes' mean difference: {arm}"
        found = f"{np.mean(gap(arm)):.4f} against half of {np.mean(gap('bayes')):.4f}"
        claims.append(Claim(where, text, found, len(gap(arm)), mean, error, better(mean, error)))
    mean, error = difference(gap("aim-noinit"), gap("aim-k2"))
    found = f"{np.mean(gap('aim-noinit')):.4f} against {np.mean(gap('aim-k2')):.4f}"
    text = "aim-k2 and aim-noinit keep mutual information alike"
    claims.append(Claim(where, text, found, len(gap("aim-k2")), mean, error, alike(mean, error)))
    for arm in ("aim-k2", "aim-noinit", "bayes"):
        left = [r.kept for r in of(results, arm)]
        mean, error = float(np.mean(left)) - KEPT, standard_error(left)
        text = f"{arm} keeps the pairs of large mutual information (at least {KEPT:.0%} of it, five pairs)"
        found = f"{np.mean(left):.1%} of it is left"
        claims.append(Claim(where, text, found, len(left), mean, error, better(mean, error)))
    return claims


def _farthest(curve: BudgetCurve, bound: Sequence[float]) -> tuple[int, float]:
    gaps = [(abs(z / b - 1), s) for s, z, b in zip(curve.steps, curve.zcdp, bound, strict=True) if b > 0]
    gap, step = max(gaps)
    return step, gap


def step_claims(steps: Steps) -> list[Claim]:
    """Figures 3 to 5: budget, pace, errors and choices step by step."""
    claims = []
    for key, curve in steps.curves.items():
        (above, low), (below, high) = _farthest(curve, curve.lower), _farthest(curve, curve.upper)
        text = f"{key}: at every step zCDP and numerical composition almost coincide (within {NEAR:.0%})"
        found = (
            f"{len(curve.steps)} steps; at most {low:.1%} from the lower bound (step {above}) and {high:.1%} from the "
            f"upper (step {below}); at the end {curve.zcdp[-1] / curve.upper[-1] - 1:+.1%} and "
            f"{curve.zcdp[-1] / curve.lower[-1] - 1:+.1%}"
        )
        verdict = HOLDS if max(low, high) <= NEAR else FAILS
        claims.append(Claim("Figure 3", text, found, len(curve.steps), max(low, high), 0.0, verdict))
    for key, found_paces in steps.paces.items():
        spread = ", ".join(f"{n} in {times}" for n, times in sorted(Counter(found_paces).items()))
        verdict = HOLDS if set(found_paces) == {2} else FAILS
        mean, error = float(np.mean(found_paces)) - 2, standard_error(found_paces)
        text = f"{key}: the pace changes twice (before the last round, which spends what is left)"
        claims.append(Claim("Figure 3", text, f"changes: {spread} runs", len(found_paces), mean, error, verdict))
    falls = [(run[0][1] - run[steps.first][1]) / (run[0][1] - run[-1][1]) for run in steps.errors]
    mean, error = float(np.mean(falls)) - 0.5, standard_error(falls)
    text = "the 1-way error falls greatly with the initialisation (by at least half of all that it falls)"
    found = f"by {np.mean(falls):.1%} of it"
    claims.append(Claim("Figure 4", text, found, len(falls), mean, error, better(mean, error)))
    gaps = [c.other_error - c.chosen_error for c in steps.choices]
    mean, error = float(np.mean(gaps)), standard_error(gaps)
    found = (
        f"{np.mean([c.chosen_error for c in steps.choices]):.4f} against "
        f"{np.mean([c.other_error for c in steps.choices]):.4f}"
    )
    text = "pairs that were chosen end with a smaller error than the others"
    claims.append(Claim("Figure 5", text, found, len(gaps), mean, error, better(mean, error)))
    return [*claims, *_favourites(steps)]


def _favourites(steps: Steps) -> list[Claim]:
    runs = len(steps.choices)
    times = Counter(pair for choice in steps.choices for pair in choice.pairs)
    pairs = len(steps.names) * (len(steps.names) - 1) // 2
    often = sum(n >= 0.9 * runs for n in times.values())
    rarely = pairs - sum(n > 0.1 * runs for n in times.values())
    different = len({frozenset(choice.pairs) for choice in steps.choices})
    text = "runs choose differently, and yet some pairs are favoured and some are not"
    found = (
        f"{different} different sets in {runs} runs; of {pairs} pairs {often} in at least 90 % of runs, {rarely} "
        f"in at most 10 %"
    )
    verdict = HOLDS if different > 1 and often and rarely else FAILS
    return [Claim("Figure 5", text, found, runs, float(often), 0.0, verdict)]


def ranks(steps: Steps) -> list[tuple[str, int, float]]:
    """For each pair: how many runs chose it, and its mean place in the order of choice; the earliest first."""
    places: dict[tuple[str, ...], list[int]] = {}
    for choice in steps.choices:
        for place, pair in enumerate(choice.pairs, 1):
            places.setdefault(pair, []).append(place)
    listed = [(" × ".join(pair), len(found), float(np.mean(found))) for pair, found in places.items()]
    return sorted(listed, key=lambda t: (-t[1], t[2]))
