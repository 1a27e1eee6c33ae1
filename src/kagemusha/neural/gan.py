"""A conditional generator against a critic that sees rows in packs.

CTGAN's training loop (Xu et al. 2019, algorithm 1). Rows are written as blocks: of each block one entry is *hot*, and a
measured column has a place beside it. A wish asks for one code of one labelled column; both networks see it, and the
generator is fined where it does not fulfil it. The critic is held to slope one by a penalty between real and generated
packs (WGAN-GP). Knows no tables: `Rows` hands out encoded rows.
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
from kagemusha.neural.critic import Critic
from kagemusha.progress import Progress

TEMPERATURE = 0.2


class Rows(Protocol):
    """Where encoded rows come from."""

    def conditions(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
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


class GanNetwork(nn.Module):
    """Residual layers: each sees the noise, the wish, and what all layers before it said.

    Noise and wish meet every layer, so they are multiplied with all layers' weights at once, and a wish, being one-hot,
    is a row looked up. That is the same network as layers over inputs put side by side, for half the arithmetic.
    """

    def __init__(self, noise: int, conditions: int, hidden: Sequence[int], width: int) -> None:
        super().__init__()
        self.sizes = [*hidden, width]
        # each layer's weights begin as wide as one over the root of its inputs, like a plain layer's
        ends = [(noise + conditions + sum(hidden[:i])) ** -0.5 for i in range(len(self.sizes))]

        def drawn(rows: int) -> nn.Parameter:
            return nn.Parameter(
                torch.cat([torch.empty(rows, n).uniform_(-e, e) for n, e in zip(self.sizes, ends, strict=True)], 1)
            )

        self.noise, self.wish, self.shift = drawn(noise), drawn(conditions), drawn(1)
        self.inner = nn.ParameterList(
            [
                nn.Parameter(torch.empty(width, sum(self.sizes[i + 1 :])).uniform_(-ends[i + 1], ends[i + 1]))
                for i, width in enumerate(hidden)
            ]
        )
        self.norms = nn.ModuleList([nn.BatchNorm1d(width) for width in hidden])

    def forward(self, noise: Any, wish: Any) -> Any:
        """What is said about every column, before it is squashed. `wish` holds positions, or is None."""
        heard = torch.addmm(self.shift, noise, self.noise)
        if wish is not None:
            heard = heard + nn.functional.embedding(wish, self.wish)
        for inner, norm, size in zip(self.inner, self.norms, self.sizes, strict=False):
            said = torch.relu(norm(heard[:, :size]))
            heard = torch.addmm(heard[:, size:], said, inner)
        return heard

    def weights(self) -> list[tuple[FloatArray, FloatArray]]:
        """Matrices over inputs side by side (latest first) and shifts, with batch normalisation folded in."""
        found, at = [], 0
        base = torch.cat([self.noise, self.wish])
        for i, size in enumerate(self.sizes):
            parts, begin = [base[:, at : at + size]], 0
            for earlier in range(i):
                begin = sum(self.sizes[earlier + 1 : i])
                parts.insert(0, self.inner[earlier][:, begin : begin + size])
            matrix, shift = torch.cat(parts), self.shift[0, at : at + size]
            if i < len(self.norms):
                norm = self.norms[i]
                scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
                matrix, shift = matrix * scale, (shift - norm.running_mean) * scale + norm.bias
            found.append((_array(matrix), _array(shift)))
            at += size
        return found


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


def conditional_loss(raw: Any, blocks: Sequence[Block], wished: IntArray, code: IntArray) -> Any:
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
        self._conditions = sum(block.hot for block in blocks if block.wish >= 0)
        self._starts = np.array([block.wish for block in blocks])
        self._torch = torch.Generator().manual_seed(int(rng.integers(2**62)))
        width = blocks[-1].end
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))  # initial weights
            self.generator = GanNetwork(training.noise, self._conditions, training.hidden, width)
        self.critic = Critic((width + self._conditions) * training.pack, training.hidden, self._torch)
        betas = (0.5, 0.9)
        self._learn = torch.optim.Adam(
            self.generator.parameters(), training.rate, betas=betas, weight_decay=training.decay, fused=True
        )
        self._judge = torch.optim.Adam(self.critic.parameters, training.rate, betas=betas, fused=True)

    def step(self, rows: Rows) -> None:
        """One step of the critic, then one of the generator on wishes and rows of its own, as algorithm 1 has it.

        On the rows that the critic has just learned to reject, the generator would learn how to escape these rows
        alone.
        """
        block, code, wish, at = self._wish(rows)
        with torch.no_grad():
            fake = self._pack(squash(self._said(at), self.blocks, self._torch), wish)
        self._judge_step(rows, block, code, wish, fake)
        block, code, wish, at = self._wish(rows)
        raw = self._said(at)
        made = self._pack(squash(raw, self.blocks, self._torch), wish)
        loss = conditional_loss(raw, self.blocks, block, code) if self._conditions else raw.new_zeros(())
        # the critic's own gradient takes the place of its score, so that no graph runs through it
        loss = loss + (made * self.critic.towards_real(made.detach())).sum()
        # without labelled columns the parameter for wishes is empty, and no part of the graph
        parameters = [p for p in self.generator.parameters() if p.numel()]
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        self._learn.step()

    def _wish(self, rows: Rows) -> tuple[IntArray, IntArray, Any, Any]:
        """Wishes for a batch: columns, codes, one-hot, and as positions (None where there are none)."""
        block, code = rows.conditions(self.training.batch, self._rng)
        at = torch.from_numpy(self._starts[block] + code) if self._conditions else None
        wish = torch.zeros((self.training.batch, self._conditions))
        if at is not None:
            wish[torch.arange(len(wish)), at] = 1
        return block, code, wish, at

    def _said(self, at: Any) -> Any:
        """What the generator says to fresh noise and these wishes."""
        shape = (self.training.batch, self.training.noise)
        return self.generator(torch.from_numpy(self._rng.standard_normal(shape, dtype=np.float32)), at)

    def _judge_step(self, rows: Rows, block: IntArray, code: IntArray, wish: Any, fake: Any) -> None:
        # the same wishes in another order: rows of a pack must not differ from generated ones by their order
        order = self._rng.permutation(len(wish))
        real = self._pack(
            torch.from_numpy(rows.batch(block[order], code[order], self._rng)), wish[torch.from_numpy(order)]
        )
        share = torch.rand((len(real), 1), generator=self._torch)
        self.critic.gradients(fake, real, torch.lerp(fake, real, share))
        self._judge.step()

    def _pack(self, rows: Any, wish: Any) -> Any:
        return torch.cat([rows, wish], dim=1).view(-1, (rows.shape[1] + wish.shape[1]) * self.training.pack)


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
            game.step(rows)
            if step % 10 == 9 or step + 1 == total:
                progress(f"epoch {step // training.steps + 1} of {training.epochs}", (step + 1) / total)
        return game.generator.weights()
    finally:
        torch.set_num_threads(threads)


def _array(tensor: Any) -> FloatArray:
    return np.ascontiguousarray(tensor.detach().double().numpy())
