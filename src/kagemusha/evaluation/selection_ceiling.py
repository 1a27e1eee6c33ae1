"""What a choice says about those not chosen: had a pair been much worse, it would have been measured instead.

The exponential mechanism's last choice r* among C candidates tells, with probability 1 − β, that every candidate r has
w_r (e_r − b_r) ≤ w_* (e_* − b_*) + (2Δ/ε) log(C/β), where e is the L1 error of the model before the choice, b the noise
a measurement would have and w AIM's weights. e_* itself is known from the measurement that followed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kagemusha.errors import KagemushaError
from kagemusha.graphical import estimate
from kagemusha.privacy.adjacency import counts_sensitivity
from kagemusha.privacy.events import ExponentialEvent
from kagemusha.schema import Clique
from kagemusha.synthesizers.markov import MarkovGenerator, measurements_of
from kagemusha.synthesizers.model import Model
from kagemusha.synthesizers.noise_level import MEAN_ABSOLUTE
from kagemusha.synthesizers.registry import create

STEPS = 50
"""Belief-propagation passes of the fit before the last choice; what it falls short is part of the ceiling."""

RISK = 0.05
"""β: how often the ceiling may fail."""


def selection_ceilings(model: Model) -> dict[Clique, float]:
    """For AIM, the most that each candidate's error can be, in records; empty for other methods."""
    choices = [event for event in model.certificate.events if isinstance(event, ExponentialEvent)]
    if model.certificate.method != "aim" or not choices or len(model.measurements) < 2 or not model.trace:
        return {}
    last, chosen = model.measurements[-1], choices[-1]
    if last.clique != model.trace[-1].clique or not isinstance(model.generator, MarkovGenerator):
        return {}
    try:
        candidates = create("aim", **_parameters(model.certificate.parameters)).candidates(model.domain)  # type: ignore[attr-defined]
    except (KagemushaError, TypeError):
        return {}
    measured = model.measurements[:-1]
    open_then = candidates.fitting([m.clique for m in measured], candidates.max_cells)
    rows = model.generator.total if model.certificate.promised.adjacency.rows_are_public else None
    before = estimate(
        model.domain,
        measurements_of(measured),
        total=rows,
        warm_start=model.generator.field,
        max_cells=candidates.max_cells,
        max_steps=STEPS,
    ).model
    weights = candidates.weights
    cell = MEAN_ABSOLUTE * last.sigma

    # the chosen one's error before it was measured: noise never makes a distance smaller on average
    spread = last.sigma * math.sqrt((1 - 2 / math.pi) * last.values.size)
    distance = float(np.abs(last.values - before.project(last.clique)).sum())
    excess = distance + 2 * spread - cell * last.values.size
    sensitivity = max(weights.values()) * counts_sensitivity(model.certificate.promised.adjacency).l1
    lucky = 2 * sensitivity / chosen.epsilon * math.log(len(open_then) / RISK)
    ceilings = {}
    for clique, old, new in zip(
        open_then, before.project_many(open_then), model.generator.project_many(open_then), strict=True
    ):
        error = (weights[last.clique] * excess + lucky) / weights[clique] + cell * model.domain.cells(clique)
        ceilings[clique] = max(0.0, error) + float(np.abs(old - new).sum())
    return ceilings


def _parameters(given: Any) -> dict[str, Any]:
    """A certificate's parameters as the synthesizer takes them."""
    parameters = dict(given)
    if parameters.get("workload") is not None:
        parameters["workload"] = {tuple(clique): weight for clique, weight in parameters["workload"]}
    return parameters
