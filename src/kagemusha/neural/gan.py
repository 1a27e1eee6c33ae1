"""A conditional generator against a critic that sees rows in packs: CTGAN's training loop (Xu et al. 2019, algorithm 1).

Rows are written as blocks: of each block one entry is *hot*, and a measured column has a place beside it. A wish asks for one
code of one labelled column; both networks see it, and the generator is fined where it does not fulfil it. The critic is held
to slope one by a penalty between real and generated packs (WGAN-GP). Knows no tables: `Rows` hands out encoded rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.neural.blocks import Block
from kagemusha.progress import Progress

TEMPERATURE = 0.2
PENALTY = 10.0


class Rows(Protocol):
    """Where encoded rows come from."""

    def wishes(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Blocks and codes that are wished for; the codes of each block by their log-frequency."""
        ...

    def batch(self, block: IntArray, code: IntArray, rng: np.random.Generator) -> NDArray[np.float32]:
        """Random rows that fulfil the wishes, encoded; without wishes (no blocks) any rows."""
        ...


@dataclass(frozen=True)
class Training:
    """How long and how hard: the paper's choices."""

    epochs: int
    steps: int
    """Steps in an epoch."""
    batch: int
    noise: int = 128
    hidden: tuple[int, ...] = (256, 256)
    pack: int = 10
    rate: float = 2e-4
    decay: float = 1e-6


class Generator(nn.Module):
    """Residual layers: each one's output stands beside its input."""

    def __init__(self, noise: int, hidden: Sequence[int], width: int) -> None:
        super().__init__()
        self.layers, self.norms, size = nn.ModuleList(), nn.ModuleList(), noise
        for units in hidden:
            self.layers.append(nn.Linear(size, units))
            self.norms.append(nn.BatchNorm1d(units))
            size += units
        self.last = nn.Linear(size, width)

    def forward(self, state: Any) -> Any:
        """What is said about every column, before it is squashed."""
        for layer, norm in zip(self.layers, self.norms, strict=True):
            state = torch.cat([torch.relu(norm(layer(state))), state], dim=1)
        return self.last(state)

    def weights(self) -> list[tuple[FloatArray, FloatArray]]:
        """Matrices and shifts with the running batch normalisation folded in."""
        found = []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            matrix = layer.weight * scale[:, None]
            shift = (layer.bias - norm.running_mean) * scale + norm.bias
            found.append((_array(matrix.T), _array(shift)))
        return [*found, (_array(self.last.weight.T), _array(self.last.bias))]


def critic(width: int, hidden: Sequence[int], pack: int) -> nn.Sequential:
    """Scores packs of rows."""
    parts: list[nn.Module] = []
    size = width * pack
    for units in hidden:
        parts += [nn.Linear(size, units), nn.LeakyReLU(0.2), nn.Dropout(0.5)]
        size = units
    return nn.Sequential(*parts, nn.Linear(size, 1))


def squash(raw: Any, blocks: Sequence[Block], generator: torch.Generator) -> Any:
    """Places by tanh, hot entries by the Gumbel softmax."""
    gumbel = -torch.log(-torch.log(torch.rand(raw.shape, generator=generator).clamp_(1e-20, 1 - 1e-7)))
    parts = []
    for block in blocks:
        if block.placed:
            parts.append(torch.tanh(raw[:, block.start : block.first]))
        hot = slice(block.first, block.end)
        parts.append(torch.softmax((raw[:, hot] + gumbel[:, hot]) / TEMPERATURE, dim=1))
    return torch.cat(parts, dim=1)


def unfulfilled(raw: Any, blocks: Sequence[Block], wished: IntArray, code: IntArray) -> Any:
    """Mean cross entropy between what was wished for and what is said about that column."""
    total = raw.new_zeros(())
    for index, block in enumerate(blocks):
        rows = np.flatnonzero(wished == index)
        if block.wish >= 0 and len(rows):
            asked = raw[torch.from_numpy(rows)][:, block.first : block.end]
            total = total + nn.functional.cross_entropy(asked, torch.from_numpy(code[rows]), reduction="sum")
    return total / len(wished)


class Game:
    """The two networks and their optimisers; everything random comes from one numpy generator."""

    def __init__(self, blocks: Sequence[Block], training: Training, rng: np.random.Generator) -> None:
        self.blocks, self.training, self._rng = blocks, training, rng
        self._wishes = sum(block.hot for block in blocks if block.wish >= 0)
        self._torch = torch.Generator().manual_seed(int(rng.integers(2**62)))
        width = blocks[-1].end
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))  # initial weights
            self.generator = Generator(training.noise + self._wishes, training.hidden, width)
            self.critic = critic(width + self._wishes, training.hidden, training.pack)
        betas = (0.5, 0.9)
        self._learn = torch.optim.Adam(
            self.generator.parameters(), training.rate, betas=betas, weight_decay=training.decay, fused=True
        )
        self._judge = torch.optim.Adam(self.critic.parameters(), training.rate, betas=betas, fused=True)

    def wish_vector(self, block: IntArray, code: IntArray) -> Any:
        """Wishes as one-hot vectors."""
        found = np.zeros((len(code), self._wishes), dtype=np.float32)
        if self._wishes:
            starts = np.array([b.wish for b in self.blocks])
            found[np.arange(len(code)), starts[block] + code] = 1
        return torch.from_numpy(found)

    def _state(self, wish: Any) -> Any:
        noise = self._rng.standard_normal((len(wish), self.training.noise), dtype=np.float32)
        return torch.cat([torch.from_numpy(noise), wish], dim=1)

    def _wish(self, rows: Rows) -> tuple[IntArray, IntArray, Any]:
        block, code = rows.wishes(self.training.batch, self._rng)
        if not self._wishes:
            return block, code, torch.zeros((self.training.batch, 0))
        return block, code, self.wish_vector(block, code)

    def _pack(self, rows: Any, wish: Any) -> Any:
        return torch.cat([rows, wish], dim=1).view(-1, (rows.shape[1] + wish.shape[1]) * self.training.pack)

    def judge(self, rows: Rows) -> None:
        """One step of the critic."""
        block, code, wish = self._wish(rows)
        with torch.no_grad():
            fake = self._pack(squash(self.generator(self._state(wish)), self.blocks, self._torch), wish)
        # the same wishes in another order: rows of a pack must not differ from generated ones by their order
        order = self._rng.permutation(len(wish))
        chosen = (block[order], code[order]) if self._wishes else (block, code)
        real = self._pack(torch.from_numpy(rows.batch(*chosen, self._rng)), wish[torch.from_numpy(order)])
        share = torch.rand((len(real), 1), generator=self._torch)
        between = (share * real + (1 - share) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(self._score(between).sum(), between, create_graph=True)
        penalty = PENALTY * ((slope.norm(2, dim=1) - 1) ** 2).mean()
        loss = self._score(fake).mean() - self._score(real).mean() + penalty
        _step(self._judge, self.critic, loss)

    def learn(self, rows: Rows) -> None:
        """One step of the generator."""
        block, code, wish = self._wish(rows)
        raw = self.generator(self._state(wish))
        loss = -self._score(self._pack(squash(raw, self.blocks, self._torch), wish)).mean()
        if self._wishes:
            loss = loss + unfulfilled(raw, self.blocks, block, code)
        _step(self._learn, self.generator, loss)

    def _score(self, packs: Any) -> Any:
        """The critic's scores, its dropout drawn from our own source."""
        for layer in self.critic:
            if isinstance(layer, nn.Dropout):
                kept = torch.rand(packs.shape, generator=self._torch) >= layer.p
                packs = packs * kept / (1 - layer.p)
            else:
                packs = layer(packs)
        return packs


def play(
    rows: Rows, blocks: Sequence[Block], training: Training, rng: np.random.Generator, progress: Progress
) -> list[tuple[FloatArray, FloatArray]]:
    """Train and return the generator's weights. One thread: two are slower on networks of this size."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        game = Game(blocks, training, rng)
        total = training.epochs * training.steps
        for step in range(total):
            game.judge(rows)
            game.learn(rows)
            if step % 10 == 9 or step + 1 == total:
                progress(f"epoch {step // training.steps + 1} of {training.epochs}", (step + 1) / total)
        return game.generator.weights()
    finally:
        torch.set_num_threads(threads)


def _step(optimiser: Any, network: nn.Module, loss: Any) -> None:
    """One step of one network; the other one's gradients are not worked out."""
    parameters = list(network.parameters())
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        parameter.grad = gradient
    optimiser.step()


def _array(tensor: Any) -> FloatArray:
    return np.ascontiguousarray(tensor.detach().double().numpy())
