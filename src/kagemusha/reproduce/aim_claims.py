"""The AIM paper's claims in its own words, each judged by a difference of runs with other noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.reproduce.aim_paper import ACCURACY, RUNS
from kagemusha.reproduce.aim_runs import PAPER, Result
from kagemusha.reproduce.aim_steps import BudgetCurve, Steps
from kagemusha.reproduce.claims import (
    OPEN,
    Claim,
    alike,
    every,
    exact,
    interval,
    larger,
    level_of_each,
    standard_error,
    unpaired,
    untried,
)

AIMS = tuple(name for name in PAPER if name != "bayes")
NEAR = 0.10
"""“Almost the same” ε: within a tenth."""
KEPT = 0.8
"""“Keeps” the mutual information of a pair: at least this much of it."""


def of(results: Sequence[Result], arm: str) -> list[Result]:
    """An arm's runs."""
    return [r for r in results if r.arm == arm]


def _smaller(where: str, text: str, small: Sequence[float], large: Sequence[float]) -> Claim:
    return larger(where, text, f"{np.mean(small):.4f} against {np.mean(large):.4f}", unpaired(large, small))


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
    found = f"{np.mean(way('aim-noinit')):.4f} against {np.mean(way('aim-k2')):.4f}"
    # the paper: slightly worse, and no difference given the error bars (sd of three runs)
    bars = float(np.hypot(np.std(way("aim-noinit")), np.std(way("aim-k2"))))
    text = f"2-way error: aim-noinit and aim-k2 do not differ by more than their error bars ({bars:.4f})"
    claims.append(alike(where, text, found, unpaired(way("aim-noinit"), way("aim-k2")), margin=bars))
    level = level_of_each(2 * len(AIMS))
    parts = [larger(where, "", "", unpaired(way("bayes", k), way(arm, k), level=level)) for arm in AIMS for k in (1, 3)]
    return [*claims, every(where, "1- and 3-way error: every AIM is better than PrivBayes", parts)]


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
        found = f"{np.mean(score(high, only)):.4f} against {np.mean(score(low, only)):.4f}"
        return larger(where, text, found, unpaired(score(high, only), score(low, only)))

    over = f"accuracy, mean of {len(learners)} learners: "
    claims = [higher(f"{over}{arm} is better than PrivBayes", arm, "bayes") for arm in AIMS]
    claims += [
        higher(f"{over}aim-k2 is better than {arm}", "aim-k2", arm) for arm in ("aim-k3", "aim-noinit", "aim-lap")
    ]
    for name in learners:
        printed = ACCURACY[table][name]["aim-k2"][0] - ACCURACY[table][name]["aim-lap"][0]
        drop = unpaired(score("aim-k2", name), score("aim-lap", name))
        text = f"§1, accuracy of {name}: Laplace noise costs at least half of what is printed ({printed:.4f})"
        claims.append(larger(where, text, f"drops by {drop.mean:.4f}", drop, margin=printed / 2))
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
        text = f"“substantially” better, read as at most half of PrivBayes' mean difference: {arm}"
        found = f"{np.mean(gap(arm)):.4f} against half of {np.mean(gap('bayes')):.4f}"
        claims.append(larger(where, text, found, unpaired(gap("bayes"), gap(arm), by=0.5)))
    found = f"{np.mean(gap('aim-noinit')):.4f} against {np.mean(gap('aim-k2')):.4f}"
    tenth = NEAR * float(np.mean(gap("aim-k2")))
    text = f"aim-k2 and aim-noinit keep mutual information alike (within a tenth, {tenth:.4f})"
    claims.append(alike(where, text, found, unpaired(gap("aim-noinit"), gap("aim-k2")), margin=tenth))
    for arm in ("aim-k2", "aim-noinit", "bayes"):
        left = [r.kept for r in of(results, arm)]
        text = f"{arm} keeps the pairs of large mutual information (at least {KEPT:.0%} of it, five pairs)"
        claims.append(larger(where, text, f"{np.mean(left):.1%} of it is left", interval(left), margin=KEPT))
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
        near = float(np.mean([abs(z / b - 1) <= NEAR for z, b in zip(curve.zcdp, curve.upper, strict=True) if b > 0]))
        text = f"{key}: at every step zCDP and numerical composition almost coincide (within {NEAR:.0%})"
        found = (
            f"{len(curve.steps)} events; at most {low:.1%} from the lower bound (event {above}) and {high:.1%} from "
            f"the upper (event {below}); {near:.0%} of events are within {NEAR:.0%} of the upper; at the end "
            f"{curve.zcdp[-1] / curve.upper[-1] - 1:+.1%} and {curve.zcdp[-1] / curve.lower[-1] - 1:+.1%}"
        )
        claims.append(exact("Figure 3", text, found, max(low, high) <= NEAR))
    for key, found_paces in steps.paces.items():
        spread = ", ".join(f"{n} in {times}" for n, times in sorted(Counter(found_paces).items()))
        text = f"{key}: the pace changes twice (before the last round, which spends what is left)"
        changed = interval([float(n == 2) for n in found_paces])
        half = "in most runs, " if set(found_paces) != {2} else ""
        claims.append(larger("Figure 3", text, f"{half}changes: {spread} runs", changed, margin=0.5))
    falls = [(run[0][1] - run[steps.first][1]) / (run[0][1] - run[-1][1]) for run in steps.errors]
    text = "the 1-way error falls greatly with the initialisation (by at least half of all that it falls)"
    claims.append(larger("Figure 4", text, f"by {np.mean(falls):.1%} of it", interval(falls), margin=0.5))
    gaps = [c.other_error - c.chosen_error for c in steps.choices]
    found = (
        f"{np.mean([c.chosen_error for c in steps.choices]):.4f} against "
        f"{np.mean([c.other_error for c in steps.choices]):.4f}"
    )
    text = "pairs that were chosen end with a smaller error than the others"
    claims.append(larger("Figure 5", text, found, interval(gaps)))
    return [*claims, _favourites(steps)]


def _favourites(steps: Steps) -> Claim:
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
    if runs < 2:
        return untried("Figure 5", text, found)
    return exact("Figure 5", text, found, bool(different > 1 and often and rarely))


def ranks(steps: Steps) -> list[tuple[str, int, float]]:
    """For each pair: how many runs chose it, and its mean place in the order of choice; the earliest first."""
    places: dict[tuple[str, ...], list[int]] = {}
    for choice in steps.choices:
        for place, pair in enumerate(choice.pairs, 1):
            places.setdefault(pair, []).append(place)
    listed = [(" × ".join(pair), len(found), float(np.mean(found))) for pair, found in places.items()]
    return sorted(listed, key=lambda t: (-t[1], t[2]))
