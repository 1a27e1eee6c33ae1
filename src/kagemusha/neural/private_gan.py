"""A critic that learns of people through clipped, noisy gradients alone, and a generator that learns from it.

Adjacency: add-remove of a person. The one thing computed from private rows is the gradient of −score(row) along the
critic's parameters, row by row; clipping, noise and the charge are `release.training`'s. All else is post-processing of
released numbers: the critic's loss at generated rows, the penalty on its slope (between generated rows and rows drawn
column by column from noisy counts, never at people) and every step of the generator.

Three things of CTGAN are left out. Packs of ten: the gradient of a pack belongs to ten people, and nothing bounds one
of them. Wishes: rows picked by code would read the true proportions of labels, and a sample in which a rare label is
likelier is no Poisson sample. Dropout: noise enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.neural.blocks import Block
from kagemusha.neural.critic import Critic
from kagemusha.neural.factors import Factors, Layer
from kagemusha.neural.gan import GanNetwork, squash
from kagemusha.neural.inputs import Floats
from kagemusha.neural.networks import Network
from kagemusha.neural.optimiser import Adam

FAKES = 256
"""Generated rows in a step; they cost nothing but time."""

SETTLING = 20
"""Batches from which the statistics of the finished generator are taken."""

KEEPING = 20.0
"""What it costs the generator, in squares, when the means of its rows leave those of the noisy counts."""

FIRST, SECOND = 0.5, 0.9
"""Adam's memories, as WGAN-GP has them."""


class PrivateGame:
    """The learner behind `dp-ctgan`. A gradient is the critic's; `update` moves both networks.

    `encode` writes rows of codes as vectors, each row by its own codes; `independent` draws vectors from released
    counts. `start` is what the generator says about every column before it has learned anything, `means` what its
    vectors should be on average; both come from released counts. `clip` is that of the schedule, `turns` how many steps
    the generator makes for one of the critic.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        encode: Callable[[IntArray], Floats],
        independent: Callable[[int, np.random.Generator], Floats],
        start: FloatArray,
        means: FloatArray,
        *,
        hidden: int,
        noise: int,
        rate: float,
        clip: float,
        turns: int = 1,
        seed: int = 0,
    ) -> None:
        self.blocks, self.encode, self.independent = blocks, encode, independent
        self.noise, self.clip, self.turns, self._seed = noise, clip, turns, seed
        self._means = torch.from_numpy(means).float()
        width = blocks[-1].end
        self.network = Network((width, hidden, hidden, 1))
        chance = torch.Generator().manual_seed(seed)
        self.critic = Critic(width, (hidden, hidden), chance, dropout=0.0)
        parts = zip(self.critic.weights, self.critic.shifts, strict=True)
        flat = torch.cat([torch.cat([matrix, shift[:, None]], dim=1).ravel() for matrix, shift in parts])
        self.adam = Adam(flat.numpy(), rate, first=FIRST, second=SECOND)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # public, like the initial weights of all learners
            self.generator = GanNetwork(noise, 0, (hidden, hidden), width)
        with torch.no_grad():
            self.generator.shift[0, -width:] = torch.from_numpy(start).float()
        # a parameter for wishes is there, and empty
        self._learned = [p for p in self.generator.parameters() if p.numel()]
        self._learn = Adam(self._flat(), rate, first=FIRST, second=SECOND)
        self._load_critic()

    @property
    def parameters(self) -> int:
        """Length of a gradient: the critic's parameters."""
        return len(self.adam.parameters)

    @property
    def width(self) -> int:
        """Numbers that the factors of a row take."""
        return self.network.width

    def gradients(self, codes: IntArray, rng: np.random.Generator) -> Factors:
        """Of −score, row by row. A row's depends on its own codes and the critic alone; nothing is drawn."""
        rows = torch.from_numpy(self.encode(codes))
        signals, inputs = self._factors(rows, -1.0)
        return Factors(len(codes), [Layer(g.numpy(), a.numpy()) for g, a in zip(signals, inputs, strict=True)])

    def update(self, gradient: FloatArray) -> None:
        """A step of the critic (the noisy mean of people's part and the exact rest), then steps of the generator."""
        rng = np.random.default_rng([self._seed, self.adam.steps])  # so that a restored game goes on alike
        chance = torch.Generator().manual_seed(int(rng.integers(2**62)))
        made = self._made(rng, chance)
        self.adam.update(gradient.astype(np.float32) + self._exact_part(made.detach(), rng))
        self._load_critic()
        for turn in range(self.turns):
            made = made if turn == 0 else self._made(rng, chance)
            # the critic's own slope takes the place of its score, so that no graph runs through it
            loss = (made * self.critic.towards_real(made.detach())).sum()
            loss = loss + KEEPING * ((made.mean(dim=0) - self._means) ** 2).sum()
            slopes = torch.autograd.grad(loss, self._learned)
            self._learn.update(torch.cat([slope.ravel() for slope in slopes]).numpy())
            self._load_generator()

    def state(self) -> bytes:
        """Both networks and the memories of both optimisers: all of it made of noisy sums and public draws."""
        return self.adam.state() + self._learn.state()

    def restore(self, state: bytes) -> None:
        """Go on from a state; raises `ValueError` if it is not one of these networks."""
        end = 8 + 12 * self.parameters
        self.adam.restore(state[:end])
        self._learn.restore(state[end:])
        self._load_critic()
        self._load_generator()

    def weights(self) -> list[tuple[FloatArray, FloatArray]]:
        """The generator's layers, for drawing without torch.

        Batch statistics are taken of the generator as it is, not as it was on its way: short training leaves them
        behind.
        """
        rng = np.random.default_rng([self._seed, self.adam.steps, 1])
        for norm in self.generator.norms:
            norm.reset_running_stats()
            norm.momentum = None  # a plain mean of all batches; in training the statistics are not used
        with torch.no_grad():
            for _ in range(SETTLING):
                self.generator(self._noise(rng), None)
        return self.generator.weights()

    def _noise(self, rng: np.random.Generator) -> Any:
        return torch.from_numpy(rng.standard_normal((FAKES, self.noise), dtype=np.float32))

    def _made(self, rng: np.random.Generator, chance: torch.Generator) -> Any:
        return squash(self.generator(self._noise(rng), None), self.blocks, chance)

    def _factors(self, rows: Any, end: float) -> tuple[list[Any], list[Any]]:
        """Slopes and inputs of every layer.

        The last shift moves all scores alike and teaches nothing: its gradient is left out.
        """
        given, factors, scores = self.critic.heard(rows)
        signals = self.critic.back(factors, torch.full_like(scores, end))
        last = len(given) - 1
        wide = [torch.cat([x, torch.full((len(x), 1), float(i < last))], dim=1) for i, x in enumerate(given)]
        return signals, wide

    def _exact_part(self, fake: Any, rng: np.random.Generator) -> Floats:
        """The mean of the generated rows' gradients, clipped as people's are, and the penalty."""
        signals, inputs = self._factors(fake, 1.0)
        squares = sum((g * g).sum(dim=1) * (a * a).sum(dim=1) for g, a in zip(signals, inputs, strict=True))
        scale = (self.clip / torch.sqrt(torch.as_tensor(squares)).clamp_min(1e-12)).clamp_max(1.0)
        share = torch.from_numpy(rng.random((len(fake), 1), dtype=np.float32))
        other = torch.from_numpy(self.independent(len(fake), rng))
        gradient_penalty, _ = self.critic.gradient_penalty(torch.lerp(fake, other, share))
        fair = scale.mean()  # the penalty shrinks as the rest of the loss does
        parts = []
        for g, a, (value, push) in zip(signals, inputs, gradient_penalty, strict=True):
            found = (g * (scale[:, None] / len(fake))).T @ a
            found[:, :-1] += fair * (value.T @ push)
            parts.append(found.ravel())
        return np.asarray(torch.cat(parts).numpy())

    def _flat(self) -> Floats:
        return np.asarray(torch.cat([p.detach().ravel() for p in self._learned]).numpy())

    def _load_critic(self) -> None:
        """The critic takes the parameters that its optimiser holds."""
        matrices = self.network.matrices(torch.from_numpy(self.adam.parameters))
        self.critic.weights = [matrix[:, :-1] for matrix in matrices]
        self.critic.shifts = [matrix[:, -1] for matrix in matrices]

    def _load_generator(self) -> None:
        """The generator likewise."""
        at, flat = 0, torch.from_numpy(self._learn.parameters)
        with torch.no_grad():
            for parameter in self._learned:
                parameter.copy_(flat[at : at + parameter.numel()].view_as(parameter))
                at += parameter.numel()
