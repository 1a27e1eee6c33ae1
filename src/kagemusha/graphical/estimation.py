"""From noisy marginals to the model that fits them best (Private-PGM)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import UsageError
from kagemusha.graphical.belief_propagation import BeliefPropagation
from kagemusha.graphical.junction_tree import junction_tree
from kagemusha.graphical.markov_field import MarkovField
from kagemusha.graphical.solver import minimise
from kagemusha.marginals.tally import merged
from kagemusha.schema.domain import Clique, Domain

Zeros = tuple[Clique, "np.typing.NDArray[np.bool_]"]
"""A clique and a boolean table over it: True where the combination cannot occur."""

Progress = Callable[[int, float], None]
"""Called with (step, loss)."""

SMALLEST_SIGMA = 0.01
"""Exact measurements are treated as if they had this noise: an infinite weight cannot be weighed."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts over a clique (names in domain order), every cell with noise of standard deviation `sigma`."""

    clique: Clique
    values: FloatArray
    sigma: float

    def __post_init__(self) -> None:
        if np.ndim(self.values) != len(self.clique):
            raise ValueError(f"values over {self.clique} need {len(self.clique)} axes, got {np.ndim(self.values)}")
        if not 0 <= self.sigma < np.inf:
            raise ValueError(f"sigma must be at least 0 and finite, got {self.sigma}")


@dataclass(frozen=True, eq=False)
class Estimate:
    """A fitted model and how the fit went."""

    model: MarkovField
    loss: float
    """Σ ‖p_r − y_r‖² / σ_r² of the model (over σ_r where `power` is 1)."""
    losses: tuple[float, ...]
    """The loss after each accepted step."""
    steps: int
    """Belief-propagation passes spent."""
    converged: bool
    """Whether the stopping rule was met before `max_steps`."""


def estimate(
    domain: Domain,
    measurements: Iterable[Measurement],
    *,
    total: float | None = None,
    warm_start: MarkovField | None = None,
    structural_zeros: Sequence[Zeros] = (),
    max_cells: int = 1 << 24,
    stop_at_least_risk: bool = True,
    tolerance: float = 0.01,
    max_steps: int = 4000,
    power: int = 2,
    progress: Progress | None = None,
) -> Estimate:
    """The Markov field over the measured cliques that minimises Σ ‖p_r − y_r‖² / σ_r².

    With `power` 1 measurements are weighed by 1/σ_r instead, as AIM's authors print and code it; the least-risk stop
    knows the noise of the weight 1/σ² alone.

    Measurements of the same clique are merged; what any of the structural zeros rules out is ruled out. `total` is
    public if given, else the minimum-variance combination of the measurements' sums, at least 1. `warm_start` hands
    over the potentials of cliques measured again.

    The fit follows a path from the start towards the minimum. With `stop_at_least_risk` it returns the point of
    least estimated distance from the noiseless marginals, which is short of the minimum when the noise is large;
    without, the minimum. Either ends when a path longer by a third improves that measure by less than
    `tolerance` of itself, and after `max_steps` belief-propagation passes at the latest. Deterministic. Raises
    `ModelTooLarge` before allocating anything.
    """
    if power not in (1, 2) or (power == 1 and stop_at_least_risk):
        raise ValueError(f"power must be 2, or 1 without the least-risk stop, got {power}")
    given = list(measurements)
    known = merge(domain, given, power=power)
    zeros = _log_of_zeros(domain, structural_zeros)
    cliques = tuple(dict.fromkeys([*known, *zeros]))
    tree = junction_tree(domain, cliques, max_cells=max_cells)
    count = estimate_total(merge(domain, given).values()) if total is None else max(1.0, float(total))

    inference = BeliefPropagation(tree, cliques)
    forbidden = inference.pack(zeros)
    target = inference.pack({c: m.values / count for c, m in known.items()})
    weight = inference.spread([count**2 * known[c].sigma ** -power if c in known else 0.0 for c in cliques])
    weight[np.isneginf(forbidden)] = 0.0
    start = twin = np.zeros(inference.size)
    if warm_start is not None:
        start = _start(inference, known, warm_start.potentials)
        twin = _start(inference, known, warm_start.twin or warm_start.potentials)

    def oracle(theta: FloatArray) -> tuple[float, FloatArray]:
        return inference(theta + forbidden)

    solution = minimise(
        oracle,
        target,
        weight,
        start,
        signs=inference.pack([_signs(domain, c) for c in cliques]) if stop_at_least_risk else None,
        twin_start=twin,
        tolerance=tolerance,
        max_passes=max_steps,
        progress=progress,
    )
    theta = solution.theta + forbidden
    log_z, _ = inference(theta)
    if log_z == -np.inf:
        raise UsageError("the structural zeros rule out every row")
    model = MarkovField(
        domain,
        count,
        tree,
        dict(zip(cliques, inference.unpack(theta), strict=True)),
        calibration=(log_z, inference.clique_marginals()),
        twin=dict(zip(cliques, inference.unpack(solution.twin), strict=True)),
    )
    return Estimate(model, solution.loss, solution.losses, solution.passes, solution.converged)


def _log_of_zeros(domain: Domain, structural_zeros: Sequence[Zeros]) -> dict[Clique, FloatArray]:
    zeros: dict[Clique, FloatArray] = {}
    for clique, mask in structural_zeros:
        if clique != domain.canonical(clique) or mask.shape != domain.shape(clique):
            raise ValueError(
                f"structural zeros over {clique}: names in domain order and shape {domain.shape(clique)} needed"
            )
        zeros[clique] = np.where(mask, -np.inf, zeros.get(clique, 0.0))
    return zeros


def _start(
    inference: BeliefPropagation, measured: Container[Clique], potentials: Mapping[Clique, FloatArray]
) -> FloatArray:
    start = inference.pack({c: t for c, t in potentials.items() if c in measured})
    start[~np.isfinite(start)] = 0.0
    return start


def _signs(domain: Domain, clique: Clique) -> FloatArray:
    """Fixed random signs of a clique's cells: the same in every estimate, so that warm starts keep their twin."""
    rng = np.random.default_rng([domain.axis(name) for name in clique])
    return np.where(rng.integers(0, 2, size=domain.shape(clique)) == 1, 1.0, -1.0)


def merge(domain: Domain, measurements: Iterable[Measurement], *, power: int = 2) -> dict[Clique, Measurement]:
    """One measurement per clique: repeated ones are averaged by 1/σ^`power`, the inverse variance by default.

    Its σ stands for the weight of all of them together, which is their standard deviation for `power` 2 alone.
    """
    answers: dict[Clique, list[tuple[FloatArray, float]]] = {}
    for m in measurements:
        values = np.asarray(m.values, dtype=np.float64)
        if m.clique != domain.canonical(m.clique) or values.shape != domain.shape(m.clique):
            raise ValueError(
                f"measurement over {m.clique}: names in domain order and shape {domain.shape(m.clique)} needed"
            )
        if not np.isfinite(values).all():
            raise ValueError(f"measurement over {m.clique} has values that are not finite")
        answers.setdefault(m.clique, []).append((values, max(m.sigma, SMALLEST_SIGMA) ** -power))
    together = {clique: merged(known) for clique, known in answers.items()}
    return {c: Measurement(c, values, weight ** (-1 / power)) for c, (values, weight) in together.items()}


def estimate_total(measurements: Iterable[Measurement]) -> float:
    """Minimum-variance combination of the sums of the measurements, at least 1."""
    sums = [(float(m.values.sum()), 1.0 / (m.values.size * m.sigma**2)) for m in measurements]
    return max(1.0, merged(sums)[0]) if sums else 1.0
