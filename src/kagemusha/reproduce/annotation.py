"""AIM + BALD on Adult: Experiments 1 and 2 (Figures 4 and 5), each claim with numbers. Written by code alone."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.files import write_whole
from kagemusha.progress import Progress, silent
from kagemusha.reproduce.annotation_arms import ACTUAL, ARMS, ELSEWHERE, MAIN, MANY, VARIANTS, Settings
from kagemusha.reproduce.annotation_claims import Runs, both
from kagemusha.reproduce.annotation_figures import draw
from kagemusha.reproduce.annotation_runs import (
    EPSILONS,
    MARKS,
    Curve,
    all_curves,
    all_jobs,
    choices_of,
    code_behind,
    made,
    path_of,
    place_of,
    stored,
)
from kagemusha.reproduce.annotation_split import split
from kagemusha.reproduce.claims import interval
from kagemusha.reproduce.pages import write_page
from kagemusha.reproduce.repeats import spread_out
from kagemusha.reproduce.tables import markdown_table, spread

DIFFERS = (
    "*The classifier f* is the paper's network (512-256-128, dropout, ten passes, scored in single precision) only in "
    "the arms that say so, at one ε: a run takes minutes. Elsewhere it is a forest, whose trees are the passes.",
    "*Actual* is not defined: here it is real records, chosen at random or by BALD, with their true labels or the "
    "expert's. Claims take the one at random with true labels.",
    f"*Candidates.* The paper draws x ~ P_synth and does not say how many. Here two per label in every arm; arms named "
    f"“{MANY}” have {MANY}, at which Post-Ann looks at a pool as large as the table, as its description reads.",
    "*D_L* is the same in all arms: the first records of the expert's part, labelled by the expert.",
    "*Batches.* f is trained anew after every ten labels (25 for the network), not after every one.",
    "*Choosing a marginal* is an exponential mechanism and is charged; the paper takes the largest and charges "
    "nothing.",
    "*Other tables and three classes* are not the paper's: Bank's subscriptions, and who of Adult is married, was, or "
    "never was (without `relationship`, which says so). Their claims are ours.",
)


@dataclass(frozen=True)
class Report(Runs):
    """The page."""

    def stamps(self) -> dict[str, list[str]]:
        """Which code made the runs of each arm."""
        found: dict[str, list[str]] = {}
        for curve in self.curves:
            found.setdefault(_what(curve), []).append(str(curve.stamp.get("code", "")))
        return found

    def write(self, out: Path) -> str:
        """The page and its files."""
        settings = self.settings
        cpu = {(c.experiment, c.epsilon, c.run, c.arm if c.experiment == 2 else ""): c.cpu for c in self.curves}
        about = (
            "Made by `kagemusha reproduce annotation`. Adult, 13 explanatory columns, 30,162 complete rows, "
            "split 15,081 "
            f"/ 12,065 / 3,016 (synthesis, expert, test); δ = 1e-5, simulated noise; n counts splits (paper: 5). The "
            f"expert is a boosted tree trained on its own part. All arms begin with {settings.given} labelled records; "
            f"K = 20 rounds, 5k labels in round k, {settings.labels} in all. Differences are paired by split; area is "
            f"the mean accuracy over {MARKS[0]} to {settings.labels} labels. All runs took "
            f"{sum(cpu.values()) / 60:.0f} CPU minutes. The paper prints no numbers."
        )
        return write_page(out, "annotation", self.claims(), self.stamps(), about, self._parts())

    def _parts(self) -> list[str]:
        ends = ("ann", "no-ann", "no-ann relabelled", "actual", "actual, expert's labels")
        parts = [
            "## What differs from the paper",
            "\n".join(f"- {line}" for line in DIFFERS),
            "## Experiment 1: who labels",
            "![Experiment 1](figure-4.svg)",
            "Figure 4: accuracy on real test rows, mean and standard deviation over splits.",
            markdown_table(
                ["accuracy on real test rows", *(f"ε = {e:g}" for e in EPSILONS)],
                [[arm, *(spread(list(self.final(arm, e).values())) for e in EPSILONS)] for arm in ends],
            ),
            "## Experiment 2: accuracy against labels",
            "![Experiment 2](figure-5.svg)",
            "Figure 5: accuracy on real test rows, means over splits; bands are one standard error. Two candidates per "
            "label.",
        ]
        for epsilon in EPSILONS:
            parts += [f"ε = {epsilon:g}", self._by_marks(epsilon)]
        parts += ["## Other tables and three classes", self._other_tables()]
        return [*parts, "## Variants and ablations", *self._variants()]

    def _other_tables(self) -> str:
        epsilon, rows = self.settings.other_epsilon, []
        for arm, way in ELSEWHERE.items():
            areas, post = self.areas(arm, epsilon), self.areas(f"post-ann, {way.task}", epsilon)
            if areas:
                mean = f"{np.mean(list(areas.values())):.4f}"
                rows.append([way.about, arm, str(len(areas)), mean, _apart(both(areas, post))])
        head = ["what is labelled", "arm", "splits", "area", "less Post-Ann"]
        return f"At ε = {epsilon:g}.\n\n" + markdown_table(head, rows) if rows else "Not run."

    def _by_marks(self, epsilon: float) -> str:
        first = self.of(2, "proposed", epsilon)
        marks = [m for m in MARKS if first and m in first[0].marks]
        rows = []
        for arm in (*MAIN, *ACTUAL):
            found = [list(self.at(arm, m, epsilon).values()) for m in marks]
            name = f"{arm} (INTERNAL)" if arm in ACTUAL else arm
            means = [f"{np.mean(values):.3f}" if values else "–" for values in found]
            rows.append([name, *means, spread(list(self.areas(arm, epsilon).values()))])
        return markdown_table(["labels", *map(str, marks), "area ± sd"], rows)

    def _variants(self) -> list[str]:
        epsilon = self.settings.other_epsilon
        rows = []
        proposed, post = (self.areas(arm, epsilon) for arm in ("proposed", "post-ann"))
        for arm, way in ((arm, way) for arm, way in ARMS.items() if arm not in ELSEWHERE):
            areas = self.areas(arm, epsilon)
            if areas:
                less = [_apart(both(areas, other)) for other in (proposed, post)]
                rows.append([arm, way.about, str(len(areas)), f"{np.mean(list(areas.values())):.4f}", *less])
        head = ["arm", "what is different", "splits", "area", "less Proposed", "less Post-Ann"]
        left = [arm for arm in VARIANTS if not self.areas(arm, epsilon)]
        note = f"Not run: {', '.join(left)}." if left else ""
        return [f"At ε = {epsilon:g}; differences with 95 % intervals.", markdown_table(head, rows), note]


def _apart(values: np.ndarray) -> str:
    return str(interval(values)) if len(values) and values.any() else "–"


def _what(curve: Curve) -> str:
    if curve.experiment == 1:
        return "Experiment 1"
    return "real records" if curve.arm in ACTUAL else curve.arm


def codes() -> dict[str, str]:
    """Today's digest of the code behind each arm."""
    return {**{arm: code_behind(arm) for arm in ("Experiment 1", "real records")}, **{a: code_behind(a) for a in ARMS}}


def read(out: Path, settings: Settings) -> Report:
    """What is stored of the runs that the settings ask for, whatever code made it."""
    found: list[Curve] = []
    for experiment, arm, epsilon, run in all_jobs(settings):
        kept = stored(path_of(out, experiment, arm, epsilon, run)) or []
        wanted = choices_of(settings, arm)
        found += [c for c in kept if {k: v for k, v in c.stamp.items() if k != "code"} == wanted]
    return Report(found, settings)


def reproduce(
    out: Path,
    *,
    quick: bool = False,
    runs: int = 20,
    others: int = 5,
    only: Sequence[str] = (),
    only_page: bool = False,
    progress: Progress = silent,
) -> Report:
    """Run everything that is not on disk yet, and write the page of all that is.

    `others` is the number of splits of other tables, networks and variants. `only` names arms; what is stored of the
    others stays. `only_page` runs nothing.
    """
    settings = (
        Settings(runs=2, labels=300, trees=20, elsewhere=(), networks=(), variants=()) if quick else Settings(runs=20)
    )
    unknown = sorted(set(only) - {"real", "all", *ARMS, *ACTUAL})
    if unknown:
        raise UsageError(
            f"an arm must be one of {', '.join(ARMS)}, {', '.join(ACTUAL)}, real or all; got {unknown[0]!r}"
        )
    if not only_page:
        wanted = settings if quick else replace(settings, runs=runs, other_runs=others)
        all_curves(replace(wanted, only=tuple(only)), out, progress)
    report = read(out, settings)
    draw(report, out)
    write_whole(out / "curves.csv", _csv(report.curves).encode())
    report.write(out)
    return report


def again(out: Path, what: str, count: int) -> list[bool]:
    """Whether some runs of an arm come out the same with today's code."""
    settings, same = Settings(runs=20), []
    jobs = {(c.experiment, c.epsilon, c.run, c.arm) for c in read(out, settings).curves if _what(c) == what}
    for experiment, epsilon, run, arm in spread_out(sorted(jobs), count):
        job = arm if experiment == 2 else "all" if math.isfinite(epsilon) else "real"
        parts = split(run, *place_of(job))
        found = {c.arm: c.accuracy for c in made(parts, experiment, job, epsilon, run, settings)}
        kept = stored(path_of(out, experiment, job, epsilon, run)) or []
        same.append(found == {c.arm: c.accuracy for c in kept})
    return same


def _csv(curves: Sequence[Curve]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["experiment", "arm", "epsilon", "run", "labels", "accuracy", "cpu seconds of the run"])
    for c in curves:
        for mark, accuracy in zip(c.marks, c.accuracy, strict=True):
            writer.writerow([c.experiment, c.arm, c.epsilon, c.run, mark, f"{accuracy:.5f}", f"{c.cpu:.1f}"])
    return out.getvalue()
