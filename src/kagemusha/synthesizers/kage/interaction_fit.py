"""The Markov field that best explains noisy columns and noisy interactions.

With relative noise s_r = σ_r/N the fit minimises log Z(θ) − ⟨θ, y/N⟩ + Σ ½ λ_r θ², the mode of a Gaussian posterior:
an interaction's cells are θ ~ N(0, τ_r²) around the independent model, where they expect the probability p, and y is
p·θ with the noise s_r, so λ_r = s_r²/(p·τ_r²). τ_r comes from the measured interaction itself. Tails are heavier than a
normal distribution's, so λ_r is at most s_r; and at least a part of that, so that the problem is strongly convex:
contradicting measurements do no harm and L-BFGS converges for every noise level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField, junction_tree
from kagemusha.graphical.belief_propagation import BeliefPropagation
from kagemusha.graphical.lbfgs import dot, lbfgs
from kagemusha.queries.interactions import NoisyInteraction, grouped
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.kage.constants import ENOUGH, LEAST, PASSES


def corrected(generator: MarkovGenerator, measured: Sequence[NoisyInteraction]) -> dict[Clique, FloatArray]:
    """A table over codes for each pair, with the model's columns; pairs that noise explains are left out.

    All tables together have some two million cells at most: those nearest to the model are left out.
    """
    domain = generator.domain
    tables = generator.field.project_many([m.query.clique for m in measured])
    columns = dict(zip(domain.names, generator.project_many([(name,) for name in domain]), strict=True))
    found: dict[Clique, FloatArray] = {}
    moved: dict[Clique, float] = {}
    for m, table in zip(measured, tables, strict=True):
        ratio = _ratio(m, table)
        if ratio is not None:
            pair = m.query.clique
            found[pair] = _raked(table * ratio[np.ix_(*m.query.groups)], *(columns[name] for name in pair))
            moved[pair] = float(np.abs(found[pair] - table).sum())
    kept: dict[Clique, FloatArray] = {}
    room = 1 << 21
    for pair in sorted(found, key=lambda pair: -moved[pair]):
        if found[pair].size <= room:
            kept[pair] = found[pair]
            room -= found[pair].size
    return {pair: kept[pair] for pair in found if pair in kept}


def _ratio(measured: NoisyInteraction, table: FloatArray) -> FloatArray | None:
    """What every group of the model's table must be multiplied by; None where there is nothing to correct."""
    expected = grouped(table, measured.query.groups)
    interaction = expected
    for axis in range(2):
        interaction = interaction - interaction.mean(axis=axis, keepdims=True)
    distance = measured.values - interaction
    for axis in range(2):
        distance = distance - distance.mean(axis=axis, keepdims=True)
    noise = measured.sigma**2 * float(np.prod([1 - 1 / n for n in distance.shape]))
    squared = float((distance**2).mean())
    if squared <= noise:
        return None
    # the model must be able to make its rows: a cell keeps at least a fiftieth of what it expects
    wanted = np.maximum(expected + (1 - noise / squared) * distance, expected / 50)
    return np.divide(wanted, expected, out=np.ones_like(expected), where=expected > 0)


def _raked(table: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The table with these sums, by proportional fitting."""
    for _ in range(25):
        table = table * np.divide(rows, s := table.sum(axis=1), out=np.zeros_like(rows), where=s > 0)[:, None]
        table = table * np.divide(columns, s := table.sum(axis=0), out=np.zeros_like(columns), where=s > 0)
    return table


@dataclass(frozen=True, eq=False)
class NoisyColumn:
    """Noisy counts of one column with noise of deviation `sigma`, and a positive table to start from."""

    name: str
    values: FloatArray
    sigma: float
    start: FloatArray


class _Problem:
    """Parameters in one flat vector: columns first, then interactions; `cell_of` maps model cells to parameters.

    The solver moves x, and θ = centred(unit · x): units make all curvatures alike, which more than halves the passes.
    """

    def __init__(
        self,
        inference: BeliefPropagation,
        columns: Sequence[NoisyColumn],
        interactions: Sequence[NoisyInteraction],
        total: float,
    ) -> None:
        shapes = [c.values.shape for c in columns] + [i.values.shape for i in interactions]
        sizes = np.array([int(np.prod(shape)) for shape in shapes])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self.size, self.total = int(starts[-1]), total
        self.of_columns = int(starts[len(columns)])
        tables = [start + np.arange(size) for start, size in zip(starts, sizes[: len(columns)], strict=False)]
        for start, one in zip(starts[len(columns) :], interactions, strict=False):
            tables.append(start + np.ravel_multi_index(np.ix_(*one.query.groups), one.query.shape))
        self.cell_of: IntArray = inference.pack_integers(tables)
        self.centring = _centring(shapes, starts, len(columns))
        sigmas = np.array([c.sigma for c in columns] + [i.sigma for i in interactions])
        noise = np.repeat(sigmas / total, sizes)
        self.target = (
            np.concatenate([t.ravel() for t in [*(c.values for c in columns), *(i.values for i in interactions)]])
            / total
        )
        self.target = self.centred(self.target)
        self.offset = inference.pack({(c.name,): np.log(c.start / c.start.sum()) for c in columns})
        self.inference = inference
        # a parameter's curvature is about its cell's probability in the independent model, plus the ridge
        average = np.repeat(1 / sizes, sizes)
        expected = self.seen(self.offset)[1]
        self.noise = noise
        # columns are posterior means already: they get the least that lets the fit converge
        self.ridge: FloatArray = noise.copy()
        self.ridge[: self.of_columns] *= LEAST
        for start, one in zip(starts[len(columns) :].tolist(), interactions, strict=False):
            here = slice(start, start + int(np.prod(one.query.shape)))
            free = math.prod(n - 1 for n in one.query.shape)
            self.ridge[here] *= precision(self.target[here], expected[here], one.sigma / total, free)
        self.unit: FloatArray = (np.maximum(expected, average / 3) + self.ridge) ** -0.5
        # columns must answer every move of their pairs; longer steps let them keep up
        self.unit[: starts[len(columns)]] *= 2

    @property
    def progress(self) -> float:
        """The gain below which going on is not worth a pass.

        Next to the squared noise of all parameters, and to a small part of a record.
        """
        floor = float(np.clip(0.03 / self.total, 1e-8, 3e-5))
        return float(np.clip(ENOUGH * (self.noise**2).sum(), floor, 3e-4))

    @property
    def column_progress(self) -> float:
        """The same for columns alone."""
        noise = self.noise[: self.of_columns]
        return ENOUGH * float((noise**2).sum())

    def columns_after(self, x: FloatArray) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        """The problem of the columns' parameters alone, all others staying as they are."""
        count = self.of_columns

        def alone(first: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self(np.concatenate([first, x[count:]]))
            return value, gradient[:count]

        return alone

    def centred(self, flat: FloatArray) -> FloatArray:
        """Interactions without their smaller marginals."""
        for line, share in self.centring:
            flat = flat - (np.bincount(line, flat) * share)[line]
        return flat

    def theta(self, x: FloatArray) -> FloatArray:
        """The parameters behind the solver's `x`."""
        return self.centred(x * self.unit)

    def seen(self, potentials: FloatArray) -> tuple[float, FloatArray]:
        """Value of log Z and the probability of what each parameter stands for."""
        log_z, mu = self.inference(potentials)
        return log_z, np.bincount(self.cell_of, mu, minlength=self.size).astype(np.float64, copy=False)

    def potentials(self, theta: FloatArray) -> FloatArray:
        """Log potentials of the model."""
        return np.asarray(theta[self.cell_of] + self.offset, dtype=np.float64)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        theta = self.theta(x)
        log_z, seen = self.seen(self.potentials(theta))
        pull = self.ridge * theta
        value = log_z - dot(theta, self.target) + 0.5 * dot(theta, pull)
        return float(value), self.unit * self.centred(seen - self.target + pull)


def precision(values: FloatArray, expected: FloatArray, sigma: float, free: int) -> FloatArray:
    """The prior precision of a measured interaction's cells, as a share of the most that they may get.

    θ ~ N(0, τ²) moves a cell by p·θ, so its mode has the ridge s²/(p·τ²); Σ y² ≈ τ²·Σ p² + free·s² gives τ². All in
    shares of the records: `values` y, `expected` p in the independent model, `sigma` s, and the `free` cells.
    """
    signal = max(float((values**2).sum()) - free * sigma**2, 1e-3 * free * sigma**2)
    most = np.maximum(expected * signal, 1e-300)
    return np.asarray(np.clip(sigma * float((expected**2).sum()) / most, LEAST, 1.0))


def _centring(shapes: Sequence[tuple[int, ...]], starts: IntArray, columns: int) -> list[tuple[IntArray, FloatArray]]:
    """For each axis: the line of cells every parameter belongs to, and one over its length (0: not centred)."""
    depth = max((len(shape) for shape in shapes[columns:]), default=0)
    plans = []
    for axis in range(depth):
        lines: list[IntArray] = [np.zeros(int(starts[columns]), dtype=np.int64)]
        shares = [0.0]
        for shape in shapes[columns:]:
            if axis >= len(shape):
                lines.append(np.zeros(int(np.prod(shape)), dtype=np.int64))
                continue
            own = np.arange(int(np.prod(shape)) // shape[axis]) + len(shares)
            table = np.broadcast_to(np.expand_dims(own.reshape(np.delete(shape, axis)), axis), shape)
            lines.append(table.ravel())
            shares.extend([1 / shape[axis]] * len(own))
        plans.append((np.concatenate(lines), np.array(shares)))
    return plans


@dataclass(frozen=True, eq=False)
class InteractionFit:
    """A fitted field and its parameters, columns first, from which a fit with more interactions can start."""

    field: MarkovField
    theta: FloatArray


def fit_interactions(
    domain: Domain,
    columns: Sequence[NoisyColumn],
    interactions: Sequence[NoisyInteraction],
    total: float,
    *,
    max_cells: int,
    max_steps: int | None = None,
    start: FloatArray | None = None,
) -> InteractionFit:
    """The field of highest penalised likelihood; `domain` is that of the groups' codes. Deterministic.

    `start` holds the parameters of an earlier fit to the same columns and the first of the interactions. Without
    `max_steps` it ends when it has converged, or after the most passes there may be.
    """
    cliques: list[Clique] = [(c.name,) for c in columns] + [p.query.clique for p in interactions]
    tree = junction_tree(domain, cliques, max_cells=max_cells)
    inference = BeliefPropagation(tree, cliques)
    problem = _Problem(inference, columns, interactions, total)
    x = np.zeros(problem.size)
    if start is not None:
        x[: len(start)] = start / problem.unit[: len(start)]
    calls = max(PASSES[1], PASSES[2] // tree.cells) if max_steps is None else max_steps
    x = lbfgs(problem, x, max_calls=calls, progress=problem.progress)
    if max_steps is None and interactions:
        # every table rests on the columns, and they are known best: they must not wait for their pairs to converge
        columns_now = x[: problem.of_columns]
        polish = min(2 * PASSES[0], calls)
        better = lbfgs(problem.columns_after(x), columns_now, max_calls=polish, progress=problem.column_progress)
        x = np.concatenate([better, x[problem.of_columns :]])
    theta = problem.theta(x)
    flat = problem.potentials(theta)
    potentials: Mapping[Clique, FloatArray] = dict(zip(cliques, inference.unpack(flat), strict=True))
    return InteractionFit(MarkovField(domain, total, tree, potentials), theta)
