"""What plays say about a promise, in numbers and in words.

An attack that fails proves nothing; the words say how much it could have seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.game import Cell, Outcome
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT
from kagemusha.attacks.intervals import Estimate, accuracy, area, p_value, true_rates
from kagemusha.attacks.risk import Proved, proved
from kagemusha.privacy.budget import Budget

MOST_PLAYS = 10_000_000
"""More trainings than anybody would wait for."""

SEEN = 0.05
"""An advantage of so much would have to show for an attack to count as a test."""

RISK = 0.05


@dataclass(frozen=True, eq=False)
class Finding:
    """One attack, judged."""

    cell: Cell
    scores: FloatArray
    accuracy: Estimate
    area: float
    p: float
    rates: Mapping[float, Estimate]
    bound: Proved
    """Lower bounds on μ and ε from one table of every training: those are independent runs."""

    @property
    def advantage(self) -> Estimate:
        """Accuracy less one half."""
        a = self.accuracy
        return Estimate(a.value - 0.5, a.low - 0.5, a.high - 0.5, a.level)

    @property
    def constant(self) -> bool:
        """Whether the attack gave one answer always, which is right half the time whatever the truth."""
        return bool((self.scores > 0).all() or (self.scores <= 0).all())


def findings(outcome: Outcome, *, budget: Budget | None = None, exact_fit: bool = False) -> list[Finding]:
    """Every attack of a game, judged."""
    delta = budget.delta if budget is not None and budget.is_finite else 0.0
    found = []
    for cell, scores in outcome.scores.items():
        alone = scores.reshape(len(scores), 2, -1) if not exact_fit else _flat(scores)
        bound = proved(alone[:, WITHOUT, 0], alone[:, INSIDE, 0], delta=delta, risk=RISK)
        found.append(
            Finding(
                cell,
                scores,
                accuracy(scores, exact_fit=exact_fit),
                area(scores),
                p_value(scores, exact_fit=exact_fit),
                true_rates(scores),
                bound,
            )
        )
    return found


def _flat(scores: FloatArray) -> FloatArray:
    """Every generation as a training of its own: right where the fit draws nothing at random."""
    moved = np.moveaxis(scores, 2, 1).reshape(-1, 2)
    return moved[:, :, None]


@dataclass(frozen=True)
class Verdict:
    """The last word on all attacks of a game."""

    kind: str
    """"broken", "leaks", "quiet" or "weak"."""
    words: str

    @property
    def broken(self) -> bool:
        """Whether the plays contradict the promise."""
        return self.kind == "broken"


def verdict(found: Sequence[Finding], budget: Budget | None = None) -> Verdict:
    """In words. The risk of a false alarm is shared out over all attacks that were tried (Holm would gain little)."""
    promised = budget if budget is not None and budget.is_finite else None
    more = ""
    if promised is not None and any(f.cell.alone for f in found):
        # a promise about one person says less about ten: it is judged by single targets
        more = _several([f for f in found if not f.cell.alone], len(found))
        found = [f for f in found if f.cell.alone]
    tried = max(1, len(found))
    worst = max(found, key=lambda f: (f.accuracy.low, -f.p))
    where = f"{worst.cell.inference} on the {worst.cell.target} target"
    if promised is not None:
        broken = [f for f in found if f.cell.alone and _contradicts(f, promised, RISK / tried)]
        if broken:
            one = broken[0]
            return Verdict(
                "broken",
                f"BROKEN: {one.cell.inference} on the {one.cell.target} target proves ε ≥ {one.bound.epsilon:.3g}, "
                f"more than {promised.in_words()} allows.",
            )
    words = _allowance(promised) + " "
    if worst.p < RISK / tried and worst.accuracy.low > 0.5:
        words += f"An attack works: {where} is right in {_percent(worst.accuracy)} of plays, guessing in 50 %. "
        words += _against(worst, promised, RISK / tried)
        return Verdict("leaks", (words + more).strip())
    widest = 0.5 + max(f.accuracy.high - f.accuracy.low for f in found) / 2  # what could go unseen
    trainings = len(worst.scores)
    if widest > 0.5 + 2 * SEEN:
        needed = math.ceil((1.96 * 0.5 / SEEN) ** 2 / 2)
        words += (
            f"No attack did better than guessing, but these were too weak to tell: {trainings:,} independent trainings "
            f"leave room for an accuracy of {100 * widest:.0f} %. About {needed:,} would show an advantage of "
            f"{100 * SEEN:.0f} points."
        )
        return Verdict("weak", words + more)
    words += (
        f"No attack did better than guessing; the best ({where}) is right in {_percent(worst.accuracy)}. "
        "Attacks that fail prove nothing: others may not."
    )
    return Verdict("quiet", words + more)


def _several(found: Sequence[Finding], tried: int) -> str:
    """What is said of targets hidden together beside a promise about one person, if they are found at all."""
    worst = min(found, key=lambda f: (f.p, -f.accuracy.value), default=None)
    if worst is None or worst.p >= RISK / tried or worst.accuracy.low <= 0.5:
        return ""
    kind, _, count = worst.cell.target.partition("×")
    return (
        f" {count} {kind} targets at once are found: {worst.cell.inference} is right in {_percent(worst.accuracy)}. "
        "The promise is about one person; many together are found sooner."
    )


def _against(one: Finding, promised: Budget | None, risk: float) -> str:
    """What an attack that works says about a promise that it does not contradict."""
    if promised is None:
        return ""
    if not one.cell.alone:
        return "The promise is about one person; many at once are found sooner."
    most = most_accuracy(promised)
    if one.accuracy.high <= most:
        return "That is within what was promised."
    trainings = len(one.scores)
    enough = plays_needed(one.accuracy.value, most, risk)
    if enough is None:
        return f"{trainings:,} trainings do not contradict the promise; the rate that was seen is one that it allows."
    return (
        f"{trainings:,} trainings are too few to contradict the promise, and do not confirm it either: if the attack "
        f"goes on being right as often, about {max(enough, 2 * trainings):,} would."
    )


def plays_needed(rate: float, most: float, risk: float) -> int | None:
    """Trainings from which an attack that is right at this rate proves more than `most`; None if no number does."""
    from scipy.stats import beta

    plays = 8
    while plays < MOST_PLAYS:
        right = math.floor(rate * plays)
        if float(beta.ppf(risk / 4, right, plays - right + 1)) > most:
            return plays
        plays = math.ceil(plays * 1.25)
    return None


def _contradicts(one: Finding, budget: Budget, risk: float) -> bool:
    """By ε at δ alone: that is what (ε, δ) promises, whatever noise stands behind it."""
    bound = proved(one.scores[:, WITHOUT, 0], one.scores[:, INSIDE, 0], delta=budget.delta, risk=risk)
    return bound.epsilon > budget.epsilon


def most_accuracy(budget: Budget) -> float:
    """The most right answers (ε, δ) allows anyone, whatever they know: (e^ε + δ) / (1 + e^ε)."""
    odds = math.exp(min(budget.epsilon, 700.0))
    return min(1.0, (odds + budget.delta) / (1 + odds))


def _allowance(budget: Budget | None) -> str:
    if budget is None:
        return "There is no promise: whatever is found is what the method leaks."
    return (
        f"{budget.in_words()} allows an attacker who knows everything else to be right in "
        f"{100 * most_accuracy(budget):.1f} % of plays at most."
    )


def _percent(one: Estimate) -> str:
    return f"{100 * one.value:.1f} % ({100 * one.low:.1f} – {100 * one.high:.1f})"
