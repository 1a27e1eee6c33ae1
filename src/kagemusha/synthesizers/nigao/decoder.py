"""A decoder on top of the phases, trained by noisy gradients over all records, and kept only if it wins.

Each step is a Gaussian sum of clipped gradients (DP-SGD in which every record is in every batch), so the filter adds it like any
other step. What it won is measured with noise; where that is not clear, the linear decoder stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.progress import Progress
from kagemusha.queries.decoder_sums import Bend, DecoderGain, DecoderGradients
from kagemusha.queries.record_vectors import Vectors
from kagemusha.release.curator import Curator
from kagemusha.synthesizers.nigao.phases import Likeness

STEPS, HIDDEN = 12, 32
RATE, MEMORY = 0.02, (0.8, 0.95)
"""Adam's step size and memories: few steps, so short ones."""

JUDGED = 0.05
"""Share of the decoder's budget for the question whether it won."""

CLEAR = 2.0
"""It won if its gain is so many deviations of the noise above none."""


def bent(
    curator: Curator, found: Likeness, rows: float, cost: float, radius: float, progress: Progress
) -> tuple[Bend, FloatArray] | None:
    """The trained decoder and what is left out of each feature beside it; None if it did not win."""
    vectors = replace(found.white, centre=found.means)
    bend = _start(vectors, found.root.shape, curator.seed())
    memory = [np.zeros_like(layer) for layer in (bend.first, bend.second) * 2]
    for step in range(STEPS):
        progress(f"decoder, step {step + 1}", step / STEPS)
        query = DecoderGradients(vectors, f"gradients of the decoder, step {step + 1}", found.root, bend, radius)
        answer = curator.answer([query], cost * (1 - JUDGED) / STEPS)[0]
        layers = []
        for i, (layer, slope) in enumerate(zip((bend.first, bend.second), query.split(answer), strict=True)):
            first, second = MEMORY
            memory[i] = first * memory[i] + (1 - first) * slope / rows
            memory[i + 2] = second * memory[i + 2] + (1 - second) * (slope / rows) ** 2
            mean, size = memory[i] / (1 - first ** (step + 1)), memory[i + 2] / (1 - second ** (step + 1))
            layers.append(layer - RATE * mean / (np.sqrt(size) + 1e-8))
        bend = Bend(*layers)
    judged = DecoderGain(vectors, "what the decoder won", found.root, bend, radius)
    gain, noise = judged.split(curator.answer([judged], cost * JUDGED * (1 - 1e-9))[0])
    if gain <= CLEAR * noise:
        return None
    variance = float((found.spread**2).sum())
    return bend, found.spread * np.sqrt(max(0.0, 1 - gain / rows / max(variance, 1e-12)))


def _start(vectors: Vectors, shape: tuple[int, ...], seed: int) -> Bend:
    """A middle layer of chance and a last layer of nothing: it begins as the linear decoder."""
    rng = np.random.default_rng(seed)
    first = rng.normal(0, 1 / np.sqrt(shape[1]), (shape[1] + 1, HIDDEN))
    return Bend(first, np.zeros((HIDDEN, vectors.raw_width)))
