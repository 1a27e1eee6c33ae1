"""AIM + BALD on Adult: Experiments 1 and 2 (Figures 4 and 5), each claim with numbers. Written by code alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.extras import need
from kagemusha.files import write_whole
from kagemusha.progress import Progress, silent
from kagemusha.reproduce.annotation_arms import ARMS, MAIN, Settings
from kagemusha.reproduce.annotation_claims import Runs, standard_error
from kagemusha.reproduce.annotation_runs import EPSILONS, MARKS, Curve, all_curves, at_mark
from kagemusha.version import __version__


@dataclass(frozen=True)
class Report(Runs):
    """The page."""

    def markdown(self) -> str:
        """The page."""
        runs = self.settings.runs
        lines = [
            "# AIM + BALD: people label doubles",
            "",
            f"`kagemusha reproduce annotation`, version {__version__}. Adult, 13 explanatory columns, 30,162 complete "
            f"rows, split 15,081 / 12,065 / 3,016 (synthesis, expert, test); δ = 1e-5, simulated noise, {runs} runs, "
            "each a split of its own. The expert is a boosted tree trained on its own part. The judge is a forest of "
            f"{self.settings.trees} trees, trained anew after every {self.settings.batch} labels; pools of "
            f"{self.settings.pool:,} doubles; K = 20 rounds, 5k labels in round k. The paper prints no numbers: its "
            "claims are checked. In tables ± is one standard deviation over runs, of a difference its standard error; "
            "differences are paired by split. Area is the mean accuracy over 20 to 1,000 labels.",
            "",
            "## Claims",
            "",
            "A verdict needs the 95 % interval (Student's t) on one side; otherwise the runs cannot tell. The paper's "
            "seven claims, then "
            "our own arm. From 4 on, areas under the curve are compared, unless a number of labels is named.",
            "",
            _table(
                ["", "claim", "difference", "verdict"],
                [[str(c.number or "ours"), c.text, c.found, c.word] for c in self.claims()],
            ),
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
        lines += self._ablations()
        cpu = sum(
            {(c.experiment, c.epsilon, c.run, c.arm if c.experiment == 2 else ""): c.cpu for c in self.curves}.values()
        )
        lines += [f"All runs together took {cpu / 60:.0f} minutes on one core.", ""]
        return "\n".join(lines)

    def _other_ways(self) -> list[list[str]]:
        """Whether the judge, the batch or a redundant column decides which of the two is ahead."""
        ways = {"a forest, batches of 10, 13 columns": ""} | {
            name.partition(", ")[2]: f", {name.partition(', ')[2]}"
            for name in self.settings.ablations
            if name.startswith("proposed, ")
        }
        epsilon = self.settings.ablation_epsilon
        return [
            [way, _apart(self.areas(f"proposed{x}", epsilon), self.areas(f"post-ann{x}", epsilon))]
            for way, x in ways.items()
        ]

    def _ablations(self) -> list[str]:
        """Every variant beside Proposed and Post-Ann."""
        epsilon = self.settings.ablation_epsilon
        if not self.settings.ablations:
            return []
        proposed, post = (self.areas(arm, epsilon) for arm in ("proposed", "post-ann"))
        rows = []
        for arm in (*MAIN, *self.settings.ablations):
            areas = self.areas(arm, epsilon)
            rows.append([arm, ARMS[arm].about, _spread(areas), _apart(areas, proposed), _apart(areas, post)])
        return [
            f"## Variants and ablations (ε = {epsilon:g})",
            "",
            _table(["arm", "what is different", "area", "less Proposed", "less Post-Ann"], rows),
            "",
            "Proposed less Post-Ann, where both were run another way:",
            "",
            _table(["", "difference of areas"], self._other_ways()),
            "",
            "What they say about the paper's central claim: [decision "
            "110](../../docs/decisions/110-why-proposed-loses.md).",
            "",
        ]


def reproduce(out: Path, *, quick: bool = False, runs: int = 5, progress: Progress = silent) -> Report:
    """Run everything that is not on disk yet, and write the page."""
    settings = Settings(runs=1, labels=120, trees=10, pool=300, ablations=()) if quick else Settings(runs=runs)
    report = Report(all_curves(settings, out, progress), settings)
    write_whole(out / "report.md", report.markdown().encode())
    write_whole(out / "curves.csv", _csv(report.curves).encode())
    _figure(report, out / "figure-5.svg")
    return report


def _apart(more: FloatArray, less: FloatArray) -> str:
    apart = more - less
    return f"{apart.mean():+.4f} ± {standard_error(apart):.4f}" if apart.any() else "–"


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
            curves = report.of(2, arm, epsilon)
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
