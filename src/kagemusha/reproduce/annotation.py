"""AIM + BALD on Adult: Experiments 1 and 2 (Figures 4 and 5), each claim with numbers. Written by code alone."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.extras import need
from kagemusha.files import write_whole
from kagemusha.progress import Progress, silent
from kagemusha.reproduce.annotation_runs import EPSILONS, MAIN, MARKS, Curve, Settings, all_curves, area, at_mark
from kagemusha.version import __version__


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and what came out."""

    text: str
    found: str
    holds: bool | None
    """None where the runs cannot tell."""

    @property
    def word(self) -> str:
        """The verdict."""
        return "cannot tell" if self.holds is None else "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Report:
    """All runs of one sitting."""

    curves: Sequence[Curve]
    settings: Settings

    def of(self, experiment: int, arm: str, epsilon: float | None = None) -> list[Curve]:
        """Runs of an arm."""
        return [
            c
            for c in self.curves
            if (c.experiment, c.arm) == (experiment, arm) and (epsilon is None or c.epsilon == epsilon)
        ]

    def final(self, arm: str, epsilon: float) -> list[float]:
        """Accuracies of experiment 1, run by run."""
        return [c.accuracy[0] for c in sorted(self.of(1, arm, epsilon), key=lambda c: c.run)]

    def areas(self, arm: str, epsilon: float | None = None) -> list[float]:
        """Areas under the curve of experiment 2, run by run."""
        return [area(c) for c in sorted(self.of(2, arm, epsilon), key=lambda c: c.run)]

    def claims(self) -> list[Claim]:
        """The paper's seven claims; differences are paired by split."""
        made = []
        for epsilon in EPSILONS:
            ann, without = self.final("ann", epsilon), self.final("no-ann", epsilon)
            made.append(_compared(f"Ann ≥ No-Ann at ε = {epsilon:g}", ann, without))
        for epsilon in EPSILONS:
            gap = np.array(self.final("actual", epsilon)) - np.array(self.final("ann", epsilon))
            made.append(
                Claim(f"Ann ≈ Actual at ε = {epsilon:g}", f"Actual − Ann = {_spread(gap)}", bool(gap.mean() < 0.02))
            )
        again, without = (
            [x for epsilon in EPSILONS for x in self.final(arm, epsilon)] for arm in ("no-ann relabelled", "no-ann")
        )
        made.append(
            _compared("the cause is label noise: No-Ann's records, relabelled by the expert, do better", again, without)
        )
        for epsilon in EPSILONS:
            real = np.array(self.areas("actual"))
            for arm in ("post-ann", "random"):
                gap = real - np.array(self.areas(arm, epsilon))
                text = f"{arm} is far below Actual at ε = {epsilon:g} (area under the curve)"
                made.append(Claim(text, f"Actual − {arm} = {_spread(gap)}", bool(gap.mean() > 0.02)))
            apart = np.array(self.areas("post-ann", epsilon)) - np.array(self.areas("random", epsilon))
            made.append(
                Claim(
                    f"Post-Ann ≈ Random at ε = {epsilon:g}",
                    f"Post-Ann − Random = {_spread(apart)}",
                    bool(abs(apart.mean()) < 0.005),
                )
            )
            for arm in ("post-ann", "random"):
                made.append(
                    _compared(
                        f"Proposed is above {arm} at ε = {epsilon:g} (area under the curve)",
                        self.areas("proposed", epsilon),
                        self.areas(arm, epsilon),
                    )
                )
            last = max(m for c in self.of(2, "proposed", epsilon) for m in c.marks)
            late = np.array(at_mark(self.of(2, "actual"), last)) - np.array(
                at_mark(self.of(2, "proposed", epsilon), last)
            )
            made.append(
                Claim(
                    f"Proposed is near Actual in the end (ε = {epsilon:g})",
                    f"Actual − Proposed at {last} labels = {_spread(late)}",
                    bool(late.mean() < 0.02),
                )
            )
        return made

    def markdown(self) -> str:
        """The page."""
        runs = self.settings.runs
        lines = [
            "# AIM + BALD: people label doubles",
            "",
            f"`kagemusha reproduce annotation`, version {__version__}. Adult, 13 explanatory columns, 30,162 complete rows, split "
            f"15,081 / 12,065 / 3,016 (synthesis, expert, test); δ = 1e-5, simulated noise, {runs} runs, each a split of its own. "
            f"The expert is a boosted tree trained on its own part. The judge is a forest of {self.settings.trees} trees, trained anew "
            f"after every {self.settings.batch} labels; pools of {self.settings.pool} doubles; K = 20 rounds, 5k labels in round k. The "
            "paper prints no numbers: its claims are checked. ± is one standard deviation over runs.",
            "",
            "## Experiment 1: who labels (figure 4)",
            "",
            _table(
                ["accuracy on real test rows", *(f"ε = {e:g}" for e in EPSILONS)],
                [
                    [arm, *(_spread(self.final(arm, e)) for e in EPSILONS)]
                    for arm in ("ann", "no-ann", "no-ann relabelled", "actual", "actual, expert's labels")
                ],
            ),
            "",
            "## Experiment 2: accuracy against labels (figure 5)",
            "",
            "![accuracy against labels](figure-5.svg)",
            "",
        ]
        for epsilon in EPSILONS:
            marks = [
                m for m in MARKS if self.of(2, "proposed", epsilon) and m in self.of(2, "proposed", epsilon)[0].marks
            ]
            rows = [
                [arm, *(_short(at_mark(self.of(2, arm, epsilon), m)) for m in marks), _spread(self.areas(arm, epsilon))]
                for arm in MAIN
            ]
            rows.append(
                [
                    "actual (INTERNAL)",
                    *(_short(at_mark(self.of(2, "actual"), m)) for m in marks),
                    _spread(self.areas("actual")),
                ]
            )
            lines += [f"ε = {epsilon:g}", "", _table(["labels", *map(str, marks), "area"], rows), ""]
        epsilon = self.settings.ablation_epsilon
        lines += [
            f"## Variants and ablations (ε = {epsilon:g})",
            "",
            _table(
                ["", "area", "difference to proposed"],
                [
                    [
                        arm,
                        _spread(self.areas(arm, epsilon)),
                        _spread(np.array(self.areas(arm, epsilon)) - np.array(self.areas("proposed", epsilon))),
                    ]
                    for arm in ("proposed", *self.settings.ablations)
                ],
            ),
            "",
            "annealed: AIM's own pace of privacy, labels in step with it. unweighted: rounds choose without looking at the judge. bare: the "
            "paper's sigmoid(A). flat: 50 labels in every round.",
            "",
            "## Claims",
            "",
            _table(["claim", "found", "verdict"], [[c.text, c.found, c.word] for c in self.claims()]),
            "",
        ]
        return "\n".join(lines)


def reproduce(out: Path, *, quick: bool = False, runs: int = 5, progress: Progress = silent) -> Report:
    """Run everything that is not on disk yet, and write the page."""
    settings = Settings(runs=1, labels=120, trees=10, pool=300, ablations=()) if quick else Settings(runs=runs)
    report = Report(all_curves(settings, out, progress), settings)
    write_whole(out / "report.md", report.markdown().encode())
    write_whole(out / "curves.csv", _csv(report.curves).encode())
    _figure(report, out / "figure-5.svg")
    return report


def _compared(text: str, more: Sequence[float], less: Sequence[float]) -> Claim:
    apart = np.array(more) - np.array(less)
    error = float(apart.std(ddof=1) / math.sqrt(len(apart))) if len(apart) > 1 else math.inf
    holds = None if abs(apart.mean()) < 2 * error and apart.mean() > 0 else bool(apart.mean() > 0)
    return Claim(text, f"difference {apart.mean():+.4f} ± {error:.4f} (standard error, n = {len(apart)})", holds)


def _spread(values: Sequence[float] | FloatArray) -> str:
    found = np.asarray(values, dtype=float)
    if not len(found):
        return "–"
    return f"{found.mean():.4f} ± {found.std(ddof=1):.4f}" if len(found) > 1 else f"{found.mean():.4f}"


def _short(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}" if values else "–"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _csv(curves: Sequence[Curve]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["experiment", "arm", "epsilon", "run", "labels", "accuracy", "cpu seconds of the run"])
    for c in curves:
        for mark, accuracy in zip(c.marks, c.accuracy, strict=True):
            writer.writerow([c.experiment, c.arm, c.epsilon, c.run, mark, f"{accuracy:.5f}", f"{c.cpu:.1f}"])
    return out.getvalue()


def _figure(report: Report, path: Path) -> None:
    need("matplotlib").use("Agg")
    plt = need("matplotlib.pyplot")
    figure, panels = plt.subplots(1, len(EPSILONS), figsize=(12, 3.6), sharey=True)
    for panel, epsilon in zip(panels, EPSILONS, strict=True):
        for arm in (*MAIN, "actual"):
            curves = report.of(2, arm, None if arm == "actual" else epsilon)
            marks = curves[0].marks
            values = np.array([[c.accuracy[c.marks.index(m)] for m in marks] for c in curves])
            (line,) = panel.plot(marks, values.mean(axis=0), label=arm)
            panel.fill_between(
                marks,
                values.mean(0) - values.std(0),
                values.mean(0) + values.std(0),
                alpha=0.15,
                color=line.get_color(),
            )
        panel.set_title(f"ε = {epsilon:g}")
        panel.set_xlabel("labels")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy on real rows")
    panels[-1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
