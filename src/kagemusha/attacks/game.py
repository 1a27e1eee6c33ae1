"""The membership game: a coin decides whether a table with or without the target is synthesised.

The adversary says which. game = Game(table, choose("selective", table, rng=rng), Method("kage"),
inference("neighbour")) outcome = run(game, folder)

One training makes one model of one world; `generations` tables are drawn from it. Trainings, not generations, are
independent trials. What the adversary makes for comparison (references) comes from trainings of its own, which are
never scored. The number of rows is fixed beforehand: as many as the input has would tell the coin.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.features import Space
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT, Inference, References, Scene, Statistic
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.table import GameTable, World, WorldKey
from kagemusha.attacks.targets import Mahalanobis, Target
from kagemusha.attacks.threat import PAPER, Threat
from kagemusha.errors import UsageError
from kagemusha.ranges import at_least
from kagemusha.version import __version__

ROLES = ("play", "reference", "stranger")
Numbers = dict[str, FloatArray]
"""What a run measured, by the name of target, space and statistic."""


@dataclass(frozen=True)
class Rules:
    """How much is played. With `own`, each training has references of its own, as in the paper; else all serve all."""

    trainings: int = 100
    generations: int = 1
    references: int = 30
    strangers: int = 20
    own: bool = False
    rows: int | None = None
    """Rows of every synthetic table; by default those of the table."""

    def __post_init__(self) -> None:
        at_least(2, trainings=self.trainings)
        at_least(1, generations=self.generations, references=self.references, strangers=self.strangers)
        if self.rows is not None and self.rows < 1:
            raise UsageError(f"rows must be at least 1, got {self.rows}")


@dataclass(frozen=True)
class TrainingRun:
    """The smallest piece of work: one training and all tables drawn from it."""

    role: str
    world: str
    """The name of a world; for a stranger, its number."""
    number: int

    @property
    def name(self) -> str:
        """The name of its file, without the ending."""
        return f"{self.role}-{self.world}-{self.number}"


class Game:
    """Tables, targets, a synthesizer and inferences; one of each or several. Nothing is run until `runner.run`."""

    def __init__(
        self,
        data: GameTable,
        target: Target | Sequence[Target],
        synthesizer: Maker,
        inference: Inference | Sequence[Inference],
        *,
        space: Space | Sequence[Space] = Space(),  # noqa: B008  a frozen value
        threat: Threat = PAPER,
        rules: Rules = Rules(),
        seed: int = 0,
    ) -> None:
        self.table = data
        self.targets: tuple[Target, ...] = (target,) if isinstance(target, Target) else tuple(target)
        self.maker = synthesizer
        self.inferences: tuple[Inference, ...] = tuple(inference) if isinstance(inference, Sequence) else (inference,)
        self.spaces: tuple[Space, ...] = (space,) if isinstance(space, Space) else tuple(space)
        self.threat, self.rules, self.seed = threat, rules, seed
        if not (self.targets and self.inferences and self.spaces):
            raise UsageError("a game needs at least one target, one inference and one space")
        if len({t.name for t in self.targets}) < len(self.targets):
            raise UsageError("two targets of a game have the same name")
        for one in self.inferences:
            threat.require(one.name, one.needs)
        for chosen in self.targets:
            if not threat.sees_table_first and not chosen.name.startswith("blind"):
                raise UsageError(f"target {chosen.name!r} was chosen by the table, which this adversary has not seen")

    @cached_property
    def worlds(self) -> dict[str, World]:
        """Every table that is trained on, by a name that does not depend on the order of targets."""
        found = {}
        for target in self.targets:
            for world in target.worlds(self.table):
                found[_world_name(world.key)] = world
        return found

    def sides(self, target: Target) -> tuple[str, str]:
        """The names of a target's two worlds."""
        without, inside = target.worlds(self.table)
        return _world_name(without.key), _world_name(inside.key)

    def runs(self) -> list[TrainingRun]:
        """All work; plays come last, so that a first look at them finds the references there."""
        wanted = {one.references for one in self.inferences}
        found: list[TrainingRun] = []
        if "target" in wanted:
            references = self.rules.trainings if self.rules.own else self.rules.references
            found += [TrainingRun("reference", world, n) for n in range(references) for world in self.worlds]
        if "strangers" in wanted:
            found += [
                TrainingRun("stranger", side, n) for n in range(self.rules.strangers) for side in ("without", "inside")
            ]
        return found + [TrainingRun("play", world, n) for n in range(self.rules.trainings) for world in self.worlds]

    @cached_property
    def digest(self) -> str:
        """What two runs must share for their plays to belong together; more trainings may be added later."""
        rules = {**vars(self.rules)}
        for name in ("trainings", "references", "strangers"):
            rules.pop(name)
        document = {
            "version": __version__,
            "table": self.table.digest,
            "targets": [[t.name, t.rows, t.members, *([t.copies] if t.copies > 1 else [])] for t in self.targets],
            "maker": [self.maker.name, self.maker.settings()],
            "statistics": [s.name for s in self.statistics()],
            "spaces": [s.name for s in self.spaces],
            "rules": rules,
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def statistics(self, *references: str) -> list[Statistic]:
        """What is measured, each once; only of inferences with these kinds of references, if any are named."""
        kept = [i.statistic for i in self.inferences if not references or i.references in references]
        return list({s.name: s for s in kept}.values())

    # playing

    def play(self, run: TrainingRun) -> Numbers:
        """Train once, draw, measure. The same run gives the same numbers in any process and any order."""
        spread = np.random.SeedSequence(self.seed, spawn_key=(ROLES.index(run.role), _number(run.world), run.number))
        fitting, drawing = (np.random.default_rng(s) for s in spread.spawn(2))
        if run.role == "stranger":
            return self._stranger(run, fitting, drawing)
        sampler = self.maker.fit(self.worlds[run.world], rng=fitting)
        wanted = self.statistics("target") if run.role == "reference" else self.statistics()
        scenes = [(t, s, scene_of(self, t.name, s)) for t, s in product(self.targets, self.spaces)]
        scenes = [one for one in scenes if run.world in self.sides(one[0])]
        found: dict[str, list[FloatArray]] = {}
        for _ in range(1 if run.role == "reference" else self.rules.generations):
            doubles = sampler.sample(self.rules.rows or self.table.rows, rng=drawing)
            for target, space, scene in scenes:
                for statistic in wanted:
                    key = _key(target, space, statistic)
                    found.setdefault(key, []).append(statistic.measure(doubles, scene))
        return {key: np.array(values) for key, values in found.items()}

    def _stranger(self, run: TrainingRun, fitting: np.random.Generator, drawing: np.random.Generator) -> Numbers:
        """A shadow run for another target, on half of the table: both sides of a number share half and target."""
        common = np.random.default_rng([self.seed, 3, run.number])
        inside, outside = np.split(common.permutation(self.table.rows), [self.table.rows // 2])
        half = GameTable(self.table.schema, self.table.codes[np.sort(inside)])
        # a stranger whose row the half has already would teach that "with" looks like "without"
        outlying = outside[np.argsort(-_distances(self)[outside], kind="stable")[: max(1, self.table.rows // 100)]]
        row = int(common.choice(outlying if run.number % 2 else outside))
        copies = self.table.schema.unit.max_rows
        target = Target("stranger", (tuple(int(v) for v in self.table.codes[row]),), copies=copies)
        world = target.worlds(half)[INSIDE if run.world == "inside" else WITHOUT]
        doubles = self.maker.fit(world, rng=fitting).sample(half.rows, rng=drawing)
        found = {}
        for space in self.spaces:
            scene = Scene(half, target, space)
            for statistic in self.statistics("strangers"):
                found[_key(target, space, statistic)] = statistic.measure(doubles, scene)[None, :]
        return found

    # judging

    def judge(self, results: Mapping[str, Numbers]) -> Outcome:
        """Scores of every target, space and inference, from the numbers of all runs by name."""
        scores: dict[Cell, FloatArray] = {}
        for target, space, inference in product(self.targets, self.spaces, self.inferences):
            key = _key(target, space, inference.statistic)
            sides = self.sides(target)
            played = _stacked(results, "play", sides, range(self.rules.trainings), key)
            rng = np.random.default_rng([self.seed, 4, _number(f"{target.name} {space.name} {inference.name}")])
            scores[Cell(target.name, space.name, inference.name)] = inference.scores(
                played, self._references(results, inference, space, sides, key), rng
            )
        return Outcome(self.maker.name, scores)

    def _references(
        self, results: Mapping[str, Numbers], inference: Inference, space: Space, sides: tuple[str, str], key: str
    ) -> References:
        if inference.references == "target":
            count = self.rules.trainings if self.rules.own else self.rules.references
            made = _stacked(results, "reference", sides, range(count), key)
            return References(made[:, :, 0], self.rules.own)
        if inference.references == "strangers":
            other = f"stranger|{space.name}|{inference.statistic.name}"
            made = _stacked(results, "stranger", ("without", "inside"), range(self.rules.strangers), other)
            return References(made[:, :, 0])
        return References(np.zeros((0, 2, 0)))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "worlds"} | {"digest": self.digest}


@dataclass(frozen=True)
class Cell:
    """One attack: whom, in which space, how."""

    target: str
    space: str
    inference: str

    @property
    def alone(self) -> bool:
        """Whether the target is one row: several at once are named with their number, such as adaptive×10."""
        return "×" not in self.target


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of all attacks on one synthesizer: (trainings, side, generations); above zero says "with"."""

    maker: str
    scores: Mapping[Cell, FloatArray] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.scores)


@lru_cache(maxsize=32)
def _scene(digest: str, held: _Held, target: str, space: Space) -> Scene:
    found = next(t for t in held.game.targets if t.name == target)
    return Scene(held.game.table, found, space)


class _Held:
    """A game as part of a key that is distinguished by its digest alone."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.game.digest == self.game.digest

    def __hash__(self) -> int:
        return hash(self.game.digest)


def scene_of(game: Game, target: str, space: Space) -> Scene:
    """The scene of a target, worked out once in each process."""
    return _scene(game.digest, _Held(game), target, space)


@lru_cache(maxsize=2)
def _mahalanobis(held: _Held) -> FloatArray:
    return Mahalanobis(held.game.table).of_rows()


def _distances(game: Game) -> FloatArray:
    return _mahalanobis(_Held(game))


def _key(target: Target, space: Space, statistic: Statistic) -> str:
    return f"{target.name}|{space.name}|{statistic.name}"


def _world_name(key: WorldKey) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()[:12]


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])


def _stacked(
    results: Mapping[str, Numbers], role: str, sides: Sequence[str], numbers: Sequence[int], key: str
) -> FloatArray:
    return np.array([[results[TrainingRun(role, side, n).name][key] for side in sides] for n in numbers])
