"""A plain classifier with dropout, trained by Adam; hands out its layers as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from kagemusha.arrays import FloatArray, IntArray

BATCH = 64


def train_classifier(
    vectors: FloatArray,
    labels: IntArray,
    classes: int,
    *,
    hidden: Sequence[int],
    dropout: float,
    epochs: int,
    rate: float,
    rng: np.random.Generator,
) -> list[tuple[FloatArray, FloatArray]]:
    """Layers (matrix, shift) of a ramp network, in double precision.

    One thread: more are slower on networks of this size.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        chance = torch.Generator().manual_seed(int(rng.integers(2**62)))
        layers = _layers([vectors.shape[1], *hidden, classes], chance)
        learn = torch.optim.Adam([p for layer in layers for p in layer.parameters()], rate, fused=True)
        rows, wanted = torch.from_numpy(vectors.astype(np.float32)), torch.from_numpy(labels)
        for _ in range(epochs):
            order = torch.randperm(len(rows), generator=chance)
            for part in order.split(BATCH):
                loss = nn.functional.cross_entropy(_forward(rows[part], layers, dropout, chance), wanted[part])
                learn.zero_grad()
                loss.backward()
                learn.step()
        return [
            (layer.weight.detach().T.double().numpy().copy(), layer.bias.detach().double().numpy().copy())
            for layer in layers
        ]
    finally:
        torch.set_num_threads(threads)


def _layers(sizes: Sequence[int], chance: torch.Generator) -> list[nn.Linear]:
    found = []
    for wide, narrow in pairwise(sizes):
        layer = nn.Linear(wide, narrow)
        with torch.no_grad():
            layer.weight.normal_(0, (2 / wide) ** 0.5, generator=chance)
            layer.bias.zero_()
        found.append(layer)
    return found


def _forward(state: Any, layers: Sequence[nn.Linear], dropout: float, chance: torch.Generator) -> Any:
    for layer in layers[:-1]:
        state = torch.relu(layer(state))
        state = state * (torch.rand(state.shape, generator=chance) >= dropout) / (1 - dropout)
    return layers[-1](state)
