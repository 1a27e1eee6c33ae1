"""What happens inside a run of AIM, step by step: budget, errors, chosen pairs (the paper's figures 3 to 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.evaluation.kway import kway_errors, l1_errors
from kagemusha.graphical import estimate
from kagemusha.models.markov import MarkovGenerator, measurements_of
from kagemusha.models.model import Model
from kagemusha.privacy.accountants import PLD, ZCDP
from kagemusha.privacy.events import Event, ExponentialEvent, GaussianEvent
from kagemusha.reproduce.paper_tables import PaperTable
from kagemusha.schema.domain import Clique


@dataclass(frozen=True)
class BudgetCurve:
    """ε after each step under zCDP, and the numerical composition's lower and upper bound (figure 3)."""

    steps: list[int]
    zcdp: list[float]
    lower: list[float]
    upper: list[float]


def budget_curve(model: Model, delta: float, *, points: int = 14) -> BudgetCurve:
    """Realised schedule only: with adaptively chosen steps the numerical bounds describe, they do not promise."""
    events = model.certificate.events
    steps = sorted({round(x) for x in np.linspace(1, len(events), min(points, len(events)))})
    return BudgetCurve(
        steps,
        [ZCDP().epsilon(events[:s], delta) for s in steps],
        [optimistic_epsilon(events[:s], delta) for s in steps],
        [min(PLD().epsilon(events[:s], delta), ZCDP().epsilon(events[:s], delta)) for s in steps],
    )


def optimistic_epsilon(events: Sequence[Event], delta: float) -> float:
    """A lower bound on ε: numerical composition rounded down, each choice by its tightest two-point mechanism."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    rho = sum(float(e.rho or 0) for e in events)
    interval = max(1e-6, (rho + 12 * math.sqrt(2 * rho)) / 2e4)
    gaussian = sum(float(e.rho) for e in events if isinstance(e, GaussianEvent))
    parts = []
    if gaussian:
        parts.append(
            pld.from_gaussian_mechanism(
                1 / math.sqrt(2 * gaussian),
                pessimistic_estimate=False,
                value_discretization_interval=interval,
                use_connect_dots=False,
            )
        )
    counted: dict[float, int] = {}
    for event in events:
        if isinstance(event, ExponentialEvent):
            counted[event.epsilon] = counted.get(event.epsilon, 0) + 1
    for epsilon, times in counted.items():
        p, q = -math.log1p(math.exp(-epsilon / 2)), -math.log1p(math.exp(epsilon / 2))
        one = pld.from_two_probability_mass_functions(
            {0: q, 1: p}, {0: p, 1: q}, pessimistic_estimate=False, value_discretization_interval=interval
        )
        parts.append(one.self_compose(times) if times > 1 else one)
    if not parts:
        return 0.0
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return max(0.0, float(whole.get_epsilon_for_delta(delta)))


def step_errors(table: PaperTable, model: Model) -> list[tuple[int, float, float, float]]:
    """(step, 1-, 2-, 3-way error) of the model refitted to the first measurements of a run (figure 4).

    The steps of the initialisation are fitted together, as AIM does.
    """
    measured = measurements_of(model.measurements)
    first = sum(len(m.clique) == 1 for m in measured[: len(model.domain)])
    result = []
    for count in [*range(1, first), *range(max(1, first), len(measured) + 1)]:
        field = estimate(model.domain, measured[:count]).model
        generator = MarkovGenerator(field)
        errors = [kway_errors(table.table, generator, k).mean for k in (1, 2, 3)]
        result.append((count, errors[0], errors[1], errors[2]))
    return result


@dataclass(frozen=True)
class Choice:
    """Which pairs one run measured, and how well it did on them and on the others (figure 5)."""

    pairs: list[Clique]
    chosen_error: float
    other_error: float


def choice_of(table: PaperTable, model: Model) -> Choice:
    """Mean error of chosen and of unchosen pairs."""
    from itertools import combinations

    chosen = {m.clique for m in model.measurements if len(m.clique) == 2}
    pairs = list(combinations(model.domain.names, 2))
    errors = dict(zip(pairs, l1_errors(table.table, model.generator, pairs), strict=True))
    inside, outside = [errors[p] for p in pairs if p in chosen], [errors[p] for p in pairs if p not in chosen]
    return Choice(
        sorted(chosen), float(np.mean(inside)) if inside else 0.0, float(np.mean(outside)) if outside else 0.0
    )
