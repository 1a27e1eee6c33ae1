"""The attack paper's twelve claims, one by one, from cells that were played.

The paper does not name its space. Claims on the three inferences are judged in every space that was played, each space
by itself; the page counts what holds in each and takes the space in which most do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kagemusha.reproduce.claims import (
    HOLDS,
    Claim,
    Interval,
    alike,
    apart,
    every,
    exact,
    interval,
    larger,
    of_measured,
    paired,
    smaller,
    unpaired,
    untried,
)
from kagemusha.reproduce.mia_cells import Cells, PlayedCell
from kagemusha.reproduce.mia_games import CODES, MINMAX, ONEHOT
from kagemusha.reproduce.mia_paper import INFERENCES, TARGETS

CHANCE = 0.1
"""As near to one half as this counts as chance."""

GRID = ("stat", "bayes-net", "ctgan")


@dataclass(frozen=True)
class Judged:
    """Cells and what else was measured."""

    cells: Cells
    sides: Mapping[str, Mapping[str, Sequence[Sequence[float]]]] = field(default_factory=dict)
    quality: Sequence[tuple[str, str, Sequence[float]]] = ()

    def spaces(self) -> list[str]:
        """Those in which both STAT and networks were played."""
        found = [space for name in ("bayes-net", "bayes-net-onehot") for space in self.cells.spaces(name)]
        return [space for space in dict.fromkeys(found) if self.cell("stat", "random", space, "neighbour")]

    def cell(self, name: str, target: str, space: str, inference: str) -> PlayedCell | None:
        """A cell of a synthesizer, whichever of its games has it."""
        games = (name, f"{name}-onehot", f"{name}-blind", f"{name}-rows")
        return next((c for g in games if (c := self.cells.get(g, target, space, inference))), None)

    def in_space(self, space: str) -> list[Claim]:
        """Claims 1 to 5 in one space, part by part."""
        return [
            *(self._outliers(name, space) for name in GRID),
            self._neighbour(space),
            self._rising(space),
            self._at_chance("claim 3, BN", "mvl-orig works on STAT only: ≈ .5 on BN", "bayes-net", "mvl-orig", space),
            self._at_chance("claim 4, STAT", "mvl-syn ≈ .5 on STAT", "stat", "mvl-syn", space),
            self._at_chance("claim 4, BN", "mvl-syn ≈ .5 on BN", "bayes-net", "mvl-syn", space),
            self._deep(space),
            self._at_chance("claim 5, STAT", "neighbour ≈ .5 on STAT", "stat", "neighbour", space),
            *(self._above(name, target, space) for name in GRID[1:] for target in TARGETS[1:]),
        ]

    def best_space(self) -> str:
        """The space in which most of claims 1 to 5 hold; first come, first named."""
        spaces = self.spaces()
        return max(spaces, key=lambda s: sum(c.verdict == HOLDS for c in self.in_space(s))) if spaces else MINMAX.name

    def claims(self) -> list[Claim]:
        """All twelve."""
        return [
            *self.in_space(self.best_space()),
            self._resembling(),
            self._protected(),
            self._better_leak(),
            *self._together(),
            self._learned(),
            *self._seeing_first(),
            *self._ordinary(),
        ]

    def _outliers(self, name: str, space: str) -> Claim:
        where, text = f"claim 1, {name}", f"selective and adaptive beat random on {name} (best inference; {space})"
        found = [self._strongest(name, t, space) for t in TARGETS]
        if not all(found):
            return untried(where, text, "not played in this space")
        random, *others = found
        parts = [larger("", "", "", _gap(one, random)) for one in others]
        return every(where, text, parts, " / ".join(map(_short, found)))

    def _strongest(self, name: str, target: str, space: str) -> PlayedCell | None:
        found = [c for i in INFERENCES if (c := self.cell(name, target, space, i))]
        return max(found, key=lambda c: c.accuracy.value) if len(found) == len(INFERENCES) else None

    def _neighbour(self, space: str) -> Claim:
        text = f"neighbour is the best inference overall ({space})"
        parts, words = [], []
        mine = self._all(space, "neighbour")
        for other in INFERENCES[:2]:
            theirs = self._all(space, other)
            if len(mine) < 2 * len(TARGETS) or len(mine) != len(theirs):
                return untried("claim 2", text, "not all cells were played")
            gaps = [_gap(a, b) for a, b in zip(mine, theirs, strict=True)]
            parts.append(larger("", other, "", _mean(gaps)))
            words.append(f"{other} {np.mean([c.accuracy.value for c in theirs]):.3f}")
        words.append(f"neighbour {np.mean([c.accuracy.value for c in mine]):.3f}")
        return every("claim 2", text, parts, ", ".join(words) + self._without(space))

    def _all(self, space: str, inference: str) -> list[PlayedCell]:
        found = [[c for t in TARGETS if (c := self.cell(n, t, space, inference))] for n in GRID]
        return [c for cells in found if len(cells) == len(TARGETS) for c in cells]

    def _without(self, space: str) -> str:
        return "" if self.cell("ctgan", "random", space, "neighbour") else "; CTGAN was not played here"

    def _rising(self, space: str) -> Claim:
        text = f"mvl-orig works on STAT, random < selective < adaptive ({space})"
        stat = [self.cell("stat", t, space, "mvl-orig") for t in TARGETS]
        if None in stat:
            return untried("claim 3, STAT", text, "not played in this space")
        rising = [larger("", "", "", _gap(b, a)) for a, b in pairwise(stat)]
        return every("claim 3, STAT", text, rising, " / ".join(map(_short, stat)))

    def _at_chance(self, where: str, text: str, name: str, inference: str, space: str) -> Claim:
        text = f"{text} (within {CHANCE:g}, all three targets; {space})"
        cells = [self.cell(name, t, space, inference) for t in TARGETS]
        if None in cells:
            return untried(where, text, "not played in this space")
        return every(where, text, [_chance(one) for one in cells], " / ".join(map(_short, cells)))

    def _deep(self, space: str) -> Claim:
        text = f"mvl-syn works on CTGAN ({space})"
        deep = [c for t in TARGETS if (c := self.cell("ctgan", t, space, "mvl-syn"))]
        if not deep:
            return untried("claim 4, CTGAN", text, "not played in this space")
        best = max(deep, key=lambda c: c.accuracy.low)
        words = "; ".join(str(c.accuracy) for c in deep) + f"; {best.n} trainings"
        return larger("claim 4, CTGAN", text, words, of_measured(best.accuracy, best.n), margin=0.5)

    def _above(self, name: str, target: str, space: str) -> Claim:
        where, text = f"claim 5, {name}", f"neighbour is above its mvl on {name}, {target} ({space})"
        mine = self.cell(name, target, space, "neighbour")
        rivals = [c for i in INFERENCES[:2] if (c := self.cell(name, target, space, i))]
        if mine is None or not rivals:
            return untried(where, text, "not played in this space")
        rival = max(rivals, key=lambda c: c.accuracy.value)
        return larger(where, text, f"{_short(mine)} against {_short(rival)}", _gap(mine, rival))

    def _resembling(self) -> Claim:
        text = "BN and CTGAN make rows that resemble outliers (distance to the ten nearest doubles)"
        parts, words = [], []
        for name in ("bayes-net-onehot", "ctgan"):
            found = self.sides.get(name, {}).get("nearest")
            if not found:
                parts.append(untried("", "", ""))
                words.append(f"{name}: not played")
                continue
            parts.append(larger("", "", "", unpaired(found[0], found[1])))
            words.append(
                f"{name.removesuffix('-onehot')} {np.mean(found[0]):.1f} without, {np.mean(found[1]):.1f} with"
            )
        return every("claim 6", text, parts, "; ".join(words))

    def _protected(self) -> Claim:
        found = [c for t in TARGETS for i in INFERENCES if (c := self.cells.get("dp-bn", t, ONEHOT.name, i))]
        text = f"ε = 1 brings most cells to chance (within {CHANCE:g}; domain declared)"
        if not found:
            return untried("claim 7", text, "not played")
        near = [_chance(c) for c in found]
        holding, failing = (sum(c.verdict == v for c in near) for v in (HOLDS, "does not hold"))
        largest = max(c.accuracy.value for c in found)
        words = f"{holding} of {len(near)} cells at chance, {failing} not; largest {largest:.3f}"
        if 2 * holding <= len(near) and 2 * failing < len(near):
            return untried("claim 7", text, words)
        return exact("claim 7", text, words, 2 * holding > len(near))

    def _better_leak(self) -> Claim:
        text = "quality BN > CTGAN > STAT"
        by: dict[str, list[Sequence[float]]] = {}
        for name, _, values in self.quality:
            by.setdefault(name, []).append(values)
        means = {name: np.mean(np.array(values), axis=0) for name, values in by.items()}
        order = [name for name in ("bayes-net", "ctgan", "stat") if name in means]
        words = ", ".join(f"{name} {means[name].mean():.3f}" for name in order)
        if len(order) < 3:
            return untried("claim 8", text, words or "not run")
        parts = [larger("", "", "", paired(means[a], means[b])) for a, b in pairwise(order)]
        return every("claim 8", text, parts, f"{words} (mean of three learners, n = {len(means['stat'])})")

    def _together(self) -> list[Claim]:
        space = CODES.name
        found = {
            int(t.split("×")[1]): c
            for t in self.cells.targets("together", "adaptive")
            if (c := self.cells.get("together", t, space, "neighbour"))
        }
        text = f"accuracy rises with k, 1 from k = 50 (neighbour; {space})"
        many = [c for count, c in found.items() if count >= 50]
        words = ", ".join(f"k = {k}: {c.accuracy.value:.3f}" for k, c in sorted(found.items()))
        if not many:
            return [untried("claim 9", text, words or "not played")]
        first = found[min(found)]
        parts = [larger("", "", "", _gap(c, first)) for c in many]
        nearly = [larger("", "", "", of_measured(c.accuracy, c.n), margin=0.9) for c in many]
        return [every("claim 9", text, [*parts, *nearly], words)]

    def _learned(self) -> Claim:
        text = f"classifiers ≈ chance on BN (within {CHANCE:g}), neighbour beats them ({ONEHOT.name})"
        learners = ("rf-naive", "lr-naive", "knn-naive", "tree-naive")
        cells = [c for t in TARGETS for i in learners if (c := self.cell("bayes-net", t, ONEHOT.name, i))]
        mine = [c for t in TARGETS[1:] if (c := self.cell("bayes-net", t, ONEHOT.name, "neighbour"))]
        if not cells or len(mine) < 2:
            return untried("claim 10", text, "not played")
        best, neighbour = (max(some, key=lambda c: c.accuracy.value) for some in (cells, mine))
        words = f"best classifier {_short(best)}, neighbour {_short(neighbour)}; n = {best.n}"
        return every("claim 10", text, [*map(_chance, cells), larger("", "", "", _gap(neighbour, best))], words)

    def _seeing_first(self) -> list[Claim]:
        found = []
        for name, space, inference in (("stat", MINMAX, "mvl-orig"), ("bayes-net", ONEHOT, "neighbour")):
            game = f"{name}-blind"
            seen = self.cells.get(game, "adaptive", space.name, inference)
            blind = [
                c for t in self.cells.targets(game, "blind") if (c := self.cells.get(game, t, space.name, inference))
            ]
            text = f"seeing the table before choosing strengthens the attack ({name}, {inference}, {space.name})"
            if seen is None or not blind:
                found.append(untried("claim 11", text, "not played"))
                continue
            values = [c.accuracy.value for c in blind]
            spread = f"{np.mean(values):.3f} ({min(values):.3f} – {max(values):.3f})"
            words = f"adaptive {_short(seen)}, {len(blind)} blind corners {spread}"
            mean = interval(values)
            both = apart(seen.accuracy, _Share(mean.mean, mean.low, mean.high), min(seen.n, len(blind)))
            found.append(larger("claim 11", text, words, both))
        return found

    def _ordinary(self) -> list[Claim]:
        found = []
        for name in GRID[:2]:
            game = f"{name}-rows"
            for inference in INFERENCES:
                cells = [
                    c
                    for t in self.cells.targets(game, "random")
                    if (c := self.cells.get(game, t, MINMAX.name, inference))
                ]
                text = f"random rows can hardly be attacked: {name}, {inference}, below .6 on average ({MINMAX.name})"
                if not cells:
                    found.append(untried("claim 12", text, "not played"))
                    continue
                values = [c.accuracy.value for c in cells]
                words = f"mean {np.mean(values):.3f} of {len(values)} rows, {min(values):.3f} – {max(values):.3f}"
                found.append(smaller("claim 12", text, words, interval(values), margin=0.6))
        return found


@dataclass(frozen=True)
class _Share:
    value: float
    low: float
    high: float


def _gap(more: PlayedCell | None, less: PlayedCell | None) -> Interval:
    assert more is not None
    assert less is not None
    return apart(more.accuracy, less.accuracy, min(more.n, less.n))


def _mean(gaps: Sequence[Interval]) -> Interval:
    """Of independent differences."""
    mean = float(np.mean([g.mean for g in gaps]))
    down = float(np.linalg.norm([g.mean - g.low for g in gaps])) / len(gaps)
    up = float(np.linalg.norm([g.high - g.mean for g in gaps])) / len(gaps)
    return Interval(mean, mean - down, mean + up, min(g.n for g in gaps))


def _chance(one: PlayedCell | None) -> Claim:
    assert one is not None
    return alike("", "", "", of_measured(one.accuracy, one.n, less=0.5), margin=CHANCE)


def _short(one: PlayedCell | None) -> str:
    return "–" if one is None else f"{one.accuracy.value:.3f}"
