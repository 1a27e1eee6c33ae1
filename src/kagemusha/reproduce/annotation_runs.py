"""The runs behind `reproduce annotation`: Adult split in three, a simulated expert, every arm."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.annotation.acquisition import acquisition
from kagemusha.annotation.desk import Answers, SimulatedDesk, answers_of
from kagemusha.annotation.judges import ForestTrainer, Trainer
from kagemusha.annotation.loop import CANDIDATES, Annotated
from kagemusha.arrays import IntArray
from kagemusha.files import write_whole
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, part
from kagemusha.reproduce.annotation_arms import ACTUAL, ARMS, MAIN, Settings
from kagemusha.reproduce.annotation_split import LABEL, SPLIT, Split, split
from kagemusha.reproduce.stamps import code_of
from kagemusha.sources import CodesSource
from kagemusha.synthesizers.aim import AIM
from kagemusha.synthesizers.fit import fit

EPSILONS = (0.4, 0.2, 0.1)
DELTA = 1e-5
MARKS = (20, 50, 100, 200, 300, 400, 500, 700, 1000)
"""Numbers of labels at which accuracy is noted."""


@dataclass(frozen=True)
class Curve:
    """Accuracy against labels, of one run."""

    experiment: int
    arm: str
    epsilon: float
    run: int
    marks: list[int]
    accuracy: list[float]
    cpu: float
    stamp: dict[str, Any] = field(default_factory=dict)


def experiment_1(parts: Split, epsilon: float, run: int, settings: Settings) -> list[Curve]:
    """Labels by the expert on synthetic records, labels synthesised too, the latter's records relabelled."""
    begin = time.process_time()
    budget = Budget(epsilon, DELTA)
    plain = fit(AIM(), CodesSource(parts.schema, parts.codes[0].T), budget, simulation=run)
    both = np.column_stack([parts.codes[0], parts.labels[0]])
    joint = fit(AIM(target=LABEL), CodesSource(parts.whole, both.T), budget, simulation=run)
    rng = np.random.default_rng([5, run])
    drawn, with_label = plain.sample_codes(SPLIT[0], rng=rng), joint.sample_codes(SPLIT[0], rng=rng)
    sets = {
        "ann": Answers(drawn, parts.teach(drawn)),
        "no-ann": Answers(with_label[:, :-1], with_label[:, -1]),
        "no-ann relabelled": Answers(with_label[:, :-1], parts.teach(with_label[:, :-1])),
    }
    return _ends(parts, sets, epsilon, run, settings, begin)


def real_ends(parts: Split, run: int, settings: Settings) -> list[Curve]:
    """The same with real records, and with the expert's labels for them: INTERNAL, no privacy."""
    sets = {
        "actual": Answers(parts.codes[0], parts.labels[0]),
        "actual, expert's labels": Answers(parts.codes[0], parts.teach(parts.codes[0])),
    }
    return _ends(parts, sets, math.inf, run, settings, time.process_time())


def _ends(
    parts: Split, sets: dict[str, Answers], epsilon: float, run: int, settings: Settings, begin: float
) -> list[Curve]:
    forest = ForestTrainer(settings.trees)
    found = {arm: parts.accuracy(answers, forest, run) for arm, answers in sets.items()}
    cpu = time.process_time() - begin
    return [Curve(1, arm, epsilon, run, [len(sets[arm])], [found[arm]], cpu) for arm in sets]


def experiment_2(parts: Split, name: str, epsilon: float, run: int, settings: Settings) -> Curve:
    """Accuracy as labels come in."""
    begin = time.process_time()
    arm = ARMS[name]
    trainer = settings.trainer(arm)
    heard = _Marks(parts, trainer, run)
    desk = SimulatedDesk(parts.teach, heard, given=_given(parts, run, settings))
    loop = Annotated(
        labels=settings.labels - settings.given,
        first=0,
        batch=arm.batch or settings.batch,
        judge="forest",
        classes=parts.classes,
        **arm.choices,
    )
    heard(0, desk.answers())
    fit(
        loop.at(desk, trained=trainer),
        CodesSource(parts.schema, parts.codes[0].T),
        Budget(epsilon, DELTA),
        simulation=run,
    )
    return Curve(2, name, epsilon, run, list(heard.seen), list(heard.seen.values()), time.process_time() - begin)


def real_curve(parts: Split, name: str, run: int, settings: Settings) -> Curve:
    """The same with the table's own records, chosen at random or by BALD: INTERNAL, no privacy."""
    begin = time.process_time()
    how, by_expert = ACTUAL[name]
    rng = np.random.default_rng([6, run])
    wanted = settings.labels - settings.given
    pool = rng.permutation(SPLIT[0])[: CANDIDATES * wanted]
    codes = parts.codes[0][pool]
    labels = parts.teach(codes) if by_expert else parts.labels[0][pool]
    trainer = ForestTrainer(settings.trees)
    heard = _Marks(parts, trainer, run)
    kept = _given(parts, run, settings)
    vectors = parts.vectors(list(codes.T))
    answers, still = answers_of([(c, n) for c, n, _ in kept]), np.arange(len(pool))
    heard(0, answers)
    while len(answers) < settings.labels:
        count = min(settings.batch, settings.labels - len(answers))
        order = np.arange(count)
        if how != "random":
            judge = trainer(
                parts.vectors(list(answers.codes.T)), answers.labels, 2, np.random.default_rng([1, len(answers)])
            )
            order = acquisition(how)(judge.votes(vectors[still]), count, rng)
        chosen = still[order]
        still = np.delete(still, order)
        answers = Answers(
            np.concatenate([answers.codes, codes[chosen]]), np.concatenate([answers.labels, labels[chosen]])
        )
        heard(0, answers)
    return Curve(2, name, math.inf, run, list(heard.seen), list(heard.seen.values()), time.process_time() - begin)


def _given(parts: Split, run: int, settings: Settings) -> list[tuple[IntArray, int, bool]]:
    """The records every arm begins with: the first of the expert's part, labelled by the expert."""
    codes = parts.codes[1][: settings.given]
    return [(record, int(label), False) for record, label in zip(codes, parts.teach(codes), strict=True)]


class _Marks:
    """Notes accuracy at the numbers of labels in MARKS."""

    def __init__(self, parts: Split, trainer: Trainer, run: int) -> None:
        self.parts, self.trainer, self.run = parts, trainer, run
        self.seen: dict[int, float] = {}

    def __call__(self, _: int, answers: Answers) -> None:
        for mark in MARKS:
            if len(answers) >= mark and mark not in self.seen:
                self.seen[mark] = self.parts.accuracy(answers, self.trainer, self.run)


def all_jobs(settings: Settings) -> list[tuple[int, str, float, int]]:
    """Experiment, arm, ε and split of every run, those behind most claims first."""
    jobs: list[tuple[int, str, float, int]] = []
    for run in range(settings.runs):
        jobs += [(1, "real", math.inf, run)]
        jobs += [(1, "all", epsilon, run) for epsilon in EPSILONS]
        jobs += [(2, arm, epsilon, run) for epsilon in EPSILONS for arm in MAIN]
        jobs += [(2, arm, math.inf, run) for arm in ACTUAL]
    others = range(min(settings.runs, settings.other_runs))
    jobs += [(2, arm, settings.other_epsilon, run) for run in others for arm in settings.elsewhere]
    jobs += [(2, arm, settings.other_epsilon, run) for run in others for arm in settings.networks]
    jobs += [(2, arm, settings.other_epsilon, run) for run in others for arm in settings.variants]
    return [job for job in jobs if not settings.only or job[1] in settings.only]


def path_of(folder: Path, experiment: int, arm: str, epsilon: float, run: int) -> Path:
    """The file of a run."""
    return folder / "runs" / f"{experiment}-{arm.replace(', ', '-').replace(' ', '-')}-{epsilon:g}-{run}.json"


def all_curves(settings: Settings, folder: Path, progress: Progress) -> list[Curve]:
    """Every run; finished ones are taken from disk, if the same code with the same choices made them."""
    found: list[Curve] = []
    parts: dict[tuple[int, tuple[str, ...], str], Split] = {}
    jobs = all_jobs(settings)
    for at, (experiment, arm, epsilon, run) in enumerate(jobs):
        part(progress, at / len(jobs), (at + 1) / len(jobs))(f"{arm}, ε = {epsilon:g}, run {run + 1}", 0.0)
        path = path_of(folder, experiment, arm, epsilon, run)
        stamp = {**choices_of(settings, arm), "code": code_behind(arm)}
        kept = stored(path)
        if kept is None or any(curve.stamp != stamp for curve in kept):
            place = place_of(arm)
            if (run, *place) not in parts:
                parts = {key: one for key, one in parts.items() if key[0] == run}
                parts[(run, *place)] = split(run, *place)
            kept = made(parts[(run, *place)], experiment, arm, epsilon, run, settings)
            kept = [replace(curve, stamp=stamp) for curve in kept]
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps([asdict(c) for c in kept]).encode())
        found += kept
    return found


def choices_of(settings: Settings, arm: str) -> dict[str, Any]:
    """What decides how a run comes out beside the code, as JSON gives it back."""
    shared = {"labels": settings.labels, "given": settings.given, "batch": settings.batch, "trees": settings.trees}
    own = asdict(ARMS[arm]) if arm in ARMS else {}
    own.pop("about", None)
    if own.get("task") == LABEL:  # runs from before there were others
        own.pop("task")
    return dict(json.loads(json.dumps({**shared, "arm": own})))


def code_behind(arm: str) -> str:
    """The digest of the code a run of an arm depends on: kage's only where it is used."""
    uses_kage = arm in ARMS and ARMS[arm].choices.get("loop") == "kage"
    without = () if uses_kage else ("kagemusha.annotation.kage_rounds", "kagemusha.synthesizers.kage")
    return code_of(f"{__name__}:made", without=without)


def place_of(arm: str) -> tuple[tuple[str, ...], str]:
    """The columns an arm leaves out, and its task."""
    return (ARMS[arm].without, ARMS[arm].task) if arm in ARMS else ((), LABEL)


def made(parts: Split, experiment: int, arm: str, epsilon: float, run: int, settings: Settings) -> list[Curve]:
    """A job's curves."""
    if experiment == 1:
        return real_ends(parts, run, settings) if arm == "real" else experiment_1(parts, epsilon, run, settings)
    if arm in ACTUAL:
        return [real_curve(parts, arm, run, settings)]
    return [experiment_2(parts, arm, epsilon, run, settings)]


def stored(path: Path) -> list[Curve] | None:
    """What a file of a run holds; None if there is none, or one that was cut off."""
    try:
        return [Curve(**one) for one in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError):
        return None


def at_mark(curves: Sequence[Curve], mark: int) -> list[float]:
    """Accuracies of runs at a number of labels, run by run."""
    return [c.accuracy[c.marks.index(mark)] for c in sorted(curves, key=lambda c: c.run) if mark in c.marks]


def area(curve: Curve) -> float:
    """Mean accuracy over the numbers of labels, by the trapezoidal rule: the area under the curve."""
    marks, accuracy = np.array(curve.marks, dtype=float), np.array(curve.accuracy)
    return float(np.trapezoid(accuracy, marks) / (marks[-1] - marks[0])) if len(marks) > 1 else float(accuracy[0])
