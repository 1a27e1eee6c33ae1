"""Statistics against their formulas, inferences where the right answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from little import Drawn, little

from kagemusha.attacks.features import Space
from kagemusha.attacks.game import Game, Rules
from kagemusha.attacks.inference.classifier import LEARNERS, SETS, TableFeatures
from kagemusha.attacks.inference.distance import LogDensity, MeanDistance
from kagemusha.attacks.inference.moments import MomentDistances, Moments, MvlOrig, MvlSyn, best_lambda
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT, References, Scene
from kagemusha.attacks.inference.queries import Matches
from kagemusha.attacks.inference.registry import NAMES, inference
from kagemusha.attacks.inference.tells import Unknown
from kagemusha.attacks.table import GameTable, PlayedDoubles, World
from kagemusha.attacks.targets import Target, choose
from kagemusha.attacks.threat import BLIND, Threat
from kagemusha.errors import UsageError


@pytest.fixture
def scene() -> Scene:
    table = little()
    return Scene(table, choose("selective", table, rng=np.random.default_rng(0)), Space("codes", "raw"))


def doubles(seed: int = 0, rows: int = 80) -> PlayedDoubles:
    rng = np.random.default_rng(seed)
    return PlayedDoubles(codes=np.column_stack([rng.integers(0, n, rows) for n in (3, 2, 10, 6)]).astype(np.int32))


def test_moment_distances_are_mvl(scene: Scene) -> None:
    made = doubles()
    found = MomentDistances().measure(made, scene)
    points = scene.lens.features(made)
    for side in (WITHOUT, INSIDE):
        real = scene.lens.of_codes(scene.worlds[side].codes)
        mean = np.linalg.norm(points.mean(axis=0) - real.mean(axis=0))
        apart = np.linalg.norm(np.cov(points.T, bias=True) - np.cov(real.T, bias=True))
        assert found[2 * side : 2 * side + 2] == pytest.approx([mean, apart])


def test_mvl_syn_is_the_same_formula_over_references(scene: Scene) -> None:
    sets = [doubles(seed) for seed in range(3)]
    numbers = np.array([Moments().measure(one, scene) for one in sets])
    score = MvlSyn().scores(numbers[None, None, :1], References(numbers[None, 1:]), np.random.default_rng(0))
    points = [scene.lens.features(one) for one in sets]

    def mvl(other: int) -> float:
        mean = np.linalg.norm(points[0].mean(axis=0) - points[other].mean(axis=0))
        return float(mean + np.linalg.norm(np.cov(points[0].T, bias=True) - np.cov(points[other].T, bias=True))) / 2

    assert score[0, 0, 0] == pytest.approx(mvl(1) - mvl(2))


def test_lambda_is_chosen_on_references_alone() -> None:
    """Means tell the worlds apart and covariances mislead: the best λ is near none, and a half is always wrong."""
    rng = np.random.default_rng(0)
    made = np.zeros((40, 2, 4))
    for side in (WITHOUT, INSIDE):
        near, far = (2, 0) if side == INSIDE else (0, 2)
        made[:, side, near], made[:, side, far] = 1.0, 1.1
        made[:, side, near + 1], made[:, side, far + 1] = 120 + rng.normal(0, 1, 40), 100.0
    assert best_lambda(made) < 0.006
    played = made[:, :, None, :]
    empty = References(np.zeros((0, 2, 4)))
    assert (MvlOrig().scores(played, empty, rng)[:, INSIDE] < 0).all()
    assert (MvlOrig(sweep=True).scores(played, References(made), rng)[:, INSIDE] > 0).all()


def test_nearest_and_density_are_those_of_sorted_distances(scene: Scene) -> None:
    made = doubles()
    gap = scene.lens.features(made) - scene.lens.of_codes(scene.codes)
    distances = np.sort(np.sqrt((gap**2).sum(axis=1)))
    assert MeanDistance().measure(made, scene)[0] == pytest.approx(distances[:10].mean())
    assert MeanDistance(1).measure(made, scene)[0] == pytest.approx(distances[0])
    real = np.sqrt(((scene.lens.of_codes(scene.real.codes) - scene.lens.of_codes(scene.codes)) ** 2).sum(axis=1))  # type: ignore[arg-type]
    width = np.median(np.sort(real**2)[:100])
    kernel = [np.log(np.exp(-(d**2) / (2 * width)).mean()) for d in (distances, real)]
    assert LogDensity().measure(made, scene) == pytest.approx(kernel)


def test_matches_and_unknown_codes_are_counted(scene: Scene) -> None:
    made = doubles()
    codes, target = made.codes, scene.codes[0]
    assert codes is not None
    same = codes == target
    found = Matches().measure(made, scene)
    assert found[0] == pytest.approx(same[:, 0].mean())
    assert found[1] == pytest.approx((same[:, 0] & same[:, 1]).mean())
    alone = (codes[:, 0] == 2) | (codes[:, 2] == 9) | (codes[:, 3] == 4)  # what only row 17 has
    assert Unknown().measure(made, scene)[0] == alone.sum()


@pytest.mark.parametrize("kind", SETS)
def test_features_of_tables_have_one_length_and_see_a_shift(kind: str, scene: Scene) -> None:
    first, second = (TableFeatures(kind).measure(doubles(seed), scene) for seed in (0, 1))
    assert first.shape == second.shape
    assert not np.allclose(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_every_inference_answers_what_its_statistic_plainly_says(name: str) -> None:
    """References and plays of one law: statistics with the target lie five deviations from those without."""
    one = inference(name)
    rng = np.random.default_rng(0)

    def statistics(count: int) -> np.ndarray:
        if one.statistic.name == "rows":
            return np.array([[[100, 100, 101], [101, 100, 101]]] * count, dtype=float)
        if one.statistic.name == "unknown codes":
            return np.array([[[0.0], [7.0]]] * count)
        if one.statistic.name == "moment distances":
            return np.array([[[1, 1, 2, 2], [2, 2, 1, 1]]] * count) + rng.normal(0, 0.01, (count, 2, 4))
        width = 5 if one.statistic.name == "moments" else 2 if one.statistic.name == "log density" else 3
        side = np.array([0.0, 1.0 if "nearest" not in one.statistic.name else -1.0])[None, :, None]
        found = 5 + np.repeat(side, width, axis=2) + rng.normal(0, 0.05, (count, 2, width))
        if one.statistic.name == "log density":
            found[..., 1] = 0.0
        return np.asarray(found)

    scores = one.scores(statistics(30)[:, :, None], References(statistics(20)), rng)
    assert (scores[:, INSIDE] > 0).all()
    assert (scores[:, WITHOUT] <= 0).all()


def test_one_by_one_references_serve_their_own_training_alone() -> None:
    one = inference("neighbour")
    played = np.array([[[[1.0]], [[1.0]]], [[[1.0]], [[1.0]]]])
    made = np.array([[[3.0], [1.0]], [[0.5], [0.1]]])
    own = one.scores(played, References(made, own=True), np.random.default_rng(0))
    assert own[0, 0, 0] == pytest.approx(1.0)
    assert own[1, 0, 0] == pytest.approx(-0.7)


def test_an_attack_needs_an_adversary_who_knows_enough() -> None:
    table = little()
    target = choose("random", table, rng=np.random.default_rng(0))
    with pytest.raises(UsageError, match="how many rows"):
        Game(table, target, Drawn(), inference("row-count"))
    with pytest.raises(UsageError, match="the algorithm"):
        Game(table, target, Drawn(), inference("neighbour"), threat=Threat(frozenset({"table"})))
    with pytest.raises(UsageError, match="has not seen"):
        Game(table, target, Drawn(), inference("neighbour"), threat=BLIND)
    with pytest.raises(UsageError, match="can know"):
        Threat(frozenset({"the weather"}))
    assert "before seeing" in BLIND.in_words()
    with pytest.raises(UsageError, match="same name"):
        Game(table, [target, Target("random", target.rows)], Drawn(), inference("neighbour"))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="neighbour"):
        inference("guess")
    assert {f"{one}-{kind}" for one in LEARNERS for kind in SETS} <= set(NAMES)


def test_the_best_lambda_of_mvl_syn_is_chosen_on_references_alone() -> None:
    """Means tell the worlds apart, covariances mislead: with λ = ½ every answer is wrong, with the chosen one right."""
    rng = np.random.default_rng(0)
    numbers = np.zeros((40, 2, 2))  # one column: its mean and its variance
    numbers[:, WITHOUT, 0], numbers[:, INSIDE, 0] = 0.0, 1.0
    numbers[:, :, 0] += rng.normal(0, 0.05, (40, 2))
    numbers[:, :, 1] = 500 * rng.normal(0, 1, (40, 2))
    played, made = numbers[:20, :, None], References(numbers[20:])
    best = inference("mvl-syn-best").scores(played, made, rng)
    plain = inference("mvl-syn").scores(played, made, rng)

    def right(scores: np.ndarray) -> float:
        return float(((scores[:, INSIDE] > 0).mean() + (scores[:, WITHOUT] <= 0).mean()) / 2)

    assert right(best) > 0.95
    assert right(plain) < 0.8


def test_shadow_runs_find_a_copied_outlier_when_there_are_enough(scene: Scene) -> None:
    """Power: a synthesizer that copies its farthest row is found out by an attack that learned on other records."""
    table = little(300)
    target = choose("selective", table, rng=np.random.default_rng(0))
    rules = Rules(trainings=40, strangers=120)
    game = Game(table, target, Drawn(copied=True), inference("shadow"), space=Space("onehot"), rules=rules)
    numbers = {run.name: game.play(run) for run in game.runs()}
    (scores,) = game.judge(numbers).scores.values()
    right = ((scores[:, INSIDE] > 0).mean() + (scores[:, WITHOUT] <= 0).mean()) / 2
    assert right > 0.9


def test_strangers_are_not_in_the_half_they_are_added_to() -> None:
    table = little(60)
    codes = np.column_stack([table.codes[:, :2], np.arange(60) % 10, np.arange(60) // 10])
    unlike = GameTable(table.schema, codes.astype(np.int32))
    seen: list[bool] = []

    class Watching(Drawn):
        def fit(self, world: World, *, rng: np.random.Generator) -> Any:
            seen.append(any(bool((world.codes[:-1] == row).all(axis=1).any()) for row in world.plus))
            return super().fit(world, rng=rng)

    target = choose("random", unlike, rng=np.random.default_rng(0))
    game = Game(unlike, target, Watching(), inference("shadow"), rules=Rules(strangers=20))
    for run in game.runs():
        if run.role == "stranger" and run.world == "inside":
            game.play(run)
    assert len(seen) == 20
    assert not any(seen)
