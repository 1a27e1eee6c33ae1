"""The models in training: rows of codes in, factored gradients out, noisy sums back.

`Phased` is P3GM's second phase: the mean of a row's code is its projection, which was released; the variance of the
code and the decoder are learned. `Variational` learns the whole encoder. `Clusters` holds one `Variational` for each
cluster, side by side in one vector of parameters: a row reaches the networks of its own cluster alone, and a person's
gradient is clipped over all of them together, so training all costs as much as training one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.neural.factors import Factors, Layer
from kagemusha.neural.inputs import Floats, Inputs
from kagemusha.neural.losses import MixtureDivergence, normal_divergence, reconstruction
from kagemusha.neural.mixture import Mixture
from kagemusha.neural.networks import Network, Tape, need_torch
from kagemusha.neural.optimiser import Adam

LOGS = 6.0
"""Log-variances of codes lie between −LOGS and LOGS."""

FLAT = 0.05
"""A decoder begins near a constant: full-size random rows are all that few noisy steps would have time to unlearn."""


class Taught:
    """What all learners share: one flat vector of parameters and its optimiser."""

    inputs: Inputs
    adam: Adam

    @property
    def parameters(self) -> int:
        """Length of a gradient."""
        return len(self.adam.parameters)

    def update(self, gradient: FloatArray) -> None:
        """A step with a noisy mean of clipped gradients."""
        self.adam.update(gradient)

    def state(self) -> bytes:
        """The optimiser's."""
        return self.adam.state()

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        self.adam.restore(state)

    def _tensor(self, values: Any) -> Any:
        return need_torch().from_numpy(np.ascontiguousarray(values, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Projection:
    """The released first phase: codes of rows are (x − mean)·basis, and mean + code·back is the way back."""

    mean: FloatArray
    basis: FloatArray
    back: FloatArray
    mixture: Mixture


class Phased(Taught):
    """P3GM's second phase. `variance=False` leaves the code without noise and the loss without KL (AE).

    A `cold` decoder begins near a constant, as the paper's; else at the way back from the projection.
    """

    def __init__(
        self,
        inputs: Inputs,
        phase: Projection,
        hidden: int,
        rate: float,
        *,
        variance: bool = True,
        class_axis: int | None = None,
        cold: bool = False,
        seed: int = 0,
    ) -> None:
        self.inputs, self.phase, self.variance, self.class_axis = inputs, phase, variance, class_axis
        latent = phase.mixture.width
        self.classes = 0 if class_axis is None else len(phase.mixture.weights)
        self.encoder = Network((inputs.width, hidden, latent))
        self.decoder = Network((latent + self.classes, hidden, inputs.width))
        rng = np.random.default_rng(seed)
        first = self.encoder.start(rng, last=0.1) if variance else np.zeros(0, dtype=np.float32)
        if variance:
            self.encoder.matrices(first)[-1][:, -1] = -2.0  # a code starts out sharper than the prior
        decoder = (
            self.decoder.start(rng, last=FLAT) if cold else linear_start(self.decoder, phase, inputs, self.classes, rng)
        )
        self.adam = Adam(np.concatenate([first, decoder]), rate)
        self._divergence = MixtureDivergence(phase.mixture)

    @property
    def width(self) -> int:
        """Numbers that the factors of a row take."""
        return self.decoder.width + (self.encoder.width if self.variance else 0)

    def decoder_parameters(self) -> Floats:
        """The part of the parameters that makes rows out of codes."""
        return self.adam.parameters[self.encoder.parameters if self.variance else 0 :]

    def gradients(self, codes: IntArray, rng: np.random.Generator) -> Factors:
        """Of the negative evidence bound, row by row."""
        tape = Tape()
        return Factors(len(codes), tape.factors(self._loss(codes, rng, tape)))

    def losses(self, codes: IntArray, rng: np.random.Generator) -> FloatArray:
        """The negative evidence bound of every row; for tests and for training without protection."""
        return np.asarray(self._loss(codes, rng, Tape()).detach().numpy(), dtype=np.float64)

    def _loss(self, codes: IntArray, rng: np.random.Generator, tape: Tape) -> Any:
        torch = need_torch()
        rows = self.inputs.of(codes)
        x = self._tensor(rows)
        mean = self._tensor((rows - self.phase.mean.astype(np.float32)) @ self.phase.basis.astype(np.float32))
        flat = self._tensor(self.adam.parameters)
        component = None if self.class_axis is None else torch.from_numpy(codes[:, self.class_axis])
        code, divergence = mean, 0.0
        if self.variance:
            size = self.encoder.parameters
            logs = LOGS * torch.tanh(tape.run(self.encoder.matrices(flat[:size]), x) / LOGS)
            noise = self._tensor(rng.standard_normal(mean.shape, dtype=np.float32))
            code = mean + torch.exp(logs / 2) * noise
            divergence = self._divergence(mean, logs, component)
            flat = flat[size:]
        if component is not None:
            code = torch.cat([code, torch.nn.functional.one_hot(component, self.classes).float()], dim=1)
        given = tape.run(self.decoder.matrices(flat), code)
        return reconstruction(given, x, self.inputs) + divergence


def linear_start(network: Network, phase: Projection, inputs: Inputs, classes: int, rng: np.random.Generator) -> Floats:
    """A decoder that begins as the way back from the projection, exactly: pairs of neurons relu(±u) pass u through.

    It is made of released numbers only, and costs nothing. One-hot blocks get log-odds that have the right value at the
    mean and the right slope there.
    """
    start = network.start(rng, last=0.0)
    first, last = network.matrices(start)
    latent = phase.back.shape[0]
    pairs = min(latent, network.sizes[1] // 2)
    mean, back = phase.mean.copy(), phase.back.copy()
    for begin, end in inputs.blocks:
        shares = np.clip(mean[begin:end], 0.02, 0.98)
        mean[begin:end] = np.log(shares)
        back[:, begin:end] /= shares + 0.1
    for i in range(pairs):
        for sign, neuron in ((1.0, i), (-1.0, pairs + i)):
            first[neuron] = 0.0
            first[neuron, i] = sign
            last[:, neuron] = sign * back[i]
    last[:, -1] = mean
    return start


class Variational(Taught):
    """A variational autoencoder with the standard normal as prior."""

    def __init__(self, inputs: Inputs, latent: int, hidden: int, rate: float, *, seed: int = 0) -> None:
        self.inputs, self.latent = inputs, latent
        self.encoder = Network((inputs.width, hidden, 2 * latent))
        self.decoder = Network((latent, hidden, inputs.width))
        rng = np.random.default_rng(seed)
        parts = [self.encoder.start(rng, last=0.3), self.decoder.start(rng, last=FLAT)]
        self.adam = Adam(np.concatenate(parts), rate)

    @property
    def width(self) -> int:
        """Numbers that the factors of a row take."""
        return self.decoder.width + self.encoder.width

    def decoder_parameters(self) -> Floats:
        """The part of the parameters that makes rows out of codes."""
        return self.adam.parameters[self.encoder.parameters :]

    def gradients(self, codes: IntArray, rng: np.random.Generator) -> Factors:
        """Of the negative evidence bound, row by row."""
        return Factors(len(codes), self.layers(self.adam.parameters, codes, rng, None))

    def layers(self, parameters: Floats, codes: IntArray, rng: np.random.Generator, rows: Any) -> list[Layer]:
        """The factors at given parameters."""
        tape = Tape()
        return tape.factors(self._loss(parameters, codes, rng, tape), rows)

    def losses(self, codes: IntArray, rng: np.random.Generator) -> FloatArray:
        """The negative evidence bound of every row."""
        return np.asarray(self._loss(self.adam.parameters, codes, rng, Tape()).detach().numpy(), dtype=np.float64)

    def _loss(self, parameters: Floats, codes: IntArray, rng: np.random.Generator, tape: Tape) -> Any:
        torch = need_torch()
        x = self._tensor(self.inputs.of(codes))
        flat = self._tensor(parameters)
        size = self.encoder.parameters
        both = tape.run(self.encoder.matrices(flat[:size]), x)
        mean, logs = both[:, : self.latent], LOGS * torch.tanh(both[:, self.latent :] / LOGS)
        noise = self._tensor(rng.standard_normal((len(x), self.latent), dtype=np.float32))
        given = tape.run(self.decoder.matrices(flat[size:]), mean + torch.exp(logs / 2) * noise)
        return reconstruction(given, x, self.inputs) + normal_divergence(mean, logs)


class Clusters(Taught):
    """One autoencoder for each cluster; `whose` says which cluster a row is in, from released centres alone."""

    def __init__(self, members: Sequence[Variational], whose: Callable[[IntArray], IntArray], rate: float) -> None:
        self.members, self.whose = members, whose
        self.inputs = members[0].inputs
        self.size = members[0].parameters
        self.adam = Adam(np.concatenate([member.adam.parameters for member in members]), rate)

    @property
    def width(self) -> int:
        """Numbers that the factors of a row take: those of one cluster."""
        return self.members[0].width

    def of(self, cluster: int) -> Floats:
        """The decoder of a cluster."""
        begin = cluster * self.size + self.members[cluster].encoder.parameters
        return self.adam.parameters[begin : (cluster + 1) * self.size]

    def gradients(self, codes: IntArray, rng: np.random.Generator) -> Factors:
        """A row's gradient is that of its cluster's networks, and zero elsewhere."""
        whose = self.whose(codes)
        layers: list[Layer] = []
        for cluster, member in enumerate(self.members):
            rows = np.flatnonzero(whose == cluster)
            part = self.adam.parameters[cluster * self.size : (cluster + 1) * self.size]
            layers += member.layers(part, codes[rows], rng, rows)
        return Factors(len(codes), layers)
