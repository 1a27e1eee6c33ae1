"""Figures 3 and 4: scores by epoch of P3GM, AE and DP-VAE, several trainings of each, looked at on the way.

All decoders begin cold, as the paper's do, and take as many steps as DP-VAE needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.decoders import DecoderGenerator
from kagemusha.neural.factors import Factors
from kagemusha.progress import Progress, silent
from kagemusha.release.curator import Curator
from kagemusha.release.training import Learner, TrainingSchedule
from kagemusha.reproduce.p3gm_data import IMAGES, DataSet
from kagemusha.reproduce.p3gm_runs import BUDGET, Settings, options_of
from kagemusha.reproduce.p3gm_scores import image_scores, table_scores
from kagemusha.synthesizers.deep.asking import PaidAsking
from kagemusha.synthesizers.deep.options import matrices_of
from kagemusha.synthesizers.deep.p3gm import AE, P3GM
from kagemusha.synthesizers.deep.vae import DPVAE
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.protocol import Fitted

ARMS = ("p3gm", "ae", "dp-vae")
TRAININGS, LOOKS = 3, 6
"""Of each arm; and looks at each training."""
Curves = Mapping[str, list[list[tuple[float, float]]]]
"""Of each arm, for each training, (epochs, score)."""


class _Noted:
    """A learner whose decoder is copied every so many steps."""

    def __init__(self, learner: Any, every: int, notes: list[tuple[int, Any]]) -> None:
        self._learner, self._every, self._notes, self._steps = learner, every, notes, 0
        self.parameters, self.width = learner.parameters, learner.width

    def gradients(self, codes: IntArray, rng: np.random.Generator) -> FloatArray | Factors:
        found: FloatArray | Factors = self._learner.gradients(codes, rng)
        return found

    def update(self, gradient: FloatArray) -> None:
        self._learner.update(gradient)
        self._steps += 1
        if self._steps % self._every == 0:
            copied = self._learner.decoder_parameters().copy()
            self._notes.append((self._steps, matrices_of(self._learner.decoder, copied)))

    def state(self) -> bytes:
        return bytes(self._learner.state())

    def restore(self, state: bytes) -> None:
        self._learner.restore(state)


class _Looking(PaidAsking):
    """The Curator's answers, and a look at the decoder on the way."""

    def __init__(self, curator: Curator, every: int, notes: list[tuple[int, Any]]) -> None:
        super().__init__(curator)
        self._every, self._notes = every, notes

    def train(self, schedule: TrainingSchedule, learner: Learner, *, what: str, progress: Progress) -> None:
        """As usual, with notes."""
        super().train(schedule, _Noted(learner, self._every, self._notes), what=what, progress=progress)


def _watched(method: str, options: dict[str, Any], every: int, notes: list[tuple[int, Any]]) -> P3GM | DPVAE:
    """The method with a `build` that takes notes."""

    class WatchedPhases(AE if method == "ae" else P3GM):  # type: ignore[misc]
        def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
            spending = self.spending(curator.domain, curator.budget)
            looking = _Looking(curator, every, notes)
            found: Fitted = self.learn(looking, curator, spending.rho, spending, progress)
            return found

    class WatchedVAE(DPVAE):
        def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
            return self.learn(_Looking(curator, every, notes), curator, self.spending(curator.budget), progress)

    return WatchedVAE(**options) if method == "dp-vae" else WatchedPhases(**options)


def curves(data: DataSet, settings: Settings, progress: Progress) -> Curves:
    """Accuracy or AUROC along trainings that end at the promised (ε, δ)."""
    found: dict[str, list[list[tuple[float, float]]]] = {method: [] for method in ARMS}
    jobs = [(seed, method) for seed in range(TRAININGS) for method in ARMS]
    for i, (seed, method) in enumerate(jobs):
        progress(f"{data.name}: {method} by epoch, training {seed + 1}", i / len(jobs))
        found[method].append(_training(data, method, seed, settings))
    return found


def _training(data: DataSet, method: str, seed: int, settings: Settings) -> list[tuple[float, float]]:
    options = options_of(method, data)
    if method != "dp-vae":
        long = options_of("dp-vae", data)
        options |= {"start": "cold", "step": long["step"], "epochs": long["epochs"]}
    notes: list[tuple[int, Any]] = []
    every = max(1, round(options["epochs"] / options["rate"]) // LOOKS)
    model = fit(_watched(method, options, every, notes), data.source(), BUDGET, simulation=seed)
    last = model.generator
    assert isinstance(last, DecoderGenerator)
    score = _judge(data, settings)
    return [
        (steps * options["rate"], score(replace(last, parts=[replace(last.parts[0], matrices=matrices)])))
        for steps, matrices in notes
    ]


def _judge(data: DataSet, settings: Settings) -> Callable[[DecoderGenerator], float]:
    def score(generator: DecoderGenerator) -> float:
        doubles = generator.sample(min(settings.rows, len(data.train)), rng=np.random.default_rng(0))
        if data.name in IMAGES:
            return image_scores(data, doubles, 0, epochs=settings.epochs, cnn=False)["MLP"]
        return table_scores(data, doubles, 0)["AUROC"]

    return score
