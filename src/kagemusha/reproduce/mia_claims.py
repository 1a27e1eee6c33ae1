"""The attack paper's twelve claims, one by one, each judged by a rule that can fail.

The paper does not name its space and no single one gives all its results. Moments are judged in the space that fits its
footnote (codes, raw, without fnlwgt), distances of the networks in one-hot coordinates of variance one; the report
shows both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.attacks.features import Space
from kagemusha.attacks.inference.distance import MeanDistance
from kagemusha.attacks.intervals import Estimate
from kagemusha.attacks.verdict import Finding
from kagemusha.reproduce.mia_games import CODES, ONEHOT, Played
from kagemusha.reproduce.mia_paper import INFERENCES, TARGETS
from kagemusha.reproduce.mia_quality import Quality

GRID = ("stat", "bayes-net", "ctgan")


@dataclass(frozen=True)
class Claim:
    """A claim, what was found, and whether it holds; None where this run cannot tell."""

    text: str
    found: str
    verdict: bool | None

    @property
    def holds(self) -> bool:
        """Whether it holds."""
        return self.verdict is True

    @property
    def word(self) -> str:
        """In a word."""
        return {True: "holds", False: "**does not hold**", None: "cannot be known"}[self.verdict]


@dataclass(frozen=True, eq=False)
class Results:
    """All games by name, and Table 4."""

    played: Mapping[str, Played]
    quality: Sequence[Quality]
    counts: Sequence[int]

    def cell(self, game: str, target: str, inference: str, space: Space) -> Finding:
        """One cell of a game."""
        return self.played[game].of(target, inference, space)

    def maybe(self, game: str, target: str, inference: str, space: Space) -> Finding | None:
        """The same, or None where it was not played."""
        if game not in self.played or target not in {t.name for t in self.played[game].game.targets}:
            return None
        return self.played[game].of(target, inference, space)

    def paper(self, name: str, target: str, inference: str) -> Finding:
        """A cell of Figure 3 in the space it is judged in."""
        if name == "stat" or (name == "ctgan" and inference.startswith("mvl")):
            return self.cell(name, target, inference, CODES)
        if inference.startswith("mvl") and f"{name}-codes" in self.played:
            return self.cell(f"{name}-codes", target, inference, CODES)
        return self.cell(name, target, inference, ONEHOT)

    def grid(self) -> list[str]:
        """The paper's synthesizers that were played."""
        return [name for name in GRID if name in self.played]


def _best(results: Results, name: str, target: str) -> float:
    return max(results.paper(name, target, i).accuracy.value for i in INFERENCES)


def _apart(a: Estimate, b: Estimate) -> float:
    """How many standard errors a lies above b."""
    error = math.hypot((a.high - a.low) / 3.92, (b.high - b.low) / 3.92)
    return (a.value - b.value) / error if error > 0 else math.copysign(math.inf, a.value - b.value)


def _chance(one: Finding) -> bool:
    return one.accuracy.low <= 0.5 <= one.accuracy.high


def claims(results: Results) -> list[Claim]:
    """All twelve."""
    deep = "ctgan" in results.played
    without = "" if deep else " (without CTGAN)"
    return [
        _outliers(results, without),
        _neighbour_best(results, without),
        _mvl_orig(results),
        _mvl_syn(results, without),
        _neighbour_cells(results, without),
        _resembling(results),
        _protected(results),
        _better_leak(results, without),
        _together(results),
        _learned(results),
        _seeing_first(results),
        _ordinary(results, without),
    ]


def _outliers(results: Results, without: str) -> Claim:
    found, holds = [], []
    for name in results.grid():
        best = [_best(results, name, t) for t in TARGETS]
        found.append(f"{name} {best[0]:.3f} / {best[1]:.3f} / {best[2]:.3f}")
        holds.append(min(best[1:]) > best[0])
    return Claim("1. selective and adaptive beat random (best inference)", "; ".join(found) + without, all(holds))


def _neighbour_best(results: Results, without: str) -> Claim:
    means = {
        i: float(np.mean([results.paper(n, t, i).accuracy.value for n in results.grid() for t in TARGETS]))
        for i in INFERENCES
    }
    words = ", ".join(f"{i} {v:.3f}" for i, v in means.items())
    return Claim(
        "2. neighbour is the best inference overall", words + without, max(means, key=lambda i: means[i]) == "neighbour"
    )


def _mvl_orig(results: Results) -> Claim:
    stat = [results.cell("stat", t, "mvl-orig", CODES).accuracy for t in TARGETS]
    net = [results.paper("bayes-net", t, "mvl-orig") for t in TARGETS]
    rising = stat[0].value < stat[1].value < stat[2].value and _apart(stat[2], stat[0]) > 2
    words = (
        "STAT "
        + " < ".join(f"{e.value:.3f}" for e in stat)
        + "; BN "
        + ", ".join(f"{f.accuracy.value:.3f}" for f in net)
    )
    return Claim(
        "3. mvl-orig works on STAT only, random < selective < adaptive", words, rising and all(map(_chance, net))
    )


def _mvl_syn(results: Results, without: str) -> Claim:
    cells = [results.paper(n, t, "mvl-syn") for n in results.grid() if n != "ctgan" for t in TARGETS]
    held = sum(map(_chance, cells))
    words = f"STAT, BN: {held} of {len(cells)} hold .5 (" + ", ".join(f"{c.accuracy.value:.3f}" for c in cells) + ")"
    # six cells at 95 %: one outside is what chance does
    holds = held >= len(cells) - 1
    if not without:
        deep = [results.paper("ctgan", t, "mvl-syn") for t in TARGETS]
        words += "; CTGAN: " + ", ".join(str(c.accuracy) for c in deep)
        one = [results.cell("ctgan", t, "mvl-syn", ONEHOT) for t in TARGETS]
        words += ", in one-hot coordinates " + ", ".join(str(c.accuracy) for c in one)
        holds = holds and any(c.accuracy.low > 0.5 for c in deep)
    return Claim("4. mvl-syn ≈ .5 but for CTGAN", words + without, holds)


def _neighbour_cells(results: Results, without: str) -> Claim:
    stat = [results.cell("stat", t, "neighbour", CODES) for t in TARGETS]
    above = []
    words = "STAT " + ", ".join(f"{f.accuracy.value:.3f}" for f in stat)
    for name in results.grid()[1:]:
        gaps = []
        for target in TARGETS[1:]:
            rival = max(results.paper(name, target, i).accuracy.value for i in ("mvl-orig", "mvl-syn"))
            gaps.append(results.paper(name, target, "neighbour").accuracy.value - rival)
        words += f"; {name} selective / adaptive above its mvl by " + ", ".join(f"{v:+.3f}" for v in gaps)
        above += gaps
    holds = sum(map(_chance, stat)) >= 2 and min(above) > 0
    if not without:
        cells = {(n, t): results.paper(n, t, "neighbour").accuracy for n in results.grid() for t in TARGETS}
        first = max(cells, key=lambda key: cells[key].value)
        words += f"; CTGAN selective {cells['ctgan', 'selective']}, highest is {' '.join(first)} {cells[first]}"
        holds = holds and first == ("ctgan", "selective")
    return Claim(
        "5. neighbour: STAT ≈ .5, BN and CTGAN above their mvl, CTGAN selective highest", words + without, holds
    )


def _resembling(results: Results) -> Claim:
    """Mean distance of the ten nearest doubles from the selective target, in its world, STAT and BN one-hot."""
    found = {}
    for name in ("stat-onehot", "bayes-net", "ctgan"):
        if name not in results.played:
            continue
        played = results.played[name]
        key = f"selective|{ONEHOT.name}|{MeanDistance().name}"
        sides = played.game.sides(next(t for t in played.game.targets if t.name == "selective"))
        found[name] = [
            float(np.mean([v[key] for unit, v in played.numbers.items() if unit.startswith(f"play-{side}-")]))
            for side in sides
        ]
    words = "; ".join(f"{n}: {a:.1f} without, {b:.1f} with the target" for n, (a, b) in found.items())
    nets = [pair for name, pair in found.items() if name != "stat-onehot"]
    nearer = all(b < found["stat-onehot"][1] for _, b in nets) and all(b < a for a, b in nets)
    return Claim(
        "6. BN and CTGAN make rows that resemble outliers", f"distance to the ten nearest doubles, {words}", nearer
    )


def _protected(results: Results) -> Claim:
    cells = [results.cell("dp-bn", t, i, ONEHOT) for t in TARGETS for i in INFERENCES]
    leaky = [results.cell("dp-bn-data", t, i, ONEHOT) for t in TARGETS for i in INFERENCES]
    words = (
        f"declared domain: {sum(map(_chance, cells))} of 9 cells hold .5, largest "
        f"{max(c.accuracy.value for c in cells):.3f}; "
        f"domain from data: {sum(map(_chance, leaky))} of 9, largest {max(c.accuracy.value for c in leaky):.3f}"
    )
    return Claim("7. ε = 1 brings most cells to chance", words, sum(map(_chance, cells)) >= 7)


def _better_leak(results: Results, without: str) -> Claim:
    by = {q.name: float(np.mean(list(q.accuracy.values()))) for q in results.quality}
    order = [name for name in ("bayes-net", "ctgan", "stat") if name in by]
    words = ", ".join(f"{name} {by[name]:.3f}" for name in order)
    leaks = {name: max(results.paper(name, t, "neighbour").accuracy.value for t in TARGETS) for name in results.grid()}
    listed = ", ".join(f"{name} {leaks[name]:.3f}" for name in order if name in leaks)
    ranked = [by[name] for name in order] == sorted((by[name] for name in order), reverse=True)
    return Claim(
        "8. quality BN > CTGAN > STAT, and the better ones leak more to neighbour",
        f"mean accuracy {words}; largest neighbour accuracy {listed}{without}",
        ranked and all(leaks[name] > leaks["stat"] for name in leaks if name != "stat"),
    )


def _together(results: Results) -> Claim:
    accuracy = {
        c: results.cell("together", f"adaptive×{c}", "neighbour", ONEHOT).accuracy.value for c in results.counts
    }
    words = ", ".join(f"k = {c}: {v:.2f}" for c, v in accuracy.items())
    many = [v for c, v in accuracy.items() if c >= 50]
    first = accuracy[min(accuracy)]
    if not many:
        return Claim("9. accuracy rises with k, 1 from k = 50 (neighbour)", words, None)
    return Claim("9. accuracy rises with k, 1 from k = 50 (neighbour)", words, min(many) >= 0.99 and min(many) > first)


def _learned(results: Results) -> Claim:
    learners = ("rf-naive", "lr-naive", "knn-naive")
    cells = [results.cell("bayes-net", t, name, ONEHOT) for t in TARGETS for name in learners]
    neighbour = [results.cell("bayes-net", t, "neighbour", ONEHOT).accuracy.value for t in TARGETS[1:]]
    best = max(c.accuracy.value for c in cells)
    words = (
        f"{sum(map(_chance, cells))} of 9 hold .5, best {best:.3f}; neighbour selective / adaptive "
        f"{neighbour[0]:.3f} / {neighbour[1]:.3f}"
    )
    return Claim(
        "10. classifiers ≈ chance on BN, neighbour beats them",
        words,
        sum(map(_chance, cells)) >= 6 and max(neighbour) > best,
    )


def _seeing_first(results: Results) -> Claim:
    found, holds = [], []
    for name, space, inference in (("stat", CODES, "mvl-orig"), ("bayes-net", ONEHOT, "neighbour")):
        seen, blind = (results.cell(name, t, inference, space).accuracy for t in ("adaptive", "blind"))
        found.append(f"{name}: adaptive {seen}, blind {blind}")
        holds.append(seen.value > blind.value)
    return Claim(
        "11. seeing D before choosing strengthens the attack (a corner of the domain chosen blindly)",
        "; ".join(found),
        all(holds),
    )


def _ordinary(results: Results, without: str) -> Claim:
    cells = [results.paper(n, "random", i) for n in results.grid() for i in INFERENCES]
    best = max(cells, key=lambda c: c.accuracy.value)
    words = f"largest on the random target {best.accuracy}"
    return Claim("12. who is no outlier can hardly be attacked", words + without, best.accuracy.value < 0.6)
