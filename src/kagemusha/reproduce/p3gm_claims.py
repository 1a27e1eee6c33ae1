"""The P3GM paper's claims, paired by fold and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.reproduce.claims import Claim, alike, every, exact, interval, larger, unpaired, untried
from kagemusha.reproduce.p3gm_data import IMAGES
from kagemusha.reproduce.p3gm_runs import Result

ALIKE = 0.01
"""Scores closer than this are called alike."""


@dataclass(frozen=True)
class Runs:
    """All runs that a page reports, and the points of its figures."""

    results: Sequence[Result]
    drawn: Mapping[str, Any]

    def scores(self, data: str, method: str, score: str) -> dict[tuple[int, int], float]:
        """By fold and seed."""
        found = [r for r in self.results if (r.data, r.method) == (data, method) and score in r.scores]
        return {(r.fold, r.seed): r.scores[score] for r in found}

    def both(self, data: str, more: str, less: str, score: str) -> FloatArray:
        """Differences on what both have."""
        first, second = self.scores(data, more, score), self.scores(data, less, score)
        return np.array([first[key] - second[key] for key in sorted(first) if key in second])

    def claims(self, data: Sequence[str]) -> list[Claim]:
        """The paper's, then ours."""
        found: list[Claim] = []
        for name in data:
            score = "CNN" if name in IMAGES else "AUROC"
            where = "Table 4" if name in IMAGES else "Table 3"
            found.append(self._larger(where, f"{name}: P3GM is better than DP-GM", name, "p3gm-joint", "dp-gm", score))
            text = f"{name}: P3GM is better than PrivBayes"
            if name == "adult":
                text = f"{name}: PrivBayes is better than P3GM"
                found.append(self._larger(where, text, name, "privbayes", "p3gm-joint", score))
            else:
                found.append(self._larger(where, text, name, "p3gm-joint", "privbayes", score))
        for score in ("AUROC", "AUPRC"):
            found.append(self._alike("Table 2", f"VAE ≈ PGM ({score})", "credit", "vae", "pgm", score))
            for name in ("LR", "XGBoost"):
                text = f"P3GM ≈ PGM ({name} {score})" if name == "LR" else f"P3GM is below PGM ({name} {score})"
                one = f"{name} {score}"
                found.append(
                    self._alike("Table 2", text, "credit", "p3gm", "pgm", one)
                    if name == "LR"
                    else self._larger("Table 2", text, "credit", "pgm", "p3gm", one)
                )
        for number in ("3", "4"):
            found.append(self._along(number, "P3GM ends above AE", -1, "p3gm", "ae"))
            found.append(self._along(number, "P3GM ends above DP-VAE", -1, "p3gm", "dp-vae"))
            fastest = [
                self._along(number, f"AE is above {other} at first", 0, "ae", other) for other in ("p3gm", "dp-vae")
            ]
            found.append(every(f"Figure {number}", "AE rises fastest", fastest, " · ".join(c.found for c in fastest)))
        return [*found, self._accounting(), *self._diverse(data), *self._ours(data)]

    def _diverse(self, data: Sequence[str]) -> list[Claim]:
        """The paper shows pictures; here it is a number."""
        text = "P3GM's doubles are more diverse than DP-GM's (coverage)"
        return [self._larger("§5", f"{name}: {text}", name, "p3gm-joint", "dp-gm", "coverage") for name in data]

    def _ours(self, data: Sequence[str]) -> list[Claim]:
        found = []
        for name in data:
            score = "CNN" if name in IMAGES else "AUROC"
            for more, less in (("nigao", "p3gm"), ("p3gm", "p3gm-joint"), ("p3gm", "dp-vae"), ("kage", "privbayes")):
                if self.both(name, more, less, score).size:
                    text = f"{name}: {more} is above {less} ({score})"
                    found.append(self._larger("ours", text, name, more, less, score, ours=True))
            if self.both(name, "p3gm-wishart", "p3gm-joint", score).size:
                text = f"{name}: a valid PCA costs something: p3gm-wishart is above p3gm-joint ({score})"
                found.append(self._larger("ours", text, name, "p3gm-wishart", "p3gm-joint", score, ours=True))
        return found

    def _larger(
        self, where: str, text: str, data: str, more: str, less: str, score: str, *, ours: bool = False
    ) -> Claim:
        apart = self.both(data, more, less, score)
        if not apart.size:
            notes = [r.note for r in self.results if r.data == data and r.method in (more, less) and r.note]
            return untried(where, text, f"{less}: {notes[0]}" if notes else "not run", ours=ours)
        found = f"{self._mean(data, more, less, score):.4f} against {self._mean(data, less, more, score):.4f}"
        return larger(where, text, found, interval(apart), ours=ours)

    def _alike(self, where: str, text: str, data: str, one: str, other: str, score: str) -> Claim:
        apart = self.both(data, one, other, score)
        text += f", within {ALIKE:g}"
        if not apart.size:
            return untried(where, text, "not run")
        found = f"{self._mean(data, one, other, score):.4f} and {self._mean(data, other, one, score):.4f}"
        return alike(where, text, found, interval(apart), margin=ALIKE)

    def _mean(self, data: str, method: str, other: str, score: str) -> float:
        """Over the folds that both have, as their difference is."""
        shared = self.scores(data, other, score)
        return float(np.mean([value for key, value in self.scores(data, method, score).items() if key in shared]))

    def _along(self, number: str, text: str, place: int, more: str, less: str) -> Claim:
        """Two arms compared at one place of their trainings, which are independent of each other."""
        drawn, where = self.drawn.get(f"figure-{number}", {}), f"Figure {number}"
        if more not in drawn or less not in drawn:
            return untried(where, text, "not drawn")
        one, other = ([training[place][1] for training in drawn[arm]] for arm in (more, less))
        found = f"{more} {np.mean(one):.3f}, {less} {np.mean(other):.3f}"
        return larger(where, text, found, unpaired(one, other))

    def _accounting(self) -> Claim:
        panels = self.drawn.get("figure-5", {})
        text = "accounting by Rényi DP is always smaller than zCDP with a moments bound"
        if not panels:
            return untried("Figure 5", text, "not drawn")
        wrong = [
            f"{panel}, noise {noise:g}: {value:.3f} against {other:.3f}"
            for panel, arms in panels.items()
            for (noise, value), (_, other) in zip(
                arms["Rényi, the paper's terms"], arms["zCDP + Rényi apart"], strict=True
            )
            if value >= other
        ]
        return exact("Figure 5", text, "; ".join(wrong) or "at every point", not wrong)
