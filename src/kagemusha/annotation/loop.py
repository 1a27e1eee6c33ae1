"""AIM (or kage) and BALD together: rounds that read private data, and between them people who label doubles.

Two budgets: privacy, held by the Curator's filter, and labels. A round measures more where the judge is unsure
(`rounds`: one marginal, chosen among real records; `kage_rounds`: instalments that follow what doubles tell); then a
pool of doubles is drawn and the records that would teach the judge most are asked about. The loop is plain sequential
code that waits for labels. Killed and started again it goes through the same steps: private answers come from the
ledger, labels from the desk, and nothing is paid or asked twice.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from kagemusha.annotation.acquisition import acquisition
from kagemusha.annotation.desk import Desk
from kagemusha.annotation.judges import Judge, RecordVectors, Trainer, prediction, trainer
from kagemusha.annotation.kage_rounds import KageRounds
from kagemusha.annotation.private_rounds import PrivateRounds
from kagemusha.annotation.rounds import Rounds
from kagemusha.annotation.votes import bald
from kagemusha.annotation.weights import Weights
from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.models.doubles import Doubles
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.ranges import at_least, one_of
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.adaptive import MEASURE, SELECT
from kagemusha.synthesizers.aim import AIM
from kagemusha.synthesizers.kage import Kage
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

STEP = 5
"""Labels that a round asks for more than the one before: T_k = 5k."""

CANDIDATES = 2
"""Doubles looked at per label, measured: more make the questions odder and the classifier worse."""

FALLEN = 0.5
"""With adaptive labels a round ends when the best open record tells less than this part of what the first one did."""


@dataclass(frozen=True, kw_only=True)
class Annotated(Synthesizer):
    """The choices of the loop.

    `loop` is "aim" (the paper's) or "kage" (all looks first, labels guide the rest). `rounds` is K, `labels` is B,
    `classes` how many answers there are, `first` how many random doubles are labelled before the first judge. `when` is
    "between" (labels between private rounds) or "after" (all rounds first: plain active learning). `weights` says how
    records are weighed when a marginal is chosen: "standardised", "bare" (the paper's formula) or "none". `pace` of
    labels: "growing" (`step`·k in round k), "flat" or "adaptive"; what rounds leave over is asked of the last model.
    `privacy`: "fixed" rounds or "annealed" like AIM's own. `candidates` doubles are looked at for every label of a
    round: with many, only the oddest are asked about. `batch` labels are asked for between two trainings of the judge;
    `held` is the share of labels given to random doubles by which quality is judged; `pool` doubles stand behind
    standardised weights.
    """

    name: ClassVar[str] = "aim-bald"
    summary: ClassVar[str] = "AIM whose rounds follow what people label: `kagemusha annotate`"
    accounting: ClassVar[Accounting] = Accounting.ZCDP
    adaptive: ClassVar[bool] = True

    loop: Literal["aim", "kage"] = "aim"
    classes: int = 2
    rounds: int = 20
    labels: int = 1000
    first: int = 20
    when: Literal["between", "after"] = "between"
    ask: str = "bald"
    weights: Literal["standardised", "bare", "none"] = "standardised"
    sharpness: float = 1.0
    pace: Literal["growing", "flat", "adaptive"] = "growing"
    step: int = STEP
    privacy: Literal["fixed", "annealed"] = "fixed"
    batch: int = 1
    ahead: int = 1
    candidates: int = CANDIDATES
    pool: int = 2000
    held: float = 0.0
    judge: str = "network"

    def __post_init__(self) -> None:
        at_least(2, classes=self.classes, pool=self.pool)
        at_least(0, first=self.first)
        at_least(1, rounds=self.rounds, labels=self.labels, candidates=self.candidates)
        at_least(1, batch=self.batch, ahead=self.ahead, step=self.step)
        if not 0 <= self.held < 1:
            raise UsageError(f"held must be at least 0 and less than 1, got {self.held}")
        if not self.sharpness > 0:
            raise UsageError(f"sharpness must be greater than 0, got {self.sharpness}")
        one_of(("aim", "kage"), loop=self.loop)
        one_of(("between", "after"), when=self.when)
        one_of(("standardised", "bare", "none"), weights=self.weights)
        one_of(("growing", "flat", "adaptive"), pace=self.pace)
        one_of(("fixed", "annealed"), privacy=self.privacy)
        if self.loop == "kage" and self.privacy == "annealed":
            raise UsageError("privacy must be fixed with loop kage: only AIM's rounds anneal")
        acquisition(self.ask)
        trainer(self.judge)

    def at(self, desk: Desk, *, trained: Trainer | None = None) -> Loop:
        """The loop with those who label."""
        kind = KageLoop if self.loop == "kage" else Loop
        return kind(self, desk, trained or trainer(self.judge))

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Needs people: see `at`."""
        raise UsageError("this method asks people for labels: use `kagemusha annotate`")

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Shares and size, as for AIM with so many rounds, or for kage."""
        if self.loop == "kage":
            return Kage().plan(domain, budget)
        columns, rounds = len(domain), self.rounds
        plain = AIM(rounds=rounds).plan(domain, budget)
        one = MEASURE * columns / (columns + rounds)
        steps = [("columns", one), ("choices", SELECT), ("measurements", 1 - one - SELECT)]
        return Plan(steps, plain.cells, plain.seconds, plain.error, plain.candidates, plain.largest)


@dataclass(frozen=True, eq=False)
class Loop(Synthesizer):
    """The loop in motion. Its parameters are those of `settings`; who labels is nobody's business."""

    settings: Annotated
    desk: Desk
    trained: Trainer

    name: ClassVar[str] = Annotated.name
    summary: ClassVar[str] = Annotated.summary
    accounting: ClassVar[Accounting] = Annotated.accounting
    adaptive: ClassVar[bool] = True

    def parameters(self) -> dict[str, Any]:
        """The choices, for the certificate."""
        return {f.name: getattr(self.settings, f.name) for f in fields(self.settings)}

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """See `Annotated`."""
        return self.settings.plan(domain, budget)

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Rounds and labels until both budgets are spent."""
        rng = np.random.default_rng(0)  # pools and trainings are post-processing; a restart repeats them
        run = _Run(self, curator, self._rounds(curator, rng), rng, progress)
        return run.rounds.fitted(run.whole())

    def _rounds(self, curator: Curator, rng: np.random.Generator) -> PrivateRounds:
        return Rounds(curator, self.settings.rounds, rng, annealed=self.settings.privacy == "annealed")


class KageLoop(Loop):
    """The loop with kage: every answer has Gaussian noise, so costs add up as Gaussian DP."""

    name: ClassVar[str] = "kage-bald"
    summary: ClassVar[str] = "kage whose last measurements follow what people label: `kagemusha annotate --loop kage`"
    accounting: ClassVar[Accounting] = Accounting.GDP

    def _rounds(self, curator: Curator, rng: np.random.Generator) -> PrivateRounds:
        return KageRounds(curator, self.settings.rounds, rng, self.desk.remembered)


class _Run:
    """One go through the loop."""

    def __init__(
        self, loop: Loop, curator: Curator, rounds: PrivateRounds, rng: np.random.Generator, progress: Progress
    ) -> None:
        self.settings, self.desk, self._train = loop.settings, loop.desk, loop.trained
        self.curator, self.progress, self.rounds, self.rng = curator, progress, rounds, rng
        self.vectors = RecordVectors.of(curator.schema)
        self.given = 0

    def whole(self) -> MarkovGenerator:
        """All rounds; in between or after them, all labels."""
        chosen = self.settings
        model = self.rounds.start()
        self.desk.spent(self.curator.spent)
        number = 0
        if chosen.when == "between":
            self._ask(number, model, min(chosen.first, chosen.labels), "random")
        while not self.rounds.done:
            number += 1
            between = chosen.when == "between"
            model = self.rounds.go(self._weights(number) if between else None)
            self.desk.spent(self.curator.spent)
            newest = f": {' × '.join(self.rounds.trace[-1].clique)}" if self.rounds.trace else ""
            self.progress(f"round {number}{newest}", self._share())
            if between and not self.rounds.done:
                self._ask(number, model, self._quota(number), chosen.ask)
        if chosen.when == "after":
            first = min(chosen.first, chosen.labels)
            self._ask(0, model, first, "random")
        if self.given < chosen.labels:
            self._ask(number, model, chosen.labels - self.given, chosen.ask, last=True)
        self.progress("done", 1.0)
        return model

    def judge(self) -> Judge | None:
        """Trained on all labels so far; None until two classes were seen."""
        answers = self.desk.answers()
        if len(answers) < 2 or len(np.unique(answers.labels)) < 2:
            return None
        rng = np.random.default_rng([1, len(answers)])
        judge = self._train(self.vectors(list(answers.codes.T)), answers.labels, self.settings.classes, rng)
        held = self.desk.answers(held=True)
        if len(held):
            right = prediction(judge.votes(self.vectors(list(held.codes.T)))) == held.labels
            self.desk.judged(int(right.sum()), len(held))
        return judge

    def _weights(self, number: int) -> Weights | None:
        judge = self.judge() if self.settings.weights != "none" else None
        if judge is None:
            return None
        if self.settings.weights == "bare":
            return Weights.bare(self.vectors, judge, self.settings.classes)
        drawn = self.rounds.draw(self.settings.pool)
        return Weights.standardised(
            self.vectors, judge, drawn, self.settings.classes, sharpness=self.settings.sharpness
        )

    def _quota(self, number: int) -> int:
        """Labels of a round."""
        left = self.settings.labels - self.given
        if self.settings.privacy == "annealed":
            return max(0, min(left, round(self.curator.spent * self.settings.labels) - self.given))
        each = (
            -(-self.settings.labels // self.settings.rounds)
            if self.settings.pace == "flat"
            else self.settings.step * number
        )
        return max(0, min(left, each))

    def _ask(self, number: int, model: MarkovGenerator, quota: int, how: str, *, last: bool = False) -> None:
        """A pool of doubles, and labels for those that tell most."""
        if quota < 1:
            return
        # people are asked about doubles as a release would show them
        wanted = self.settings.candidates * quota
        # as many again, at least the queue's length, take the places of doubles that nobody can label
        reserve = max(wanted, self.settings.ahead)
        drawn = Doubles(self.curator.schema, model).codes(wanted + reserve, rng=self.rng)
        held = self.rng.permutation(len(drawn))[: round(self.settings.held * quota)]
        self.desk.begin(number if not last else number + 1, drawn, np.asarray(held), quota)
        vectors = self.vectors(list(self.desk.pool().T))
        had = self.desk.wait(0)
        start: int | None = None
        while had < quota and len(open_now := self.desk.open()):
            looked_at, rest = np.split(open_now, [max(1, wanted - had)])
            judge = self.judge() if how != "random" else None
            order, best = self._order(judge, vectors[looked_at], how)
            start = best if start is None else start
            if self.settings.pace == "adaptive" and not last and judge is not None and best < FALLEN * start:
                break  # the rest of these labels is for later rounds
            self.desk.ask(np.concatenate([looked_at[order], rest[: max(0, self.settings.ahead - len(order))]]))
            before, had = had, self.desk.wait(min(self.settings.batch, quota - had))
            stage = f"round {number}" if number else "before the first round"
            self.progress(f"{stage}: {min(had, quota)} of {quota} labels", self._share(had))
            if had == before:
                break
        self.given += had

    def _order(self, judge: Judge | None, vectors: FloatArray, how: str) -> tuple[IntArray, int]:
        """Which open records to ask about, and how much the first tells."""
        wanted = min(len(vectors), max(self.settings.batch, self.settings.ahead))
        if judge is None:
            return self.rng.permutation(len(vectors))[:wanted], 0
        votes = judge.votes(vectors)
        order = acquisition(how)(votes, wanted, self.rng)
        return order, int(bald(votes[:, order[:1]])[0])

    def _share(self, more: int = 0) -> float:
        return min(1.0, (self.given + more) / self.settings.labels)
